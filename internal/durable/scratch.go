package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Scratch is a temporary folder of this process. A lock in it shows that the process is
// running, and the next process removes the folders of killed ones. Process ids alone are
// not enough: two containers that share a volume both count from 1.
type Scratch struct {
	Dir  string
	lock *flock.Flock
}

// scratchLock is the lock file in a scratch folder.
const scratchLock = "lock"

// MakeScratch makes a folder in dir whose name begins with prefix. It first removes the
// folders of killed processes with this prefix.
func MakeScratch(dir, prefix string) (*Scratch, error) {
	removeAbandoned(dir, prefix)
	path, err := os.MkdirTemp(dir, processPrefix(prefix)+"*")
	if err != nil {
		return nil, err
	}
	s := &Scratch{path, flock.New(filepath.Join(path, scratchLock))}
	if _, err := s.lock.TryLock(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return s, nil
}

// Remove removes the folder with its content.
func (s *Scratch) Remove() error { return errors.Join(s.lock.Unlock(), os.RemoveAll(s.Dir)) }

// removeAbandoned removes the scratch folders of ended processes. It ignores folders of
// other users, which it may not remove.
func removeAbandoned(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the caller's own use of the folder returns the error
	}
	for _, e := range entries {
		rest, hasPrefix := strings.CutPrefix(e.Name(), prefix)
		number, _, hasNumber := strings.Cut(rest, ".")
		pid, err := strconv.Atoi(number)
		if path := filepath.Join(dir, e.Name()); hasPrefix && hasNumber && err == nil && e.IsDir() && isAbandoned(path, pid) {
			_ = os.RemoveAll(path)
		}
	}
}

// isAbandoned reports whether no process uses a scratch folder. A folder without a lock was
// just made, or an older program made it: then the process id decides.
func isAbandoned(path string, pid int) bool {
	file := filepath.Join(path, scratchLock)
	if _, err := os.Stat(file); err != nil {
		return !IsAlive(pid)
	}
	lock := flock.New(file)
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return false
	}
	return lock.Unlock() == nil
}
