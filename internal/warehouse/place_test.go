package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

func TestNewRunIDFailsIfAFolderCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"a file named raw":            {func(dir string) error { return os.WriteFile(filepath.Join(dir, "raw"), nil, 0o600) }, "is a file, not a folder"},
		"a folder raw without access": {func(dir string) error { return os.Mkdir(filepath.Join(dir, "raw"), 0) }, "run as the owner"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			must(t, c.spoil(w.Folder.Dir()))
			if _, err := os.Lstat(w.Folder.RawPath("x")); errors.Is(err, fs.ErrNotExist) {
				t.Skip("this user can open folders without permissions")
			}
			_, err := w.Ledger.NewRunID(night)
			var place *warehouse.PlaceError
			if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), w.Folder.Dir()) {
				t.Errorf("got %v, want a PlaceError with %q", err, c.want)
			}
		})
	}
}

// TestRunsOfOneSecondGetDifferentIDs chooses ids for runs in the same second as earlier runs, which left
// a folder, a ledger entry or only an unfinished-run file.
func TestRunsOfOneSecondGetDifferentIDs(t *testing.T) {
	w := open(t)
	requireNextID := func(want string) {
		t.Helper()
		if id, err := w.Ledger.NewRunID(night.In(time.FixedZone("", 3600))); err != nil || id != want {
			t.Errorf("got %q (%v), want %q", id, err, want)
		}
	}
	must(t, os.MkdirAll(w.Folder.RawPath("20261101T020000Z"), 0o700))
	must(t, os.MkdirAll(w.Folder.VersionPath("20261101T020000Z-2"), 0o700))
	requireNextID("20261101T020000Z-3")
	must(t, os.MkdirAll(filepath.Join(w.Folder.Dir(), "state"), 0o700))
	must(t, w.Ledger.Record(ledger.Run{ID: "20261101T020000Z-3", Kind: ledger.Rollback, StartedAt: night}))
	requireNextID("20261101T020000Z-4")
	must(t, w.Ledger.Start(warehouse.Unfinished{Run: "20261101T020000Z-4", StartedAt: night}))
	requireNextID("20261101T020000Z-5")
	must(t, w.Ledger.StartOneShot(warehouse.Unfinished{Run: "20261101T020000Z-5", StartedAt: night}))
	requireNextID("20261101T020000Z-6")
}

// TestWorkOfOneSecondKeepsItsEntries records two backups that began in the same second.
func TestWorkOfOneSecondKeepsItsEntries(t *testing.T) {
	w := open(t)
	must(t, os.MkdirAll(filepath.Join(w.Folder.Dir(), "state"), 0o700))
	for i := range 2 {
		entry := ledger.BeginFollow(ledger.Backup, "test", night.Add(time.Duration(i)*time.Millisecond))
		must(t, w.Ledger.Record(entry.EndFollow(t.Context(), night.Add(time.Second), nil)))
	}
	entries, err := w.Ledger.Entries()
	if err != nil || len(entries) != 2 || entries[0].ID != "20261101T020000Z-backup" || entries[1].ID != "20261101T020000Z-backup-2" || entries[1].Attempts != 1 {
		t.Errorf("the ledger has %+v (%v)", entries, err)
	}
}

func TestLockExistingCreatesNoFolder(t *testing.T) {
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
