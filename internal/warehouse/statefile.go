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

// StateFile is a JSON file below state/ that contains its own checksum.
type StateFile struct {
	folder *Folder
	path   string
}

// StateFile returns the file below state/ whose path has the given elements.
func (f *Folder) StateFile(names ...string) StateFile {
	return StateFile{f, f.Path(append([]string{StateDir}, names...)...)}
}

// Read reads the file. ok is false if the file does not exist. If the file is damaged, Read returns a
// *DamagedError.
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
		err = s.folder.disk.MakeFolder(filepath.Dir(s.path), privateDir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	return s.folder.disk.WriteFile(s.path, data, privateFile)
}

const lockSuffix = ".lock"

// LockJob locks a job, such as "backup". Each job has its own lock, so that it can run at the same time
// as a night. LockJob returns a *LockedError if another process has locked the job.
func (f *Folder) LockJob(name string) (unlock func() error, err error) {
	if err := f.CheckExists(); err != nil {
		return nil, err
	}
	path := f.Path(StateDir, name+lockSuffix)
	lock := flock.New(path, flock.SetPermissions(privateFile))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the job with the file %s: %w", path, err)
	}
	if !ok {
		return nil, &LockedError{Job: name}
	}
	return lock.Unlock, nil
}
