package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// taskVar is an environment variable. If it names a child task, this test binary runs the task
// instead of the tests. The first argument contains the fields of the task as JSON.
const taskVar = "PLACEMENTSYNC_BENCH_PROGRAM"

// childTask is a part of a measurement that runs in a child process.
type childTask interface{ run(context.Context) error }

// In a child process, TestMain runs a task. In any other process, it runs the tests.
func TestMain(m *testing.M) {
	name := os.Getenv(taskVar)
	if name == "" {
		m.Run()
		return
	}
	task := map[string]childTask{"baseline": &baseline{}, "decode": &decodeTask{}, "night": &nightTask{}, "service": &world{}, "year": &yearTask{}}[name]
	err := json.Unmarshal([]byte(os.Args[1]), task)
	if err == nil {
		err = task.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// usage is the resource usage of a process.
type usage struct {
	Wall, CPU float64 // seconds
	RSS       float64 // peak resident memory in bytes
}

// measure runs a command until it ends. If the command fails, the test fails with its output.
func measure(t *testing.T, cmd *exec.Cmd) usage {
	t.Helper()
	return measureWith(t, cmd, func(int, <-chan struct{}) float64 { return 0 })
}

// measureWith measures a command and runs watch concurrently. done is closed when the process ends.
// watch then returns the peak memory of the process in bytes.
func measureWith(t *testing.T, cmd *exec.Cmd, watch func(pid int, done <-chan struct{}) float64) usage {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout = &output
	if cmd.Stderr == nil {
		cmd.Stderr = &output
	}
	startedAt := time.Now()
	must(t, cmd.Start())
	done, peak := make(chan struct{}), make(chan float64, 1)
	go func() { peak <- watch(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	wall := time.Since(startedAt)
	close(done)
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, output.String())
	}
	state := cmd.ProcessState
	u := usage{Wall: wall.Seconds(), CPU: (state.UserTime() + state.SystemTime()).Seconds()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.RSS = float64(r.Maxrss) * 1024 // Maxrss is in kibibytes on Linux
	}
	u.RSS = max(u.RSS, <-peak)
	return u
}

// childCommand returns the command of a child process that runs the named task.
func childCommand(t *testing.T, name string, task childTask) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	fields, err := json.Marshal(task)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, string(fields))
	cmd.Env = append(os.Environ(), taskVar+"="+name)
	return cmd
}

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func readJSON(t *testing.T, path string, value any) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(data, value))
}

// bytesIn returns the total size of the files that match a pattern.
func bytesIn(t *testing.T, pattern string) (sum float64) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	must(t, err)
	for _, path := range paths {
		info, err := os.Stat(path)
		must(t, err)
		sum += float64(info.Size())
	}
	return sum
}
