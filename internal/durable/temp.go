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

// A temporary file or folder is created beside the path to which it will be renamed. The writing
// process locks it, so that the next process can distinguish files of killed processes from files
// in use. Process ids are not enough: in a container a new process can have the id of its
// predecessor, and two containers can share a volume.

func processPrefix(prefix string) string { return prefix + strconv.Itoa(os.Getpid()) + "." }

// removeAbandoned removes the files and folders of killed processes in dir. Their names consist of prefix, a
// process id, a dot and any text. lockName is the locked file in a folder. If it is empty, the file or folder
// itself is locked.
func removeAbandoned(dir, prefix, lockName string) {
	entries, _ := os.ReadDir(cmp.Or(dir, ".")) // the caller gets the same error when it uses the folder
	for _, e := range entries {
		suffix, hasPrefix := strings.CutPrefix(e.Name(), prefix)
		number, _, hasDot := strings.Cut(suffix, ".")
		pid, err := strconv.Atoi(number)
		path := filepath.Join(dir, e.Name())
		if hasPrefix && hasDot && err == nil && (e.IsDir() || e.Type().IsRegular()) {
			removeIfAbandoned(path, filepath.Join(path, lockName), pid)
		}
	}
}

// removeIfAbandoned removes path if no process has locked lockPath. If the file system has no locks, or if the
// lock file does not exist because its folder is new, it removes path if no process has the id pid. A file that
// cannot be opened, such as a file of another user, is kept. The lock is held until path is removed, because
// another process could lock a new file in between.
func removeIfAbandoned(path, lockPath string, pid int) {
	f, err := os.OpenFile(lockPath, os.O_RDWR, 0) // NFS locks no file that is open only for reading
	if errors.Is(err, syscall.EISDIR) {
		f, err = os.Open(lockPath)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !isAlive(pid) {
			_ = os.RemoveAll(path)
		}
		return
	}
	defer func() { _ = f.Close() }() // releases the lock
	gotLock, err := tryLock(f)
	hasNoLocks := err != nil
	if gotLock || hasNoLocks && !isAlive(pid) {
		_ = os.RemoveAll(path)
	}
}

// tryLock locks an open file or folder until it is closed. gotLock is false if this process or another
// process has locked the file through another handle. err is set if the file system has no locks.
func tryLock(f *os.File) (gotLock bool, err error) {
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

// claim locks a new file or folder at path. It returns false if removeAbandoned of another process has locked or
// removed it first.
func claim(f *os.File, path string) bool {
	gotLock, err := tryLock(f)
	if err != nil {
		return true // Without locks, the process id in the name protects it from removeAbandoned.
	}
	return gotLock && isStillAt(f, path)
}

func isStillAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named)
}

func isAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

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
		if claim(lock, lockPath) {
			return &Scratch{path, lock}, nil
		}
		_ = lock.Close()
		_ = os.RemoveAll(path)
	}
}

func (s *Scratch) Remove() error { return errors.Join(s.lock.Close(), os.RemoveAll(s.Dir)) }

// TempError reports that the folder for temporary files cannot be used.
type TempError struct {
	Dir string
	Err error
}

func (e *TempError) Error() string {
	err := e.Err
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return fmt.Sprintf("make a temporary folder in %q (TMPDIR): %v: set the environment variable TMPDIR to a folder that this user can write to", e.Dir, err)
}

func (e *TempError) Unwrap() error { return e.Err }

// MakeTempFolder makes a scratch folder in the system's folder for temporary files. Errors are *TempError.
func MakeTempFolder(prefix string) (*Scratch, error) {
	scratch, err := MakeScratch(os.TempDir(), prefix)
	if err != nil {
		return nil, &TempError{os.TempDir(), err}
	}
	return scratch, nil
}

// CheckTemp returns a *TempError if no temporary files can be made. Commands call it before long
// work whose last step needs temporary files.
func CheckTemp() error {
	scratch, err := MakeTempFolder("placementsync-check-")
	if err != nil {
		return err
	}
	return scratch.Remove()
}

// CreateTempFile creates a new file in the folder of path. Unlike os.CreateTemp it takes a
// mode, to which the umask applies. No other process removes the file until it is closed.
func (d Disk) CreateTempFile(path string, mode fs.FileMode) (*os.File, error) {
	return newTemp(path, func(name string) (*os.File, error) { return createFile(name, mode) })
}

// createFile fails with fs.ErrExist if the name exists. The umask applies to mode.
func createFile(path string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// newTemp calls create with names in the folder of path until a name is free, and locks the
// new file or folder. It first removes the temporary files of path that killed processes left.
func newTemp(path string, create func(name string) (*os.File, error)) (*os.File, error) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	removeAbandoned(dir, prefix, "")
	for {
		name := filepath.Join(dir, processPrefix(prefix)+strconv.FormatUint(uint64(rand.Uint32()), 10))
		f, err := create(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if claim(f, name) {
			return f, nil
		}
		_ = f.Close()
		_ = os.RemoveAll(name)
	}
}
