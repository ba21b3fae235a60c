package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
)

const (
	megabyte = 1e6
	mebibyte = 1 << 20
)

// usage is the resource usage of a process. The CPU time includes its child processes, the memory does not.
type usage struct {
	wall, cpu float64 // seconds
	peak      float64 // resident memory in bytes
}

// measure runs a command until it ends, and samples its CPU time every 10 ms. If the command fails, the test
// fails with its output.
func measure(t *testing.T, cmd *exec.Cmd) (u usage, samples []cpuSample) {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	startedAt := time.Now()
	harness.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if sample, ok := sampleCPU(cmd.Process.Pid); ok {
				samples = append(samples, sample)
			}
		case err := <-ended:
			wall := time.Since(startedAt)
			if err != nil {
				t.Fatalf("%v: %v\n%s", cmd.Args, err, output.String())
			}
			state := cmd.ProcessState
			u = usage{wall: wall.Seconds(), cpu: (state.UserTime() + state.SystemTime()).Seconds()}
			if r, ok := state.SysUsage().(*syscall.Rusage); ok {
				u.peak = float64(r.Maxrss) * 1024 // Maxrss is in kibibytes on Linux
			}
			return u, samples
		}
	}
}

// cpuSample is the CPU time of a process until a time, in seconds.
type cpuSample struct {
	at  time.Time
	cpu float64
}

// sampleCPU reads the CPU time of a running process. It returns false if the process has ended.
func sampleCPU(pid int) (cpuSample, bool) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The fields follow the name of the program, which may contain spaces and parentheses.
	fields := strings.Fields(string(data)[strings.LastIndexByte(string(data), ')')+1:])
	if len(fields) < 13 {
		return cpuSample{}, false
	}
	const ticksPerSecond = 100 // USER_HZ on Linux
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return cpuSample{time.Now(), (user + system) / ticksPerSecond}, true
}

// cpuUntil returns the CPU time of the last sample before a time.
func cpuUntil(samples []cpuSample, at time.Time) (cpu float64) {
	for _, s := range samples {
		if s.at.Before(at) {
			cpu = s.cpu
		}
	}
	return cpu
}

// bytesIn returns the total size of the files that match a pattern.
func bytesIn(t *testing.T, pattern string) (sum float64) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	harness.Must(t, err)
	for _, path := range paths {
		info, err := os.Stat(path)
		harness.Must(t, err)
		sum += float64(info.Size())
	}
	return sum
}
