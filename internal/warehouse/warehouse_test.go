package warehouse_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// firstNightAt is the snapshot time of the run firstNight.
var firstNightAt = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// open returns a new warehouse with the table product_listing_tags. The warehouse keeps two versions.
func open(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	return openKeeping(t, 2)
}

// openKeeping returns a new warehouse that keeps a number of versions. The race detector makes these tests slow, so they
// run without it. Tests of goroutines use openRace.
func openKeeping(t *testing.T, versions int) *warehouse.Warehouse {
	t.Helper()
	harness.Slow(t)
	return openNew(t, versions)
}

// openRace is like openKeeping, but the tests run with the race detector.
func openRace(t *testing.T, versions int) *warehouse.Warehouse {
	t.Helper()
	harness.Concurrent(t)
	return openNew(t, versions)
}

func openNew(t *testing.T, versions int) *warehouse.Warehouse {
	t.Helper()
	tables := slices.DeleteFunc(stream.Tables(stream.All()), func(x stream.Table) bool { return x.Name != "product_listing_tags" })
	w := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: versions, MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: tables})
	// The lock creates this folder, but most of these tests do not take the lock.
	harness.Must(t, os.Mkdir(filepath.Join(w.Folder.Dir(), "state"), 0o700))
	return w
}

// openWith opens a warehouse with a configuration.
func openWith(t *testing.T, c warehouse.Config) *warehouse.Warehouse {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if step := c.Step; step != nil {
		// Step is called concurrently, because a publish syncs several files at the same time.
		var mu sync.Mutex
		c.Step = func(name, path string) error {
			mu.Lock()
			defer mu.Unlock()
			return step(name, path)
		}
	}
	c.Threads = 1
	if c.KeepVersions == 0 {
		c.KeepVersions = 2
	}
	if c.Program == "" {
		c.Program = "test"
	}
	if c.MemoryLimit == "" {
		c.MemoryLimit = "256MB"
	}
	for _, table := range stream.Tables(stream.All()) {
		if table.Name == "product_listing_tags" {
			c.Tables = append(c.Tables, table)
		}
	}
	w := warehouse.New(c)
	return w
}

// begin begins a draft. The snapshot has the time in the id of the run.
func begin(t *testing.T, w *warehouse.Warehouse, run string) *warehouse.Draft {
	t.Helper()
	at, _ := warehouse.RunTime(run)
	d, err := w.Begin(t.Context(), run, at)
	harness.Must(t, err)
	return d
}

// beginDraft begins a draft, adds one row with a tag and writes the Parquet file.
func beginDraft(t *testing.T, w *warehouse.Warehouse, run, tag string) *warehouse.Draft {
	t.Helper()
	d := begin(t, w, run)
	harness.Must(t, d.Exec(t.Context(),
		sqltext.SQL(fmt.Sprintf("INSERT INTO main.product_listing_tags (product_listing_id, position, name, valid_from, row_hash) "+
			"SELECT 'p', count(*) + 1, %s, %s, 1 FROM main.product_listing_tags", sqltext.Literal(tag), "TIMESTAMPTZ "+sqltext.Literal(d.At.Format(time.RFC3339Nano))))))
	writeTagsFile(t, d)
	return d
}

// writeTagsFile writes the Parquet file of a draft from its table.
func writeTagsFile(t *testing.T, d *warehouse.Draft) {
	t.Helper()
	file := sqltext.Literal(filepath.Join(d.Dir, tagsFile))
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL("COPY main.product_listing_tags TO "+file+" (FORMAT parquet)")))
}

// ledgerRuns returns the runs in the ledger.
func ledgerRuns(t *testing.T, w *warehouse.Warehouse) []ledger.Run {
	t.Helper()
	runs, err := w.RunLog.Runs()
	harness.Must(t, err)
	return runs
}

var tableFiles = []warehouse.ManifestTable{{Name: "product_listing_tags", Grade: "exact",
	FileSum: checksum.FileSum{File: "product_listing_tags.parquet"}}}

func publish(t *testing.T, w *warehouse.Warehouse, run, tag string) warehouse.Manifest {
	t.Helper()
	m, err := beginDraft(t, w, run, tag).Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: run, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
	return m
}

// readTags returns the tags in the catalog that readers see.
func readTags(t *testing.T, w *warehouse.Warehouse) []string {
	t.Helper()
	db, err := sql.Open("duckdb", w.Folder.CatalogPath()+"?access_mode=READ_ONLY")
	harness.Must(t, err)
	defer db.Close()
	return queryTags(t, db)
}

// requireTags compares the tags in the catalog that readers see.
func requireTags(t *testing.T, w *warehouse.Warehouse, want ...string) {
	t.Helper()
	if got := readTags(t, w); !slices.Equal(got, want) {
		t.Errorf("a reader got the tags %v, want %v", got, want)
	}
}

// requireVersions compares the kept versions.
func requireVersions(t *testing.T, w *warehouse.Warehouse, want ...string) {
	t.Helper()
	if got, err := w.Versions.List(); err != nil || !slices.Equal(got, want) {
		t.Errorf("the versions are %v (%v), want %v", got, err, want)
	}
}

// requireNoDamage reads all files, as verify does.
func requireNoDamage(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	if report, err := repair.Check(t.Context(), w, true); err != nil || len(report.Damage) > 0 {
		t.Errorf("verify found %+v (%v), want no damage", report.Damage, err)
	}
}

func queryTags(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var all string
	harness.Must(t, db.QueryRowContext(t.Context(), "SELECT string_agg(name, ',' ORDER BY position) FROM product_listing_tags").Scan(&all))
	return strings.Split(all, ",")
}

func TestPublishSwitchesReadersInOneStep(t *testing.T) {
	w := openRace(t, 2)
	publish(t, w, "20261101T020000Z", "one")
	requireTags(t, w, "one")
	early, err := sql.Open("duckdb", w.Folder.CatalogPath()+"?access_mode=READ_ONLY")
	harness.Must(t, err)
	defer early.Close()
	if got := queryTags(t, early); len(got) != 1 {
		t.Fatalf("the early connection got %v, want one tag", got)
	}

	publish(t, w, "20261102T020000Z", "two")
	requireTags(t, w, "one", "two")
	if got := queryTags(t, early); !cmp.Equal(got, []string{"one"}) {
		t.Errorf("the early connection got %v, want only the first night", got)
	}
}

func TestDraftIsInvisibleUntilPublished(t *testing.T) {
	w := openNights(t, 2, "one")
	d := beginDraft(t, w, "20261102T020000Z", "two")
	requireTags(t, w, "one")
	requireVersions(t, w, "20261101T020000Z")
	harness.Must(t, d.Discard())
	requireTags(t, w, "one")
	if _, err := os.Stat(d.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat of the discarded draft: got %v, want no folder", err)
	}
}

func TestManifestDescribesTheFiles(t *testing.T) {
	w := open(t)
	published := publish(t, w, "20261101T020000Z", "one")
	m := harness.MustValue(w.Versions.ReadManifest("20261101T020000Z"))
	if diff := cmp.Diff(published, m); diff != "" {
		t.Errorf("manifest on disk differs from the published one (-published +disk):\n%s", diff)
	}
	info := harness.MustValue(os.Stat(filepath.Join(w.Folder.VersionPath(m.RunID), m.Tables[0].File)))
	got := m.Tables[0]
	if got.Rows != 1 || got.KeyMin != "p" || got.KeyMax != "p" || got.Bytes != info.Size() || len(got.SHA256) != 64 {
		t.Errorf("got %+v, want one row with key p, %d bytes and a checksum", got, info.Size())
	}
}

// TestBeginRemovesDraftsAndCompletesAPublish begins a draft in a warehouse with the draft of a killed run.
// The first night looks as if it was killed after the switch: the series and the link catalog.duckdb are missing.
func TestBeginRemovesDraftsAndCompletesAPublish(t *testing.T) {
	w := openNights(t, 2, "one")
	oldDraft := filepath.Join(w.Folder.Dir(), "versions", ".20261102T020000Z.draft")
	series := filepath.Join(w.Folder.Dir(), "parquet")
	oldCache := filepath.Join(w.Folder.Dir(), "state", "seen", "product_listings")
	harness.Must(t, errors.Join(os.Mkdir(oldDraft, 0o700), os.MkdirAll(oldCache, 0o700), os.RemoveAll(series), os.Remove(w.Folder.CatalogPath())))
	d := beginDraft(t, w, "20261103T020000Z", "two")
	defer d.Discard()
	if _, err := os.Stat(oldDraft); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat of the old draft: got %v, want no folder", err)
	}
	if _, err := os.Stat(filepath.Dir(oldCache)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat of the cache of an earlier release: got %v, want no folder", err)
	}
	if _, err := os.Stat(filepath.Join(series, "product_listing_tags", "snapshot_date=2026-11-01")); err != nil {
		t.Errorf("the series lacks the day of the first night: %v", err)
	}
	requireTags(t, w, "one")
}

// TestTheNextNightAddsMissingFilesOfTheSeries loses a file of a day that the index names.
func TestTheNextNightAddsMissingFilesOfTheSeries(t *testing.T) {
	w := openNights(t, 2, "one")
	harness.Must(t, os.Remove(seriesFile(w, "2026-11-01")))
	harness.Must(t, beginDraft(t, w, secondNight, "two").Discard())
	if !exists(t, seriesFile(w, "2026-11-01")) {
		t.Error("the series still lacks the file, and the version may be removed with the only copy")
	}
}

func TestLedgerKeepsRunsAfterAnUnfinishedLine(t *testing.T) {
	w := open(t)
	want := []ledger.Run{{ID: "a", Outcome: ledger.Failed, ExitCode: 1, Attempts: 1}, {ID: "b", Outcome: ledger.Complete, Rows: 7, Attempts: 1}}
	harness.Must(t, w.RunLog.Record(want[0]))
	path := filepath.Join(w.Folder.Dir(), "state", "runs.jsonl")
	intact := harness.MustValue(os.ReadFile(path))
	harness.Must(t, os.WriteFile(path, append(intact, `{"run_id":"torn`...), 0o600))
	harness.Must(t, w.RunLog.Record(want[1]))
	got, err := w.RunLog.Runs()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("ledger differs (-want +got), error %v:\n%s", err, diff)
	}

	harness.Must(t, w.RunLog.Record(ledger.Run{ID: "a", Outcome: ledger.Complete}))
	got, err = w.RunLog.Runs()
	want = []ledger.Run{want[1], {ID: "a", Outcome: ledger.Complete, Attempts: 2}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("ledger with a second attempt differs (-want +got), error %v:\n%s", err, diff)
	}
}

// TestDamagedLinesAreMovedOnce calls Recover twice with a damaged line in the ledger. The line ends in
// a carriage return.
func TestDamagedLinesAreMovedOnce(t *testing.T) {
	w := open(t)
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: "a", Outcome: ledger.Failed, ExitCode: 1}))
	path := w.RunLog.Path()
	intact := harness.MustValue(os.ReadFile(path))
	harness.Must(t, os.WriteFile(path, append([]byte("damaged\r\n\n"), intact...), 0o600))
	for range 2 {
		harness.Must(t, w.Recover())
		if got, err := os.ReadFile(path); err != nil || string(got) != "\n"+string(intact) {
			t.Errorf("the ledger is %q (%v), want %q after an empty line", got, err, intact)
		}
		if got, err := os.ReadFile(path + ".damaged"); err != nil || string(got) != "damaged\n" {
			t.Errorf("the moved lines are %q (%v), want the damaged line once", got, err)
		}
	}
}
