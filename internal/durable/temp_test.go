package durable

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTempFileRemovedByAnotherProcess removes the first file before it is locked.
func TestTempFileRemovedByAnotherProcess(t *testing.T) {
	attempts := 0
	f, err := newTemp(filepath.Join(t.TempDir(), "file"), func(name string) (*os.File, error) {
		f, err := Disk{}.Create(name, 0o600)
		attempts++
		if attempts == 1 {
			_ = os.Remove(name)
		}
		return f, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := os.Stat(f.Name()); err != nil {
		t.Errorf("the temporary file does not exist: %v", err)
	}
}

// TestFailedExchangeKeepsTheOldFolder exchanges a folder with one that does not exist.
func TestFailedExchangeKeepsTheOldFolder(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := exchangeWithRenames(filepath.Join(dir, "missing"), old); err == nil {
		t.Error("got no error, want one for the missing folder")
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("the old folder is lost: %v", err)
	}
}
