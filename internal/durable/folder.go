package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFolder creates a temporary folder, calls fill to write its files, syncs it and
// renames it to path. It replaces an existing folder atomically if the file system can
// exchange two names. Otherwise path does not exist for a moment. If fill fails,
// path is unchanged. The umask decides who may read the folder.
func WriteFolder(path string, fill func(dir string) error) (err error) {
	const public = 0o755
	temp, err := newTemp(path, func(name string) (*os.File, error) {
		if err := os.Mkdir(name, public); err != nil {
			return nil, err
		}
		return os.Open(name)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, temp.Close()) }() // releases the lock
	tempPath := temp.Name()
	if err = fill(tempPath); err == nil {
		err = setModesAndSync(tempPath)
	}
	if err == nil {
		err = os.Rename(tempPath, path)
		// rename cannot replace a folder that is not empty.
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
			err = exchangeNames(tempPath, path)
		}
	}
	if err == nil {
		err = syncPath(filepath.Dir(path))
	}
	// tempPath is now the incomplete new folder or, after an exchange, the old folder. After a plain
	// rename it does not exist.
	if err = errors.Join(err, os.RemoveAll(tempPath)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// setModesAndSync syncs a folder and its content. All folders get the mode of the top folder, and all files
// this mode without the right to execute, so that the same users can read files and folders.
func setModesAndSync(dir string) error {
	const publicFile = 0o644
	top, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := top.Mode().Perm()
		if !entry.IsDir() {
			mode &= publicFile
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		return syncPath(path)
	})
}

// exchangeWithRenames exchanges the names of two folders with three renames, for file systems
// that cannot exchange names. For a moment b does not exist.
func exchangeWithRenames(a, b string) error {
	oldB := a + ".old"
	if err := os.Rename(b, oldB); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(oldB, b))
	}
	return os.Rename(oldB, a)
}
