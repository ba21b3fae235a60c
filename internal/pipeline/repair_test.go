package pipeline_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// sharedNights is the warehouse that threeNights copies. The first use creates it.
type sharedNights struct {
	dir    string
	create sync.Once
}

var shared sharedNights

// threeNights returns a harness with three nights. Each night changed some rows.
func threeNights(t *testing.T) *harness {
	t.Helper()
	world := smallWorld()
	world.Listings, world.ListingTurnover, world.ListingChange = 20, 0.1, 0.3
	h := newHarness(t, world, "product_listings", "tags", "folders")
	shared.create.Do(func() {
		nights := &harness{t: t, service: sim.New(world), cfg: h.cfg}
		server := httptest.NewServer(nights.service)
		defer server.Close()
		nights.cfg.Warehouse.Dir, nights.cfg.Fetch.BaseURL = shared.dir, server.URL
		nights.cfg.Now = func() time.Time { return nights.at }
		for range 3 {
			nights.service.ResetRequests()
			nights.requireCounts(nights.requireComplete(nights.night()))
		}
	})
	testharness.Must(t, os.CopyFS(h.cfg.Warehouse.Dir, os.DirFS(shared.dir)))
	h.service.Advance(3)
	h.at = h.service.Now().Add(2*time.Hour + time.Minute) // after the third night
	return h
}

// verify reads all data and returns the findings.
func (h *harness) verify() repair.Report {
	h.t.Helper()
	v, err := repair.Verify(h.t.Context(), repairConfig(h.cfg), true)
	testharness.Must(h.t, err)
	return v
}

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

// TestRebuildGivesTheSameHistory rebuilds a catalog without the versions.
func TestRebuildGivesTheSameHistory(t *testing.T) {
	h := threeNights(t)
	before, runLines := h.history(), h.lines("SELECT run_id, outcome, rows FROM meta.runs ORDER BY 1")
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
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	if !wasLocked || wasReleased {
		t.Errorf("locked during the rebuild: %t, and released before its end: %t; want a lock until the end", wasLocked, wasReleased)
	}
	first, last := time.Date(2026, 11, 2, 2, 0, 0, 0, time.UTC), time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)
	if r.Snapshots != 3 || !r.First.Equal(first) || !r.Last.Equal(last) || r.RestoredRuns != 3 || r.SnapshotsWithoutDay != 0 {
		t.Errorf("the rebuild is %+v, want all of 3 snapshots and runs", r)
	}
	if h.latest() != r.Manifest.RunID || r.Manifest.Kind != ledger.Rebuild || !r.Manifest.SnapshotAt.Equal(last) {
		t.Errorf("readers see %s and the manifest is %+v, want a published rebuild of the last snapshot", h.latest(), r.Manifest)
	}
	if diff := cmp.Diff(before, h.history()); diff != "" {
		t.Errorf("history differs (-before +after):\n%s", diff)
	}
	h.requireLines("SELECT run_id, outcome, rows FROM meta.runs ORDER BY 1", runLines...)
	run := ledger.Find(testharness.MustValue(h.warehouse().RunLog.Runs()), r.Manifest.RunID)
	if run.Kind != ledger.Rebuild || run.Outcome != ledger.Complete || run.ExitCode != 0 || !run.SnapshotAt.Equal(last) || !run.StartedAt.Equal(h.at) {
		t.Errorf("the ledger has %+v, want a complete rebuild of the last snapshot", run)
	}
	h.requireComplete(h.night())
	h.requireIDs("product_listings", "/products/listings")
}

// TestRebuildWithoutADay loses the versions and a day of the series. The first run of the series is from a program that
// recorded no closed rows. History is then computed by comparing the other days.
func TestRebuildWithoutADay(t *testing.T) {
	h := threeNights(t)
	path := h.path("parquet", ".meta", "20261102T020000Z.json")
	m := testharness.MustValue(h.warehouse().Versions.ReadManifestFile(path, ""))
	m.Meta.HasPast = false
	testharness.Must(t, errors.Join(os.Remove(path), h.warehouse().Folder.WriteSealed(path, m)))
	h.remove("versions", "latest", "parquet/*/snapshot_date=2026-11-03*")
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), true)
	testharness.Must(t, err)
	if r.RestoredRuns != 0 || !r.HasMeta || r.Snapshots != 2 || r.SnapshotsWithoutDay != 1 || len(r.Skipped) == 0 {
		t.Errorf("the rebuild is %+v, want meta and 2 of 3 snapshots", r)
	}
}

// TestRestoreSeries restores a whole series from the newest catalog. A rebuild from the restored series must give the
// same history.
func TestRestoreSeries(t *testing.T) {
	h := threeNights(t)
	before := h.history()
	h.cfg.Warehouse.KeepVersions = 1
	h.remove("parquet", "versions/20261102T020000Z", "versions/20261103T020000Z")
	want := []string{"the files of 2026-11-04", "parquet/.manifests/index.json", "parquet/.meta/20261104T020000Z.changes"}
	for _, day := range []string{"2026-11-02", "2026-11-03"} { // the version has the files of the third day
		for _, table := range h.cfg.Warehouse.Tables {
			want = append(want, "table "+table.Name+" of "+day)
		}
		want = append(want, "parquet/.manifests/snapshot_date="+day+".json")
	}
	restored, err := repair.RestoreSeries(t.Context(), repairConfig(h.cfg), warehouse.Retention{Daily: 30})
	if diff := cmp.Diff(want, restored); err != nil || diff != "" {
		t.Fatalf("RestoreSeries returned %v and other files (-want +got):\n%s", err, diff)
	}
	if v := h.verify(); len(v.Damage) > 0 {
		t.Errorf("after the repair verify reports %+v, want no damage", v.Damage)
	}
	h.at = h.at.Add(time.Minute)
	h.remove("versions", "latest")
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	if r.Snapshots != 3 || !r.HasMeta {
		t.Errorf("the rebuild is %+v, want 3 snapshots and meta", r)
	}
	if diff := cmp.Diff(before, h.history()); diff != "" {
		t.Errorf("history differs (-before +after):\n%s", diff)
	}
}

// TestReplaysOfStoredResponses damages the catalogs and the days of the newest two nights, whose stored responses are
// intact. Verify must report no loss, and name the rollback and the replays that restore everything without requests.
func TestReplaysOfStoredResponses(t *testing.T) {
	h := threeNights(t)
	before := h.history()
	const first, second, third = "20261102T020000Z", "20261103T020000Z", "20261104T020000Z"
	for day, version := range map[string]string{"2026-11-03": second, "2026-11-04": third} {
		damage(t, h.path("versions", version, "catalog.duckdb"))
		damage(t, h.path("versions", version, "product_listings.parquet"))
		damage(t, h.path("parquet", "product_listings", "snapshot_date="+day, "product_listings.parquet"))
	}
	v := h.verify()
	plan := repair.Plan(v.Damage)
	want := repair.Step{Kind: repair.ReplayNights, Version: first, Nights: second + " " + third}
	if v.Result() != repair.Rebuildable || len(plan) != 1 || plan[0] != want {
		t.Fatalf("verify reports %s and plans %+v, want %+v without a loss\n%+v", v.Result(), plan, want, v.Damage)
	}
	_, err := h.warehouse().Rollback(first, h.at)
	testharness.Must(t, err)
	for _, night := range []string{second, third} {
		h.at = h.at.Add(time.Minute)
		res := h.requireComplete(pipeline.Replay(t.Context(), h.cfg, night))
		if res.Run.Requests != 0 || h.latest() != res.Run.ID {
			t.Errorf("the replay of %s sent %d requests and readers see %s, want no request and %s", night, res.Run.Requests, h.latest(), res.Run.ID)
		}
	}
	if diff := cmp.Diff(before, h.history()); diff != "" {
		t.Errorf("history differs (-before +after):\n%s", diff)
	}
	h.requireComplete(h.night())
}

// TestNightAfterAnAcceptedLoss rebuilds a warehouse without its versions and without a table. The next night must bring
// the table back.
func TestNightAfterAnAcceptedLoss(t *testing.T) {
	h := threeNights(t)
	h.remove("versions", "latest", "parquet/product_listings")
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), true)
	if err != nil || len(r.Skipped) != 3 {
		t.Fatalf("the rebuild is %+v (%v), want three skipped files", r, err)
	}
	h.requireComplete(h.night())
	h.requireIDs("product_listings", "/products/listings")
}
