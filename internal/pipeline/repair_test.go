package pipeline_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
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
			nights.requireComplete(nights.night())
		}
	})
	testharness.Must(t, os.CopyFS(h.cfg.Warehouse.Dir, os.DirFS(shared.dir)))
	h.service.Advance(3)
	h.at = h.service.Now().Add(2 * time.Hour)
	return h
}

// copyWarehouse returns a harness with a copy of the warehouse, which a test can damage.
func (h *harness) copyWarehouse(t *testing.T) *harness {
	t.Helper()
	c := &harness{t: t, service: h.service, cfg: h.cfg, at: h.at.Add(time.Minute)}
	c.cfg.Warehouse.Dir = filepath.Join(t.TempDir(), "copy")
	c.cfg.Now = func() time.Time { return c.at }
	testharness.Must(t, os.CopyFS(c.cfg.Warehouse.Dir, os.DirFS(h.cfg.Warehouse.Dir)))
	return c
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

// seriesFile returns the path of the listings of a day in the series.
func (h *harness) seriesFile(day string) string {
	return h.path("parquet", "product_listings", "snapshot_date="+day, "product_listings.parquet")
}

// damageDay damages the listings of a day in the series and in the version.
func (h *harness) damageDay(t *testing.T, day, version string) {
	t.Helper()
	damage(t, h.seriesFile(day))
	damage(t, h.path("versions", version, "product_listings.parquet"))
}

// TestRebuildGivesTheSameHistory rebuilds the catalog from an intact series, also without the versions or
// without the files of changes.
func TestRebuildGivesTheSameHistory(t *testing.T) {
	h := threeNights(t)
	before, runLines := h.history(), h.lines("SELECT run_id, outcome, rows FROM meta.runs ORDER BY 1")
	for name, removed := range map[string][]string{
		"all files": {}, "no versions": {"versions", "latest"}, "no files of changes": {"parquet/.meta", "versions/*/meta.changes"},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.copyWarehouse(t)
			for _, pattern := range removed {
				for _, path := range testharness.MustValue(filepath.Glob(c.path(pattern))) {
					testharness.Must(t, os.RemoveAll(path))
				}
			}
			wh, wasLocked, wasReleased := c.warehouse(), false, false
			c.cfg.Warehouse.Step = func(string, string) error {
				isLocked := errors.As(wh.Folder.CheckUnlocked(), new(*warehouse.LockedError))
				wasReleased = wasReleased || wasLocked && !isLocked
				wasLocked = wasLocked || isLocked
				return nil
			}
			c.cfg.Warehouse.Statuses = []warehouse.Status{{Prefix: "rejected", State: "ended"}}
			newestFile := testharness.MustValue(os.Stat(c.seriesFile("2026-11-04")))
			r, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), false)
			testharness.Must(t, err)
			if name == "no versions" && !os.SameFile(newestFile, testharness.MustValue(os.Stat(c.path("versions", r.Manifest.RunID, "product_listings.parquet")))) {
				t.Error("the file of the newest day was written again, want a link to the file of the series")
			}
			if !wasLocked || wasReleased {
				t.Errorf("locked during the rebuild: %t, and released before its end: %t; want a lock until the end", wasLocked, wasReleased)
			}
			first, last := time.Date(2026, 11, 2, 2, 0, 0, 0, time.UTC), time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)
			if r.Snapshots != 3 || !r.First.Equal(first) || !r.Last.Equal(last) || len(r.Skipped)+len(r.Unused)+len(r.Unfinished) > 0 || r.LostRun != "" || !r.HasMeta || r.SnapshotsWithoutDay != 0 {
				t.Errorf("the rebuild is %+v, want all of 3 snapshots and meta, without damage", r)
			}
			if want := map[bool]int{true: 0, false: 3}[name == "no files of changes"]; r.RestoredRuns != want {
				t.Errorf("history comes from %d runs, want %d", r.RestoredRuns, want)
			}
			if c.latest() != r.Manifest.RunID || r.Manifest.Kind != ledger.Rebuild || !r.Manifest.SnapshotAt.Equal(last) {
				t.Errorf("readers see %s and the manifest is %+v, want a published rebuild of the last snapshot", c.latest(), r.Manifest)
			}
			if diff := cmp.Diff(before, c.history()); diff != "" {
				t.Errorf("history differs (-before +after):\n%s", diff)
			}
			c.requireLines("SELECT run_id, outcome, rows FROM meta.runs ORDER BY 1", runLines...)
			runs, err := c.warehouse().RunLog.Runs()
			testharness.Must(t, err)
			if run := runs[len(runs)-1]; run.Kind != ledger.Rebuild || run.Outcome != ledger.Complete || run.ExitCode != 0 || !run.SnapshotAt.Equal(last) || !run.StartedAt.Equal(c.at) {
				t.Errorf("the ledger has %+v, want a complete rebuild of the last snapshot", run)
			}
			c.requireLines("SELECT * FROM meta.statuses", "rejected ended NULL false")
			if v := c.verify(); v.Result() != repair.Whole && name == "all files" {
				t.Errorf("after the rebuild verify reports %+v, want no damage", v.Damage)
			}
			c.cfg.Warehouse.Statuses = append(c.cfg.Warehouse.Statuses, warehouse.Status{Prefix: "rejected-late", State: "open", WaitsFor: "partner", IsRevision: true})
			c.requireComplete(c.night())
			c.requireIDs("product_listings", "/products/listings")
			c.requireLines("SELECT * FROM meta.statuses ORDER BY prefix", "rejected ended NULL false", "rejected-late open partner true")
		})
	}
}

// TestRebuildOfDamagedSeries damages files of the series. If a damaged file is needed, a version must be
// published only with skipDamaged.
func TestRebuildOfDamagedSeries(t *testing.T) {
	h := threeNights(t)
	t.Run("an earlier day is not needed", func(t *testing.T) {
		c := h.copyWarehouse(t)
		before := c.history()
		c.damageDay(t, "2026-11-03", "20261103T020000Z")
		r, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), false)
		testharness.Must(t, err)
		if len(r.Unused) != 1 || len(r.Skipped) != 0 || r.Unused[0].Day != "2026-11-03" {
			t.Errorf("the rebuild is %+v, want the damaged day unused and none skipped", r)
		}
		if diff := cmp.Diff(before, c.history()); diff != "" {
			t.Errorf("history differs (-before +after):\n%s", diff)
		}
	})
	t.Run("an earlier day is not needed, because the catalog has the closed rows", func(t *testing.T) {
		c := h.copyWarehouse(t)
		before := c.history()
		testharness.Must(t, os.RemoveAll(c.path("parquet", ".meta")))
		for _, file := range testharness.MustValue(filepath.Glob(c.path("versions", "*", "meta.changes"))) {
			testharness.Must(t, os.Remove(file))
		}
		c.damageDay(t, "2026-11-03", "20261103T020000Z")
		r, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), false)
		testharness.Must(t, err)
		if len(r.Unused) != 1 || len(r.Skipped) != 0 || r.RestoredRuns != 0 {
			t.Errorf("the rebuild is %+v, want one unused file, no skipped file, and closed rows from the catalog", r)
		}
		if diff := cmp.Diff(before, c.history()); diff != "" {
			t.Errorf("history differs (-before +after):\n%s", diff)
		}
	})
	t.Run("all files of a table", func(t *testing.T) {
		c := h.copyWarehouse(t)
		for _, day := range []string{"02", "03", "04"} {
			c.damageDay(t, "2026-11-"+day, "202611"+day+"T020000Z")
		}
		_, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), false)
		seriesErr := errorOf[*repair.SeriesError](t, err)
		if len(seriesErr.Damage) != 3 || seriesErr.Damage[2].Day != "2026-11-04" || c.latest() != "20261104T020000Z" {
			t.Errorf("the rebuild ended with %v, want a SeriesError of all three files, and readers to see the last version", err)
		}
	})
	t.Run("the newest day", func(t *testing.T) {
		c := h.copyWarehouse(t)
		c.damageDay(t, "2026-11-04", "20261104T020000Z")
		_, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), false)
		seriesErr := errorOf[*repair.SeriesError](t, err)
		if len(seriesErr.Damage) != 1 || !seriesErr.IsCatalogWhole || !strings.Contains(err.Error(), "run placementsync rebuild --series to restore") || c.latest() != "20261104T020000Z" {
			t.Errorf("the rebuild ended with %v, want a SeriesError of one file, and readers to see the last version", err)
		}
		c.cfg.AcceptLoss = true
		r, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), true)
		testharness.Must(t, err)
		if len(r.Skipped) != 1 || r.Snapshots != 3 {
			t.Errorf("the rebuild is %+v, want 3 snapshots and one skipped file", r)
		}
		run := ledger.Find(testharness.MustValue(c.warehouse().RunLog.Runs()), r.Manifest.RunID)
		if run.Outcome != ledger.Partial || run.ExitCode != 3 || !strings.HasPrefix(run.Error, "skipped damaged or missing files: table product_listings of 2026-11-04") {
			t.Errorf("the ledger has %+v, want a partial rebuild that names the skipped file", run)
		}
		c.requireLines("SELECT count(*), max(run_id) FROM meta.runs WHERE outcome = 'partial' AND kind = 'rebuild'", "1 "+run.ID)
		for _, table := range r.Manifest.Tables {
			isOlder := table.Name == "product_listings"
			if (table.Grade == "carried_forward") != isOlder || strings.HasPrefix(table.Note, "its newer file is damaged or missing; the rows are from the snapshot of 2026-11-03T02:00:00Z") != isOlder {
				t.Errorf("table %s is %s: %s, want carried rows with a note: %t", table.Name, table.Grade, table.Note, isOlder)
			}
		}
		for _, d := range c.verify().Damage {
			if strings.HasPrefix(d.File, "parquet/") {
				t.Errorf("after the rebuild the series is damaged: %+v", d)
			}
		}
		c.requireComplete(c.night())
		c.requireIDs("product_listings", "/products/listings")
	})
	t.Run("a missing day, and a run of an earlier program", func(t *testing.T) { h.copyWarehouse(t).rebuildWithoutDay(t) })
	t.Run("no day is left", func(t *testing.T) {
		c := h.copyWarehouse(t)
		testharness.Must(t, errors.Join(os.RemoveAll(c.path("parquet")), os.RemoveAll(c.path("versions"))))
		if _, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), true); err == nil || !strings.Contains(err.Error(), "there is no Parquet snapshot to build from") {
			t.Errorf("the rebuild ended with %v, want an error that there is no snapshot", err)
		}
	})
}

// rebuildWithoutDay rebuilds a warehouse that has lost its versions and a day of its series, and whose first
// run is from a program that recorded no closed rows. History is then computed by comparing the other days.
func (h *harness) rebuildWithoutDay(t *testing.T) {
	t.Helper()
	path := h.path("parquet", ".meta", "20261102T020000Z.json")
	m := testharness.MustValue(h.warehouse().Versions.ReadManifestFile(path, ""))
	m.Meta.HasPast = false
	testharness.Must(t, errors.Join(os.Remove(path), h.warehouse().Folder.WriteSealed(path, m)))
	for _, pattern := range []string{"versions", "latest", "parquet/*/snapshot_date=2026-11-03*"} {
		for _, file := range testharness.MustValue(filepath.Glob(h.path(pattern))) {
			testharness.Must(t, os.RemoveAll(file))
		}
	}
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), true)
	testharness.Must(t, err)
	if r.RestoredRuns != 0 || !r.HasMeta || r.Snapshots != 2 || r.SnapshotsWithoutDay != 1 || len(r.Skipped) == 0 {
		t.Errorf("the rebuild is %+v, want meta and 2 of 3 snapshots", r)
	}
}

// TestRebuildRequiresAcceptLoss removes the newest day from the series and from the version. Without
// AcceptLoss the rebuild must not be published.
func TestRebuildRequiresAcceptLoss(t *testing.T) {
	h := threeNights(t)
	testharness.Must(t, os.Remove(h.path("parquet", ".manifests", "index.json")))
	testharness.Must(t, os.Remove(h.path("parquet", ".manifests", "snapshot_date=2026-11-04.json")))
	for _, pattern := range []string{h.path("parquet", "*", "snapshot_date=2026-11-04"), h.path("versions", h.latest(), "*.parquet"), h.path("versions", h.latest(), "manifest.json")} {
		files, err := filepath.Glob(pattern)
		testharness.Must(t, err)
		for _, file := range files {
			testharness.Must(t, os.RemoveAll(file))
		}
	}
	h.at = h.at.Add(time.Minute)
	newest := h.latest()
	_, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), true)
	if err == nil || !strings.Contains(err.Error(), "less data than version "+newest) || !strings.Contains(err.Error(), "runs in meta.runs: 3 now, 2 after the rebuild") || h.latest() != newest {
		t.Fatalf("the rebuild ended with %v and readers see %s, want an error about the loss and %s", err, h.latest(), newest)
	}
	h.cfg.AcceptLoss = true
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), true)
	testharness.Must(t, err)
	if r.LostRun != newest || h.latest() != r.Manifest.RunID {
		t.Errorf("the rebuild is %+v, want run %s lost", r, newest)
	}
	run := ledger.Find(testharness.MustValue(h.warehouse().RunLog.Runs()), r.Manifest.RunID)
	if isSkipped := strings.HasPrefix(run.Error, "skipped damaged or missing files: "); isSkipped != (len(r.Skipped) > 0) || !strings.Contains(run.Error, "run "+newest) {
		t.Errorf("the ledger has the error %q, want run %s and skipped files: %t", run.Error, newest, len(r.Skipped) > 0)
	}
}

// TestRestoreSeries restores damaged and missing files of the series from the catalog.
func TestRestoreSeries(t *testing.T) {
	h := threeNights(t)
	h.cfg.Warehouse.KeepVersions = 1
	const file, manifest = "parquet/tags/snapshot_date=2026-11-02/tags.parquet", "parquet/.manifests/snapshot_date=2026-11-02.json"
	var changes []string // the files of changes and their manifests
	wholeSeries := []string{"parquet/.manifests/index.json", "the files of 2026-11-04", "parquet/.meta/20261104T020000Z.changes"}
	for _, day := range []string{"02", "03", "04"} {
		changes = append(changes, "parquet/.meta/202611"+day+"T020000Z.json", "parquet/.meta/202611"+day+"T020000Z.changes")
		if day == "04" {
			continue // its version has the files
		}
		for _, table := range h.cfg.Warehouse.Tables {
			wholeSeries = append(wholeSeries, "table "+table.Name+" of 2026-11-"+day)
		}
		wholeSeries = append(wholeSeries, "parquet/.manifests/snapshot_date=2026-11-"+day+".json")
	}
	// The index and all files of a day are lost, except the file of changes and the manifest beside it. Two tables have
	// the same files on the next day.
	const index, folders = "parquet/.manifests/index.json", "parquet/folders/snapshot_date=2026-11-02/folders.parquet"
	lostDay, restoredDay := []string{index, manifest, "versions/20261102T020000Z"}, []string{index, file, folders, manifest}
	for _, table := range h.cfg.Warehouse.Tables {
		lostDay = append(lostDay, "parquet/"+table.Name+"/snapshot_date=2026-11-02")
		if table.Name != "tags" && table.Name != "folders" {
			restoredDay = append(restoredDay, "table "+table.Name+" of 2026-11-02")
		}
	}
	for name, files := range map[string]struct{ lost, restored []string }{
		"a file":               {[]string{file}, []string{file}},
		"all files of changes": {[]string{"parquet/.meta"}, changes},
		"a day":                {[]string{filepath.Dir(file), manifest, "versions/20261102T020000Z"}, []string{file, manifest}},
		"a whole series":       {[]string{"parquet", "versions/20261102T020000Z", "versions/20261103T020000Z"}, wholeSeries},
		"a day with a manifest only beside its changes": {lostDay, restoredDay},
		"no file": {},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.copyWarehouse(t)
			before := c.history()
			for _, path := range files.lost {
				testharness.Must(t, os.RemoveAll(c.path(path)))
			}
			restored, err := repair.RestoreSeries(t.Context(), repairConfig(c.cfg), warehouse.Retention{Daily: 30})
			if diff := cmp.Diff(files.restored, restored); err != nil || diff != "" {
				t.Fatalf("RestoreSeries returned %v and other files (-want +got):\n%s", err, diff)
			}
			if v := c.verify(); len(v.Damage) > 0 || v.Result() != repair.Whole {
				t.Errorf("after the repair verify reports %+v, want no damage", v.Damage)
			}
			c.at = c.at.Add(time.Minute)
			testharness.Must(t, errors.Join(os.RemoveAll(c.path("versions")), os.RemoveAll(c.path("latest"))))
			r, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), false)
			testharness.Must(t, err)
			if r.Snapshots != 3 || !r.HasMeta {
				t.Errorf("the rebuild is %+v, want 3 snapshots and meta", r)
			}
			if diff := cmp.Diff(before, c.history()); diff != "" {
				t.Errorf("history differs (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("without a catalog", func(t *testing.T) {
		c := h.copyWarehouse(t)
		const index = "parquet/.manifests/index.json"
		testharness.Must(t, errors.Join(os.RemoveAll(c.path("versions")), os.Remove(c.path(index))))
		if files, err := repair.RestoreSeries(t.Context(), repairConfig(c.cfg), warehouse.Retention{}); err != nil || !slices.Equal(files, []string{index}) {
			t.Errorf("the repair returned %q, %v, want the index, which needs no catalog", files, err)
		}
		testharness.Must(t, os.Remove(c.seriesFile("2026-11-03")))
		if _, err := repair.RestoreSeries(t.Context(), repairConfig(c.cfg), warehouse.Retention{}); err == nil || !strings.Contains(err.Error(), "restore table product_listings of 2026-11-03: there is no intact copy") {
			t.Errorf("the repair ended with %v, want an error that names the file", err)
		}
	})
}

// TestRestoredDayHasTheGradesOfItsNight restores a day whose manifests are lost. The nights read orders, but
// not their details. The first repair restores the day, and replaces the files of changes by one file of the
// newest night. The second repair must restore the day without a file of changes of its night.
func TestRestoredDayHasTheGradesOfItsNight(t *testing.T) {
	world := smallWorld()
	world.TokenType, world.Scopes = "custom", []string{"orders.lists"}
	h := newHarness(t, world, "token", "orders", "order_details")
	for range 2 {
		h.requireComplete(h.night())
	}
	const day, run = "2026-11-02", "20261102T020000Z"
	manifest := "parquet/.manifests/snapshot_date=" + day + ".json"
	before := testharness.MustValue(h.warehouse().Series.ReadDayManifest(day, run))
	grades := map[string]stream.Grade{}
	for _, table := range before.Tables {
		grades[table.Name] = table.Grade
	}
	if grades["orders"] != "exact" || grades["order_line_items"] != "best_effort" {
		t.Fatalf("the grades of the night are %v, want exact orders and best_effort items", grades)
	}
	testharness.Must(t, errors.Join(os.RemoveAll(h.path("parquet", ".meta")), os.RemoveAll(h.path("versions", run)), os.Remove(h.path(manifest))))
	h.at = h.at.Add(time.Minute)
	testharness.MustValue(repair.RestoreSeries(t.Context(), repairConfig(h.cfg), warehouse.Retention{}))
	testharness.Must(t, os.Remove(h.path(manifest)))
	h.at = h.at.Add(time.Minute)
	files := testharness.MustValue(repair.RestoreSeries(t.Context(), repairConfig(h.cfg), warehouse.Retention{}))
	var want []string
	for _, table := range h.cfg.Warehouse.Tables {
		want = append(want, "table "+table.Name+" of "+day)
	}
	if diff := cmp.Diff(append(want, manifest), files); diff != "" {
		t.Errorf("other files were restored (-want +got):\n%s", diff)
	}
	after := testharness.MustValue(h.warehouse().Series.ReadDayManifest(day, run))
	if diff := cmp.Diff(before.Tables, after.Tables, cmpopts.IgnoreFields(warehouse.ManifestTable{}, "FileSum")); diff != "" {
		t.Errorf("the tables in the manifest differ (-before +after):\n%s", diff)
	}
}

// TestVerifyFindsDamage damages a journal, a Parquet file and the inbox, each in another copy.
func TestVerifyFindsDamage(t *testing.T) {
	h := threeNights(t)
	h.deliver(statusEvent("a", "1"), statusEvent("b", "2"))
	v := h.verify()
	if len(v.Damage) > 0 || !v.ReadData || v.Result() != repair.Whole || v.Files == 0 || v.Bytes == 0 || v.Took <= 0 {
		t.Fatalf("verify reports %+v, want no damage", v)
	}
	inbox, err := filepath.Glob(h.path("state", "inbox", "2*.log"))
	testharness.Must(t, err)
	for file, c := range map[string]struct {
		problem, result string
	}{
		"raw/20261103T020000Z/journal.jsonl":                 {"1 of 8 stored responses are missing or damaged", repair.DataLost},
		"versions/20261104T020000Z/product_listings.parquet": {"", repair.Rebuildable},
		"state/inbox/" + filepath.Base(inbox[0]):             {"1 damaged event", repair.DataLost},
	} {
		t.Run(file, func(t *testing.T) {
			damagedCopy := h.copyWarehouse(t)
			damage(t, damagedCopy.path(file))
			v := damagedCopy.verify()
			if len(v.Damage) != 1 || !strings.Contains(v.Damage[0].Problem, c.problem) || v.Result() != c.result || !strings.HasPrefix(file, v.Damage[0].File) {
				t.Errorf("verify reports %s, %+v, want %s with one damaged file", v.Result(), v.Damage, c.result)
			}
			record := v.Record(damagedCopy.at)
			if record.Result != c.result || len(record.DamagedFiles) != 1 || !record.ReadData || !record.At.Equal(damagedCopy.at) || record.Seconds != v.Took.Seconds() {
				t.Errorf("the record is %+v, want %s with one damaged file", record, c.result)
			}
			if v, err := repair.Verify(t.Context(), repairConfig(damagedCopy.cfg), false); err != nil || len(v.Damage) > 0 || v.ReadData {
				t.Errorf("without reading data verify reports %+v (%v), want no damage", v.Damage, err)
			}
		})
	}
	testharness.Must(t, os.Remove(h.path("raw", "20261103T020000Z", "journal.jsonl")))
	quick, err := repair.Verify(t.Context(), repairConfig(h.cfg), false)
	if err != nil || len(quick.Damage) != 1 || quick.Damage[0].Problem != "the file journal.jsonl is missing" || quick.Damage[0].File != "raw/20261103T020000Z" {
		t.Errorf("without a journal verify reports %+v (%v), want the missing journal", quick.Damage, err)
	}
	if plan := repair.Plan(quick.Damage); len(plan) > 0 {
		t.Errorf("without a journal the repairs are %+v, want none", plan)
	}
	if full := h.verify(); len(full.Damage) != 1 || full.Files < quick.Files {
		t.Errorf("without a journal a full verify reports %+v, want one damaged file", full.Damage)
	}
	h.cfg.Warehouse.Dir = filepath.Join(t.TempDir(), "missing")
	if _, err := repair.Verify(t.Context(), repairConfig(h.cfg), true); err == nil {
		t.Error("Verify accepted a missing warehouse")
	}
}

// TestReplayErrors replays runs that cannot be replayed, and the newest run after a rollback.
func TestReplayErrors(t *testing.T) {
	h := threeNights(t)
	h.cfg.Warehouse.KeepVersions = 2
	h.requireComplete(h.night())
	if versions := testharness.MustValue(h.warehouse().Versions.List()); len(versions) != 2 {
		t.Fatalf("the versions %v are kept, want two", versions)
	}
	testharness.Must(t, os.RemoveAll(h.path("raw", "20261103T020000Z")))
	for run, want := range map[string]string{
		"20261104T020000Z": "later nights are based on it; nothing was changed: run placementsync rollback 20261104T020000Z first",
		"20261103T020000Z": "its stored responses were removed",
		"20261102T020000Z": "readers see 20261105T020000Z, which is later, and no intact version from before this run is kept",
		"20200101T000000Z": "this run has no stored responses",
		"latest":           "this run has no stored responses",
	} {
		_, err := pipeline.Replay(t.Context(), h.cfg, run)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want ...%s...", run, err, want)
		}
		if _, unknown := errors.AsType[*ledger.UnknownRunError](err); unknown != strings.Contains(want, "no stored responses") {
			t.Errorf("%s: got %v, an UnknownRunError: %t, want %t", run, err, unknown, !unknown)
		}
	}
	historyBefore, newest := h.history(), h.latest()
	_, err := h.warehouse().Rollback("20261104T020000Z", h.at)
	testharness.Must(t, err)
	h.at = h.at.Add(time.Minute)
	if _, err = pipeline.Replay(t.Context(), h.cfg, newest); err == nil || !strings.Contains(err.Error(), "which is not based on this run; nothing was changed: run placementsync rollback "+newest+" first") {
		t.Errorf("the replay of a later run ended with %v, want an error that names the rollback", err)
	}
	_, err = h.warehouse().Rollback(newest, h.at)
	testharness.Must(t, err)
	h.at = h.at.Add(time.Minute)
	res := h.requireComplete(pipeline.Replay(t.Context(), h.cfg, newest))
	if h.latest() != res.Run.ID {
		t.Errorf("readers see %s, want the replay %s", h.latest(), res.Run.ID)
	}
	if diff := cmp.Diff(historyBefore["product_listings"], h.history()["product_listings"]); diff != "" {
		t.Errorf("the replayed history differs (-before +after):\n%s", diff)
	}
}

// TestVerifyNamesTheReplayOfStoredResponses damages the catalog and the day of the newest nights, whose stored
// responses are intact. Verify must report no loss, and name the rollback and the replays that restore everything
// without requests.
func TestVerifyNamesTheReplayOfStoredResponses(t *testing.T) {
	h := threeNights(t)
	before := h.history()
	const first, second, third = "20261102T020000Z", "20261103T020000Z", "20261104T020000Z"
	replayThird := "placementsync rollback " + second + "; placementsync replay " + third
	for name, c := range map[string]struct {
		damage func(c *harness)
		want   string
	}{
		"the newest catalog and day": {func(c *harness) {
			damage(t, c.path("versions", third, "catalog.duckdb"))
			c.damageDay(t, "2026-11-04", third)
		}, replayThird},
		"the newest version, its day and its changes": {func(c *harness) {
			testharness.Must(t, os.RemoveAll(c.path("versions", third)))
			testharness.Must(t, os.Remove(c.seriesFile("2026-11-04")))
			testharness.Must(t, os.Remove(c.path("parquet", ".meta", third+".changes")))
		}, replayThird},
		"all that the newest night wrote, and the ledger": {func(c *harness) {
			for _, pattern := range []string{"versions/" + third + "/*", "parquet/*/snapshot_date=2026-11-04/*", "parquet/.meta/" + third + ".*",
				"parquet/.manifests/snapshot_date=2026-11-04.json", "parquet/.manifests/index.json", "state/runs.jsonl"} {
				for _, path := range testharness.MustValue(filepath.Glob(c.path(pattern))) {
					testharness.Must(t, errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)))
				}
			}
		}, replayThird},
		"the newest two nights": {func(c *harness) {
			damage(t, c.path("versions", second, "catalog.duckdb"))
			damage(t, c.path("versions", third, "catalog.duckdb"))
			c.damageDay(t, "2026-11-03", second)
			c.damageDay(t, "2026-11-04", third)
		}, "placementsync rollback " + first + "; placementsync replay " + second + "; placementsync replay " + third},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := h.copyWarehouse(t)
			c.damage(damaged)
			v := damaged.verify()
			plan := repair.Plan(v.Damage)
			if v.Result() != repair.Rebuildable || len(plan) != 1 || plan[0].Command() != c.want {
				t.Fatalf("verify reports %s and plans %+v, want %q without a loss\n%+v", v.Result(), plan, c.want, v.Damage)
			}
			_, err := damaged.warehouse().Rollback(plan[0].Version, damaged.at)
			testharness.Must(t, err)
			for _, night := range strings.Fields(plan[0].Nights) {
				damaged.at = damaged.at.Add(time.Minute)
				if res := damaged.requireComplete(pipeline.Replay(t.Context(), damaged.cfg, night)); res.Run.Requests != 0 {
					t.Errorf("the replay of %s sent %d requests, want none", night, res.Run.Requests)
				}
			}
			if diff := cmp.Diff(before, damaged.history()); diff != "" {
				t.Errorf("history differs (-before +after):\n%s", diff)
			}
			damaged.repairAll(t)
			damaged.requireComplete(damaged.night())
		})
	}
	for name, damageResponses := range map[string]func(c *harness){
		"no stored responses":      func(c *harness) { testharness.Must(t, os.RemoveAll(c.path("raw", third))) },
		"damaged stored responses": func(c *harness) { damage(t, c.path("raw", third, "journal.jsonl")) },
	} {
		t.Run(name, func(t *testing.T) {
			damaged := h.copyWarehouse(t)
			damage(t, damaged.path("versions", third, "catalog.duckdb"))
			damaged.damageDay(t, "2026-11-04", third)
			damageResponses(damaged)
			if v := damaged.verify(); v.Result() != repair.DataLost {
				t.Errorf("verify reports %s, want a loss: %+v", v.Result(), v.Damage)
			}
		})
	}
}

// repairAll runs the repairs that verify names until it names none. They must restore the series or remove versions.
func (h *harness) repairAll(t *testing.T) {
	t.Helper()
	for round := 0; ; round++ {
		v := h.verify()
		plan := repair.Plan(v.Damage)
		if len(plan) == 0 {
			return
		}
		if round == 3 {
			t.Fatalf("after %d repairs verify plans %+v: %+v", round, plan, v.Damage)
		}
		for _, step := range plan {
			h.at = h.at.Add(time.Minute)
			err := fmt.Errorf("this repair is not expected")
			switch step.Kind {
			case repair.RebuildSeries:
				_, err = repair.RestoreSeries(t.Context(), repairConfig(h.cfg), warehouse.Retention{Daily: 30})
			case repair.DropVersion:
				err = h.warehouse().Versions.Drop(step.Version, false)
			}
			if err != nil {
				t.Fatalf("%s ended with %v", step.Command(), err)
			}
		}
	}
}

// TestVerifyAfterAnAcceptedLoss loses all files of a table, and rebuilds without them. Verify must then report no
// damage, and RestoreSeries must have nothing to do. The next night must bring the table back.
func TestVerifyAfterAnAcceptedLoss(t *testing.T) {
	h := threeNights(t)
	for name, lost := range map[string][]string{
		"a table, without versions":      {"versions", "latest", "parquet/product_listings"},
		"a table of kept versions":       {"versions/*/catalog.duckdb", "versions/*/product_listings.parquet", "parquet/product_listings"},
		"a table, and a copy of changes": {"versions", "latest", "parquet/product_listings", "parquet/.meta/20261103T020000Z.changes"},
		"the newest two files":           {"versions", "latest", "parquet/product_listings/*-03", "parquet/product_listings/*-04"},
		"the oldest and the newest file": {"versions", "latest", "parquet/product_listings/*-02", "parquet/product_listings/*-04"},
		"a day":                          {"versions", "latest", "parquet/*/*-04", "parquet/.manifests/*-04.json", "parquet/.meta/20261104T020000Z.json"},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.copyWarehouse(t)
			testharness.Must(t, os.RemoveAll(c.path("raw")))
			for _, pattern := range lost {
				for _, path := range testharness.MustValue(filepath.Glob(c.path(pattern))) {
					testharness.Must(t, os.RemoveAll(path))
				}
			}
			r, err := repair.Rebuild(t.Context(), repairConfig(c.cfg), true)
			testharness.Must(t, err)
			if len(r.Skipped) == 0 && r.LostRun == "" {
				t.Errorf("the rebuild is %+v, want a reported loss", r)
			}
			c.repairAll(t)
			restored, err := repair.RestoreSeries(t.Context(), repairConfig(c.cfg), warehouse.Retention{Daily: 30})
			if err != nil || len(restored) > 0 {
				t.Errorf("RestoreSeries restored %v (%v), want nothing to restore", restored, err)
			}
			c.requireComplete(c.night())
			c.requireIDs("product_listings", "/products/listings")
		})
	}
}

// TestRebuildReportsALostNight truncates files of the newest night, which is the second night of its day. The files
// of the first night of the day are intact. The rebuild must report the lost night, although the ledger does not
// name it.
func TestRebuildReportsALostNight(t *testing.T) {
	h := threeNights(t)
	h.requireComplete(h.unchangedNight())
	newest := h.latest()
	truncated := []string{"versions/" + newest + "/*", "parquet/*/snapshot_date=2026-11-04/*", "parquet/.meta/" + newest + ".*",
		"parquet/.manifests/*-04.json", "state/runs.jsonl"}
	for name, c := range map[string]struct {
		truncated, removed []string
		lostRun            string
	}{
		"the link and the index name the night": {truncated, nil, newest},
		"only the link names the night":         {truncated, []string{"parquet/.manifests/index.json"}, newest},
		"only the index names the night":        {truncated, []string{"latest", "versions/" + newest}, newest},
		"only a damaged manifest of the day is left": {truncated,
			[]string{"latest", "versions", "parquet/.meta/202611*.json", "parquet/.manifests/index.json"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := h.copyWarehouse(t)
			for _, pattern := range c.truncated {
				for _, path := range testharness.MustValue(filepath.Glob(damaged.path(pattern))) {
					testharness.Must(t, errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)))
				}
			}
			for _, pattern := range c.removed {
				for _, path := range testharness.MustValue(filepath.Glob(damaged.path(pattern))) {
					testharness.Must(t, os.RemoveAll(path))
				}
			}
			r, err := repair.Rebuild(t.Context(), repairConfig(damaged.cfg), true)
			testharness.Must(t, err)
			run := ledger.Find(testharness.MustValue(damaged.warehouse().RunLog.Runs()), r.Manifest.RunID)
			if r.LostRun != c.lostRun || run.Outcome != ledger.Partial || run.ExitCode != 3 {
				t.Errorf("the rebuild is %+v and the ledger has %+v, want the lost run %q and the outcome partial", r, run, c.lostRun)
			}
		})
	}
}
