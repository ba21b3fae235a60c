package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestLockAfterAnUnfinishedRestore begins a restore and does not finish it. Until it is finished, commands must get
// an error with its address, also if the file of the restore is damaged.
func TestLockAfterAnUnfinishedRestore(t *testing.T) {
	now := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)
	w := warehouse.New(warehouse.Config{Dir: t.TempDir()})
	requireUnfinished := func(want string) {
		t.Helper()
		_, lockErr := w.Lock("night", now)
		_, existingErr := w.LockExisting("rebuild", now)
		_, jobErr := w.Folder.LockJob("backup")
		for _, err := range []error{lockErr, existingErr, jobErr, w.Folder.CheckExists(), w.Folder.CheckRestored()} {
			if !errors.As(err, new(*warehouse.UnfinishedRestoreError)) || !strings.Contains(err.Error(), "run placementsync rebuild --from "+want) {
				t.Errorf("got the error %v, want an UnfinishedRestoreError with the address %s", err, want)
			}
		}
	}
	restore := func(from string) *warehouse.Lock {
		t.Helper()
		lock, err := w.LockForRestore(from, now)
		harness.Must(t, err)
		return lock
	}
	lock := restore("s3://b/one")
	var locked *warehouse.LockedError
	if _, err := w.LockForRestore("s3://b/two", now); !errors.As(err, &locked) || locked.Run != "restore" {
		t.Errorf("a second restore got the error %v, want a LockedError that names the restore", err)
	}
	harness.Must(t, lock.Release())
	requireUnfinished("s3://b/one")
	harness.Must(t, os.WriteFile(w.Folder.Path("state", "restore.json"), []byte("{"), 0o600))
	requireUnfinished("s3://BUCKET/PREFIX")
	lock = restore("s3://b/one")
	harness.Must(t, errors.Join(w.FinishRestore(), lock.Release()))
	lock, err := w.Lock("night", now)
	if err != nil {
		t.Fatalf("after the restore Lock returned %v", err)
	}
	harness.Must(t, lock.Release())
}

// TestRestoredFilesAppearWhole restores files of a backup, and compares their modes. If a second restore of a
// file fails, the file must be unchanged.
func TestRestoredFilesAppearWhole(t *testing.T) {
	const parquet, state = "parquet/orders/snapshot_date=2026-11-01/orders.parquet", "state/inbox/a.log"
	for publishedMode, want := range map[fs.FileMode]map[string]fs.FileMode{
		0:     {parquet: 0o644 &^ umask(t), state: 0o600},
		0o640: {parquet: 0o640, state: 0o600},
	} {
		w := openWith(t, warehouse.Config{PublishedMode: publishedMode})
		for file, mode := range want {
			harness.Must(t, w.Folder.RestoreFile(w.Folder.Path(file), func(f *os.File) error {
				_, err := f.WriteString("restored")
				return err
			}))
			info, err := os.Stat(path(w, filepath.FromSlash(file)))
			if err != nil || info.Mode().Perm() != mode || contentOf(t, path(w, filepath.FromSlash(file))) != "restored" {
				t.Errorf("%s has %v (%v), want the mode %v and the content restored", file, info, err, mode)
			}
			folder, err := os.Stat(filepath.Dir(path(w, filepath.FromSlash(file))))
			if want := warehouse.FolderMode(mode); err != nil || folder.Mode().Perm()&0o077 != want&0o077 {
				t.Errorf("the folder of %s has %v (%v), want the rights of other users in %v", file, folder, err, want)
			}
			fillErr := errors.New("the connection was reset")
			if err := w.Folder.RestoreFile(w.Folder.Path(file), func(f *os.File) error {
				_, err := f.WriteString("half")
				return errors.Join(err, fillErr)
			}); !errors.Is(err, fillErr) {
				t.Errorf("the error of restoring %s is %v, want %v", file, err, fillErr)
			}
			if got := contentOf(t, path(w, filepath.FromSlash(file))); got != "restored" {
				t.Errorf("after a failure %s contains %q, want restored", file, got)
			}
		}
	}
}

// umask returns the bits that the umask of the process removes from the mode of a new file.
func umask(t *testing.T) fs.FileMode {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a")
	f, err := os.OpenFile(file, os.O_CREATE, 0o666)
	harness.Must(t, err)
	info, err := f.Stat()
	harness.Must(t, errors.Join(err, f.Close()))
	return 0o666 &^ info.Mode().Perm()
}
