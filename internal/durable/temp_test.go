package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"placementsync/internal/testing/harness"
)

// TestTempFileRemovedByAnotherProcess tries a name that is taken. Of the next files, other processes remove one before it
// is locked, replace one, and lock one.
func TestTempFileRemovedByAnotherProcess(t *testing.T) {
	attempts := 0
	f, err := newTemp(filepath.Join(t.TempDir(), "file"), func(name string) (*os.File, error) {
		f, err := createFile(name, 0o600)
		attempts++
		switch attempts {
		case 1:
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist} // another process has taken the name
		case 2:
			_ = os.Remove(name)
		case 3:
			harness.Must(t, errors.Join(os.Remove(name), os.WriteFile(name, nil, 0o600)))
		case 4:
			other := harness.MustValue(os.Open(name))
			t.Cleanup(func() { _ = other.Close() })
			if gotLock, err := tryLock(other); !gotLock || err != nil {
				t.Errorf("the file is not locked: %v", err)
			}
		}
		return f, err
	})
	harness.Must(t, err)
	defer f.Close()
	if _, err := os.Stat(f.Name()); err != nil || attempts != 5 {
		t.Errorf("the temporary file of attempt %d is used: %v, want the fifth one", attempts, err)
	}
}

func TestExchangeWithRenames(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, path := range []string{a, b} {
		harness.Must(t, os.MkdirAll(filepath.Join(path, "was-"+filepath.Base(path)), 0o700))
	}
	harness.Must(t, exchangeWithRenames(a, b))
	for _, name := range []string{"a/was-b", "b/was-a"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("the folders were not exchanged: %v", err)
		}
	}
	if err := exchangeWithRenames(a, filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(a); err != nil {
		t.Errorf("a failed exchange removed the new folder: %v", err)
	}
}

// TestFailedExchangeKeepsTheOldFolder exchanges a folder with one that does not exist.
func TestFailedExchangeKeepsTheOldFolder(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	harness.Must(t, os.Mkdir(old, 0o700))
	if err := exchangeWithRenames(filepath.Join(dir, "missing"), old); err == nil {
		t.Error("got no error, want one for the missing folder")
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("the old folder is lost: %v", err)
	}
}
