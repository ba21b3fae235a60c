package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SwapLink replaces the target of a symbolic link atomically.
func (d Disk) SwapLink(target, link string) error {
	if current, err := os.Readlink(link); err == nil && current == target {
		return nil
	}
	return d.replacePath(link, func(next string) error {
		return d.Do("link", link, func() error { return os.Symlink(target, next) })
	})
}

// Link creates a hard link to a file, or a copy if that fails, as on file systems without
// hard links. It replaces an existing file atomically. The folder of to must exist.
func (d Disk) Link(from, to string) error {
	return d.replacePath(to, func(next string) error {
		if d.Do("link", to, func() error { return os.Link(from, next) }) == nil {
			return nil
		}
		return d.copyWithTime(from, next)
	})
}

// Copy copies a file and replaces an existing file atomically. The folder of to must exist.
func (d Disk) Copy(from, to string) error {
	return d.replacePath(to, func(next string) error { return d.copyWithTime(from, next) })
}

// replacePath calls create with a temporary path and renames the new file to path. It first
// removes the temporary file of a killed process.
func (d Disk) replacePath(path string, create func(next string) error) error {
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := create(next); err != nil {
		return err
	}
	return d.Rename(next, path)
}

// copyWithTime copies a file with its modification time, by which SameFile recognizes it.
// Between two files io.Copy uses copy_file_range, which shares blocks on btrfs, XFS and
// bcachefs.
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

// CopyWith creates a file, calls copyTo to copy the content and syncs it. After an error the
// new file may exist.
func (d Disk) CopyWith(from, to string, copyTo func(dst, src *os.File) error) (err error) {
	const public = 0o644
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, public)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := d.Do("copy", to, func() error { return copyTo(dst, src) }); err != nil {
		return err
	}
	return d.Do("fsync", to, dst.Sync)
}

// SameFile reports whether two names lead to the same file, or to a copy made by Link or
// Copy, which has the modification time of the original to the nanosecond.
func SameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX != nil || errY != nil {
		return false
	}
	return os.SameFile(x, y) || x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
}
