package backup

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// onPut calls do with the name of each object before the server stores it.
func (f *fixture) onPut(do func(name string)) {
	f.store.FailWith(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			do(strings.TrimPrefix(r.URL.Path, "/store/a/"))
		}
		return false
	})
}

// contents returns the number of different contents of the files of a backup.
func (f *fixture) contents() int {
	names := map[string]bool{}
	for _, content := range contentOf(f.t, f.config.Warehouse) {
		names[content] = true
	}
	return len(names)
}

// checkRestored restores the newest backup, and compares its files with those of the warehouse.
func (f *fixture) checkRestored() {
	f.t.Helper()
	c := f.newTarget()
	_, err := Restore(f.t.Context(), c)
	harness.Must(f.t, err)
	if diff := cmp.Diff(contentOf(f.t, f.config.Warehouse), contentOf(f.t, c.Warehouse)); diff != "" {
		f.t.Errorf("restored files (-want +got):\n%s", diff)
	}
}

// copiesOfTable returns the paths of the Parquet file of the newest night, in the series and in the version.
func (f *fixture) copiesOfTable() []string {
	f.t.Helper()
	w := f.config.Warehouse
	run, _, err := w.Versions.Latest()
	harness.Must(f.t, err)
	m, err := w.Versions.ReadManifest(run)
	harness.Must(f.t, err)
	return []string{w.Series.FilePath(m.Tables[0], m.SnapshotAt), filepath.Join(w.Folder.VersionPath(run), m.Tables[0].File)}
}

func TestOneBackupRunsAtATime(t *testing.T) {
	f := newFixture(t)
	f.night()
	unlock, err := f.config.Warehouse.Folder.LockJob(ledger.Backup)
	harness.Must(t, err)
	if _, err := Run(t.Context(), f.config); !errors.As(err, new(*warehouse.LockedError)) {
		t.Errorf("a second backup at the same time: got %v, want a *LockedError", err)
	}
	harness.Must(t, unlock())
	f.backUp()
}

// TestMissingDaysAreBackedUpOrReported loses the list of the days. A backup adds the day again, unless another command has the
// lock. A damaged file is no error.
func TestMissingDaysAreBackedUpOrReported(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would release a forgotten lock
	f := newFixture(t)
	f.night()
	w := f.config.Warehouse
	day := w.Folder.DayManifestPath(warehouse.DayOf(f.now()))
	loseDay := func() { harness.Must(t, os.RemoveAll(filepath.Dir(day))) }
	wantLeftOut := []DamagedFile{{w.Folder.Relative(day), "run 20261102T020000Z has not completed its day; the next run completes the day"}}
	check := func(want []DamagedFile) {
		t.Helper()
		result := f.backUp()
		m, err := f.config.readNewest(t.Context())
		harness.Must(t, err)
		for _, got := range [][]DamagedFile{result.LeftOut, m.LeftOut} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("left out files of the result or of the manifest (-want +got):\n%s", diff)
			}
		}
	}
	loseDay()
	lock, err := w.Lock("a night", f.now())
	harness.Must(t, err)
	check(wantLeftOut)
	harness.Must(t, lock.Release())
	check(nil)
	lock, err = w.Lock("a night", f.now()) // the backup has released the lock
	harness.Must(t, err)
	harness.Must(t, lock.Release())
	loseDay()
	harness.Must(t, os.Remove(f.copiesOfTable()[0])) // otherwise the file is not read
	harness.Must(t, os.WriteFile(f.copiesOfTable()[1], []byte("damaged"), 0o600))
	check(nil) // the bucket has the damaged file
}

// TestNightsDuringABackup publishes a night while the last object of a backup is sent. The backup must contain the
// state before or after the night, and must not send an object twice.
func TestNightsDuringABackup(t *testing.T) {
	f := newFixture(t)
	f.night()
	before := f.contents()
	sent := 0
	f.onPut(func(string) {
		sent++
		if sent == before {
			f.night()
		}
	})
	result := f.backUp()
	f.store.FailWith(nil)
	f.checkRestored()
	if n := len(f.store.Objects("store")) - len(f.manifests()); result.Sent != n || len(result.LeftOut) > 0 {
		t.Errorf("sent %d objects and left out %v, want %d objects", result.Sent, result.LeftOut, n)
	}
	m, err := f.config.readNewest(t.Context())
	harness.Must(t, err)
	if !slices.IsSortedFunc(m.Files, compareFiles) {
		t.Errorf("the manifest lists the files as %v, want them sorted", m.Files)
	}
	t.Run("the day is not complete yet", func(t *testing.T) {
		f.night()
		total, sent := f.contents(), len(f.store.Objects("store"))-len(f.manifests())
		f.onPut(func(string) {
			sent++
			if sent == total {
				f.night()
				day := warehouse.DayOf(f.now())
				harness.Must(t, f.config.Warehouse.Series.ChangeIndex(func(days map[string]string) { delete(days, day) }))
				harness.Must(t, os.Remove(f.config.Warehouse.Folder.DayManifestPath(day)))
			}
		})
		defer func() { f.store.FailWith(nil) }()
		if result := f.backUp(); len(result.LeftOut) > 0 {
			t.Errorf("left out %v, want no file: the backup began before the night", result.LeftOut)
		}
	})
}

// TestChangesOfStateDoNotRepeatABackup adds a file to state/ with each upload, as webhooks do.
func TestChangesOfStateDoNotRepeatABackup(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.onPut(func(name string) {
		harness.Must(t, f.config.Warehouse.Folder.StateFile(filepath.Base(name)).Write(name))
	})
	f.backUp()
}

// TestCopiesOfDamagedFilesAreSent removes, damages and restores the Parquet file of a night and its copy in the version.
func TestCopiesOfDamagedFilesAreSent(t *testing.T) {
	f := newFixture(t)
	f.night()
	inSeries, inVersion := f.copiesOfTable()[0], f.copiesOfTable()[1]
	file := f.config.Warehouse.Folder.Relative(inSeries)
	content, err := os.ReadFile(inSeries)
	harness.Must(t, err)
	harness.Must(t, os.Remove(inSeries))
	harness.Must(t, os.Rename(inVersion, inVersion+".away"))
	harness.Must(t, os.WriteFile(inVersion, []byte("damaged"), 0o600))
	if diff := cmp.Diff([]DamagedFile{{file, "it is missing"}}, f.backUp().LeftOut); diff != "" {
		t.Errorf("left out files without an intact copy (-want +got):\n%s", diff)
	}
	harness.Must(t, os.Remove(inVersion))
	var replace sync.Once
	f.config.Progress = func(done, total int64) {
		if done == total { // the first attempt has tried all files
			replace.Do(func() { harness.Must(t, os.WriteFile(inSeries, content, 0o600)) })
		}
	}
	if result := f.backUp(); len(result.LeftOut) > 0 {
		t.Errorf("left out %v, want no file: the file was only replaced during the backup", result.LeftOut)
	}
	f.config.Progress = nil
	f.store.FailWith(nil)
	f.store.Change("store", func(objects map[string][]byte) { delete(objects, "a/"+dataName(checksum.SumText("", content))) })
	harness.Must(t, os.Remove(inSeries))
	harness.Must(t, os.Rename(inVersion+".away", inVersion))
	if result := f.backUp(); len(result.LeftOut) > 0 || result.Sent != 1 {
		t.Errorf("sent %d files and left out %v, want the copy in the version", result.Sent, result.LeftOut)
	}
	harness.Must(t, os.Remove(inVersion))
	if result := f.backUp(); len(result.LeftOut) > 0 || result.Sent != 0 {
		t.Errorf("sent %d files and left out %v, want none: the bucket has the file", result.Sent, result.LeftOut)
	}
	j := &job{Config: f.config}
	harness.Must(t, j.sendFile(t.Context(), checksum.FileSum{File: "state/gone"}))
	if len(j.result.LeftOut) > 0 {
		t.Errorf("left out %v, want no file: another process removed a file of state/", j.result.LeftOut)
	}
	if err := j.sendFile(t.Context(), checksum.FileSum{File: "state/runs.jsonl/unreadable"}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file that cannot be opened: got %v, want an error: the backup would lack the file", err)
	}
}

func TestDamagedObjectsAreSentAgain(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	name := "a/" + dataName(f.fileOfTable())
	f.store.Change("store", func(objects map[string][]byte) { objects[name] = objects[name][1:] })
	if result := f.backUp(); result.Sent != 1 {
		t.Errorf("sent %d files, want the one whose object has another size", result.Sent)
	}
	f.checkRestored()
	f.onPut(func(put string) {
		if strings.HasPrefix(put, manifestsDir) {
			f.store.Change("store", func(objects map[string][]byte) { delete(objects, name) })
		}
	})
	before := len(f.manifests())
	f.pass(24 * time.Hour)
	_, err := Run(t.Context(), f.config)
	f.store.FailWith(nil)
	if err == nil || !strings.Contains(err.Error(), "was removed during the backup") || len(f.manifests()) != before {
		t.Errorf("got %v and %d manifests, want an error and no manifest that lists a missing object", err, len(f.manifests())-before)
	}
	f.backUp()
	f.checkRestored()
}

// TestOnlyTheOwnBackupIsReplaced loses the ledger, then the copy of the manifest, and then backs up to the bucket of
// another warehouse.
func TestOnlyTheOwnBackupIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	run := f.now().AddDate(0, 0, -1).Format("20060102T150405Z")
	f.night()
	w := f.config.Warehouse
	for _, path := range []string{w.RunLog.Path(), w.Folder.RunManifestPath(run)} {
		harness.Must(t, os.Rename(path, path+".away"))
		f.store.Change("store", func(objects map[string][]byte) {
			for _, name := range f.manifests()[1:] {
				delete(objects, name)
			}
		})
		f.backUp()
		harness.Must(t, os.Rename(path+".away", path))
	}
	f.backUp()
	newest, _, err := w.Versions.Latest()
	harness.Must(t, err)
	harness.Must(t, os.Rename(w.RunLog.Path(), w.RunLog.Path()+".away"))
	harness.Must(t, os.Remove(w.Folder.RunManifestPath(newest)))
	f.backUp() // only the version names its run
	harness.Must(t, os.Rename(w.RunLog.Path()+".away", w.RunLog.Path()))
	_, err = writeManifest(t.Context(), f.config.Bucket, Manifest{Kind: manifestKind, Format: manifestFormat, Run: "20250101T020000Z", At: f.now().AddDate(0, 0, 1)})
	harness.Must(t, err)
	f.pass(48 * time.Hour)
	if _, err := Run(t.Context(), f.config); err == nil || !strings.Contains(err.Error(), "belongs to another warehouse, with run 20250101T020000Z; nothing was changed") {
		t.Errorf("got %v, want an error", err)
	}
}

// TestNothingIsRemovedInDoubt makes the list of needed objects incomplete in several ways.
func TestNothingIsRemovedInDoubt(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		f.night()
		f.backUp()
	}
	unreadable := "a/manifests/" + f.now().Format(nameTimeFormat) + "-0.json"
	f.store.Change("store", func(objects map[string][]byte) { objects[unreadable] = []byte("{}") })
	f.night()
	if result := f.backUp(); result.Removed > 0 || len(f.manifests()) != 4 {
		t.Errorf("%d objects were removed and %d manifests are left, want none and 4: one of them cannot be read", result.Removed, len(f.manifests()))
	}
	f.store.Change("store", func(objects map[string][]byte) {
		delete(objects, unreadable)
		objects["a/data/untimed"] = []byte("x")
	})
	f.pass(48 * time.Hour)
	j := &job{Config: f.config, stored: map[string]bucket.Object{"data/untimed": {Name: "data/untimed"}}}
	if err := j.removeOldBackups(t.Context(), "manifests/none"); err == nil || len(f.manifests()) != 3 {
		t.Errorf("got %v and %d manifests, want an error and all 3: the manifest of this backup is missing", err, len(f.manifests()))
	}
	harness.Must(t, j.removeOldBackups(t.Context(), strings.TrimPrefix(f.manifests()[2], "a/")))
	if f.store.Objects("store")["a/data/untimed"] == nil {
		t.Error("an object was removed although the server does not tell when it was stored")
	}
	// Another backup removes the oldest manifest after it was listed.
	f.refuse(http.MethodGet, f.manifests()[0], http.StatusNotFound, "NoSuchKey")
	f.backUp()
}
