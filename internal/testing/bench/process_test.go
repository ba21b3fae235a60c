package bench_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// assignment is the environment variable that makes this test binary another
// process of a measurement. What that process is to do stands in it as JSON.
const assignment = "PLACEMENTSYNC_BENCH_TASK"

// assigned reads what this process is to do, and skips the test in one that no
// measurement has started.
func assigned(t *testing.T, task any) {
	t.Helper()
	text := os.Getenv(assignment)
	if text == "" {
		t.Skip("runs in the processes that a measurement starts")
	}
	must(t, json.Unmarshal([]byte(text), task))
}

// usage is what the system accounts to a process: seconds and bytes.
type usage struct {
	Wall, CPU float64
	RSS       float64
	Begun     time.Time
}

// measure runs a command to its end. What it says is shown when it fails, or at once
// where the command has a Stderr.
func measure(t *testing.T, cmd *exec.Cmd) usage {
	t.Helper()
	return watched(t, cmd, func(int, <-chan struct{}) float64 { return 0 })
}

// watched measures a command while watch looks at its process until done is closed, and
// returns the most memory it saw.
func watched(t *testing.T, cmd *exec.Cmd, watch func(pid int, done <-chan struct{}) float64) usage {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout = &said
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	begun := time.Now()
	must(t, cmd.Start())
	done, most := make(chan struct{}), make(chan float64, 1)
	go func() { most <- watch(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	wall := time.Since(begun)
	close(done)
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	state := cmd.ProcessState
	u := usage{Begun: begun, Wall: wall.Seconds(), CPU: (state.UserTime() + state.SystemTime()).Seconds()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.RSS = float64(r.Maxrss) * 1024 // kilobytes on Linux
	}
	u.RSS = max(u.RSS, <-most)
	return u
}

// again is a command that runs one test of this binary in a process of its own.
func again(t *testing.T, test string, task any) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	text, err := json.Marshal(task)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), assignment+"="+string(text))
	return cmd
}

// leave writes the report of this process, and collect reads it in the parent.
func leave(t *testing.T, path string, report any) {
	t.Helper()
	data, err := json.MarshalIndent(report, "", "  ")
	must(t, err)
	must(t, os.WriteFile(path, append(data, '\n'), 0o644))
}

func collect(t *testing.T, path string, report any) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(data, report))
}

// bytesIn adds up the files below a folder that match a pattern.
func bytesIn(t *testing.T, patterns ...string) float64 {
	t.Helper()
	var sum float64
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		must(t, err)
		for _, path := range paths {
			info, err := os.Stat(path)
			must(t, err)
			sum += float64(info.Size())
		}
	}
	return sum
}
