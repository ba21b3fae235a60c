package warehouse

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What is private to a process until it is done bears the number of that process, so
// that the next one can tell what a killed one has left behind.

// OfProcess is a prefix with the number of this process behind it.
func OfProcess(prefix string) string { return prefix + strconv.Itoa(os.Getpid()) + "." }

// ClearDead removes from a folder what begins with a prefix and the number of a
// process that is no more, see OfProcess. What cannot be removed, since it is
// another user's, stays.
func ClearDead(dir, prefix string) {
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return // whoever works there next says why
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, named := strings.Cut(rest, ".")
		if pid, err := strconv.Atoi(number); ours && named && err == nil && !alive(pid) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
