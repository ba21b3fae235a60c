package daemon_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	fixtures "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

var firstNightAt = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// openWarehouse returns a new warehouse with the tags of listings, and with the tables that name their outlets.
func openWarehouse(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	names := []string{"outlets", "outlet_listings", "outlet_products", "product_listings", "product_listing_tags"}
	tables := slices.DeleteFunc(stream.Tables(stream.All()), func(t stream.Table) bool { return !slices.Contains(names, t.Name) })
	w := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 3, MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: tables})
	lock, err := w.Lock("test", firstNightAt)
	fixtures.Must(t, err)
	fixtures.Must(t, lock.Release())
	return w
}

// finishNight ends a night that executes statements. A held night is not published.
func finishNight(t *testing.T, w *warehouse.Warehouse, at time.Time, isHeld bool, statements ...string) {
	t.Helper()
	run := at.Format("20060102T150405Z")
	d, err := w.Begin(t.Context(), run, at)
	fixtures.Must(t, err)
	literal := sqltext.Literal(at.Format(time.RFC3339))
	statements = append(statements, "COPY main.product_listing_tags TO "+sqltext.Literal(filepath.Join(d.Dir, "product_listing_tags.parquet"))+" (FORMAT parquet)",
		fmt.Sprintf("INSERT INTO meta.runs (run_id, outcome, started_at, snapshot_at) VALUES ('%s', 'complete', TIMESTAMPTZ %s, TIMESTAMPTZ %[2]s)", run, literal))
	for _, statement := range statements {
		fixtures.Must(t, d.Exec(t.Context(), sqltext.SQL(strings.ReplaceAll(statement, "{at}", "TIMESTAMPTZ "+literal))))
	}
	line := ledger.Run{ID: run, Outcome: ledger.Complete, StartedAt: at, EndedAt: at.Add(time.Hour), SnapshotAt: at, Checks: []ledger.CheckResult{
		{Name: "prices_scaled", Title: "Prices moved", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 2}}}
	fixtures.Must(t, d.WriteLedgerCopy(line))
	file := warehouse.ManifestTable{Name: "product_listing_tags", Grade: stream.Exact}
	file.File = "product_listing_tags.parquet"
	if isHeld {
		_, err = d.Hold(t.Context(), []warehouse.ManifestTable{file})
	} else {
		_, err = d.Publish(t.Context(), []warehouse.ManifestTable{file})
		fixtures.Must(t, w.RunLog.Record(line))
	}
	fixtures.Must(t, err)
}

const addTags = "INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) SELECT 'p', n, 'first', {at}, 1 FROM range(1, 4) r(n)"

// TestHeldPageShowsTheChanges holds the second night, which renamed two of three tags and added one.
func TestHeldPageShowsTheChanges(t *testing.T) {
	w := openWarehouse(t)
	finishNight(t, w, firstNightAt, false, addTags)
	finishNight(t, w, firstNightAt.AddDate(0, 0, 1), true,
		"INSERT INTO past.product_listing_tags BY NAME SELECT *, {at} AS valid_to, '20261102T020000Z' AS run_id FROM main.product_listing_tags WHERE position > 1",
		"UPDATE main.product_listing_tags SET name = 'second', valid_from = {at}, row_hash = 2 WHERE position > 1",
		"INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) VALUES ('p', 4, 'new', {at}, 1)")
	h := newHarness(t, nil)
	h.cfg.Held = &daemon.HeldPage{Warehouse: w, MemoryLimit: "256MB", Threads: 1, Log: h.cfg.Log}
	got := h.get("/held")
	for _, want := range []string{"<h1>Held night 20261102T020000Z</h1>", "Changes from the snapshot of 2026-11-01 02:00 UTC", "Changed fields, with an example of each",
		"<bdi>second</bdi>", "<bdi>first</bdi>", "Changes by table", `<a href=".">Status</a>`, `<a href="held" aria-current="page">Held night</a>`,
		`<th scope="col">table</th>`, `<td class="n"><bdi>2</bdi></td>`, `<td class="why"><bdi>second</bdi></td>`, `<td><bdi>product_listing_tags</bdi></td>`} {
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("the page has the status %d and lacks %q:\n%s", got.Code, want, got.Body)
		}
	}
	if strings.Contains(got.Body.String(), "The first ") {
		t.Errorf("the page calls its few rows a part of more rows:\n%s", got.Body)
	}
}

// TestHeldPageWithoutChanges holds the first night, damages its catalog, and then its manifest. The page must show the checks
// as long as they can be read.
func TestHeldPageWithoutChanges(t *testing.T) {
	w := openWarehouse(t)
	finishNight(t, w, firstNightAt, true, addTags)
	h := newHarness(t, nil)
	h.cfg.Held = &daemon.HeldPage{Warehouse: w, MemoryLimit: "256MB", Threads: 1, Log: h.cfg.Log}
	folder := filepath.Dir(w.Folder.HeldCatalog("20261101T020000Z"))
	for _, c := range []struct {
		damaged string
		code    int
		want    []string
	}{
		{"", http.StatusOK, []string{"prices_scaled", "The held night is the first night, so there is no snapshot to compare it with."}},
		{warehouse.CatalogFile, http.StatusOK, []string{"prices_scaled", "The changes could not be read: see the log."}},
		{warehouse.ManifestFile, http.StatusInternalServerError, []string{"the held night could not be read: see the log"}},
	} {
		if c.damaged != "" {
			fixtures.Must(t, os.WriteFile(filepath.Join(folder, c.damaged), []byte("damaged"), 0o600))
		}
		got := h.get("/held")
		for _, want := range c.want {
			if got.Code != c.code || !strings.Contains(got.Body.String(), want) {
				t.Errorf("with a damaged file %q the status is %d, want %d and %q:\n%s", c.damaged, got.Code, c.code, want, got.Body)
			}
		}
		if strings.Contains(got.Body.String(), "Changes from") {
			t.Errorf("with a damaged file %q the page shows changes, want none", c.damaged)
		}
	}
}

// TestInspectionReadsEachSource inspects a warehouse with two nights, the second of which is held. Then its disk is
// unmounted, which leaves an empty folder.
func TestInspectionReadsEachSource(t *testing.T) {
	w, lake := openWarehouse(t), t.TempDir()
	finishNight(t, w, firstNightAt, false, addTags)
	finishNight(t, w, firstNightAt.AddDate(0, 0, 1), true)
	fixtures.Must(t, errors.Join(
		w.Series.WriteIndex(map[string]string{}), // the day of the first night is missing
		repair.SaveRecord(w.Folder, repair.VerifyRecord{At: firstNightAt, ReadData: true, Result: repair.Whole}),
		repair.SaveRecord(w.Folder, repair.VerifyRecord{At: firstNightAt.Add(time.Hour), Result: repair.Rebuildable}),
		os.WriteFile(filepath.Join(lake, "rows"), make([]byte, 100_000), 0o600)))
	now := func() time.Time { return firstNightAt.AddDate(0, 0, 2) }
	receiver := webhook.New(webhook.Config{Dir: w.Folder.InboxPath()}, slog.New(slog.DiscardHandler), now)
	fixtures.Must(t, receiver.Open())
	t.Cleanup(func() { fixtures.Must(t, receiver.Close()) })
	fixtures.Must(t, os.WriteFile(filepath.Join(w.Folder.InboxPath(), "20261101T020000.000000000Z-0.log"), []byte("{}\n"), 0o600))
	inspector := daemon.Inspector{Warehouse: w, WatchNames: []string{"cheap"}, LakeDir: lake, Receiver: receiver, Now: now}
	got := inspector.Inspect(t.Context())
	if len(got.Errors) > 0 || !got.At.Equal(now()) {
		t.Errorf("the inspection at %s has the errors %v, want none", got.At, got.Errors)
	}
	if len(got.Tables) != 1 || got.Tables[0].Rows != 3 || got.MissingDays != 1 {
		t.Errorf("the version has the tables %+v and %d missing days, want one table with 3 rows and one day",
			got.Tables, got.MissingDays)
	}
	if got.FreeBytes <= 0 || got.NeededBytes <= 0 || got.Inbox.Bytes != 3 || got.Inbox.Events != 1 {
		t.Errorf("%d bytes are free, %d are needed, and the inbox is %+v, want positive numbers and one event", got.FreeBytes, got.NeededBytes, got.Inbox)
	}
	var results []string
	for _, v := range got.Verifications {
		results = append(results, fmt.Sprint(v.Result, v.ReadData))
	}
	if want := []string{repair.Rebuildable + "false", repair.Whole + "true"}; !slices.Equal(results, want) {
		t.Errorf("the verifications are %q, want %q", results, want)
	}
	if len(got.Watches) != 1 || got.Watches[0].Watch != "cheap" || got.Held == nil || got.Held.Run.ID != "20261102T020000Z" {
		t.Errorf("the watches are %+v and the held night is %+v, want one watch and the second night", got.Watches, got.Held)
	}
	var lakeBytes int64
	for _, part := range got.Usage {
		if part.Part == "lake" {
			lakeBytes = part.Bytes
		}
	}
	if lakeBytes < 100_000 || lakeBytes > 200_000 {
		t.Errorf("the usage is %+v, want the lake with little more than 100,000 bytes", got.Usage)
	}

	fixtures.Must(t, os.Remove(filepath.Join(w.Folder.VersionPath("20261101T020000Z"), warehouse.ManifestFile)))
	if got := inspector.Inspect(t.Context()); got.Has(daemon.SourceVersion) || !got.Has(daemon.SourceInbox) || !got.Has(daemon.SourceHeld) {
		t.Errorf("without the manifest of the version, the errors are %v, want one", got.Errors)
	}
	unmounted := daemon.Inspector{Warehouse: warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 3}), Receiver: receiver, Now: now}
	if got := unmounted.Inspect(t.Context()); len(got.Errors) != 7 || got.FreeBytes != 0 {
		t.Errorf("of an empty folder, the errors are %v with %d free bytes, want an error of each source", got.Errors, got.FreeBytes)
	}
}
