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

// Temporary files and folders have the number of their process in their name, so
// that the next process can remove what a killed one left.

// processPrefix is a prefix followed by the number of this process.
func processPrefix(prefix string) string { return prefix + strconv.Itoa(os.Getpid()) + "." }

// removeDead removes from a folder what begins with a prefix and the number of a
// process that no longer exists, see processPrefix. What cannot be removed, since
// it is another user's, stays.
func removeDead(dir, prefix string) {
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return // the caller's own work in the folder fails and says why
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), prefix)
		number, _, named := strings.Cut(rest, ".")
		if pid, err := strconv.Atoi(number); ours && named && err == nil && !IsAlive(pid) {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
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
// leaves of mode; os.CreateTemp knows one mode only.
func CreateTemp(path string, mode fs.FileMode) (f *os.File, err error) {
	err = nameTemp(path, func(name string) error {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return f, err
}

// nameTemp tries names in the folder of path until create finds one free. What
// killed processes left of the same path is removed.
func nameTemp(path string, create func(name string) error) error {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	removeDead(dir, prefix)
	for {
		name := processPrefix(prefix) + strconv.FormatUint(uint64(rand.Uint32()), 10)
		if err := create(filepath.Join(dir, name)); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
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
