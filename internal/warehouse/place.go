package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// atPlace is an error of the folder as such; a full disk is none.
func (w *Warehouse) atPlace(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &PlaceError{w.cfg.Dir, err}
	}
	return fmt.Errorf("open the warehouse: %w", err)
}

// Unwrap returns what the system said.
func (e *PlaceError) Unwrap() error { return e.Err }

// Exists returns a *NoneError where there is no warehouse, and a *PlaceError where
// that cannot be told. What a restore brings back counts as one.
func (w *Warehouse) Exists() error {
	for _, name := range []string{versionsDir, seriesDir, stateDir} {
		switch info, err := os.Stat(w.path(name)); {
		case err == nil && info.IsDir():
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return &PlaceError{w.cfg.Dir, err}
		}
	}
	return &NoneError{w.cfg.Dir}
}

// CheckWritable makes and removes a file in each folder that a run writes to, or where
// there is no warehouse yet, in the folder that it would be made in. It is a
// *PlaceError where that fails, and a *FullError where the disk has no room for it.
func (w *Warehouse) CheckWritable() error {
	var dirs []string
	for _, name := range []string{versionsDir, seriesDir, rawDir, stateDir} {
		if info, err := os.Stat(w.path(name)); err == nil && info.IsDir() {
			dirs = append(dirs, w.path(name))
		}
	}
	if len(dirs) == 0 {
		dirs = []string{w.existing()}
	}
	for _, dir := range dirs {
		err := writeAndRemove(dir)
		if err != nil {
			return w.Full(w.atPlace(err))
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

// existing is the folder of the warehouse, or the nearest above it that is there.
func (w *Warehouse) existing() string {
	dir, err := filepath.Abs(w.cfg.Dir)
	if err != nil {
		return w.cfg.Dir
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
func (w *Warehouse) NewRunID(at time.Time) (string, error) {
	base := at.UTC().Format("20060102T150405Z")
	id := base
	for i := 2; ; i++ {
		taken, err := w.taken(id)
		if err != nil {
			return "", &PlaceError{w.cfg.Dir, err}
		}
		if !taken {
			return id, nil
		}
		id = fmt.Sprintf("%s-%d", base, i)
	}
}

func (w *Warehouse) taken(id string) (bool, error) {
	for _, path := range []string{w.RawPath(id), w.VersionPath(id)} {
		if _, err := os.Lstat(path); err == nil {
			return true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}
