package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"placementsync/internal/durable"
)

// NoWarehouseError means that the folder contains no warehouse.
type NoWarehouseError struct{ Dir string }

func (e *NoWarehouseError) Error() string {
	return fmt.Sprintf("open the warehouse: %q contains no warehouse; nothing was changed: check warehouse.dir in the configuration, and that its disk is mounted; "+
		"placementsync run --new creates a new warehouse there, placementsync rebuild --from restores a backup", e.Dir)
}

// FolderError means that the folder of the warehouse cannot be used.
type FolderError struct {
	Dir string
	Err error
}

func (e *FolderError) Error() string {
	switch {
	case errors.Is(e.Err, syscall.ENOTDIR):
		return fmt.Sprintf("open the warehouse: %v: %q, or a path above or in it, is a file, not a folder; nothing in the warehouse was changed: correct warehouse.dir in the configuration", e.Err, e.Dir)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("open the warehouse: %v; nothing in the warehouse was changed: run the command as the user who owns %q, or correct the owner of the file", e.Err, e.Dir)
	}
	return fmt.Sprintf("open the warehouse: %v; nothing in the warehouse was changed: check that the disk of %q is mounted and can be written", e.Err, e.Dir)
}

// folderErr returns a *FolderError if err means that the folder cannot be used. Other errors, such as a
// full disk, only get a prefix.
func (f *Folder) folderErr(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &FolderError{f.dir, err}
	}
	return fmt.Errorf("open the warehouse: %w", err)
}

func (e *FolderError) Unwrap() error { return e.Err }

// CheckExists returns a *NoWarehouseError if there is neither a warehouse nor a restored backup, an
// *UnfinishedRestoreError if a backup is restored only in part, and a *FolderError if it cannot read the folder.
func (f *Folder) CheckExists() error {
	for _, name := range []string{VersionsDir, SeriesDir, StateDir} {
		info, err := os.Stat(f.Path(name))
		if err == nil && info.IsDir() {
			return f.CheckRestored()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &FolderError{f.dir, err}
		}
	}
	return &NoWarehouseError{f.dir}
}

// CheckWritable creates and removes a file in each folder to which a run writes, or in the nearest existing
// folder above a new warehouse. A full disk is a *DiskFullError, and an unusable folder is a *FolderError.
func (f *Folder) CheckWritable() error {
	var dirs []string
	for _, name := range slices.Concat(publicFolders(), privateFolders()) {
		if info, err := os.Stat(f.Path(name)); err == nil && info.IsDir() {
			dirs = append(dirs, f.Path(name))
		}
	}
	if len(dirs) == 0 {
		dirs = []string{f.nearestExisting()}
	}
	for _, dir := range dirs {
		probe, err := f.disk.CreateTempFile(filepath.Join(dir, "check"), privateFile)
		if err == nil {
			_, err = probe.Write(make([]byte, 4<<10)) // one block
			err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
		}
		if err != nil {
			return f.DiskFullErr(f.folderErr(err))
		}
	}
	return nil
}

func (f *Folder) nearestExisting() string {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return f.dir
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// FreeBytes returns the space that an unprivileged user can still use on the disk of the warehouse.
func (f *Folder) FreeBytes() (int64, error) {
	dir := f.nearestExisting()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("read the free space on the disk of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}

// DiskFullError means that the disk of the warehouse is full.
type DiskFullError struct {
	Dir string
	Err error
}

func (e *DiskFullError) Error() string {
	cause, _, _ := strings.Cut(e.Err.Error(), "\n")
	return fmt.Sprintf("write to the warehouse %q: the disk is full or the quota is used up: %s; published snapshots and stored responses are kept: "+
		"free some space, or run placementsync prune, then repeat the command", e.Dir, cause)
}

func (e *DiskFullError) Unwrap() error { return e.Err }

// DiskFullErr turns an error of a full disk into a *DiskFullError, and returns any other error unchanged.
func (f *Folder) DiskFullErr(err error) error {
	if !durable.IsFull(err) || errors.As(err, new(*DiskFullError)) {
		return err
	}
	return &DiskFullError{f.dir, err}
}
