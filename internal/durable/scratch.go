package durable

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Scratch is a temporary folder of this process. It contains a locked file, so that the next
// process can distinguish the folders of killed processes from folders in use.
type Scratch struct {
	Dir  string
	lock *flock.Flock
}

// scratchLock is the lock file in a scratch folder.
const scratchLock = "lock"

// MakeScratch makes a scratch folder in dir. The name of the new folder begins with prefix. MakeScratch
// first removes the folders with this prefix that killed processes left.
func MakeScratch(dir, prefix string) (*Scratch, error) {
	for path, pid := range findProcessFiles(dir, prefix) {
		if isAbandoned(path, pid) {
			_ = os.RemoveAll(path)
		}
	}
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

// isAbandoned reports whether the process that made a scratch folder has ended. It tries to lock the lock
// file. A folder without a lock file is new, or was made by an older release. For such a folder,
// isAbandoned reports whether no process has the id pid.
func isAbandoned(path string, pid int) bool {
	file := filepath.Join(path, scratchLock)
	if _, err := os.Stat(file); err != nil {
		return !isAlive(pid)
	}
	lock := flock.New(file)
	gotLock, err := lock.TryLock()
	if err != nil || !gotLock {
		return false
	}
	return lock.Unlock() == nil
}
