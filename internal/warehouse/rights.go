package warehouse

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"placementsync/internal/durable"
)

// makePublic makes a folder for published files, and those above it.
func (w *Warehouse) makePublic(dir string) error {
	if err := os.MkdirAll(dir, publicDir); err != nil || w.cfg.PublishedMode == 0 {
		return err
	}
	return os.Chmod(dir, folderMode(w.cfg.PublishedMode))
}

// makePublicAbove makes the two folders above a published file of the series.
func (w *Warehouse) makePublicAbove(path string) error {
	if err := w.makePublic(filepath.Dir(filepath.Dir(path))); err != nil {
		return err
	}
	return w.makePublic(filepath.Dir(path))
}

// publicMode returns the rights of a published file. Where the umask decides, it
// makes a file and looks: nothing else works on every system.
func (w *Warehouse) publicMode(dir string) (mode fs.FileMode, err error) {
	if w.cfg.PublishedMode != 0 {
		return w.cfg.PublishedMode, nil
	}
	f, err := durable.CreateTemp(filepath.Join(dir, "rights"), publicFile)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// folderMode adds to the rights of files those to enter their folder.
func folderMode(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 }

// harden sets the rights of a file or folder and syncs it.
func (w *Warehouse) harden(path string, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	return w.disk.Sync(path)
}

// stepLabel names a file or folder by what is the same in every run: a draft and a
// version have the name of their run, a segment of the inbox that of its time.
func stepLabel(path string) string {
	name := filepath.Base(path)
	run, _, _ := strings.Cut(strings.TrimPrefix(name, "."), ".")
	if _, ok := RunTime(run); ok {
		return "of the version"
	}
	if ext := filepath.Ext(name); ext == ".open" || ext == ".log" {
		return "of the inbox"
	}
	return name
}
