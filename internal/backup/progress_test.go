package backup

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
)

// TestBytesAreCounted backs up a night and restores it. The counts of bytes and the last progress must be the size of the
// files.
func TestBytesAreCounted(t *testing.T) {
	f := newFixture(t)
	f.night()
	var total int64
	for _, content := range contentOf(t, f.config.Warehouse) {
		total += int64(len(content))
	}
	var done, doneTotal, calls atomic.Int64
	progress := func(d, n int64) {
		calls.Add(1)
		done.Store(max(done.Load(), d))
		doneTotal.Store(n)
	}
	f.config.Progress = progress
	result := f.backUp()
	if calls.Load() != int64(result.Files) {
		t.Errorf("%d files were read for a backup of %d, want each once", calls.Load(), result.Files)
	}
	var sent int64
	for name, data := range f.store.Objects("store") {
		if !strings.Contains(name, "/manifests/") {
			sent += int64(len(data))
		}
	}
	if result.Bytes != total || result.SentBytes != sent {
		t.Errorf("the backup has %d bytes, of which %d were sent, want %d and %d", result.Bytes, result.SentBytes, total, sent)
	}
	// The sizes of files without a checksum are unknown before they are read.
	if done.Load() < doneTotal.Load() || doneTotal.Load() == 0 {
		t.Errorf("the last progress of the backup is %d of %d bytes, want all", done.Load(), doneTotal.Load())
	}
	v, err := Verify(t.Context(), f.config, true)
	if err != nil || v.Fetched != result.Files || v.Bytes != total {
		t.Errorf("verify compared %d files with %d bytes (%v), want %d with %d", v.Fetched, v.Bytes, err, result.Files, total)
	}
	c := f.newTarget()
	c.Progress = progress
	done.Store(0)
	restored, err := Restore(t.Context(), c)
	if err != nil || restored.Fetched != result.Files || restored.Bytes != total {
		t.Errorf("the restore fetched %d files with %d bytes (%v), want %d with %d", restored.Fetched, restored.Bytes, err, result.Files, total)
	}
	if done.Load() != doneTotal.Load() || doneTotal.Load() == 0 {
		t.Errorf("the last progress of the restore is %d of %d bytes, want all but the ledger", done.Load(), doneTotal.Load())
	}
}

// TestABackupBeforeTheFirstNightIsContinued backs up a warehouse without a version, and then its first night.
func TestABackupBeforeTheFirstNightIsContinued(t *testing.T) {
	f := newFixture(t)
	lock, err := f.config.Warehouse.Lock("test", f.now())
	harness.Must(t, err)
	harness.Must(t, lock.Release())
	if result := f.backUp(); result.Run != "" {
		t.Errorf("the backup is of the run %q, want none", result.Run)
	}
	f.night()
	f.backUp()
	f.checkRestored()
}

// TestASeriesThatNeverRestsIsNotBackedUp changes the index of the series during each attempt.
func TestASeriesThatNeverRestsIsNotBackedUp(t *testing.T) {
	f := newFixture(t)
	f.night()
	index := f.config.Warehouse.Series.IndexPath()
	changed := filepath.Join(t.TempDir(), "index")
	var mu sync.Mutex
	f.onPut(func(string) {
		mu.Lock()
		defer mu.Unlock()
		data, err := os.ReadFile(index)
		harness.Must(t, err)
		harness.Must(t, os.WriteFile(changed, append(data, ' '), 0o600))
		harness.Must(t, os.Rename(changed, index)) // as a night does: a file that is being sent keeps its content
	})
	_, err := Run(t.Context(), f.config)
	f.store.FailWith(nil)
	if err == nil || !strings.Contains(err.Error(), "the Parquet series changed during each of 5 attempts; the previous backup and the sent files were kept") ||
		len(f.manifests()) > 0 {
		t.Errorf("got %v and the manifests %q, want an error and no manifest", err, f.manifests())
	}
}

// TestOlderBackupsAreUsedOnRequest damages the newest of two manifests, beside an older one that was never readable.
func TestOlderBackupsAreUsedOnRequest(t *testing.T) {
	f := newFixture(t)
	if _, err := f.config.readNewest(t.Context()); err == nil || !strings.Contains(err.Error(), "find a backup in s3://store/a: there is none") {
		t.Errorf("reading an empty bucket: got %v, want an error", err)
	}
	f.night()
	first := f.backUp()
	f.night()
	second := f.backUp()
	newest := f.manifests()[1]
	f.store.Change("store", func(objects map[string][]byte) { objects["a/manifests/20200101T020000.000Z-0.json"] = []byte("{}") })
	if m, err := f.config.readNewest(t.Context()); err != nil || m.Run != second.Run {
		t.Errorf("beside an old unreadable manifest: got the backup of %s (%v), want that of %s", m.Run, err, second.Run)
	}
	f.store.Change("store", func(objects map[string][]byte) {
		objects[newest] = []byte(strings.Replace(string(objects[newest]), `"parquet/`, `"parquex/`, 1))
	})
	_, err := Verify(t.Context(), f.config, false)
	const want = "its bytes do not match its checksum; nothing was changed: --older uses the newest readable backup, of run "
	if err == nil || !strings.Contains(err.Error(), want+first.Run) {
		t.Errorf("without the option: got %v, want an error that names the run %s", err, first.Run)
	}
	var log strings.Builder
	f.config.UseOlder, f.config.Log = true, slog.New(slog.NewTextHandler(&log, nil))
	v, err := Verify(t.Context(), f.config, false)
	if err != nil || v.Run != first.Run || !strings.Contains(log.String(), "an earlier backup is used") {
		t.Errorf("with the option: got the backup of %s (%v) and the log %q, want that of %s and a warning", v.Run, err, &log, first.Run)
	}
}

// TestABackupAfterTheClockWasSetBack backs up with an earlier clock. The new backup has the later name, because a restore
// reads the last.
func TestABackupAfterTheClockWasSetBack(t *testing.T) {
	f := newFixture(t)
	f.night()
	f.backUp()
	first := f.manifests()[0]
	f.pass(-26 * time.Hour) // backUp passes a day
	f.backUp()
	if all := f.manifests(); len(all) != 2 || all[0] != first {
		t.Errorf("the manifests are %v, want a new one after %s", all, first)
	}
}

// TestErrorsOfTheStoreEndABackup fails one kind of request. The backup must end with the error of the server, and must
// not write a manifest.
func TestErrorsOfTheStoreEndABackup(t *testing.T) {
	for name, c := range map[string]struct{ method, part string }{
		"the list of objects": {http.MethodGet, "store"}, "a file": {http.MethodPut, "data"}, "the manifest": {http.MethodPut, "manifests"},
	} {
		f := newFixture(t)
		f.night()
		f.refuse(c.method, c.part, http.StatusForbidden, "AccessDenied")
		_, err := Run(t.Context(), f.config)
		f.store.FailWith(nil)
		if err == nil || !strings.Contains(err.Error(), "AccessDenied") || len(f.manifests()) > 0 {
			t.Errorf("%s: got %v and the manifests %q, want the error of the server and none", name, err, f.manifests())
		}
	}
}

// TestEightFilesAreSentAtATime works on 20 files at the same time, until one of them fails.
func TestEightFilesAreSentAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		fail, failure, done := make(chan error), errors.New("the disk is full"), make(chan error)
		go func() {
			done <- eachFile(t.Context(), make([]checksum.FileSum, 20), func(ctx context.Context, _ checksum.FileSum) error {
				begun.Add(1)
				select {
				case err := <-fail:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}()
		synctest.Wait()
		if n := begun.Load(); n != 8 {
			t.Errorf("%d files are sent at the same time, want 8", n)
		}
		fail <- failure
		if err := <-done; !errors.Is(err, failure) {
			t.Errorf("got %v, want %v, which ends the work on the other files", err, failure)
		}
	})
}

// TestLeftOutFilesAreSorted removes both copies of the files of two nights.
func TestLeftOutFilesAreSorted(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		f.night()
		for _, path := range f.copiesOfTable() {
			harness.Must(t, os.Remove(path))
		}
		harness.Must(t, os.Remove(f.config.Warehouse.Folder.ChangesPath(f.now().Format("20060102T150405Z"))))
	}
	var read atomic.Int64
	f.config.Progress = func(_, _ int64) { read.Add(1) }
	result := f.backUp()
	if files := result.Files + len(result.LeftOut); read.Load() != int64(2*files) {
		t.Errorf("%d files were read, want each of %d twice: a night may have been replacing the missing ones", read.Load(), files)
	}
	if isSorted := slices.IsSortedFunc(result.LeftOut, func(x, y DamagedFile) int { return strings.Compare(x.File, y.File) }); len(result.LeftOut) < 3 ||
		!isSorted {
		t.Errorf("left out %v, want the files of both nights, sorted", result.LeftOut)
	}
}
