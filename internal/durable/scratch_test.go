package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"placementsync/internal/durable"
	"placementsync/internal/testing/harness"
)

// TestAbandonedScratchIsRemoved also tries folders with the id of this process, because in a
// container a new process can have the same id as its killed predecessor.
func TestAbandonedScratchIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeFolder := func(name string, hasLock bool) (path string) {
		t.Helper()
		path = filepath.Join(dir, name)
		harness.Must(t, os.MkdirAll(filepath.Join(path, "spill"), 0o700))
		if hasLock {
			lock := flock.New(filepath.Join(path, "lock"))
			if ok, err := lock.TryLock(); err != nil || !ok {
				t.Fatalf("lock %s: got %t (%v), want true", path, ok, err)
			}
			t.Cleanup(func() { _ = lock.Unlock() })
		}
		return path
	}
	makeWithStaleLock := func(name string) string {
		path := makeFolder(name, false)
		harness.Must(t, os.WriteFile(filepath.Join(path, "lock"), nil, 0o600))
		return path
	}
	// A folder without a lock is in use if its process exists: a process makes the folder before the lock.
	wantKept := map[string]bool{
		makeWithStaleLock(fmt.Sprintf("s-%d.killed", os.Getpid())):     false,
		makeWithStaleLock(fmt.Sprintf("s-%d.killed", unusedPID)):       false,
		makeFolder(fmt.Sprintf("s-%d.running", unusedPID), true):       true,
		makeFolder(fmt.Sprintf("s-%d.running", os.Getpid()), true):     true,
		makeFolder(fmt.Sprintf("s-%d.no-lock", unusedPID), false):      false,
		makeFolder(fmt.Sprintf("s-%d.no-lock", os.Getpid()), false):    true,
		makeWithStaleLock("s-notes.txt"):                               true,
		makeWithStaleLock(fmt.Sprintf("t-%d.other-prefix", unusedPID)): true,
	}
	first, err := durable.MakeScratch(dir, "s-")
	harness.Must(t, err)
	second, err := durable.MakeScratch(dir, "s-")
	harness.Must(t, err)
	wantKept[first.Dir], wantKept[second.Dir] = true, true
	for path, want := range wantKept {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", path, err == nil, want)
		}
	}
	for _, s := range []*durable.Scratch{first, second} {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Dir); err == nil {
			t.Errorf("%s exists after Remove", s.Dir)
		}
	}
}

// TestCheckTemp checks the folder for temporary files, which a user sets with TMPDIR.
func TestCheckTemp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := durable.CheckTemp(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the check left %v (%v), want an empty folder", entries, err)
	}
	missing := filepath.Join(dir, "missing")
	t.Setenv("TMPDIR", missing)
	err := durable.CheckTemp()
	want := fmt.Sprintf("make a temporary folder in %q (TMPDIR): %v: set the environment variable TMPDIR to a folder that this user can write to", missing,
		syscall.ENOENT)
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
