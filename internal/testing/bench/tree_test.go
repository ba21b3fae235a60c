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

// sampleEvery is how often the memory of a process and its children is added up.
const sampleEvery = 250 * time.Millisecond

// measureTree measures a command together with the processes that it starts. Their CPU
// time comes from the system once they have been waited for. Their memory is the
// highest sum seen, in which a page that several of them share counts once: what the
// system says of the largest process alone would flatter who has many.
func measureTree(t *testing.T, cmd *exec.Cmd) usage {
	t.Helper()
	return watched(t, cmd, func(pid int, done <-chan struct{}) (most float64) {
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return most
			case <-ticker.C:
				most = max(most, residentTree(pid))
			}
		}
	})
}

// residentTree adds up the memory of a process and of all that descend from it, in
// bytes; 0 where the system has no such files.
func residentTree(root int) (sum float64) {
	children := childrenOf()
	for open := []int{root}; len(open) > 0; {
		pid := open[0]
		open = append(open[1:], children[pid]...)
		// Pss divides the pages that processes share among them.
		text := strings.TrimSuffix(lineOf(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), " kB")
		kilobytes, _ := strconv.ParseFloat(text, 64) // 0 of a process that has ended
		sum += kilobytes * 1024
	}
	return sum
}

// childrenOf lists the processes of the system by their parent.
func childrenOf() map[int][]int {
	children := map[int][]int{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		// The name in parentheses may hold anything; state and parent follow it.
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

// TestMeasureTree starts a shell whose child does the work, and expects both to be
// accounted.
func TestMeasureTree(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.CommandContext(t.Context(), shell, "-c",
		`bash -c 'x=$(head -c 60000000 /dev/zero | tr "\0" a); for ((i = 0; i < 300000; i++)); do :; done; echo ${#x}'; true`)
	u := measureTree(t, cmd)
	if u.CPU < 0.05 {
		t.Errorf("%.2f CPU s are accounted, and the child alone takes more", u.CPU)
	}
	if u.RSS < 60e6 {
		t.Errorf("%.0f bytes of memory are accounted, and the child alone holds 60,000,000", u.RSS)
	}
}
