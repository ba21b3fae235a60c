package warehouse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// UnfinishedRestoreError means that the folder contains only a part of a backup, because its restore has not
// ended. A night or a rebuild would publish this part as if it were everything.
type UnfinishedRestoreError struct {
	// From is the address of the backup.
	From string `json:"from"`
	// StartedAt is the time at which the restore was started last.
	StartedAt time.Time `json:"started_at"`
}

func (e *UnfinishedRestoreError) Error() string {
	return fmt.Sprintf("open the warehouse: the restore from %s is not finished, and files are still missing; nothing was changed: "+
		"run placementsync rebuild --from %[1]s, which fetches the missing files", e.From)
}

// restoreFile exists while a restore is not finished.
func (f *Folder) restoreFile() StateFile { return f.StateFile("restore.json") }

// CheckRestored returns an *UnfinishedRestoreError if a restore was begun in this folder and is not finished.
func (f *Folder) CheckRestored() error {
	unfinished := &UnfinishedRestoreError{}
	exists, err := f.restoreFile().Read(unfinished)
	if errors.As(err, new(*DamagedError)) {
		return &UnfinishedRestoreError{From: "s3://BUCKET/PREFIX"}
	}
	if err != nil || !exists {
		return err
	}
	return unfinished
}

// LockForRestore locks the warehouse like Lock, and records that a restore from a backup has begun. Until
// FinishRestore, Lock returns an *UnfinishedRestoreError.
func (w *Warehouse) LockForRestore(from string, now time.Time) (*Lock, error) {
	l, err := w.tryLock()
	if err != nil {
		return nil, err
	}
	err = l.WriteHolder("restore", now)
	if err == nil {
		err = w.Folder.restoreFile().Write(UnfinishedRestoreError{from, now.UTC()})
	}
	if err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// FinishRestore records that all files of the backup that can be read are restored. The caller must have the
// lock of LockForRestore.
func (w *Warehouse) FinishRestore() error { return w.Folder.disk.Remove(w.Folder.restoreFile().path) }

// RestoreFile writes a file of a backup to a path in the warehouse, atomically. fill writes the content. If fill fails,
// an existing file is unchanged.
func (f *Folder) RestoreFile(path string, fill func(f *os.File) error) error {
	if strings.HasPrefix(f.Relative(path), StateDir+"/") {
		if err := f.disk.MakeFolder(filepath.Dir(path), privateDir); err != nil {
			return err
		}
		return f.disk.WriteAtomically(path, privateFile, fill)
	}
	if err := f.MakePublicAbove(path); err != nil {
		return err
	}
	return f.disk.WriteAtomically(path, publicFile, func(file *os.File) error {
		err := fill(file)
		if err == nil && f.mode != 0 {
			err = file.Chmod(f.mode)
		}
		return err
	})
}
