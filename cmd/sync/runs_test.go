package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestSnapshotOfARun finds the snapshot that readers saw after a run. Failed runs and rollbacks have none of their own.
func TestSnapshotOfARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "warehouse")
	createWarehouse(t, dir)
	wh := warehouse.New(warehouse.Config{Dir: dir})
	harness.Must(t, wh.RunLog.Record(ledger.Run{ID: "failed first", Outcome: ledger.Failed}))
	harness.Must(t, wh.RunLog.Record(ledger.Run{ID: "night", Outcome: ledger.Complete, SnapshotAt: time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC)}))
	harness.Must(t, wh.RunLog.Record(ledger.Run{ID: "failed", Outcome: ledger.Failed}))
	for run, want := range map[string]string{"night": "2026-11-01T02:00:00Z", "failed": "2026-11-01T02:00:00Z",
		"failed first": "failed first", "2026-11": "2026-11"} {
		if got := snapshotOfRun(wh, run); got != want {
			t.Errorf("after %q readers see %q, want %q", run, got, want)
		}
	}
}

func TestRunsListsKinds(t *testing.T) {
	out := ledgerTable([]ledger.Run{{ID: "no kind"}, {ID: "by schedule", Kind: ledger.Night}, {ID: "after events", Kind: ledger.Refresh}}, "by schedule").render(0)
	for _, want := range []string{"no kind       night ", "by schedule   night    see this ", "after events  refresh "} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not contain %q:\n%s", want, out)
		}
	}
}
