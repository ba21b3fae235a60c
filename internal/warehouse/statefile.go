package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"placementsync/internal/checksum"
)

// StateFile is a sealed file below state/, in which whoever works beside the nights
// remembers what it did.
type StateFile struct {
	folder *Folder
	path   string
}

// StateFile names a file below state/ by its folders and its name.
func (f *Folder) StateFile(parts ...string) StateFile {
	return StateFile{f, f.Path(append([]string{stateDir}, parts...)...)}
}

// Read reads the file; ok is false when there is none. The error is a *DamagedError when
// it is not what was written.
func (s StateFile) Read(into any) (ok bool, err error) {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", s.path, err)
	}
	if err := checksum.Unseal(data, into); err != nil {
		return false, s.folder.DamagedErr(s.path, err.Error(), nil)
	}
	return true, nil
}

// Write replaces the file atomically.
func (s StateFile) Write(value any) error {
	data, err := checksum.Seal(value)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(s.path), privateDir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	return s.folder.disk.WriteFile(s.path, data, privateFile)
}

// lockSuffix ends the names of files below state/ that are nothing but locks.
const lockSuffix = ".lock"

// LockWork keeps a second process from the work beside the nights that name stands for.
// Nights do not wait for it. It returns a *HeldError when another process is at it.
func (w *Warehouse) LockWork(name string) (unlock func() error, err error) {
	return w.Folder.StateFile(name + lockSuffix).lock()
}

func (s StateFile) lock() (unlock func() error, err error) {
	if err := s.folder.Exists(); err != nil {
		return nil, err
	}
	lock := flock.New(s.path, flock.SetPermissions(privateFile))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("take the lock %s: %w", s.path, err)
	}
	if !ok {
		return nil, &HeldError{}
	}
	return lock.Unlock, nil
}
