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
	"time"

	"placementsync/internal/durable"
)

// NoneError says that there is no warehouse where one is looked for.
type NoneError struct{ Dir string }

func (e *NoneError) Error() string {
	return fmt.Sprintf("open the warehouse: there is none in %q: look at warehouse.dir in the configuration; nothing was made or changed", e.Dir)
}

// PlaceError says that the folder of the warehouse cannot be used.
type PlaceError struct {
	Dir string
	Err error
}

func (e *PlaceError) Error() string {
	const left = "nothing was changed"
	switch {
	case errors.Is(e.Err, syscall.ENOTDIR):
		return fmt.Sprintf("open the warehouse: %v: %q, or what leads there or stands in it, is a file and no folder: look at warehouse.dir in the configuration; %s", e.Err, e.Dir, left)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("open the warehouse: %v: work as the user whom %q belongs to; %s", e.Err, e.Dir, left)
	}
	return fmt.Sprintf("open the warehouse: %v: look at the disk of %q; %s", e.Err, e.Dir, left)
}

// placeErr is an error of the folder as such; a full disk is none.
func (f *Folder) placeErr(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &PlaceError{f.dir, err}
	}
	return fmt.Errorf("open the warehouse: %w", err)
}

// Unwrap returns what the system said.
func (e *PlaceError) Unwrap() error { return e.Err }

// Exists returns a *NoneError where there is no warehouse, and a *PlaceError where
// that cannot be told. What a restore brings back counts as one.
func (f *Folder) Exists() error {
	for _, name := range []string{versionsDir, seriesDir, stateDir} {
		switch info, err := os.Stat(f.path(name)); {
		case err == nil && info.IsDir():
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return &PlaceError{f.dir, err}
		}
	}
	return &NoneError{f.dir}
}

// CheckWritable makes and removes a file in each folder that a run writes to, or where
// there is no warehouse yet, in the folder that it would be made in. It is a
// *PlaceError where that fails, and a *FullError where the disk has no room for it.
func (f *Folder) CheckWritable() error {
	var dirs []string
	for _, name := range []string{versionsDir, seriesDir, rawDir, stateDir} {
		if info, err := os.Stat(f.path(name)); err == nil && info.IsDir() {
			dirs = append(dirs, f.path(name))
		}
	}
	if len(dirs) == 0 {
		dirs = []string{f.nearestExisting()}
	}
	for _, dir := range dirs {
		err := writeAndRemove(dir)
		if err != nil {
			return f.FullErr(f.placeErr(err))
		}
	}
	return nil
}

// writeAndRemove writes one block.
func writeAndRemove(dir string) error {
	f, err := durable.CreateTemp(filepath.Join(dir, "check"), privateFile)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// nearestExisting is the folder of the warehouse, or the nearest above it that is there.
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

// NewRunID is the time of a run in UTC, with a number behind it when a run of the
// same second has left anything. It is a *PlaceError where that cannot be told:
// whatever is wrong there would be wrong with the next number too.
func (f *Folder) NewRunID(at time.Time) (string, error) {
	base := at.UTC().Format("20060102T150405Z")
	id := base
	for i := 2; ; i++ {
		taken, err := f.hasRun(id)
		if err != nil {
			return "", &PlaceError{f.dir, err}
		}
		if !taken {
			return id, nil
		}
		id = fmt.Sprintf("%s-%d", base, i)
	}
}

func (f *Folder) hasRun(id string) (bool, error) {
	for _, path := range []string{f.RawPath(id), f.VersionPath(id)} {
		if _, err := os.Lstat(path); err == nil {
			return true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}

// damagedErr makes an error of a file of the warehouse.
func (f *Folder) damagedErr(path, problem string, err error) *DamagedError {
	return &DamagedError{File: f.relativePath(path), Problem: problem, Err: err}
}

// FreeBytes is the room in bytes on the disk that holds the warehouse, or will hold
// it; -1 where the system does not say.
func (f *Folder) FreeBytes() (int64, error) {
	dir := f.nearestExisting()
	free, err := freeBytes(dir)
	if err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return free, nil
}

// FullError says that the disk of the warehouse took no more.
type FullError struct {
	Dir string
	Err error
}

func (e *FullError) Error() string {
	return fmt.Sprintf("write into %q: the disk is full or a quota is used up: make room, then run again to resume; "+
		"what has landed and the last snapshot are kept: %s", e.Dir, firstLine(e.Err.Error()))
}

// Unwrap returns what met the full disk.
func (e *FullError) Unwrap() error { return e.Err }

// FullErr makes a *FullError of an error that a full disk has caused, and leaves
// any other as it is. DuckDB tells of it in words alone.
func (f *Folder) FullErr(err error) error {
	var told *FullError
	if err == nil || errors.As(err, &told) {
		return err
	}
	for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		words := []string{cause.Error(), strings.ToUpper(cause.Error()[:1]) + cause.Error()[1:]}
		if errors.Is(err, cause) || slices.ContainsFunc(words, func(text string) bool { return strings.Contains(err.Error(), ": "+text) }) {
			return &FullError{f.dir, err}
		}
	}
	return err
}
