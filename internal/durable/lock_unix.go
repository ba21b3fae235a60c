//go:build unix && !aix && !solaris

package durable

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks an open file or folder until it is closed. It returns false if another
// open file has locked it, in this process or another, and an error if the file system has
// no locks.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
