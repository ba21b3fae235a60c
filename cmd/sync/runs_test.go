package main

import (
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestRunsAreListed lists runs of each kind, a killed run and a follow-up.
func TestRunsAreListed(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	runs := []ledger.Run{
		{ID: "no kind", StartedAt: at, EndedAt: at.Add(1500 * time.Millisecond), Outcome: ledger.Complete, Attempts: 2,
			Requests: 11, Bytes: 4096, Retries: 12, Rows: 13, New: 14, Changed: 15, Gone: 16, Streams: []ledger.Stream{
				{Grade: "exact"}, {Grade: "bounded"}, {Grade: "skipped"}, {Grade: "carried_forward"}, {Grade: "best_effort"}}},
		{ID: "by schedule", Kind: ledger.Night, StartedAt: at, EndedAt: at, Outcome: ledger.Failed, ExitCode: 1, Attempts: 1,
			Error: "no network"},
		{ID: "after events", Kind: ledger.Refresh, StartedAt: at, Outcome: ledger.Killed, ExitCode: -1},
		{ID: "back", Kind: ledger.Rollback, Version: "no kind", StartedAt: at, EndedAt: at, Outcome: ledger.Complete},
		{ID: "copy", Kind: ledger.Backup, Version: "no kind", StartedAt: at, EndedAt: at, Outcome: ledger.Complete},
		{ID: "no copy", Kind: ledger.Backup, StartedAt: at, EndedAt: at, Outcome: ledger.Failed, ExitCode: 1},
	}
	const want = `
run kind readers started took attempts outcome exit requests received retries rows new changed gone streams why
no kind night see this 2026-11-20 02:00:00 1.5s 2 complete 0 11 4.0 KiB 12 13 14 15 16 1 not read, 1 carried, 1 not proven, 2 proven
by schedule night 2026-11-20 02:00:00 0s 1 failed 1 0 0 B 0 0 0 0 0 no network
after events refresh 2026-11-20 02:00:00 0 killed 0 0 B 0 0 0 0 0
back rollback to no kind 2026-11-20 02:00:00 0s 0 complete 0 0 0 B 0 0 0 0 0
copy backup of no kind 2026-11-20 02:00:00 0s 0 complete 0 0 0 B 0 0 0 0 0
no copy backup 2026-11-20 02:00:00 0s 0 failed 1 0 0 B 0 0 0 0 0
`
	text := "\n" + ledgerTable(runs, "no kind").render(0) + "\n"
	if diff := cmp.Diff(want, regexp.MustCompile(` +`).ReplaceAllString(text, " ")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
