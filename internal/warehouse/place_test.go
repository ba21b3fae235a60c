package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/warehouse"
)

// deadProcess is the number of a process that is no more: none can have it.
const deadProcess = 1 << 30

func TestNewRunIDEndsWhereNothingCanBeTold(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		says  string
	}{
		"a file in the place of the warehouse": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, "is a file and no folder"},
		"a file in the place of raw":           {func(dir string) error { return os.WriteFile(filepath.Join(dir, "raw"), nil, 0o600) }, "is a file and no folder"},
		"raw that may not be entered":          {func(dir string) error { return os.Mkdir(filepath.Join(dir, "raw"), 0) }, "work as the user"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			must(t, c.spoil(w.Folder.Dir()))
			if _, err := os.Lstat(w.Folder.RawPath("x")); errors.Is(err, fs.ErrNotExist) {
				t.Skip("this user may enter what is closed to others")
			}
			_, err := w.Folder.NewRunID(night)
			var place *warehouse.PlaceError
			if !errors.As(err, &place) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), w.Folder.Dir()) {
				t.Errorf("got %v, want a PlaceError that says %q", err, c.says)
			}
		})
	}
}

func TestNewRunIDIsUnique(t *testing.T) {
	w := open(t)
	must(t, os.MkdirAll(w.Folder.RawPath("20261101T020000Z"), 0o700))
	must(t, os.MkdirAll(w.Folder.VersionPath("20261101T020000Z-2"), 0o700))
	if id, err := w.Folder.NewRunID(night.In(time.FixedZone("", 3600))); err != nil || id != "20261101T020000Z-3" {
		t.Errorf("got %q (%v)", id, err)
	}
}

func TestLockExistingMakesNothingWhereNoWarehouseIs(t *testing.T) {
	w := openWith(t, warehouse.Config{Dir: filepath.Join(t.TempDir(), "mistyped")})
	_, err := w.LockExisting("rollback", night)
	var none *warehouse.NoneError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "warehouse.dir") {
		t.Errorf("got %v, want a NoneError", err)
	}
	if _, err := os.Lstat(w.Folder.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made at a mistyped path: %v", err)
	}
	must(t, os.MkdirAll(filepath.Join(w.Folder.Dir(), "parquet"), 0o755))
	lock, err := w.LockExisting("rebuild", night)
	must(t, err)
	must(t, lock.Release())
}
