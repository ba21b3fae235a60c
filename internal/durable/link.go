package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SwapLink creates a symbolic link, or replaces an existing link or file atomically.
func (d Disk) SwapLink(target, link string) error {
	if current, err := os.Readlink(link); err == nil && current == target {
		return nil
	}
	return d.replacePath(link, d.Rename, func(tempPath string) error {
		return d.Do("link", link, func() error { return os.Symlink(target, tempPath) })
	})
}

// Link creates a hard link to a file. If the link fails, as on file systems without hard links, Link
// makes a copy. It replaces an existing file atomically. The folder of the new path must exist.
func (d Disk) Link(from, to string) error {
	if err := d.LinkUnsynced(from, to); err != nil {
		return err
	}
	return d.Do("fsync beside", to, func() error { return syncPath(filepath.Dir(to)) })
}

// LinkUnsynced is like Link. The caller syncs the folder of the new path afterwards. This way, one sync
// suffices for many files.
func (d Disk) LinkUnsynced(from, to string) error {
	return d.replacePath(to, d.RenameUnsynced, func(tempPath string) error {
		if d.Do("link", to, func() error { return os.Link(from, tempPath) }) == nil {
			return nil
		}
		return d.copyWithTime(from, tempPath)
	})
}

// Copy copies a file and replaces an existing file atomically. The folder of the new path must exist.
func (d Disk) Copy(from, to string) error {
	return d.replacePath(to, d.Rename, func(tempPath string) error { return d.copyWithTime(from, tempPath) })
}

// replacePath calls create with a temporary path, and rename to move the created file or link to path.
// It first removes the temporary file of a killed process.
func (d Disk) replacePath(path string, rename func(from, to string) error, create func(tempPath string) error) error {
	tempPath := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	if err := os.Remove(tempPath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := create(tempPath); err != nil {
		return err
	}
	return rename(tempPath, path)
}

// copyWithTime copies a file with its mode and its modification time. SameFile compares these times.
// Between two files, io.Copy uses copy_file_range. On btrfs, XFS and bcachefs the copy then shares the
// blocks of the original.
func (d Disk) copyWithTime(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	err = d.CopyWith(from, to, func(dst, src *os.File) error { _, err := io.Copy(dst, src); return err })
	if err != nil {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// CopyWith creates a new file, calls copyTo to copy the content, and syncs the new file. After an error
// the new file may exist and be incomplete.
func (d Disk) CopyWith(from, to string, copyTo func(dst, src *os.File) error) (err error) {
	const public = 0o644
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := d.Create(to, public)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := d.Do("copy", to, func() error { return copyTo(dst, src) }); err != nil {
		return err
	}
	return d.Do("fsync", to, dst.Sync)
}

// SameFile reports whether two paths lead to the same file, or to a file and its copy made by Link
// or Copy. A copy has the size and the modification time of the original.
func SameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return false
	}
	return os.SameFile(infoA, infoB) || infoA.Size() == infoB.Size() && infoA.ModTime().Equal(infoB.ModTime())
}
