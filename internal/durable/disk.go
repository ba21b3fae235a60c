// Package durable changes the disk so that a kill or a power cut leaves the old
// state or the new one: it owns rename, link, fsync and temporary files, and
// reports each change to a hook, where trials let the process die or the disk
// fail. A new kind of change that goes through it is tried without being listed.
//
// It must not know what the files mean: nothing of runs, versions or inboxes.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk changes files and folders. The zero Disk has no hook.
type Disk struct {
	// Step, if set, is called before and after each change of the disk, and in
	// the midst of each write, with a name such as "before fsync manifest.json".
	// The change fails with the error that it returns, and is not made when that
	// was the call before it.
	Step func(name string) error
	// Label, if set, names a file or folder for Step, so that the name is the
	// same in every run. Defaults to filepath.Base.
	Label func(path string) string
}

// Reach calls Step, if there is one.
func (d Disk) Reach(step string) error {
	if d.Step == nil {
		return nil
	}
	return d.Step(step)
}

func (d Disk) label(path string) string {
	if d.Label == nil {
		return filepath.Base(path)
	}
	return d.Label(path)
}

// Do makes one change, with Step called before and after it.
func (d Disk) Do(step, path string, change func() error) error {
	if d.Step == nil {
		return change()
	}
	name := step + " " + d.label(path)
	if err := d.Step("before " + name); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	return d.Step("after " + name)
}

// InHalves writes data with one call of write, or where there is a Step with two
// and the step "mid write" between them: that is what a full disk or a kill
// leaves of a write.
func (d Disk) InHalves(what string, data []byte, write func(part []byte, offset int) error) error {
	half := 0
	if d.Step != nil {
		half = len(data) / 2
		if err := write(data[:half], 0); err != nil {
			return err
		}
		if err := d.Step("mid write " + what); err != nil {
			return err
		}
	}
	return write(data[half:], half)
}

// write appends data to a file that path stands for.
func (d Disk) write(f *os.File, path string, data []byte) error {
	return d.Do("write", path, func() error {
		return d.InHalves(d.label(path), data, func(part []byte, _ int) error {
			_, err := f.Write(part)
			return err
		})
	})
}

// Append writes data behind what a file has, and syncs it. After an error it is
// unknown what the disk has of the data.
func (d Disk) Append(f *os.File, data []byte) error {
	if err := d.write(f, f.Name(), data); err != nil {
		return err
	}
	return d.Do("fsync", f.Name(), f.Sync)
}

// AppendLine adds one line to a file and syncs it. A torn last line of an earlier
// crash is ended first, so that it spoils itself alone.
func (d Disk) AppendLine(path string, line []byte, mode fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	last := []byte("\n")
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		_, err = f.ReadAt(last, info.Size()-1)
	}
	if err == nil && last[0] != '\n' {
		line = append([]byte("\n"), line...)
	}
	if err == nil {
		err = d.Append(f, append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	return nil
}

// WriteFile replaces path with data atomically. Of mode the umask is taken away.
func (d Disk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	return d.WriteAtomically(path, mode, func(f *os.File) error { return d.write(f, path, data) })
}

// WriteFileExact is WriteFile with exactly the rights of mode, whatever the umask.
func (d Disk) WriteFileExact(path string, data []byte, mode fs.FileMode) error {
	const private = 0o600
	return d.WriteAtomically(path, private, func(f *os.File) error {
		if err := d.write(f, path, data); err != nil {
			return err
		}
		return f.Chmod(mode)
	})
}

// RewriteFile replaces the content of a file atomically. It stays the file of its owner and
// group, with the same rights.
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

// CreateFile writes a new file atomically. Where its name is taken, if only by a link to
// nowhere, it fails with fs.ErrExist. Of mode the umask is taken away; with access, the
// file gets its owner and group, and of its rights those that are in mode.
func (d Disk) CreateFile(path string, data []byte, mode fs.FileMode, access *Access) error {
	return d.writeThrough(path, mode, d.linkNew, func(f *os.File) error {
		if err := d.write(f, path, data); err != nil || access == nil {
			return err
		}
		return Access{access.UID, access.GID, access.Mode & mode}.apply(f)
	})
}

// linkNew gives a temporary file its name unless that is taken.
func (d Disk) linkNew(from, to string) error {
	err := d.Do("link", to, func() error { return os.Link(from, to) })
	if _, missing := os.Lstat(to); err != nil && !errors.Is(err, fs.ErrExist) && errors.Is(missing, fs.ErrNotExist) {
		return d.Rename(from, to) // a file system without hard links
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(from), d.Do("fsync beside", to, func() error { return syncPath(filepath.Dir(to)) }))
}

// Access is who may do what with a file: its owner and group, by number, -1 where they stay
// as they are, and its rights.
type Access struct {
	UID, GID int
	Mode     fs.FileMode
}

// AccessOf is the access that a file has.
func AccessOf(info fs.FileInfo) Access {
	access := Access{-1, -1, info.Mode().Perm()}
	if uid, gid, ok := Owner(info); ok {
		access.UID, access.GID = uid, gid
	}
	return access
}

func (a Access) apply(f *os.File) error {
	if a.UID >= 0 || a.GID >= 0 {
		if err := f.Chown(a.UID, a.GID); err != nil {
			return err
		}
	}
	return f.Chmod(a.Mode)
}

// WriteAtomically lets fill write a temporary file, syncs it and renames it to
// path. After an error path is as it was. Of mode the umask is taken away.
func (d Disk) WriteAtomically(path string, mode fs.FileMode, fill func(f *os.File) error) error {
	return d.writeThrough(path, mode, d.Rename, fill)
}

// writeThrough lets fill write a temporary file, syncs it and lets finish give it its name.
func (d Disk) writeThrough(path string, mode fs.FileMode, finish func(from, to string) error, fill func(f *os.File) error) error {
	f, err := CreateTemp(path, mode)
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		// The user knows the folder, and not the name of the temporary file.
		return fmt.Errorf("write %s: %w", path, &fs.PathError{Op: "create a file in", Path: filepath.Dir(path), Err: wrong.Err})
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
	// Closed it is no longer locked, and another process may remove it.
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// Rename moves a synced file or folder to its final name and syncs the folder.
// After an error it may have the new name.
func (d Disk) Rename(from, to string) error {
	if err := d.Do("rename", to, func() error { return os.Rename(from, to) }); err != nil {
		return err
	}
	return d.Do("fsync beside", to, func() error { return syncPath(filepath.Dir(to)) })
}

// Sync flushes a file, or the names in a folder.
func (d Disk) Sync(path string) error {
	return d.Do("fsync", path, func() error { return syncPath(path) })
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Remove removes a file. One that is not there is no error, and no step.
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

// RemoveAll removes a folder that nobody else looks into.
func (d Disk) RemoveAll(path string) error {
	return d.Do("removal", path, func() error { return os.RemoveAll(path) })
}

// Discard removes a folder that others may look into. It is renamed to a hidden
// name first, so that a kill leaves no half of it under its own.
func (d Disk) Discard(path string) error {
	gone := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".gone")
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := d.Do("removal", path, func() error { return os.Rename(path, gone) }); err != nil {
		return err
	}
	return d.Do("emptying", path, func() error { return os.RemoveAll(gone) })
}

// RemoveUp removes a file and the folders above it that it leaves empty, below
// root, and syncs the first that stays. It is no step.
func RemoveUp(path, root string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return syncPath(dir) // not empty: another file lives there
		}
	}
	return nil
}
