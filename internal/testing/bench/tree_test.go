package bench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sampleEvery is the interval of memory samples of a process and its children.
const sampleEvery = 250 * time.Millisecond

// measureTree measures a command together with its child processes. For memory, the system reports
// only the largest process, which would favor programs with many processes. measureTree therefore
// samples the memory of all processes, with shared pages counted once, and uses the highest sum.
func measureTree(t *testing.T, cmd *exec.Cmd) usage {
	t.Helper()
	return measureWith(t, cmd, func(pid int, done <-chan struct{}) (peak float64) {
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return peak
			case <-ticker.C:
				peak = max(peak, residentTree(pid))
			}
		}
	})
}

// residentTree returns the memory of a process and all its descendants in bytes, or 0 if it
// is unknown.
func residentTree(root int) (sum float64) {
	children := processesByParent()
	for queue := []int{root}; len(queue) > 0; {
		pid := queue[0]
		queue = append(queue[1:], children[pid]...)
		// Pss divides the size of a shared page by the number of processes that share it.
		text := strings.TrimSuffix(valueOfLine(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), " kB")
		kibibytes, _ := strconv.ParseFloat(text, 64) // 0 for a process that has ended
		sum += kibibytes * 1024
	}
	return sum
}

// processesByParent returns the ids of all processes of the system by the id of their parent.
func processesByParent() map[int][]int {
	children := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		// The program name in parentheses may contain spaces and parentheses. The state and the
		// id of the parent follow it.
		fields := strings.Fields(string(data)[strings.LastIndexByte(string(data), ')')+1:])
		if len(fields) < 2 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], pid)
	}
	return children
}

// TestMeasureTree measures a shell whose child does the work.
func TestMeasureTree(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not available")
	}
	cmd := exec.CommandContext(t.Context(), shell, "-c",
		`bash -c 'x=$(head -c 60000000 /dev/zero | tr "\0" a); for ((i = 0; i < 300000; i++)); do :; done; echo ${#x}'; true`)
	u := measureTree(t, cmd)
	if u.CPU < 0.05 {
		t.Errorf("got %.2f CPU s, want at least 0.05, which the child alone takes", u.CPU)
	}
	if u.RSS < 60e6 {
		t.Errorf("got %.0f bytes of memory, want at least the 60,000,000 of the child", u.RSS)
	}
}
