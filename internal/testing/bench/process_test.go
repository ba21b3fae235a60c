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

// taskVariable is the environment variable with the task of a child process as JSON. It makes
// this test binary run the task.
const taskVariable = "PLACEMENTSYNC_BENCH_TASK"

// readTask reads the task of this process. It skips the test in processes without a task.
func readTask(t *testing.T, task any) {
	t.Helper()
	text := os.Getenv(taskVariable)
	if text == "" {
		t.Skip("runs only in child processes of a measurement")
	}
	must(t, json.Unmarshal([]byte(text), task))
}

// usage is the resource usage of a process, in seconds and bytes.
type usage struct {
	Wall, CPU float64
	RSS       float64
	Begun     time.Time
}

// measure runs a command to its end. If the command fails, the test prints its output. Stderr is
// not captured if cmd.Stderr is set.
func measure(t *testing.T, cmd *exec.Cmd) usage {
	t.Helper()
	return measureWith(t, cmd, func(int, <-chan struct{}) float64 { return 0 })
}

// measureWith measures a command while watch runs. done is closed when the process ends. watch
// returns the maximum memory of the process in bytes.
func measureWith(t *testing.T, cmd *exec.Cmd, watch func(pid int, done <-chan struct{}) float64) usage {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout = &output
	if cmd.Stderr == nil {
		cmd.Stderr = &output
	}
	begun := time.Now()
	must(t, cmd.Start())
	done, most := make(chan struct{}), make(chan float64, 1)
	go func() { most <- watch(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	wall := time.Since(begun)
	close(done)
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, output.String())
	}
	state := cmd.ProcessState
	u := usage{Begun: begun, Wall: wall.Seconds(), CPU: (state.UserTime() + state.SystemTime()).Seconds()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.RSS = float64(r.Maxrss) * 1024 // kilobytes on Linux
	}
	u.RSS = max(u.RSS, <-most)
	return u
}

// childCommand returns a command that runs one test of this binary in a child process.
func childCommand(t *testing.T, test string, task any) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	text, err := json.Marshal(task)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	return cmd
}

// writeReport writes the report of a child process. collect reads it in the parent.
func writeReport(t *testing.T, path string, report any) {
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

// bytesIn returns the size of the files below a folder that match a pattern.
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
