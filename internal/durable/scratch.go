package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Scratch is a temporary folder of this process. The next process removes what a killed
// one left. A lock in the folder tells that its process lives: numbers of processes do
// not, since each container counts its own from 1, and two may share a volume.
type Scratch struct {
	Dir  string
	lock *flock.Flock
}

// scratchLock is the file in a scratch folder that its process holds.
const scratchLock = "lock"

// MakeScratch makes a folder in dir whose name begins with a prefix. What killed processes
// left there with that prefix is removed.
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

// Remove removes the folder with all that is in it.
func (s *Scratch) Remove() error { return errors.Join(s.lock.Unlock(), os.RemoveAll(s.Dir)) }

// removeAbandoned removes the scratch folders whose process has ended. What cannot be
// removed, since it is another user's, stays.
func removeAbandoned(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the caller's own work in the folder fails and says why
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, named := strings.Cut(rest, ".")
		pid, err := strconv.Atoi(number)
		if path := filepath.Join(dir, e.Name()); ours && named && err == nil && e.IsDir() && isAbandoned(path, pid) {
			_ = os.RemoveAll(path)
		}
	}
}

// isAbandoned looks at the lock, or at the process where there is none yet: a folder that
// is just being made, or that an older program made.
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
