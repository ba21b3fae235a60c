package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

// TestEveryNightIsPublished publishes three nights one by one, reads each by its tag and compares
// all values.
func TestEveryNightIsPublished(t *testing.T) {
	h := newFixture(t, 0)
	var runs []string
	for range 3 {
		runs = append(runs, h.night())
		p := h.publish()
		if len(p) != 1 || p[0].AlreadyPublished || p[0].Run != runs[len(runs)-1] || p[0].TagsDropped {
			t.Fatalf("published %+v, want the new night with its tag", p)
		}
		if len(runs) == 1 && p[0].Replaced != p[0].Tables || len(runs) > 1 && (p[0].Replaced+p[0].Appended == p[0].Tables || p[0].Appended == 0) {
			t.Errorf("night %d: published %+v, want all tables in the first night and only changed tables later", len(runs), p[0])
		}
	}
	for _, run := range runs {
		h.requireEqualTables(run)
	}
	if s := h.status(); !slices.Equal(s.Nights, runs) || s.Run != runs[2] || s.Behind || len(s.Tables) == 0 {
		t.Errorf("status is %+v, want the nights %v", s, runs)
	}
	if p := h.publish(); !p[0].AlreadyPublished {
		t.Errorf("the second publish committed again: %+v", p)
	}
}

// TestPublishAfterSkippedNights publishes only the last of several nights. The tables of the
// schema "past" must be the same as if every night had been published.
func TestPublishAfterSkippedNights(t *testing.T) {
	h := newFixture(t, 1)
	h.publish()
	h.night()
	h.night()
	last := h.night()
	if p := h.publish(); p[0].Appended == 0 {
		t.Errorf("published %+v, want appended rows", p)
	}
	h.requireEqualTables(last)
}

func TestPublishAllPublishesEveryKeptNight(t *testing.T) {
	h := newFixture(t, 3)
	if p := h.publish("--all"); len(p) != 3 {
		t.Fatalf("published %+v, want 3 nights", p)
	}
	first := h.status().Nights[0]
	h.requireEqualTables(first)
	h.night()
	if p := h.publish("--all"); len(p) != 1 {
		t.Errorf("published %+v, want 1 night", p)
	}
}

// TestRefreshDoesNotChangeTheLake refreshes a few details after a night. The lake shows the night, so it is not
// behind, and a publish must do nothing. The next night must be published as usual.
func TestRefreshDoesNotChangeTheLake(t *testing.T) {
	t.Parallel()
	h := newEmptyFixture(t, t.TempDir())
	h.cfg.Streams, h.cfg.Warehouse.Tables = stream.All(), stream.Tables(stream.All())
	h.cfg.Chosen = nil
	for _, s := range h.cfg.Streams {
		h.cfg.Chosen = append(h.cfg.Chosen, s.Name)
	}
	night := h.runNight()
	h.publish()
	db, err := sql.Open("duckdb", h.path("warehouse/catalog.duckdb")+"?access_mode=read_only")
	h.must(err)
	var campaign string
	h.must(errors.Join(db.QueryRowContext(t.Context(), "SELECT min(id) FROM campaigns").Scan(&campaign), db.Close()))
	h.now = h.now.Add(time.Hour)
	_, err = pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{Campaigns: []string{campaign}})
	h.must(err)
	if latest := latestRunOf(h.path("warehouse")); latest == night {
		t.Fatal("the refresh published no version")
	}
	if s := h.status(); s.Behind || s.OutOfOrder || s.Latest != night {
		t.Errorf("status: %+v, want the night %s, neither behind nor out of order", s, night)
	}
	if got := h.run("status"); strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("status printed %q, want only the night", got.stdout)
	}
	for _, args := range [][]string{nil, {"--all"}} {
		if p := h.publish(args...); len(p) != 1 || p[0].Run != night || !p[0].AlreadyPublished {
			t.Errorf("publish %v: %+v, want the night %s, already published", args, p, night)
		}
	}
	next := h.runNight()
	if p := h.publish("--all"); len(p) != 1 || p[0].Run != next {
		t.Errorf("published %+v, want only %s", p, next)
	}
	h.requireEqualTables(next)
}

// TestOlderNightIsRefused publishes a night that is earlier than the night in the lake, once by its
// run id and once from a warehouse without the later night. The next night must then require
// --replace, because the warehouse does not know the night that the lake shows.
func TestOlderNightIsRefused(t *testing.T) {
	h := newFixture(t, 3)
	all := h.publish("--all")
	h.mustFail(1, "the lake shows "+all[2].Run, "publish", all[0].Run)
	// Remove the last night from the warehouse, as if this were another warehouse.
	h.must(os.RemoveAll(h.path("warehouse/versions/" + all[2].Run)))
	h.must(os.RemoveAll(h.path("warehouse/latest")))
	h.must(os.Symlink("versions/"+all[1].Run, h.path("warehouse/latest")))
	h.removeFromLedger(all[2].Run)
	h.mustFail(1, "not earlier", "publish")
	if run := h.status().Run; run != all[2].Run {
		t.Fatalf("the lake shows %s, want %s", run, all[2].Run)
	}
	next := h.night()
	h.mustFail(1, "from another warehouse, and a publish would replace", "publish")
	h.publish("--replace")
	h.requireEqualTables(next)
}

// TestNewWarehouseKeepsTheHistory publishes from a new warehouse after the loss of the old warehouse.
// Only --replace may replace the history in the lake.
func TestNewWarehouseKeepsTheHistory(t *testing.T) {
	h := newFixture(t, 3)
	all := h.publish("--all")
	h.must(os.RemoveAll(h.path("warehouse")))
	first := h.night()
	h.mustFail(1, all[2].Run, "publish")
	h.mustFail(1, "publish --all --replace", "publish", "--all")
	if run := h.status().Run; run != all[2].Run {
		t.Fatalf("the lake shows %s, want %s", run, all[2].Run)
	}
	h.publish("--all", "--replace")
	h.requireEqualTables(first)
	second := h.night()
	h.publish()
	h.requireEqualTables(second)
	third := h.night()
	h.removeFromLedger(second) // meta.runs of the third night contains it
	h.publish()
	h.requireEqualTables(third)
}

// removeFromLedger removes a run from the ledger.
func (h *fixture) removeFromLedger(run string) {
	h.Helper()
	path := h.path("warehouse/state/runs.jsonl")
	data, err := os.ReadFile(path)
	h.must(err)
	lines := slices.DeleteFunc(strings.SplitAfter(string(data), "\n"), func(line string) bool { return strings.Contains(line, run) })
	h.must(os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
}

// TestPublishOverTablesOfRelease1_0_0 removes the properties that release 1.0.0 did not write. The next publish must
// write the tables again.
func TestPublishOverTablesOfRelease1_0_0(t *testing.T) {
	h := newFixture(t, 1)
	h.publish()
	for _, table := range []string{"placements_current.product_listings", "placements_current.tags", "placements_past.product_listings", "placements_meta.runs"} {
		namespace, name, _ := strings.Cut(table, ".")
		h.editMetadata(namespace, name, func(m map[string]any) {
			properties := m["properties"].(map[string]any)
			delete(properties, "placementsync.content")
			delete(properties, "placementsync.snapshot-id")
		})
	}
	if s := h.status(); s.Behind {
		t.Errorf("status is %+v, want that the lake shows the newest night", s)
	}
	next := h.night()
	h.publish()
	h.requireEqualTables(next)
}

// TestDamagedFilesAreRefused damages a Parquet file of a version, and the catalog.duckdb, which contains the rows of the
// schemas "past" and "meta". The publish must fail before the night is visible.
func TestDamagedFilesAreRefused(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	second := h.night()
	version := "warehouse/versions/" + second
	files := h.filesOfLake()
	requireUnchanged := func() {
		t.Helper()
		if run := h.shownRun(); run != first {
			t.Errorf("the lake shows %s, want %s", run, first)
		}
		if got := h.filesOfLake(); !slices.Equal(got, files) {
			t.Errorf("the failed publish left the files %v, want %v", got, files)
		}
	}
	h.flipBit(version + "/product_listings.parquet")
	h.mustFail(1, "its checksum differs from its manifest", "publish")
	requireUnchanged()
	h.flipBit(version + "/product_listings.parquet") // back again
	h.flipBit(version + "/catalog.duckdb")
	h.mustFail(1, second+"/catalog.duckdb", "publish")
	h.mustFail(1, second+"/catalog.duckdb", "verify", second)
	requireUnchanged()
}

// TestUnreadableManifestIsReported damages the manifest of the newest night, and then of the night before.
// publish --all must name the manifest. In the second case it must publish the newest night.
func TestUnreadableManifestIsReported(t *testing.T) {
	h := newFixture(t, 1)
	h.publish()
	second, third := h.night(), h.night()
	newestManifest := "warehouse/versions/" + third + "/manifest.json"
	text, err := os.ReadFile(h.path(newestManifest))
	h.must(err)
	h.write(newestManifest, "{")
	h.mustFail(1, third+"/manifest.json", "publish", "--all")
	h.write(newestManifest, string(text))
	h.write("warehouse/versions/"+second+"/manifest.json", "{")
	h.mustFail(3, second+"/manifest.json", "publish", "--all")
	if run := h.shownRun(); run != third {
		t.Errorf("the lake shows %s, want %s", run, third)
	}
	if p := h.publish("--all"); len(p) != 1 || !p[0].AlreadyPublished {
		t.Errorf("the next publish returned %+v, want one night, already published", p)
	}
}

// flipBit flips one bit in the middle of a file.
func (h *fixture) flipBit(name string) {
	h.Helper()
	data, err := os.ReadFile(h.path(name))
	h.must(err)
	data[len(data)/2] ^= 1
	h.write(name, string(data))
}

// TestSchemaChangesAreApplied removes a column from the lake and adds another. The next publish
// must add the missing column with its field id. It must keep the other column, which the warehouse
// does not have, with NULL in new rows.
func TestSchemaChangesAreApplied(t *testing.T) {
	h := newFixture(t, 1)
	first := h.publish()[0].Run
	const removedFromLake, addedToLake = "unit_amount", "added_to_lake"
	h.editMetadata("placements_current", "product_listing_prices", func(m map[string]any) {
		for _, s := range m["schemas"].([]any) {
			schema := s.(map[string]any)
			fields := slices.DeleteFunc(schema["fields"].([]any), func(f any) bool { return f.(map[string]any)["name"] == removedFromLake })
			schema["fields"] = append(fields, map[string]any{"id": 9000, "name": addedToLake, "required": false, "type": "string"})
		}
	})
	second := h.night()
	h.publish()
	h.requireEqualTables(second)
	h.requireEqualTables(first)
	names := h.columnsOf("placements_current", "product_listing_prices")
	if !slices.Contains(names, removedFromLake) || !slices.Contains(names, addedToLake) {
		t.Errorf("the columns are %v, want %s and %s among them", names, removedFromLake, addedToLake)
	}
}

// editMetadata changes the metadata of a table as another program would.
func (h *fixture) editMetadata(namespace, table string, edit func(m map[string]any)) {
	h.Helper()
	path := h.metadataFile(namespace, table)
	m := h.readMetadata(path)
	edit(m)
	data, err := json.Marshal(m)
	h.must(err)
	h.must(os.WriteFile(path, data, 0o600))
}

func (h *fixture) readMetadata(path string) (m map[string]any) {
	h.Helper()
	data, err := os.ReadFile(path)
	h.must(err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // ids of snapshots have too many digits for a float64
	h.must(d.Decode(&m))
	return m
}

// columnsOf lists the columns of the current schema.
func (h *fixture) columnsOf(namespace, table string) (names []string) {
	h.Helper()
	m := h.readMetadata(h.metadataFile(namespace, table))
	for _, s := range m["schemas"].([]any) {
		if s := s.(map[string]any); s["schema-id"] == m["current-schema-id"] {
			for _, f := range s["fields"].([]any) {
				names = append(names, f.(map[string]any)["name"].(string))
			}
		}
	}
	return names
}

// TestOldNightsExpire checks that expire removes old nights, the files that only the old nights use,
// and old orphans.
func TestOldNightsExpire(t *testing.T) {
	h := newFixture(t, 4)
	all := h.publish("--all")
	before := len(h.filesOfLake())
	youngOrphan, oldOrphan := h.path("lake/placements_current/tags/data/young.parquet"), h.path("lake/placements_current/tags/data/old.parquet")
	for _, path := range []string{youngOrphan, oldOrphan} {
		h.must(os.WriteFile(path, []byte("left by a killed publisher"), 0o600))
	}
	fourDaysAgo := time.Now().AddDate(0, 0, -4) // expire uses the real clock
	h.must(os.Chtimes(oldOrphan, fourDaysAgo, fourDaysAgo))
	h.keepNights(2)
	var dryRun, expired lake.Expired
	h.mustSucceed(&dryRun, "expire", "--dry-run")
	h.mustSucceed(&expired, "expire")
	if want := []string{all[0].Run, all[1].Run}; !slices.Equal(expired.Nights, want) || !slices.Equal(dryRun.Nights, want) || expired.Orphans != 1 || expired.Snapshots == 0 {
		t.Errorf("expired %+v, dry run %+v; want the nights %v, some snapshots and one orphan", expired, dryRun, want)
	}
	if _, err := os.Stat(oldOrphan); err == nil {
		t.Error("the old orphan was not removed")
	}
	if _, err := os.Stat(youngOrphan); err != nil {
		t.Error("the young orphan was removed")
	}
	if after := len(h.filesOfLake()); after >= before {
		t.Errorf("the lake has %d files, want fewer than the %d before expire", after, before)
	}
	h.requireEqualTables(all[2].Run)
	h.requireEqualTables(all[3].Run)
	if got := h.run("verify", all[0].Run); got.code != 3 || !strings.Contains(got.stdout, "it has no tag run_"+all[0].Run) {
		t.Errorf("verify of an expired night: %+v, want exit code 3 and the missing tag", got)
	}
}

// TestExpireCountsEveryShownNight makes one table show the night before the newest. This night and the newest
// are then the two nights that lake.keep_nights keeps.
func TestExpireCountsEveryShownNight(t *testing.T) {
	h := newFixture(t, 4)
	all := h.publish("--all")
	h.editMetadata("placements_current", "tags", func(m map[string]any) { m["properties"].(map[string]any)["placementsync.run-id"] = all[2].Run })
	h.keepNights(2)
	var expired lake.Expired
	h.mustSucceed(&expired, "expire", "--dry-run")
	if want := []string{all[0].Run, all[1].Run}; !slices.Equal(expired.Nights, want) {
		t.Errorf("expired %v, want %v", expired.Nights, want)
	}
}

// TestVerifyFindsADifference overwrites a data file with the data of another table.
func TestVerifyFindsADifference(t *testing.T) {
	h := newFixture(t, 1)
	run := h.publish()[0].Run
	files, err := filepath.Glob(h.path("lake/placements_current/product_listings/data/*.parquet"))
	h.must(err)
	ordersFiles, err := filepath.Glob(h.path("lake/placements_current/orders/data/*.parquet"))
	h.must(err)
	data, err := os.ReadFile(ordersFiles[0])
	h.must(err)
	h.must(os.WriteFile(files[0], data, 0o600))
	if got := h.run("verify", run); got.code != 3 || !strings.Contains(got.stdout, "placements_current.product_listings: ") {
		t.Errorf("got %+v, want exit code 3 and the name of the table", got)
	}
}

// TestPublishIsInTheLedger checks that the ledger, from which the status page and the metrics are made,
// contains failed and successful publishes. A manual publish that repairs the lake must send an alert of the recovery.
func TestPublishIsInTheLedger(t *testing.T) {
	h := newFixture(t, 2)
	alerts := h.receiveAlerts()
	h.write("lake", "no folder")
	h.mustFail(1, "", "publish")
	if f := h.lakeState(); !f.IsBehind() || f.Failures != 1 || f.Last.Error == "" {
		t.Errorf("the ledger after a failure: got %+v, want one failure with its error", f)
	}
	h.must(os.Remove(h.path("lake")))
	all := h.publish("--all")
	if f := h.lakeState(); f.IsBehind() || f.Failures != 0 || f.Last.Version != all[1].Run || f.Last.Rows != all[0].Rows+all[1].Rows {
		t.Errorf("the ledger after a publish: got %+v, want no failure and both nights", f)
	}
	before := h.lakeState().Last
	h.mustFail(1, "which is not earlier", "publish", all[0].Run)
	h.publish("--unrecorded")
	if f := h.lakeState(); f.Last.ID != before.ID || f.Last.EndedAt != before.EndedAt {
		t.Errorf("a rejected and an unrecorded publish changed the ledger to %+v, want %+v", f.Last, before)
	}
	if want := []string{notify.Recovered + " lake " + all[1].Run}; !slices.Equal(*alerts, want) {
		t.Errorf("the alerts are %v, want %v", *alerts, want)
	}
}

// receiveAlerts configures a receiver of alerts. The returned slice grows with each alert.
func (h *fixture) receiveAlerts() *[]string {
	h.Helper()
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a notify.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			h.Error(err)
		}
		got = append(got, a.Event+" "+a.Work+" "+a.Run)
	}))
	h.Cleanup(receiver.Close)
	text, err := os.ReadFile(h.path("config.yaml"))
	h.must(err)
	h.write("config.yaml", string(text)+"notify: {failure_url: '"+receiver.URL+"/alert'}\n")
	return &got
}

// lakeState returns the summary of the publishes in the ledger.
func (h *fixture) lakeState() ledger.FollowUp {
	h.Helper()
	wh := warehouse.New(h.cfg.Warehouse)
	entries, err := wh.RunLog.RunsAndFollowUps()
	h.must(err)
	all := ledger.FollowUps(entries)
	if len(all) != 1 || all[0].Last.Kind != ledger.Lake {
		h.Fatalf("the ledger has %+v, want only the follow-up lake", all)
	}
	return all[0]
}

func TestCheckRemovesItsFiles(t *testing.T) {
	h := newFixture(t, 0)
	for range 2 {
		if got := h.run("check"); got.code != 0 {
			t.Fatalf("check: got %+v, want exit code 0", got)
		}
	}
	if files := h.filesOfLake(); len(files) > 0 {
		t.Errorf("check left the files %v", files)
	}
	if s := h.status(); len(s.Tables) > 0 || s.Run != "" {
		t.Errorf("check left a lake: %+v", s)
	}
}

// TestExitCodesOfErrors expects 2 for wrong usage or configuration, and 1 for other errors.
func TestExitCodesOfErrors(t *testing.T) {
	h := newFixture(t, 0)
	h.mustFail(2, "not both", "publish", "--all", "20261101T020000Z")
	h.mustFail(2, "use table or json", "status", "--format", "csv")
	h.mustFail(2, "unknown command", "publsh")
	h.mustFail(1, "no published night", "publish")
	h.must(os.Mkdir(h.path("folder"), 0o700))
	h.write("config.yaml", "warehouse: {dir: ./warehouse}\nlake: {catalog: 'sqlite:folder', warehouse: ./lake}\n")
	h.mustFail(1, "read the catalog of the lake "+h.path("folder")+": ", "status")
	h.mustFail(1, h.path("folder")+": ", "check")
	h.write("config.yaml", "warehouse: {dir: ./warehouse}\n")
	h.mustFail(2, "no lake is configured", "publish")
	h.write("config.yaml", "lake: {catalog: 'postgres://u:secret@127.0.0.1/db', warehouse: ./lake}\n")
	h.mustFail(2, "contains a password", "publish")
	if got := h.run("publish"); strings.Contains(got.stderr, "secret") {
		t.Errorf("stderr contains the password: %s", got.stderr)
	}
}
