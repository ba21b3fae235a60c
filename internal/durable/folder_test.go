package durable_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"placementsync/internal/durable"
	"placementsync/internal/testing/harness"
)

// TestMakeFolderBelowAnUnreadableFolder makes a folder below one that the user may write but not read.
func TestMakeFolderBelowAnUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 { // root may read the folder
		t.Skip("runs only without root")
	}
	parent := t.TempDir()
	harness.Must(t, os.Chmod(parent, 0o300))
	defer os.Chmod(parent, 0o700)
	harness.Must(t, durable.Disk{}.MakeFolder(filepath.Join(parent, "new"), 0o700))
}

func TestRemoveWithEmptyParentsStopsAtNonEmptyFolder(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"table/day/file", "table/other/file"} {
		harness.Must(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		harness.Must(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	harness.Must(t, durable.Disk{}.RemoveWithEmptyParents(filepath.Join(root, "table/day/file"), root))
	if _, err := os.Stat(filepath.Join(root, "table/day")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty folder still exists: %v", err)
	}
	harness.Must(t, durable.Disk{}.RemoveWithEmptyParents(filepath.Join(root, "table/other/file"), root))
	if _, err := os.Stat(root); err != nil {
		t.Errorf("the root was removed: %v", err)
	}
}

func TestWriteFolderReplacesANonEmptyFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "exp")
	write := func(text string) error {
		return durable.WriteFolder(path, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, text), []byte(text), 0o600)
		})
	}
	harness.Must(t, write("one"))
	harness.Must(t, write("two"))
	failure := errors.New("fill failed")
	if err := durable.WriteFolder(path, func(string) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v, want the error of fill", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	harness.Must(t, err)
	if len(entries) != 1 || readContent(t, filepath.Join(path, "two")) != "two" || readContent(t, filepath.Join(path, "one")) != "" {
		t.Errorf("the folder contains %v, want exp/two only", entries)
	}
}

// TestMakeFolderFailsAtAFile makes a folder with the name of a file, and below a file.
func TestMakeFolderFailsAtAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	harness.Must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if err := (durable.Disk{}).MakeFolder(path, 0o700); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: got %v, want ENOTDIR", path, err)
		}
	}
}

// TestMakeFolderBesideAnotherProcess makes a folder that another process makes at the same time.
func TestMakeFolderBesideAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a/b")
	disk := durable.Disk{Step: func(name, _ string) error {
		if name == "after fsync above a" {
			return os.Mkdir(path, 0o700)
		}
		return nil
	}}
	harness.Must(t, disk.MakeFolder(path, 0o700))
}

// TestMakeFolderSyncsAgainAfterAFailedSync makes each sync of the parents fail. The second attempt must sync the parent
// of each folder, or a power cut could remove the folders with the files in them.
func TestMakeFolderSyncsAgainAfterAFailedSync(t *testing.T) {
	for failAt, want := range map[int][]string{
		1: {"before fsync above a", "after fsync above a", "before fsync above b", "after fsync above b"},
		3: {"before fsync above b", "after fsync above b"},
	} {
		path := filepath.Join(t.TempDir(), "a/b")
		failing := &stepRecorder{failAt: failAt}
		if err := (durable.Disk{Step: failing.step}).MakeFolder(path, 0o700); !errors.Is(err, syscall.EIO) {
			t.Errorf("step %d failed: got %v, want EIO", failAt, err)
		}
		second := &stepRecorder{}
		harness.Must(t, durable.Disk{Step: second.step}.MakeFolder(path, 0o700))
		if !slices.Equal(second.steps, want) {
			t.Errorf("step %d failed: the steps of the second attempt are %q, want %q", failAt, second.steps, want)
		}
	}
}

// TestWriteFolderMakesFilesReadable fills a folder with private files. The users who may read the folder must be able
// to read them, and a file that cannot be synced must not replace the folder.
func TestWriteFolderMakesFilesReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "exp")
	harness.Must(t, durable.WriteFolder(path, func(dir string) error {
		return errors.Join(os.Mkdir(filepath.Join(dir, "inner"), 0o700), os.WriteFile(filepath.Join(dir, "inner", "file"), []byte("x"), 0o600))
	}))
	top := harness.MustValue(os.Stat(path)).Mode().Perm()
	if top&0o500 != 0o500 {
		t.Errorf("the folder has mode %v, with which only root can open it", top)
	}
	for name, want := range map[string]fs.FileMode{"inner": top, "inner/file": top & 0o644} {
		if got := harness.MustValue(os.Stat(filepath.Join(path, name))).Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", name, got, want)
		}
	}
	err := durable.WriteFolder(path, func(dir string) error {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
		if err != nil {
			return err
		}
		listener.SetUnlinkOnClose(false)
		return listener.Close()
	})
	if !errors.Is(err, syscall.ENXIO) {
		t.Errorf("got %v, want ENXIO for a socket, which cannot be synced", err)
	}
	if got := readContent(t, filepath.Join(path, "inner/file")); got != "x" {
		t.Errorf("the old folder contains %q after the error, want \"x\"", got)
	}
}
