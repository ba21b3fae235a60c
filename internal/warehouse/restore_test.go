package warehouse_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

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
		if err != nil {
			t.Fatal(err)
		}
		return lock
	}
	lock := restore("s3://b/one")
	if _, err := w.LockForRestore("s3://b/two", now); !errors.As(err, new(*warehouse.LockedError)) {
		t.Errorf("a second restore got the error %v, want a LockedError", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	requireUnfinished("s3://b/one")
	if err := os.WriteFile(w.Folder.Path("state", "restore.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	requireUnfinished("s3://BUCKET/PREFIX")
	lock = restore("s3://b/one")
	if err := errors.Join(w.FinishRestore(), lock.Release()); err != nil {
		t.Fatal(err)
	}
	lock, err := w.Lock("night", now)
	if err != nil {
		t.Fatalf("after the restore Lock returned %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
