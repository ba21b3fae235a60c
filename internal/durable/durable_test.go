package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"placementsync/internal/durable"
	"placementsync/internal/testing/harness"
)

// stepRecorder records all steps and returns an error for one step.
type stepRecorder struct {
	failAt int // number of the failing step, counted from 1
	steps  []string
}

func (r *stepRecorder) step(name, _ string) error {
	r.steps = append(r.steps, name)
	if len(r.steps) == r.failAt {
		return fmt.Errorf("injected failure at %s: %w", name, syscall.EIO)
	}
	return nil
}

// readContent returns the content of a file, or "" if the file does not exist.
func readContent(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// TestFailedStepKeepsOldOrNewContent makes each step of each change fail. The file must then have the
// old or the new content, the change must return the error, and a second attempt must succeed.
func TestFailedStepKeepsOldOrNewContent(t *testing.T) {
	const oldText, newText = "the old content", "the new content"
	changes := map[string]func(d durable.Disk, dir, path string) error{
		"WriteFile": func(d durable.Disk, _, path string) error { return d.WriteFile(path, []byte(newText), 0o600) },
		"WriteFileExactMode": func(d durable.Disk, _, path string) error {
			return d.WriteFileExactMode(path, []byte(newText), 0o640)
		},
		"RewriteFile": func(d durable.Disk, _, path string) error { return d.RewriteFile(path, []byte(newText)) },
		"Rename": func(d durable.Disk, dir, path string) error {
			from := filepath.Join(dir, "from")
			if err := os.WriteFile(from, []byte(newText), 0o600); err != nil {
				return err
			}
			return d.Rename(from, path)
		},
		"Link": func(d durable.Disk, dir, path string) error { return d.Link(filepath.Join(dir, "origin"), path) },
		"Copy": func(d durable.Disk, dir, path string) error { return d.Copy(filepath.Join(dir, "origin"), path) },
		"SwapLink": func(d durable.Disk, _, path string) error {
			return d.SwapLink("origin", path)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				dir := t.TempDir()
				path := filepath.Join(dir, "file")
				harness.Must(t, os.WriteFile(path, []byte(oldText), 0o600))
				harness.Must(t, os.WriteFile(filepath.Join(dir, "origin"), []byte(newText), 0o600))
				recorder := &stepRecorder{failAt: n}
				err := change(durable.Disk{Step: recorder.step}, dir, path)
				got := readContent(t, path)
				mayBeOld := err != nil
				isAllowed := got == newText || mayBeOld && got == oldText
				if !isAllowed {
					t.Errorf("after the error %v the content is %q, want %q, or %q after an error", err, got, newText, oldText)
				}
				if len(recorder.steps) < n {
					return
				}
				failed := recorder.steps[n-1]
				isCopied := name == "Link" && failed == "before link file" // Link then makes a copy
				if err == nil && !isCopied {
					t.Errorf("%s failed: got no error", failed)
				}
				isRename := func(step string) bool { return strings.HasPrefix(step, "before rename") }
				if slices.ContainsFunc(recorder.steps[n:], isRename) && !isCopied {
					t.Errorf("%s failed, but the file was renamed later", failed)
				}
				harness.Must(t, change(durable.Disk{}, dir, path))
				if got := readContent(t, path); got != newText {
					t.Errorf("%s failed: after the second attempt the content is %q, want %q", failed, got, newText)
				}
			}
		})
	}
}

// TestFailedCreateFileKeepsNoPartialFile makes each step of CreateFile fail.
func TestFailedCreateFileKeepsNoPartialFile(t *testing.T) {
	const text = "the whole content"
	for n := 1; ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		recorder := &stepRecorder{failAt: n}
		err := durable.Disk{Step: recorder.step}.CreateFile(path, []byte(text), 0o600, nil)
		got := readContent(t, path)
		mayBeMissing := err != nil
		isAllowed := got == text || mayBeMissing && got == ""
		if !isAllowed {
			t.Errorf("after the error %v and the steps %q the content is %q, want %q or no file", err, recorder.steps, got, text)
		}
		entries, readErr := os.ReadDir(dir)
		harness.Must(t, readErr)
		for _, entry := range entries {
			if entry.Name() != "file" {
				t.Errorf("after the steps %q the folder contains %v, want at most the file", recorder.steps, entries)
			}
		}
		if len(recorder.steps) < n {
			harness.Must(t, err)
			return
		}
	}
}

// TestCreateFileFailsIfTheNameExists tries the names of a file and of a broken symbolic link.
func TestCreateFileFailsIfTheNameExists(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	harness.Must(t, os.WriteFile(file, []byte("old"), 0o600))
	harness.Must(t, os.Symlink("nowhere", link))
	for _, path := range []string{file, link} {
		if err := (durable.Disk{}).CreateFile(path, []byte("new"), 0o600, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v, want fs.ErrExist", path, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 || readContent(t, file) != "old" {
		t.Errorf("the folder contains %v (%v) and the file %q, want two entries and the old content", entries, err, readContent(t, file))
	}
}

// TestCreateFileWithoutHardLinks creates a file on a file system that has no hard links.
func TestCreateFileWithoutHardLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	disk := durable.Disk{Step: func(name, _ string) error {
		if name == "before link file" {
			return syscall.EPERM
		}
		return nil
	}}
	if err := disk.CreateFile(path, []byte("new"), 0o600, nil); err != nil || readContent(t, path) != "new" {
		t.Errorf("got %v and the content %q, want the new content", err, readContent(t, path))
	}
}

// TestModesOfFiles checks the modes of created and rewritten files.
func TestModesOfFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes for other users")
	}
	dir := t.TempDir()
	origin, link := filepath.Join(dir, "origin"), filepath.Join(dir, "link")
	harness.Must(t, os.WriteFile(origin, []byte("old"), 0o600))
	harness.Must(t, os.Chmod(origin, 0o664))
	const otherUser, otherGroup = 12345, 12346
	isRoot := os.Geteuid() == 0
	if isRoot { // only root can give a file to another user
		harness.Must(t, os.Chown(origin, otherUser, otherGroup))
	}
	harness.Must(t, os.Symlink("origin", link))
	harness.Must(t, durable.Disk{}.RewriteFile(link, []byte("new")))
	originInfo, err := os.Stat(origin)
	harness.Must(t, err)
	if to, err := os.Readlink(link); to != "origin" || readContent(t, origin) != "new" {
		t.Errorf("the link leads to %q (%v) and its target contains %q, want \"origin\" and \"new\"", to, err, readContent(t, origin))
	}
	harness.Must(t, durable.Disk{}.WriteFileExactMode(filepath.Join(dir, "exact"), nil, 0o666))
	originAccess := durable.AccessOf(originInfo)
	privateAccess := originAccess
	privateAccess.Mode = 0o600
	for name, access := range map[string]*durable.Access{"without-access": nil, "access-of-origin": &originAccess, "private-access": &privateAccess} {
		harness.Must(t, durable.Disk{}.CreateFile(filepath.Join(dir, name), nil, 0o640, access))
	}
	for name, want := range map[string]fs.FileMode{"origin": 0o664, "access-of-origin": 0o640, "private-access": 0o600, "exact": 0o666} {
		info, err := os.Stat(filepath.Join(dir, name))
		harness.Must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
		if owner := durable.AccessOf(info); isRoot && name != "exact" && (owner.UID != otherUser || owner.GID != otherGroup) {
			t.Errorf("%s belongs to %+v, want the user %d and the group %d of the original", name, owner, otherUser, otherGroup)
		}
	}
	harness.Must(t, errors.Join(durable.Disk{}.AppendLine(filepath.Join(dir, "lines"), nil, 0o600),
		durable.Disk{}.WriteFile(filepath.Join(dir, "written"), nil, 0o600),
		durable.Disk{}.MakeFolder(filepath.Join(dir, "folder/inner"), 0o700)))
	for _, name := range []string{"lines", "written", "folder", "folder/inner"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&0o077 != 0 {
			t.Errorf("%s has mode %v (%v), want no rights of other users", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "without-access")); err != nil || info.Mode()&^0o640 != 0 {
		t.Errorf("without-access has mode %v (%v), want at most 0640", info.Mode(), err)
	}
}

func TestWriteAtWritesBothHalves(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	harness.Must(t, err)
	defer f.Close()
	recorder := &stepRecorder{}
	harness.Must(t, durable.Disk{Step: recorder.step}.WriteAt(f, []byte("whole"), 1))
	if got := readContent(t, f.Name()); got != "\x00whole" {
		t.Errorf("the content is %q, want %q", got, "\x00whole")
	}
}

func TestIsFullRecognizesTheErrorsOfDuckDB(t *testing.T) {
	if !durable.IsFull(errors.New(`IO Error: Could not write file "a.duckdb": No space left on device`)) {
		t.Error("a full disk was not recognized")
	}
	for _, number := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if !durable.IsFull(number) || !durable.IsFull(&fs.PathError{Op: "write", Path: "a", Err: number}) {
			t.Errorf("%v was not recognized", number)
		}
	}
	if durable.IsFull(errors.New("no space")) || durable.IsFull(nil) {
		t.Error("a full disk was recognized in another error")
	}
}

func TestAppendLineEndsAnIncompleteLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	recorder := &stepRecorder{failAt: 2} // after half of the line
	if err := (durable.Disk{Step: recorder.step}).AppendLine(path, []byte("first"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want EIO", err)
	}
	harness.Must(t, durable.Disk{}.AppendLine(path, []byte("second"), 0o600))
	text := []byte("third, fourth")
	harness.Must(t, durable.Disk{}.AppendLine(path, text[:len("third")], 0o600))
	if got, want := readContent(t, path), "fir\nsecond\nthird\n"; got != want || string(text) != "third, fourth" {
		t.Errorf("got %q, and the text of the caller is %q; want %q and no change of the text", got, text, want)
	}
}

// TestNoStepAfterAFailedChange checks that no step follows a failed change: a later sync could make
// a partial change durable.
func TestNoStepAfterAFailedChange(t *testing.T) {
	recorder := &stepRecorder{}
	err := durable.Disk{Step: recorder.step, Label: func(string) string { return "label" }}.Do("fsync", "a", func() error { return syscall.EIO })
	if !errors.Is(err, syscall.EIO) || len(recorder.steps) != 1 || recorder.steps[0] != "before fsync label" {
		t.Errorf("got %v and the steps %q, want EIO and only the step %q", err, recorder.steps, "before fsync label")
	}
}

func TestDiscardRenamesBeforeItRemoves(t *testing.T) {
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "version")
		harness.Must(t, os.Mkdir(dir, 0o700))
		harness.Must(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
		recorder := &stepRecorder{failAt: n}
		err := durable.Disk{Step: recorder.step}.Discard(dir)
		if _, statErr := os.Stat(dir); statErr == nil {
			if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
				t.Errorf("steps %v: a partial folder is visible: %v", recorder.steps, err)
			}
		}
		if len(recorder.steps) < n {
			harness.Must(t, err)
			syncAt := slices.IndexFunc(recorder.steps, func(step string) bool { return strings.HasPrefix(step, "after fsync") })
			emptyingAt := slices.Index(recorder.steps, "before emptying version")
			if syncAt < 0 || emptyingAt < syncAt {
				t.Errorf("the steps are %q, want an fsync of the rename before the folder is emptied", recorder.steps)
			}
			return
		}
		if err == nil {
			t.Errorf("steps %q: the last one failed, and Discard returned no error", recorder.steps)
		}
	}
}

func TestSameFileRecognizesCopies(t *testing.T) {
	dir := t.TempDir()
	original, copied, other, longer := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c"), filepath.Join(dir, "d")
	harness.Must(t, os.WriteFile(original, []byte("x"), 0o640))
	harness.Must(t, os.Chtimes(original, time.Time{}, time.Unix(1, 23)))
	harness.Must(t, durable.Disk{}.Copy(original, copied))
	harness.Must(t, os.WriteFile(other, []byte("y"), 0o600))
	harness.Must(t, os.Chtimes(other, time.Time{}, time.Unix(1, 24)))
	harness.Must(t, os.WriteFile(longer, []byte("xy"), 0o600))
	harness.Must(t, os.Chtimes(longer, time.Time{}, time.Unix(1, 23)))
	if durable.SameFile(original, longer) {
		t.Error("SameFile is true for a file of the same time and another size")
	}
	if !durable.SameFile(original, copied) || durable.SameFile(original, other) || durable.SameFile(original, filepath.Join(dir, "missing")) {
		t.Error("SameFile must be true for a copy, and false for another file and for a missing file")
	}
	info, err := os.Stat(copied)
	harness.Must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the copy has mode %v, want 0640", info.Mode())
	}
}

// unusedPID is a process id that no process has.
const unusedPID = 1<<31 - 2

// TestFilesOfKilledProcessesAreRemoved writes a file and a folder beside temporary folders. Locked
// folders, here with the suffix .8, are in use and must be kept. Unlocked folders must be removed,
// whether the process in their name exists or not. Folders that do not have the name of a temporary
// folder must be kept.
func TestFilesOfKilledProcessesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	tempName := func(name string, pid, n int) string { return fmt.Sprintf("%s.%d.%d", name, pid, n) }
	wantKept := map[string]bool{
		tempName(".r.html", unusedPID, 7):   false,
		tempName(".exp", unusedPID, 7):      false,
		tempName(".exp", unusedPID, 8):      true,
		tempName(".r.html", os.Getpid(), 7): false,
		tempName(".exp", os.Getpid(), 7):    false,
		tempName(".exp", os.Getpid(), 8):    true,
		// These are not names of temporary folders of r.html or exp.
		".r.html.next":                    true,
		tempName(".other", unusedPID, 7):  true,
		"r.html." + fmt.Sprint(unusedPID): true,
		fmt.Sprint(unusedPID) + ".csv":    true,
		".exp." + fmt.Sprint(unusedPID):   true,
	}
	for name := range wantKept {
		harness.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		harness.Must(t, os.WriteFile(filepath.Join(dir, name, "half"), []byte("x"), 0o600))
		if strings.HasSuffix(name, ".8") {
			lock := flock.New(filepath.Join(dir, name), flock.SetFlag(os.O_RDONLY))
			if ok, err := lock.TryLock(); err != nil || !ok {
				t.Fatalf("lock %s: got %t (%v), want true", name, ok, err)
			}
			t.Cleanup(func() { _ = lock.Unlock() })
		}
	}
	harness.Must(t, durable.Disk{}.WriteAtomically(filepath.Join(dir, "r.html"), 0o600, func(*os.File) error { return nil }))
	harness.Must(t, durable.WriteFolder(filepath.Join(dir, "exp"), func(string) error { return nil }))
	for name, want := range wantKept {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s exists: %t (%v), want %t", name, err == nil, err, want)
		}
	}
}

// TestConcurrentWritersKeepTheirTempFiles runs several writers of one path and of scratch folders. Each removes the
// temporary files of killed processes, and must keep the temporary files of the other writers.
func TestConcurrentWritersKeepTheirTempFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.html")
	errs := make(chan error)
	const writers, rounds = 4, 25
	for range writers {
		go func() {
			var err error
			for range rounds {
				err = errors.Join(err, durable.Disk{}.WriteFile(path, []byte("whole"), 0o600))
				scratch, scratchErr := durable.MakeScratch(filepath.Dir(path), "s-")
				if scratchErr == nil {
					_, scratchErr = os.Stat(scratch.Dir)
				}
				err = errors.Join(err, scratchErr)
			}
			errs <- err
		}()
	}
	for range writers {
		harness.Must(t, <-errs)
	}
	if got := readContent(t, path); got != "whole" {
		t.Errorf("the content is %q, want whole", got)
	}
}

// TestWriterKeepsTheTempFileOfAnother writes a file while another writer of it has not finished.
func TestWriterKeepsTheTempFileOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	harness.Must(t, durable.Disk{}.WriteAtomically(path, 0o600, func(f *os.File) error {
		_, err := f.WriteString("second")
		return errors.Join(err, durable.Disk{}.WriteFile(path, []byte("first"), 0o600))
	}))
	if got := readContent(t, path); got != "second" {
		t.Errorf("the content is %q, want second", got)
	}
}

// TestChangesAreSyncedInOrder records the steps of each change. A power cut after any of them must leave the old or the
// new state: the content is synced before its name is made, and the name before the change is reported as made.
func TestChangesAreSyncedInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(d durable.Disk, dir, path string) error
		want   string
	}{
		"WriteFile": {func(d durable.Disk, _, path string) error { return d.WriteFile(path, []byte("new"), 0o600) },
			"write file, fsync file, rename file, fsync beside file"},
		"CreateFile": {func(d durable.Disk, dir, _ string) error {
			return d.CreateFile(filepath.Join(dir, "new"), []byte("new"), 0o600, nil)
		}, "write new, fsync new, link new, fsync beside new"},
		"AppendLine": {func(d durable.Disk, _, path string) error { return d.AppendLine(path, []byte("new"), 0o600) },
			"write file, fsync file"},
		"Copy": {func(d durable.Disk, dir, path string) error { return d.Copy(filepath.Join(dir, "origin"), path) },
			"copy .file.next, fsync .file.next, rename file, fsync beside file"},
		"Link": {func(d durable.Disk, dir, path string) error { return d.Link(filepath.Join(dir, "origin"), path) },
			"link file, rename file, fsync beside file"},
		"SwapLink": {func(d durable.Disk, _, path string) error { return d.SwapLink("origin", path) },
			"link file, rename file, fsync beside file"},
		"SwapLink to another target": {func(d durable.Disk, dir, _ string) error { return d.SwapLink("file", filepath.Join(dir, "link")) },
			"link link, rename link, fsync beside link"},
		"SwapLink to the same target": {func(d durable.Disk, dir, _ string) error { return d.SwapLink("origin", filepath.Join(dir, "link")) }, ""},
		"MakeFolder": {func(d durable.Disk, dir, _ string) error { return d.MakeFolder(filepath.Join(dir, "a/b"), 0o700) },
			"fsync above a, fsync above b"},
		"Discard": {func(d durable.Disk, dir, _ string) error { return d.Discard(filepath.Join(dir, "folder")) },
			"removal folder, fsync top, emptying folder"},
		"RemoveAll": {func(d durable.Disk, dir, _ string) error {
			folder := filepath.Join(dir, "folder")
			err := d.RemoveAll(folder)
			if _, statErr := os.Lstat(folder); !errors.Is(statErr, fs.ErrNotExist) {
				return fmt.Errorf("the folder exists after RemoveAll: %v", statErr)
			}
			return err
		}, "removal folder"},
		"Remove without a file": {func(d durable.Disk, dir, _ string) error { return d.Remove(filepath.Join(dir, "missing")) }, ""},
		"RemoveWithEmptyParents": {func(d durable.Disk, dir, _ string) error {
			return d.RemoveWithEmptyParents(filepath.Join(dir, "folder/inner/file"), dir)
		}, "removal file, fsync top"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "top")
			path := filepath.Join(dir, "file")
			harness.Must(t, os.MkdirAll(filepath.Join(dir, "folder/inner"), 0o700))
			for _, file := range []string{"file", "origin", "folder/inner/file"} {
				harness.Must(t, os.WriteFile(filepath.Join(dir, file), []byte("old"), 0o600))
			}
			harness.Must(t, os.Symlink("origin", filepath.Join(dir, "link")))
			// A killed process left these.
			harness.Must(t, os.MkdirAll(filepath.Join(dir, ".folder.gone/left"), 0o700))
			harness.Must(t, os.WriteFile(filepath.Join(dir, ".file.next"), nil, 0o600))
			recorder := &stepRecorder{}
			harness.Must(t, tc.change(durable.Disk{Step: recorder.step}, dir, path))
			var steps []string
			for _, step := range recorder.steps {
				if change, ok := strings.CutPrefix(step, "before "); ok {
					steps = append(steps, change)
				}
			}
			if got := strings.Join(steps, ", "); got != tc.want {
				t.Errorf("the steps are %q, want %q", got, tc.want)
			}
		})
	}
}

// TestNamesAreSyncedInTheirFolder moves the folder away before it is synced. The change must then fail, because the
// new name could be lost in a power cut.
func TestNamesAreSyncedInTheirFolder(t *testing.T) {
	for name, change := range map[string]func(d durable.Disk, dir string) error{
		"Rename": func(d durable.Disk, dir string) error {
			return d.Rename(filepath.Join(dir, "origin"), filepath.Join(dir, "file"))
		},
		"CreateFile": func(d durable.Disk, dir string) error {
			return d.CreateFile(filepath.Join(dir, "file"), nil, 0o600, nil)
		},
		"Link": func(d durable.Disk, dir string) error {
			return d.Link(filepath.Join(dir, "origin"), filepath.Join(dir, "file"))
		},
		"MakeFolder": func(d durable.Disk, dir string) error { return d.MakeFolder(filepath.Join(dir, "new"), 0o700) },
		"Discard":    func(d durable.Disk, dir string) error { return d.Discard(filepath.Join(dir, "folder")) },
		"Sync":       func(d durable.Disk, dir string) error { return d.Sync(dir) },
	} {
		dir := filepath.Join(t.TempDir(), "top")
		harness.Must(t, os.MkdirAll(filepath.Join(dir, "folder"), 0o700))
		harness.Must(t, os.WriteFile(filepath.Join(dir, "origin"), nil, 0o600))
		disk := durable.Disk{Step: func(step, _ string) error {
			switch step {
			case "before fsync beside file", "before fsync above new", "before fsync top":
				return os.Rename(dir, dir+"-moved")
			}
			return nil
		}}
		if err := change(disk, dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want fs.ErrNotExist for the folder that cannot be synced", name, err)
		}
	}
}

// TestErrorsOfASyncAreReturned syncs a device that cannot be synced.
func TestErrorsOfASyncAreReturned(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux returns an error for this device")
	}
	if err := (durable.Disk{}).Sync(os.DevNull); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want EINVAL", err)
	}
}

// TestChangesOfMissingFilesFail tries each change with a file or folder that does not exist. The error must name it,
// and no file may be left.
func TestChangesOfMissingFilesFail(t *testing.T) {
	for name, change := range map[string]func(dir, missing string) error{
		"AppendLine": func(_, missing string) error {
			return durable.Disk{}.AppendLine(filepath.Join(missing, "file"), []byte("x"), 0o600)
		},
		"WriteFile": func(_, missing string) error {
			return durable.Disk{}.WriteFile(filepath.Join(missing, "file"), []byte("x"), 0o600)
		},
		"WriteFolder": func(_, missing string) error {
			return durable.WriteFolder(filepath.Join(missing, "folder"), func(string) error { return nil })
		},
		"RewriteFile": func(_, missing string) error { return durable.Disk{}.RewriteFile(missing, []byte("x")) },
		"Rename":      func(dir, missing string) error { return durable.Disk{}.Rename(missing, filepath.Join(dir, "to")) },
		"Link":        func(dir, missing string) error { return durable.Disk{}.Link(missing, filepath.Join(dir, "to")) },
		"Copy":        func(dir, missing string) error { return durable.Disk{}.Copy(missing, filepath.Join(dir, "to")) },
		"MakeScratch": func(_, missing string) error {
			_, err := durable.MakeScratch(missing, "s-")
			return err
		},
	} {
		dir := t.TempDir()
		err := change(dir, filepath.Join(dir, "missing"))
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(fmt.Sprint(err), filepath.Join(dir, "missing")) {
			t.Errorf("%s: got %v, want fs.ErrNotExist with the missing path", name, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s left %v (%v), want an empty folder", name, entries, err)
		}
	}
	// Users know the folder, but not the name of the temporary file.
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(missing, "file")
	want := fmt.Sprintf("write %s: create a file in %s: %v", file, missing, syscall.ENOENT)
	if err := (durable.Disk{}).WriteFile(file, nil, 0o600); fmt.Sprint(err) != want {
		t.Errorf("got the error %v, want %s", err, want)
	}
}

// TestRemoveOfAFileThatVanishes removes a file that another process removes at the same time.
func TestRemoveOfAFileThatVanishes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	harness.Must(t, os.WriteFile(path, nil, 0o600))
	disk := durable.Disk{Step: func(name, path string) error {
		if name == "before removal file" {
			return os.Remove(path)
		}
		return nil
	}}
	harness.Must(t, disk.Remove(path))
	folder := filepath.Join(filepath.Dir(path), "folder")
	harness.Must(t, os.MkdirAll(filepath.Join(folder, "a"), 0o700))
	if err := disk.Remove(folder); err == nil {
		t.Error("got no error for a folder that is not empty")
	}
}

// TestFailedSyncIsTheOnlyError makes the sync of the folder fail after the temporary file was renamed.
func TestFailedSyncIsTheOnlyError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	disk := durable.Disk{Step: func(name, _ string) error {
		if name == "before fsync beside file" {
			return syscall.EIO
		}
		return nil
	}}
	want := fmt.Sprintf("write %s: %v", path, syscall.EIO)
	if err := disk.WriteFile(path, nil, 0o600); fmt.Sprint(err) != want {
		t.Errorf("got the error %v, want %s", err, want)
	}
}

// TestChangesCloseTheirFiles counts the open files. A night makes thousands of changes.
func TestChangesCloseTheirFiles(t *testing.T) {
	const openFiles = "/proc/self/fd"
	if _, err := os.Stat(openFiles); err != nil {
		t.Skip("the system does not list the open files")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close forgotten files
	dir := t.TempDir()
	path, origin := filepath.Join(dir, "file"), filepath.Join(dir, "origin")
	harness.Must(t, os.WriteFile(origin, []byte("x"), 0o600))
	count := func() int { return len(harness.MustValue(os.ReadDir(openFiles))) }
	before := count()
	var disk durable.Disk
	for name, change := range map[string]func() error{
		"WriteFile":  func() error { return disk.WriteFile(path, []byte("x"), 0o600) },
		"AppendLine": func() error { return disk.AppendLine(path, []byte("x"), 0o600) },
		"Copy":       func() error { return disk.Copy(origin, path) },
		"Rename":     func() error { return disk.Rename(path, path) },
		"WriteFolder": func() error {
			return durable.WriteFolder(filepath.Join(dir, "folder"), func(string) error { return nil })
		},
		"MakeScratch": func() error {
			scratch, err := durable.MakeScratch(dir, "s-")
			if err != nil {
				return err
			}
			return scratch.Remove()
		},
	} {
		harness.Must(t, disk.WriteFile(path, nil, 0o600))
		harness.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf(".file.%d.killed", unusedPID)), nil, 0o600))
		harness.Must(t, change())
		if after := count(); after != before {
			t.Errorf("%s left %d files open", name, after-before)
		}
		before = count()
	}
}
