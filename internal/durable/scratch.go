package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Scratch is a temporary folder of this process. It contains a locked file, so that the next
// process can distinguish the folders of killed processes from folders in use.
type Scratch struct {
	Dir  string
	lock *os.File
}

// MakeScratch makes a scratch folder in dir, whose name begins with prefix. It first removes the folders with
// this prefix that killed processes left.
func MakeScratch(dir, prefix string) (*Scratch, error) {
	const lockName = "lock"
	removeAbandoned(dir, prefix, lockName)
	for {
		path, err := os.MkdirTemp(dir, processPrefix(prefix)+"*")
		if err != nil {
			return nil, err
		}
		const private = 0o600
		lockPath := filepath.Join(path, lockName)
		lock, err := os.OpenFile(lockPath, os.O_RDWR|os.O_CREATE, private)
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(path))
		}
		// Another process may have locked or removed the folder before it was locked. Without
		// locks, removeAbandoned uses the process id.
		if gotLock, err := tryLock(lock); err != nil || gotLock && isStillAt(lock, lockPath) {
			return &Scratch{path, lock}, nil
		}
		_ = lock.Close()
		_ = os.RemoveAll(path)
	}
}

// Remove removes the folder with its content.
func (s *Scratch) Remove() error { return errors.Join(s.lock.Close(), os.RemoveAll(s.Dir)) }
