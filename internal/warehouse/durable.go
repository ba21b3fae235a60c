package warehouse

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file holds every rename, link and fsync of the project but those of the
// landing. A file or folder appears whole under its name, or not at all:
// written beside its place, synced, renamed, and the folder synced so that the
// name survives a power cut too.

// Disk does these steps and tells a trial of each. The zero Disk tells nobody.
type Disk struct {
	// Step is told before, after and, of a write, in the midst of each step, by
	// a name that is the same every night: "before fsync manifest.json". An
	// error that it returns is the step's: told before, the step is not done.
	Step func(name string) error
	// mode are the rights of published files, as in Config.PublishedMode.
	mode fs.FileMode
}

func (d Disk) tell(name string) error {
	if d.Step == nil {
		return nil
	}
	return d.Step(name)
}

// around does one step.
func (d Disk) around(step, path string, do func() error) error {
	if d.Step == nil {
		return do()
	}
	name := step + " " + stable(path)
	if err := d.Step("before " + name); err != nil {
		return err
	}
	return errors.Join(do(), d.Step("after "+name))
}

// stable names a file or folder by what is the same every night: a draft and a
// version have the name of their run, a segment of the inbox that of its time.
func stable(path string) string {
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

// write appends data to a file that path stands for. With a trial looking on it
// does so in two halves: what a full disk or a kill leaves of a write.
func (d Disk) write(f *os.File, path string, data []byte) error {
	return d.around("write", path, func() error {
		half := 0
		if d.Step != nil {
			half = len(data) / 2
			_, err := f.Write(data[:half])
			if err = errors.Join(err, d.Step("mid write "+stable(path))); err != nil {
				return err
			}
		}
		_, err := f.Write(data[half:])
		return err
	})
}

// Append writes data behind what a file has, and syncs it. After an error
// nobody knows what the disk has of the data.
func (d Disk) Append(f *os.File, data []byte) error {
	if err := d.write(f, f.Name(), data); err != nil {
		return err
	}
	return d.around("fsync", f.Name(), f.Sync)
}

// Remove removes a file; one that is not there is no error, and no step.
func (d Disk) Remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.around("removal", path, func() error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func (d Disk) removeAll(path string) error {
	return d.around("removal", path, func() error { return os.RemoveAll(path) })
}

// WriteWhole lets fill write a file beside its place and then moves it there
// in one step. When fill fails, path stays as it was. Of mode the umask takes
// away.
func WriteWhole(path string, mode fs.FileMode, fill func(f *os.File) error) error {
	return Disk{}.writeWhole(path, mode, fill)
}

// WriteFile replaces path with data in one step.
func (d Disk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	return d.writeWhole(path, mode, func(f *os.File) error { return d.write(f, path, data) })
}

func (d Disk) writeWhole(path string, mode fs.FileMode, fill func(f *os.File) error) error {
	f, err := createBeside(path, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = fill(f); err == nil {
		err = d.around("fsync", path, f.Sync)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// createBeside makes a new file beside a place, with the rights that the umask
// leaves of mode; os.CreateTemp knows one mode only.
func createBeside(path string, mode fs.FileMode) (f *os.File, err error) {
	err = beside(path, func(name string) error {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return f, err
}

// beside tries names in the folder of path until one is free. What killed processes
// left beside it goes.
func beside(path string, create func(name string) error) error {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	ClearDead(dir, prefix)
	for {
		name := OfProcess(prefix) + strconv.FormatUint(uint64(rand.Uint32()), 10)
		if err := create(filepath.Join(dir, name)); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// WriteFolder lets fill write a folder beside its place and then moves it
// there in one step, instead of the folder that may be there: a reader finds
// the old one or the new one, whole. When fill fails, path stays as it was. Who
// may read it is what the umask says.
func WriteFolder(path string, fill func(dir string) error) (err error) {
	var next string
	err = beside(path, func(name string) error {
		next = name
		return os.Mkdir(name, publicDir)
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = fill(next); err == nil {
		err = syncTree(next)
	}
	if err == nil {
		err = placeFolder(next, path)
	}
	// What is left under this name is half a folder, or the one replaced.
	if err = errors.Join(err, os.RemoveAll(next)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// placeFolder gives a folder its name. One that holds something cannot be
// renamed over, so the two change names.
func placeFolder(next, path string) error {
	err := os.Rename(next, path)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		err = exchange(next, path)
	}
	if err != nil {
		return err
	}
	return syncPath(filepath.Dir(path))
}

// syncTree flushes a folder and all in it, and opens it to whom the folder
// itself is open.
func syncTree(dir string) error {
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
		return errors.Join(os.Chmod(path, mode), syncPath(path))
	})
}

// makePublic makes a folder for published files, and those above it.
func (d Disk) makePublic(dir string) error {
	if err := os.MkdirAll(dir, publicDir); err != nil || d.mode == 0 {
		return err
	}
	return os.Chmod(dir, enterable(d.mode))
}

// publicMode are the rights of a published file. Where the umask decides, a new
// file is the only one to ask that needs nothing of the system but files.
func (d Disk) publicMode(dir string) (mode fs.FileMode, err error) {
	if d.mode != 0 {
		return d.mode, nil
	}
	f, err := createBeside(filepath.Join(dir, "rights"), publicFile)
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

// enterable are the rights of a folder of files with these rights.
func enterable(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 }

// removeTorn removes what killed runs left beside a file that they were about to
// replace. Nobody else may be writing it.
func removeTorn(path string) error {
	beside, err := os.ReadDir(filepath.Dir(path))
	for _, e := range beside {
		if strings.HasPrefix(e.Name(), "."+filepath.Base(path)+".") {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

// appendLine adds one line to a file and syncs it. A torn last line of an
// earlier crash is ended first, so that it spoils itself alone.
func (d Disk) appendLine(path string, line []byte, mode fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, mode)
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if torn, err := endsTorn(f); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	} else if torn {
		line = append([]byte("\n"), line...)
	}
	if err := d.Append(f, append(line, '\n')); err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	return nil
}

func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// Rename moves a synced file or folder to its final name and makes the name
// durable. After an error it may have the new name.
func (d Disk) Rename(from, to string) error {
	if err := d.around("rename", to, func() error { return os.Rename(from, to) }); err != nil {
		return err
	}
	return d.around("fsync beside", to, func() error { return syncPath(filepath.Dir(to)) })
}

func (d Disk) sync(path string) error {
	return d.around("fsync", path, func() error { return syncPath(path) })
}

// discard removes a folder that others may look into. It leaves its name first,
// so that a kill leaves no half of it under that name; tidy finds the rest.
func (d Disk) discard(path string) error {
	gone := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".gone")
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := d.around("removal", path, func() error { return os.Rename(path, gone) }); err != nil {
		return err
	}
	return d.around("emptying", path, func() error { return os.RemoveAll(gone) })
}

// syncPath flushes a file, or the names in a folder, to the disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// swapLink points a symlink at a new target in one step: readers that resolve
// it see the old target or the new one.
func (d Disk) swapLink(target, link string) error {
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	next := filepath.Join(filepath.Dir(link), "."+filepath.Base(link)+".next")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.around("link", link, func() error { return os.Symlink(target, next) }); err != nil {
		return err
	}
	return d.Rename(next, link)
}

// placeLink gives a file a second name, in one step: a hard link where the
// file system allows it, a copy elsewhere. The folder is there.
func (d Disk) placeLink(from, to string) error {
	next := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".next")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if d.around("link", to, func() error { return os.Link(from, next) }) != nil {
		if err := d.copyWithTime(from, next); err != nil {
			return err
		}
	}
	return d.Rename(next, to)
}

// placeTwin gives a file a copy at another place, in one step. The folder is there.
func (d Disk) placeTwin(from, to string) error {
	next := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".next")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.copyWithTime(from, next); err != nil {
		return err
	}
	return d.Rename(next, to)
}

// copyWithTime copies a file with the time of its last change, by which
// sameFile knows it again.
func (d Disk) copyWithTime(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return errors.Join(d.copyFile(from, to), os.Chmod(to, info.Mode().Perm()), os.Chtimes(to, time.Time{}, info.ModTime()))
}

// copyFile copies a file and syncs the copy. io.Copy between two files asks
// the kernel for copy_file_range, which shares the blocks instead of copying
// them where the file system can (btrfs, XFS, bcachefs).
func (d Disk) copyFile(from, to string) (err error) {
	return d.copyBy(from, to, func(dst, src *os.File) error { _, err := io.Copy(dst, src); return err })
}

// copySummed copies a file as copyFile does, by bytes that pass through here, and
// returns their SHA-256.
func (d Disk) copySummed(from, to string) (sum string, err error) {
	err = d.copyBy(from, to, func(dst, src *os.File) (err error) {
		sum, err = summing(dst, src)
		return err
	})
	return sum, err
}

func (d Disk) copyBy(from, to string, do func(dst, src *os.File) error) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, publicFile)
	if err != nil {
		return err
	}
	err = d.around("copy", to, func() error { return do(dst, src) })
	return errors.Join(err, d.around("fsync", to, dst.Sync), dst.Close())
}

// exchangeSlowly is for file systems that cannot exchange names: for a moment
// there is no folder b.
func exchangeSlowly(a, b string) error {
	aside := a + ".old"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}

// SyncFolder makes the names in a folder durable.
func (d Disk) SyncFolder(dir string) error { return d.sync(dir) }

// Link gives a file a second name, durably: a hard link where the file system
// allows it, a copy elsewhere. A name that is that file already stays.
func (d Disk) Link(from, to string) error {
	if sameFile(from, to) {
		return nil
	}
	return d.placeLink(from, to)
}
