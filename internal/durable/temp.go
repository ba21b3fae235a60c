package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A temporary file or folder is beside the path whose name it will get. Its process locks
// it, so that the next process can remove those of killed ones and leaves those that are
// being written. Process numbers do not tell the two apart: a container gives each process
// the number of the one before it, and two containers may share a volume.

// processPrefix is a prefix followed by the number of this process.
func processPrefix(prefix string) string { return prefix + strconv.Itoa(os.Getpid()) + "." }

// removeDead removes the temporary files and folders of killed processes from a folder:
// those whose name is the prefix, a process number and more. It ignores those that it
// cannot remove, which belong to another user.
func removeDead(dir, prefix string) {
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return // the caller's own work in the folder fails and says why
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, named := strings.Cut(rest, ".")
		pid, err := strconv.Atoi(number)
		if !ours || !named || err != nil || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		removeUnlocked(filepath.Join(dir, e.Name()), pid)
	}
}

// removeUnlocked removes a file or folder unless a process has locked it. Where files
// cannot be locked it asks whether the process of that number exists.
func removeUnlocked(path string, pid int) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // releases the lock
	locked, err := tryLock(f)
	if locked || err != nil && !IsAlive(pid) {
		_ = os.RemoveAll(path)
	}
}

// IsAlive reports whether a process exists, as far as that can be known.
func IsAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// TempError says that the folder of temporary files cannot be used.
type TempError struct {
	Dir string
	Err error
}

func (e *TempError) Error() string {
	err := e.Err
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return fmt.Sprintf("make a temporary folder in %q (TMPDIR): %v: let the environment variable TMPDIR name a folder that you can write to; nothing was begun", e.Dir, err)
}

// Unwrap returns the error of the system.
func (e *TempError) Unwrap() error { return e.Err }

// MakeTemp makes a scratch folder among the temporary files of the system. Errors are
// *TempError.
func MakeTemp(prefix string) (*Scratch, error) {
	scratch, err := MakeScratch(os.TempDir(), prefix)
	if err != nil {
		return nil, &TempError{os.TempDir(), err}
	}
	return scratch, nil
}

// CheckTemp returns a *TempError when temporary files cannot be made, for commands that
// need them late.
func CheckTemp() error {
	scratch, err := MakeTemp("placementsync-check-")
	if err != nil {
		return err
	}
	return scratch.Remove()
}

// CreateTemp makes a new file in the folder of path, with the rights that the umask
// leaves of mode; os.CreateTemp knows one mode only. Until the file is closed no other
// process removes it.
func CreateTemp(path string, mode fs.FileMode) (*os.File, error) {
	return newTemp(path, func(name string) (*os.File, error) {
		return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	})
}

// newTemp tries names in the folder of path until create finds one free, and locks the
// new file or folder. It first removes those of the same path that killed processes left.
func newTemp(path string, create func(name string) (*os.File, error)) (*os.File, error) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	removeDead(dir, prefix)
	for {
		name := filepath.Join(dir, processPrefix(prefix)+strconv.FormatUint(uint64(rand.Uint32()), 10))
		f, err := create(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Another process may have found it before it was locked, and removed it.
		if locked, err := tryLock(f); err != nil || locked && isStillAt(f, name) {
			return f, nil
		}
		_ = f.Close()
		_ = os.RemoveAll(name)
	}
}

// isStillAt reports whether an open file or folder has this name.
func isStillAt(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(opened, named)
}

// RemoveTemps removes all temporary files of path, of whatever process. Nobody else
// may be writing it.
func RemoveTemps(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+filepath.Base(path)+".") {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}
