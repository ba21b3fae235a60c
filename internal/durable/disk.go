// Package durable changes files so that a kill or a power cut leaves either the old or the
// new state. The program makes all renames and links with this package.
// A Disk calls its function Step before and after each change. In Step, tests can kill the process or
// simulate a disk error.
// The package must not know the meaning of the files, such as runs, versions and inboxes.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Disk changes files and folders. The zero Disk has no Step.
type Disk struct {
	// Step, if set, is called before and after each change, and in the middle of each
	// write, with a name such as "before fsync manifest.json" and the path of the changed
	// file. An error of Step becomes the error of the change. If the call before a change
	// fails, the change is not made.
	Step func(name, path string) error
	// Label, if set, returns the name of a file or folder for Step, so that step names are
	// the same in every run. It defaults to filepath.Base.
	Label func(path string) string
}

func (d Disk) label(path string) string {
	if d.Label == nil {
		return filepath.Base(path)
	}
	return d.Label(path)
}

// Do makes one change, and calls Step before and after it. The names of these steps end with action and the label
// of path.
func (d Disk) Do(action, path string, change func() error) error {
	if d.Step == nil {
		return change()
	}
	name := action + " " + d.label(path)
	if err := d.Step("before "+name, path); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	return d.Step("after "+name, path)
}

// writeParts calls write with data. If Step is set, it calls write for each half of data, and Step in between,
// so that tests can interrupt the write.
func (d Disk) writeParts(path string, data []byte, write func(part []byte) error) error {
	return d.Do("write", path, func() error {
		if d.Step == nil {
			return write(data)
		}
		middle := len(data) / 2
		if err := write(data[:middle]); err != nil {
			return err
		}
		if err := d.Step("mid write "+d.label(path), path); err != nil {
			return err
		}
		return write(data[middle:])
	})
}

// path is the final path of f, for the names of the steps.
func (d Disk) write(f *os.File, path string, data []byte) error {
	return d.writeParts(path, data, func(part []byte) error {
		_, err := f.Write(part)
		return err
	})
}

// WriteAt writes data to a file at an offset and does not sync it. After an error it is unknown how much of the
// data the file contains.
func (d Disk) WriteAt(f *os.File, data []byte, offset int64) error {
	return d.writeParts(f.Name(), data, func(part []byte) error {
		n, err := f.WriteAt(part, offset)
		offset += int64(n)
		return err
	})
}

// Append appends data to a file and syncs it. After an error it is unknown how much of the
// data the disk contains.
func (d Disk) Append(f *os.File, data []byte) error {
	if err := d.write(f, f.Name(), data); err != nil {
		return err
	}
	return d.Do("fsync", f.Name(), f.Sync)
}

// AppendLine appends one line to a file, or to a new file, and syncs it. It first ends a line that is incomplete
// after a crash, so that the new line is not damaged too.
func (d Disk) AppendLine(path string, line []byte, mode fs.FileMode) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("append to %s: %w", path, err)
		}
	}()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	isComplete, err := endsWithNewline(f)
	if err != nil {
		return err
	}
	text := slices.Concat(line, []byte("\n"))
	if !isComplete {
		text = slices.Concat([]byte("\n"), text)
	}
	return d.Append(f, text)
}

// endsWithNewline returns true for an empty file.
func endsWithNewline(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() == 0 {
		return true, nil
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return last[0] == '\n', err
}

// WriteFile replaces path with data atomically. The umask applies to mode.
func (d Disk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	return d.WriteAtomically(path, mode, func(f *os.File) error { return d.write(f, path, data) })
}

// WriteFileExactMode is like WriteFile, but ignores the umask.
func (d Disk) WriteFileExactMode(path string, data []byte, mode fs.FileMode) error {
	const private = 0o600
	return d.WriteAtomically(path, private, func(f *os.File) error {
		if err := d.write(f, path, data); err != nil {
			return err
		}
		return f.Chmod(mode)
	})
}

// RewriteFile replaces the content of an existing file atomically and keeps its owner,
// group and mode. It follows symbolic links.
func (d Disk) RewriteFile(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	const private = 0o600
	return d.WriteAtomically(path, private, func(f *os.File) error {
		return errors.Join(d.write(f, path, data), AccessOf(info).apply(f))
	})
}

// CreateFile writes a new file atomically. It fails with fs.ErrExist if the name exists,
// even if it is a broken symbolic link. The umask applies to mode. If access is not nil, the file
// gets the owner and group in access, and the mode bits that are both in access and in mode.
func (d Disk) CreateFile(path string, data []byte, mode fs.FileMode, access *Access) error {
	return d.writeViaTemp(path, mode, d.renameToNew, func(f *os.File) error {
		if err := d.write(f, path, data); err != nil {
			return err
		}
		if access == nil {
			return nil
		}
		return Access{access.UID, access.GID, access.Mode & mode}.apply(f)
	})
}

// renameToNew fails if the new name exists.
func (d Disk) renameToNew(from, to string) error {
	linkErr := d.Do("link", to, func() error { return os.Link(from, to) })
	if linkErr == nil {
		return errors.Join(os.Remove(from), d.syncParent(to))
	}
	if errors.Is(linkErr, fs.ErrExist) {
		return linkErr
	}
	// The file system may have no hard links. Rename would replace an existing file.
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return linkErr
	}
	return d.Rename(from, to)
}

// Access is the owner, group and mode of a file.
type Access struct {
	UID, GID int
	Mode     fs.FileMode
}

// AccessOf returns the access of a file.
func AccessOf(info fs.FileInfo) Access {
	stat := info.Sys().(*syscall.Stat_t)
	return Access{int(stat.Uid), int(stat.Gid), info.Mode().Perm()}
}

func (a Access) apply(f *os.File) error {
	if err := f.Chown(a.UID, a.GID); err != nil {
		return err
	}
	return f.Chmod(a.Mode)
}

// WriteAtomically creates a temporary file, calls fill to write it, syncs it and renames it
// to path. If fill or the sync fails, path is unchanged. If the rename fails, path has either the
// old or the new content. The umask applies to mode.
func (d Disk) WriteAtomically(path string, mode fs.FileMode, fill func(f *os.File) error) error {
	return d.writeViaTemp(path, mode, d.Rename, fill)
}

func (d Disk) writeViaTemp(path string, mode fs.FileMode, finish func(from, to string) error, fill func(f *os.File) error) error {
	f, err := d.CreateTempFile(path, mode)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		// Users know the folder, but not the name of the temporary file.
		return fmt.Errorf("write %s: %w", path, &fs.PathError{Op: "create a file in", Path: filepath.Dir(path), Err: pathErr.Err})
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = fill(f); err == nil {
		err = d.Do("fsync", path, f.Sync)
	}
	if err == nil {
		err = finish(f.Name(), path)
	}
	// Closing the temporary file unlocks it. Another process may then remove it.
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}
	removeErr := os.Remove(f.Name())
	if errors.Is(removeErr, fs.ErrNotExist) {
		removeErr = nil // the file was renamed before the error
	}
	return errors.Join(fmt.Errorf("write %s: %w", path, err), removeErr)
}

// Rename renames a synced file or folder and syncs the parent folder. After an error, the file
// or folder has either the old or the new name.
func (d Disk) Rename(from, to string) error {
	if err := d.RenameUnsynced(from, to); err != nil {
		return err
	}
	return d.syncParent(to)
}

// RenameUnsynced renames a synced file. The caller syncs the parent folder afterwards, once for many files. This way
// they are renamed at almost the same time.
func (d Disk) RenameUnsynced(from, to string) error {
	return d.Do("rename", to, func() error { return os.Rename(from, to) })
}

// Sync syncs the content of a file, or the names in a folder.
func (d Disk) Sync(path string) error {
	return d.Do("fsync", path, func() error { return syncPath(path) })
}

func (d Disk) syncParent(path string) error {
	return d.Do("fsync beside", path, func() error { return syncPath(filepath.Dir(path)) })
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// IsFull reports whether err means that a disk is full, that a quota is used up, or that a file would be
// too large. DuckDB reports such an error of the system only as text.
func IsFull(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, func(number syscall.Errno) bool {
		return errors.Is(err, number) || strings.Contains(text, ": "+number.Error())
	})
}

// MakeFolder creates a folder and the missing folders above it, and syncs the parent of each
// new folder. Without the sync, a power cut could remove a new folder with all synced files in it.
func (d Disk) MakeFolder(path string, mode fs.FileMode) error {
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	if err := d.MakeFolder(filepath.Dir(path), mode); err != nil {
		return err
	}
	if err := os.Mkdir(path, mode); err != nil && !isFolder(path) {
		return err
	}
	err := d.Do("fsync above", path, func() error {
		err := syncPath(filepath.Dir(path))
		if errors.Is(err, fs.ErrPermission) {
			return nil // the user may write to the parent folder, but not read it
		}
		return err
	})
	if err != nil {
		// The next attempt makes the folder again, and syncs its parent. A folder in use is not empty, and is kept.
		_ = os.Remove(path)
	}
	return err
}

// isFolder is true for a folder that another process has just made.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Remove removes a file. If there is no such file, it does nothing and does not call Step.
func (d Disk) Remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.Do("removal", path, func() error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// RemoveAll removes a folder and its content. Use Discard for a folder that other processes may read.
func (d Disk) RemoveAll(path string) error {
	return d.Do("removal", path, func() error { return os.RemoveAll(path) })
}

// Discard removes a folder that other processes may read. It first renames the folder to a hidden name and syncs
// the rename, so that neither a kill nor a power cut leaves a partial folder under the visible name.
func (d Disk) Discard(path string) error {
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".gone")
	if err := os.RemoveAll(hidden); err != nil {
		return err
	}
	if err := d.Do("removal", path, func() error { return os.Rename(path, hidden) }); err != nil {
		return err
	}
	if err := d.Sync(filepath.Dir(path)); err != nil {
		return err
	}
	return d.Do("emptying", path, func() error { return os.RemoveAll(hidden) })
}

// RemoveWithEmptyParents removes a file and then the parent folders below root that are empty, and
// syncs the lowest folder that remains.
func (d Disk) RemoveWithEmptyParents(path, root string) error {
	if err := d.Remove(path); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	for dir != root && os.Remove(dir) == nil { // fails if the folder is not empty
		dir = filepath.Dir(dir)
	}
	return d.Sync(dir)
}

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
	return d.syncParent(to)
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
	dst, err := createFile(to, public)
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
	return infoA.Size() == infoB.Size() && infoA.ModTime().Equal(infoB.ModTime())
}
