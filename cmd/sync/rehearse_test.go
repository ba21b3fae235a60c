package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestRehearsal rehearses the restore of an intact backup, and of a backup with a truncated object.
func TestRehearsal(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	d := newBucketHarness(t, "product_listings", "orders")
	harness.Must(t, d.night(t))
	filesBefore := d.files(t)
	d.out.Reset()
	harness.Must(t, runBackup(t.Context(), d.g, backupOptions{rehearse: true}))
	if !strings.Contains(d.out.String(), " can be restored: ") {
		t.Errorf("the rehearsal printed %q, want that the backup can be restored", d.out)
	}
	success := d.lastRehearsal(t)
	if success.Last.Outcome != ledger.Complete || success.Last.Bytes == 0 || success.SucceededAt.IsZero() {
		t.Errorf("the ledger contains %+v, want a complete rehearsal with its bytes and time", success)
	}

	// The largest object is a Parquet file or the ledger. A restore needs both.
	truncated := ""
	d.store.Change("store", func(objects map[string][]byte) {
		for name, data := range objects {
			if strings.Contains(name, "/data/") && len(data) > len(objects[truncated]) {
				truncated = name
			}
		}
		objects[truncated] = objects[truncated][:len(objects[truncated])-1]
	})
	err := runBackup(t.Context(), d.g, backupOptions{rehearse: true})
	if err == nil || !strings.Contains(err.Error(), filepath.Base(truncated)) {
		t.Errorf("the rehearsal with the truncated object %s ended with %v, want an error with its name", truncated, err)
	}
	if failure := d.lastRehearsal(t); failure.Last.Outcome != ledger.Failed || !failure.IsBehind() || failure.SucceededAt != success.SucceededAt {
		t.Errorf("after a failure the ledger contains %+v, want a failed rehearsal and the time of the earlier success", failure)
	}

	// The backup lacks a file of the warehouse that was damaged before it was sent.
	damaged, err := filepath.Glob(filepath.Join(d.dir(), "parquet/orders/*/*.parquet"))
	harness.Must(t, err)
	intact, err := os.ReadFile(damaged[0])
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(damaged[0], intact[:len(intact)-1], 0o600))
	d.store.Change("store", func(objects map[string][]byte) {
		maps.DeleteFunc(objects, func(_ string, data []byte) bool { return bytes.Equal(data, intact) })
	})
	if err := runBackup(t.Context(), d.g, backupOptions{}); exitCodeOf(t, err) != ledger.Partial.ExitCode() {
		t.Errorf("the backup of a damaged file ended with %v, want the outcome partial", err)
	}
	err = runBackup(t.Context(), d.g, backupOptions{rehearse: true})
	if err == nil || !strings.Contains(err.Error(), "rehearse the restore: the backup lacks 1 file, such as ") {
		t.Errorf("the rehearsal of a backup without a file ended with %v, want an error with this file", err)
	}
	harness.Must(t, os.WriteFile(damaged[0], intact, 0o600))

	entries, err := os.ReadDir(d.root)
	harness.Must(t, err)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.Contains(e.Name(), "rehearsal") }) {
		t.Errorf("a rehearsal did not remove its folder: %v", entries)
	}
	filesAfter := d.files(t)
	for name, text := range filesBefore {
		if filesAfter[name] != text && name != "state/runs.jsonl" {
			t.Errorf("a rehearsal changed %s", name)
		}
	}
}

func (d *bucketHarness) lastRehearsal(t *testing.T) ledger.FollowUp {
	t.Helper()
	wh, _, err := d.g.openWarehouse()
	harness.Must(t, err)
	entries, err := wh.RunLog.RunsAndFollowUps()
	harness.Must(t, err)
	for _, f := range ledger.FollowUps(entries) {
		if f.Last.Kind == ledger.Rehearsal {
			return f
		}
	}
	t.Fatal("the ledger has no rehearsal")
	return ledger.FollowUp{}
}
