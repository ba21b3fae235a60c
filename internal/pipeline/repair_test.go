package pipeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// damage changes the byte in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	testharness.Must(t, err)
	testharness.Must(t, os.Chmod(path, 0o600))
	content[len(content)/2] ^= 0xff
	testharness.Must(t, os.Remove(path))
	testharness.Must(t, os.WriteFile(path, content, 0o600))
}

// remove removes the files that match patterns.
func (h *harness) remove(patterns ...string) {
	h.t.Helper()
	for _, pattern := range patterns {
		for _, path := range testharness.MustValue(filepath.Glob(h.path(pattern))) {
			testharness.Must(h.t, os.RemoveAll(path))
		}
	}
}

// TestRepairsGiveTheSameHistory repairs a warehouse of two nights, of which the second changed some rows.
func TestRepairsGiveTheSameHistory(t *testing.T) {
	world := smallWorld()
	world.Listings, world.ListingTurnover, world.ListingChange = 20, 0.1, 0.3
	h := newHarness(t, world, "product_listings", "tags", "folders")
	for range 2 {
		h.service.ResetRequests()
		h.requireCounts(h.requireComplete(h.night()))
	}
	before := h.history()
	h.at = h.at.Add(time.Minute)
	h.replayLastNight()
	if diff := cmp.Diff(before, h.history()); diff != "" {
		t.Errorf("replays: history differs (-before +after):\n%s", diff)
	}
	h.at = h.at.Add(time.Minute)
	h.rebuild()
	if diff := cmp.Diff(before, h.history()); diff != "" {
		t.Errorf("rebuild: history differs (-before +after):\n%s", diff)
	}
	// Without a table, the next night brings it back.
	h.remove("versions", "latest", "parquet/product_listings")
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), true)
	if err != nil || len(r.Skipped) != 2 {
		t.Fatalf("the rebuild is %+v (%v), want two skipped files", r, err)
	}
	h.requireComplete(h.night())
	h.requireIDs("product_listings", "/products/listings")
}

// verify reads all data and returns the findings.
func (h *harness) verify() repair.Report {
	h.t.Helper()
	v, err := repair.Verify(h.t.Context(), repairConfig(h.cfg), true)
	testharness.Must(h.t, err)
	return v
}

// replayLastNight damages the catalog and the day of the newest night, whose stored responses are intact. Verify must
// report no loss, and name the rollback and the replay that restore everything without requests.
func (h *harness) replayLastNight() {
	h.t.Helper()
	const first, second = "20261102T020000Z", "20261103T020000Z"
	damage(h.t, h.path("versions", second, "catalog.duckdb"))
	damage(h.t, h.path("versions", second, "product_listings.parquet"))
	damage(h.t, h.path("parquet", "product_listings", "snapshot_date=2026-11-03", "product_listings.parquet"))
	v := h.verify()
	plan := repair.Plan(v.Damage)
	want := repair.Step{Kind: repair.ReplayNights, Version: first, Nights: second}
	if v.Result() != repair.Rebuildable || len(plan) != 1 || plan[0] != want {
		h.t.Fatalf("verify reports %s and plans %+v, want %+v without a loss\n%+v", v.Result(), plan, want, v.Damage)
	}
	_, err := h.warehouse().Rollback(first, h.at)
	testharness.Must(h.t, err)
	h.at = h.at.Add(time.Minute)
	res := h.requireComplete(pipeline.Replay(h.t.Context(), h.cfg, second))
	if res.Run.Requests != 0 || h.latest() != res.Run.ID {
		h.t.Errorf("the replay sent %d requests and readers see %s, want no request and %s", res.Run.Requests, h.latest(), res.Run.ID)
	}
}

// rebuild rebuilds the catalog without the versions.
func (h *harness) rebuild() {
	h.t.Helper()
	runLines := h.lines("SELECT run_id, outcome, rows FROM meta.runs ORDER BY 1")
	h.remove("versions", "latest")
	wh, wasLocked, wasReleased := h.warehouse(), false, false
	h.cfg.Warehouse.Step = func(string, string) error {
		isLocked := errors.As(wh.Folder.CheckUnlocked(), new(*warehouse.LockedError))
		if wasLocked && !isLocked {
			wasReleased = true
		}
		if isLocked {
			wasLocked = true
		}
		return nil
	}
	r, err := repair.Rebuild(h.t.Context(), repairConfig(h.cfg), false)
	testharness.Must(h.t, err)
	h.cfg.Warehouse.Step = nil
	if !wasLocked || wasReleased {
		h.t.Errorf("locked during the rebuild: %t, and released before its end: %t; want a lock until the end", wasLocked, wasReleased)
	}
	first, last := time.Date(2026, 11, 2, 2, 0, 0, 0, time.UTC), time.Date(2026, 11, 3, 2, 0, 0, 0, time.UTC)
	if r.Snapshots != 2 || !r.First.Equal(first) || !r.Last.Equal(last) || r.RestoredRuns != 2 || r.SnapshotsWithoutDay != 0 {
		h.t.Errorf("the rebuild is %+v, want all of 2 snapshots and runs", r)
	}
	if h.latest() != r.Manifest.RunID || r.Manifest.Kind != ledger.Rebuild || !r.Manifest.SnapshotAt.Equal(last) {
		h.t.Errorf("readers see %s and the manifest is %+v, want a published rebuild of the last snapshot", h.latest(), r.Manifest)
	}
	h.requireLines("SELECT run_id, outcome, rows FROM meta.runs ORDER BY 1", runLines...)
	run := ledger.Find(testharness.MustValue(h.warehouse().RunLog.Runs()), r.Manifest.RunID)
	if run.Kind != ledger.Rebuild || run.Outcome != ledger.Complete || run.ExitCode != 0 || !run.SnapshotAt.Equal(last) || !run.StartedAt.Equal(h.at) {
		h.t.Errorf("the ledger has %+v, want a complete rebuild of the last snapshot", run)
	}
}
