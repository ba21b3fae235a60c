package warehouse_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestStateFilesAreSealed writes, reads and damages a file below state/. A sealed file contains its
// own checksum, so that Read detects damage.
func TestStateFilesAreSealed(t *testing.T) {
	type record struct {
		Rows int `json:"rows"`
	}
	w := openWith(t, warehouse.Config{})
	f, name := w.Folder.StateFile("watch", "rows.json"), path(w, "state", "watch", "rows.json")
	var got record
	if ok, err := f.Read(&got); ok || err != nil {
		t.Errorf("a missing file is read as %+v, %t (%v), want false without an error", got, ok, err)
	}
	for _, rows := range []int{7, 8} {
		harness.Must(t, f.Write(record{rows}))
		if ok, err := f.Read(&got); !ok || err != nil || got.Rows != rows {
			t.Errorf("got %+v, %t (%v), want %d rows", got, ok, err, rows)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v), want 0600", info.Mode(), err)
	}
	if info, err := os.Stat(path(w, "state", "watch")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder has the mode %v (%v), want 0700", info.Mode(), err)
	}
	if err := openFailingAt(t, w, "before rename rows.json").Folder.StateFile("watch", "rows.json").Write(record{9}); !errors.Is(err, syscall.EIO) {
		t.Errorf("the error on a failing disk is %v, want %v", err, syscall.EIO)
	}
	if err := f.Write(func() {}); err == nil || !strings.Contains(err.Error(), "write "+name) {
		t.Errorf("the error of writing a function is %v, want it to name the file", err)
	}
	flipBit(t, name, 12)
	var damaged *warehouse.DamagedError
	if ok, err := f.Read(&got); ok || !errors.As(err, &damaged) || damaged.File != "state/watch/rows.json" {
		t.Errorf("a damaged file is read as %t (%v), want false and a DamagedError", ok, err)
	}
	harness.Must(t, errors.Join(os.Remove(name), os.Mkdir(name, 0o700)))
	if ok, err := f.Read(&got); ok || !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder is read as %t (%v), want false and %v", ok, err, syscall.EISDIR)
	}
	harness.Must(t, errors.Join(os.RemoveAll(path(w, "state")), os.WriteFile(path(w, "state"), nil, 0o600)))
	if err := f.Write(record{9}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("the error of writing below a file is %v, want %v", err, syscall.ENOTDIR)
	}
}

// TestFilesKeepTheirFormat compares the JSON of files that earlier and later releases read.
func TestFilesKeepTheirFormat(t *testing.T) {
	at := firstNightAt
	sum := func(file string) checksum.FileSum { return checksum.FileSum{File: file, Bytes: 1, SHA256: "s"} }
	const sumText = `,"bytes":1,"sha256":"s"`
	line := sum("run.json")
	manifest := warehouse.Manifest{RunID: "r", Kind: "k", SnapshotAt: at, Program: "p", Schema: "s", Format: 2,
		Previous: "b", Night: "n", Catalog: sum("catalog.duckdb"), LedgerLine: &line, Lost: []string{"l"},
		Meta: &warehouse.ManifestMeta{Base: "b", HasPast: true, FileSum: sum("meta.changes")},
		Tables: []warehouse.ManifestTable{{Name: "t", Rows: 1, Grade: "exact", Note: "o", KeyMin: "a", KeyMax: "z",
			FileSum: sum("t.parquet")}}}
	for want, value := range map[string]any{
		`{"run_id":"r","kind":"k","snapshot_at":"2026-11-01T02:00:00Z","program_version":"p","schema_version":"s",` +
			`"format":2,"previous":"b","night":"n","catalog":{"file":"catalog.duckdb"` + sumText + `},` +
			`"entry":{"file":"run.json"` + sumText + `},"meta":{"base":"b","past":true,"file":"meta.changes"` + sumText + `},` +
			`"tables":[{"table":"t","rows":1,"grade":"exact","note":"o","key_min":"a","key_max":"z","file":"t.parquet"` +
			sumText + `}],"lost":["l"]}`: manifest,
		`{"run_id":"r","started_at":"2026-11-01T02:00:00Z","source":"s","access":"a","attempt":2,"program_version":"p",` +
			`"kind":"k","version":"v"}`: warehouse.UnfinishedRun{Run: "r", StartedAt: at, Source: "s", Rights: "a", Attempt: 2,
			Program: "p", Kind: "k", Version: "v"},
		`{"from":"f","started_at":"2026-11-01T02:00:00Z"}`: warehouse.UnfinishedRestoreError{From: "f", StartedAt: at},
	} {
		if got, err := json.Marshal(value); err != nil || string(got) != want {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
}

// TestEachJobHasItsOwnLock locks a job twice. The second lock must fail. While the first lock exists,
// another job can be locked.
func TestEachJobHasItsOwnLock(t *testing.T) {
	w := openWith(t, warehouse.Config{})
	harness.Must(t, os.RemoveAll(w.Folder.Dir()))
	if _, err := w.Folder.LockJob("backup"); !errors.As(err, new(*warehouse.NoWarehouseError)) {
		t.Errorf("the error without a warehouse is %v, want a NoWarehouseError", err)
	}
	harness.Must(t, os.MkdirAll(path(w, "state"), 0o700))
	unlock, err := w.Folder.LockJob("backup")
	harness.Must(t, err)
	_, err = w.Folder.LockJob("backup")
	if !errors.As(err, new(*warehouse.LockedError)) || !strings.Contains(err.Error(), `lock the job "backup": another placementsync process holds this lock`) {
		t.Errorf("the error of a second backup is %v, want a LockedError with the name of the job", err)
	}
	unlockLake, err := w.Folder.LockJob("lake")
	harness.Must(t, err)
	harness.Must(t, errors.Join(unlockLake(), unlock()))
	unlock, err = w.Folder.LockJob("backup")
	harness.Must(t, err)
	harness.Must(t, unlock())
	harness.Must(t, os.Mkdir(path(w, "state", "watch.lock"), 0o700))
	if _, err := w.Folder.LockJob("watch"); err == nil || !strings.Contains(err.Error(), "lock the job with the file "+path(w, "state", "watch.lock")) {
		t.Errorf("the error of locking a folder is %v, want it to name the lock", err)
	}
}
