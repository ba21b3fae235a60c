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
	path, err := os.MkdirTemp(dir, processPrefix(prefix)+"*")
	if err != nil {
		return nil, err
	}
	const private = 0o600
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, private)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	_, _ = tryLock(lock) // without a lock, removeAbandoned uses the process id
	return &Scratch{path, lock}, nil
}

// Remove removes the folder with its content.
func (s *Scratch) Remove() error { return errors.Join(s.lock.Close(), os.RemoveAll(s.Dir)) }
