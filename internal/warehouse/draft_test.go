package warehouse_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestADraftIsReadWhileItIsClosed opens the closed catalog of a draft in another DuckDB instance. After
// that, the draft must accept changes again, even if reading returned an error.
func TestADraftIsReadWhileItIsClosed(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	checkErr := errors.New("a check failed")
	for _, want := range []error{nil, checkErr} {
		err := d.ReadClosed(t.Context(), func(catalog string) error {
			db, err := sql.Open("duckdb", catalog+"?access_mode=READ_ONLY")
			harness.Must(t, err)
			if got := queryTags(t, db); !slices.Equal(got, []string{"one"}) {
				t.Errorf("the closed draft has the tags %v, want one", got)
			}
			harness.Must(t, db.Close())
			return want
		})
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	harness.Must(t, d.Exec(t.Context(), "UPDATE main.product_listing_tags SET name = 'changed'"))
	_, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	if got := newestTag(t, w); got != "changed" {
		t.Errorf("readers see the tag %s, want changed", got)
	}
}

// TestGradesOfEarlierNightsAreFound writes the grades of three runs. Run c has no snapshot, so its grade must
// not be found. The stream tags was read in runs a and b.
func TestGradesOfEarlierNightsAreFound(t *testing.T) {
	d := begin(t, open(t), thirdNight)
	defer func() { harness.Must(t, d.Discard()) }()
	for _, c := range []struct{ run, snapshot, stream, grade, reason, since string }{
		{"a", "2026-11-01 02:00:00+00", "orders", "exact", "NULL", "NULL"},
		{"a", "", "files", "failed", "'no answer'", "NULL"},
		{"a", "", "tags", "exact", "NULL", "NULL"},
		{"b", "2026-11-02 02:00:00+00", "orders", "carried_forward", "'no time'", "TIMESTAMPTZ '2026-11-01 02:00:00+00'"},
		{"b", "", "links", "repaired", "NULL", "TIMESTAMPTZ '2026-11-01 03:00:00+00'"},
		{"b", "", "tags", "best_effort", "NULL", "NULL"},
		{"b", "", "outlets", "bounded", "NULL", "NULL"},
		{"c", "", "orders", "exact", "NULL", "NULL"},
		{"c", "", "new", "failed", "NULL", "NULL"},
	} {
		if c.stream == "orders" {
			snapshot := "NULL"
			if c.snapshot != "" {
				snapshot = "TIMESTAMPTZ " + sqltext.Literal(c.snapshot)
			}
			harness.Must(t, d.Exec(t.Context(), sqltext.SQL(fmt.Sprintf("INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('%s', %s)", c.run, snapshot))))
		}
		harness.Must(t, d.Exec(t.Context(), sqltext.SQL(fmt.Sprintf("INSERT INTO meta.streams (run_id, stream, grade, reason, age_since) VALUES ('%s', '%s', '%s', %s, %s)", c.run, c.stream, c.grade, c.reason, c.since))))
	}
	// The results of LastGrade (grade, reason, day of AgeSince, ok) and of RowsReadSince (day, ok).
	for stream, want := range map[string]string{
		"orders":  "carried_forward no time 01 true | 01 true",
		"files":   "failed no answer 01 true | 01 false",
		"links":   "repaired  01 true | 01 true", // its oldest row is of the night before
		"tags":    "best_effort  02 true | 02 true",
		"outlets": "bounded  02 true | 02 true",
		"new":     "  01 false | 01 false",
	} {
		last, ok, err := d.LastGrade(t.Context(), stream)
		harness.Must(t, err)
		since, wasRead, err := d.RowsReadSince(t.Context(), stream)
		harness.Must(t, err)
		if got := fmt.Sprint(last.Grade, " ", last.Reason, " ", last.AgeSince.UTC().Format("02"), " ", ok, " | ", since.UTC().Format("02"), " ", wasRead); got != want {
			t.Errorf("%s: got %q, want %q", stream, got, want)
		}
	}
	harness.Must(t, d.Exec(t.Context(), "DROP TABLE meta.streams"))
	if _, _, err := d.LastGrade(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), "find the last grade of orders") {
		t.Errorf("the error without the table is %v, want it to name orders", err)
	}
	if _, _, err := d.RowsReadSince(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), "find when orders was last read") {
		t.Errorf("the error without the table is %v, want it to name orders", err)
	}
}

// TestADraftUsesTheConfiguredLimits compares the threads and the memory limit of a draft with the
// configuration.
func TestADraftUsesTheConfiguredLimits(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	harness.Must(t, err)
	defer db.Close()
	var defaultThreads string
	harness.Must(t, db.QueryRowContext(t.Context(), "SELECT current_setting('threads')::VARCHAR").Scan(&defaultThreads))
	for threads, want := range map[int]int{0: runtime.GOMAXPROCS(0), 3: 3} {
		w := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1, Threads: threads, Tables: open(t).Schema.Tables})
		d := begin(t, w, firstNight)
		if got := d.Threads(); got != want {
			t.Errorf("with %d configured threads a draft may use %d threads, want %d", threads, got, want)
		}
		inDuckDB := fmt.Sprint(want)
		if threads == 0 {
			inDuckDB = defaultThreads
		}
		if got := queryOne(t, d, "SELECT current_setting('threads')::VARCHAR"); got != inDuckDB {
			t.Errorf("with %d configured threads DuckDB uses %s threads, want %s", threads, got, inDuckDB)
		}
		defaultLimit := queryOne(t, d, "SELECT current_setting('memory_limit')")
		harness.Must(t, d.ReduceMemory(t.Context())) // no change without a limit in the configuration
		if got := queryOne(t, d, "SELECT current_setting('memory_limit')"); got != defaultLimit {
			t.Errorf("the memory limit is %s, want the unchanged default %s", got, defaultLimit)
		}
		harness.Must(t, d.Discard())
	}
	d := begin(t, openWith(t, warehouse.Config{}), firstNight)
	// A catalog with reused metadata cannot be read by a DuckDB before version 1.5.
	const settings = "SELECT string_agg(name || ' ' || value, ', ' ORDER BY name) FROM duckdb_settings() " +
		"WHERE name IN ('allocator_flush_threshold', 'autoinstall_known_extensions', 'experimental_metadata_reuse', " +
		"'preserve_insertion_order', 'temp_directory', 'TimeZone')"
	want := "TimeZone UTC, allocator_flush_threshold 15.2 MiB, autoinstall_known_extensions false, " +
		"experimental_metadata_reuse false, preserve_insertion_order false, temp_directory " + filepath.Join(d.Dir, "spill")
	if got := queryOne(t, d, settings); got != want {
		t.Errorf("the settings are %q, want %q", got, want)
	}
	harness.Must(t, d.Discard())
	// Three quarters of 400 MB and 400 MB, 256 MB and 300 MB, and twice 200 MB.
	for limit, want := range map[string]string{"400MB": "286.1 MiB, then 381.4 MiB", "300MB": "244.1 MiB, then 286.1 MiB", "200MB": "190.7 MiB, then 190.7 MiB"} {
		d := begin(t, openWith(t, warehouse.Config{MemoryLimit: limit}), firstNight)
		harness.Must(t, d.ReduceMemory(t.Context()))
		reduced := queryOne(t, d, "SELECT current_setting('memory_limit')")
		harness.Must(t, d.RestoreMemory(t.Context()))
		if got := reduced + ", then " + queryOne(t, d, "SELECT current_setting('memory_limit')"); got != want {
			t.Errorf("%s: the memory limit is %s, want %s", limit, got, want)
		}
		harness.Must(t, d.Discard())
	}
}

// TestInvalidSettingsLeaveNoDraft configures a memory limit that DuckDB rejects. Begin must return an
// error and remove the draft.
func TestInvalidSettingsLeaveNoDraft(t *testing.T) {
	w := openWith(t, warehouse.Config{MemoryLimit: "much"})
	if _, err := w.Begin(t.Context(), firstNight, firstNightAt); err == nil || !strings.Contains(err.Error(), "begin version "+firstNight) || !strings.Contains(err.Error(), "memory_limit") {
		t.Errorf("got the error %v, want an error that names the version and memory_limit", err)
	}
	if drafts, _ := filepath.Glob(path(w, "versions", ".*")); len(drafts) > 0 {
		t.Errorf("after the error there are the drafts %v, want none", drafts)
	}
	_, err := w.OpenUnchecked(t.Context(), firstNight)
	if scratch, _ := filepath.Glob(path(w, "state", ".sealed.*")); err == nil || len(scratch) > 0 {
		t.Errorf("opening a version: got %v and the scratch folders %v, want an error and none", err, scratch)
	}
}

// TestASnapshotIsAfterItsBase begins drafts before, at and after the time of the published version. If the clock was
// wrong when that version was published, the rollback that the error names must help.
func TestASnapshotIsAfterItsBase(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	want := "if the clock of this machine is wrong, correct the clock and run again; if it was wrong when version " + secondNight + " was published, roll back to an earlier version"
	at := firstNightAt.AddDate(0, 0, 1)
	for distance, isAllowed := range map[time.Duration]bool{-time.Second: false, 0: false, time.Microsecond: true} {
		d, err := w.Begin(t.Context(), thirdNight, at.Add(distance))
		if (err == nil) != isAllowed || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a snapshot %v after its base: got error %v, want no error: %t, or else %q", distance, err, isAllowed, want)
		}
		if err == nil {
			harness.Must(t, d.Discard())
		}
	}
	rollback(t, w, firstNight)
	d, err := w.Begin(t.Context(), secondNight, firstNightAt.Add(time.Hour+1500*time.Nanosecond))
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	if want := firstNightAt.Add(time.Hour + time.Microsecond); !d.At.Equal(want) {
		t.Errorf("the time of the snapshot is %s, want %s: DuckDB stores microseconds, and rows must have the time of their manifest", d.At, want)
	}
}

// TestFailedStatementsAreUndoneAndQuoted checks that Atomically undoes all statements if one fails, that
// errors quote at most 160 bytes of a statement, and that EachRow returns the first error.
func TestFailedStatementsAreUndoneAndQuoted(t *testing.T) {
	d := begin(t, open(t), firstNight)
	defer func() { harness.Must(t, d.Discard()) }()
	longStatement := "SELECT " + strings.Repeat("1 + ", 50) + "nothing"
	err := d.Atomically(t.Context(), []sqltext.SQL{"CREATE TABLE main.a (x INTEGER)", sqltext.SQL(longStatement)})
	if err == nil || !strings.Contains(err.Error(), longStatement[:160]+"...") || strings.Contains(err.Error(), longStatement[:161]+"...") {
		t.Errorf("got %v, want the first 160 bytes of the statement", err)
	}
	if got := queryOne(t, d, "SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE table_name = 'a'"); got != "0" {
		t.Errorf("there are %s tables of the failed transaction, want 0", got)
	}
	shortStatement := "SELECT nothing" + strings.Repeat(" ", 160-len("SELECT nothing"))
	if err := d.Exec(t.Context(), sqltext.SQL(shortStatement)); err == nil || strings.Contains(err.Error(), shortStatement+"...") {
		t.Errorf("the error of a statement of 160 bytes is %v, want the whole statement in it", err)
	}
	harness.Must(t, d.Atomically(t.Context(), []sqltext.SQL{"CREATE TABLE main.a (x INTEGER)", "INSERT INTO main.a VALUES (1)"}))
	if got := queryOne(t, d, "SELECT sum(x)::VARCHAR FROM main.a"); got != "1" {
		t.Errorf("the sum of the column x is %s, want 1", got)
	}
	rows := 0
	stop := errors.New("enough")
	err = d.EachRow(t.Context(), []sqltext.SQL{"SELECT 1", "SELECT 2"}, func(func(...any) error) error {
		rows++
		return stop
	})
	if !errors.Is(err, stop) || rows != 1 {
		t.Errorf("%d rows were read (%v), want 1 row and the error of the callback", rows, err)
	}
	if err := d.EachRow(t.Context(), []sqltext.SQL{"SELECT nothing"}, func(func(...any) error) error { return nil }); err == nil {
		t.Error("EachRow of an invalid query: got no error")
	}
	harness.Must(t, d.EachRow(t.Context(), nil, func(func(...any) error) error { return stop }))
	ctx, cancel := context.WithCancel(t.Context())
	err = d.EachRow(ctx, []sqltext.SQL{"FROM range(3)"}, func(scan func(...any) error) error {
		cancel()
		for n := 0; scan(&n) == nil; { // until the rows are closed
			runtime.Gosched()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("EachRow stopped in the middle of the rows with %v, want the error of its context", err)
	}
	tx, err := d.DB.BeginTx(t.Context(), nil)
	harness.Must(t, err)
	harness.Must(t, warehouse.Undo(tx))
	harness.Must(t, warehouse.Undo(tx)) // the second call does nothing
}

// TestReadersNeedNoWritableWarehouse opens a version while the folder "state" cannot be created. If the
// warehouse is not writable, the scratch folder must be in the temporary folder of the system.
func TestReadersNeedNoWritableWarehouse(t *testing.T) {
	w := openNights(t, 2, "one")
	for cause, isOpened := range map[error]bool{syscall.EROFS: true, syscall.EACCES: true, syscall.EIO: false} {
		harness.Must(t, os.RemoveAll(path(w, "state")))
		readOnly := openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, _ string) error {
			if name == "after fsync above state" {
				return cause
			}
			return nil
		}})
		s, err := readOnly.OpenVerified(t.Context(), firstNight)
		if (err == nil) != isOpened || err != nil && !errors.Is(err, cause) {
			t.Errorf("%v: got error %v, want no error: %t", cause, err, isOpened)
		}
		if err != nil {
			continue
		}
		if strings.HasPrefix(s.Scratch, w.Folder.Dir()) || !exists(t, s.Scratch) {
			t.Errorf("%v: the scratch folder is %s, want an existing folder outside the warehouse", cause, s.Scratch)
		}
		harness.Must(t, s.Close())
		if exists(t, s.Scratch) {
			t.Errorf("%v: the scratch folder %s is left, want it removed", cause, s.Scratch)
		}
	}
}

// TestAPublishedVersionIsOpened reads rows and columns of a version. Opening must fail for damaged and
// missing versions, and for versions with a newer format.
func TestAPublishedVersionIsOpened(t *testing.T) {
	w := openNights(t, 3, "one", "two", "three")
	s, err := w.OpenVerified(t.Context(), secondNight)
	harness.Must(t, err)
	var name string
	harness.Must(t, s.DB.QueryRowContext(t.Context(), "SELECT max(name) FROM version.main.product_listing_tags").Scan(&name))
	if name != "two" || s.Manifest.RunID != secondNight || s.Dir != w.Folder.VersionPath(secondNight) || !strings.HasPrefix(s.Scratch, path(w, "state", ".sealed.")) {
		t.Errorf("opened %s with the newest tag %s in %s and the scratch folder %s, want %s with the tag two", s.Manifest.RunID, name, s.Dir, s.Scratch, secondNight)
	}
	var threads int64
	harness.Must(t, s.DB.QueryRowContext(t.Context(), "SELECT current_setting('threads')").Scan(&threads))
	if threads != 1 {
		t.Errorf("DuckDB reads the version with %d threads, want the configured one", threads)
	}
	if err := s.Exec(t.Context(), "DELETE FROM version.main.product_listing_tags"); err == nil {
		t.Error("a row of a published version was removed, want an error: readers of the file would be locked out")
	}
	var storage string
	harness.Must(t, s.DB.QueryRowContext(t.Context(), "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 'version'").Scan(&storage))
	if storage != "v1.0.0+" { // DuckDB's name for the formats of 1.0 and 1.1
		t.Errorf("the catalog has the storage version %s, want %s, which DuckDB 1.1 can open", storage, warehouse.StorageVersion)
	}
	columns := w.Schema.Definitions[tagsTable].Columns
	missingColumn := columns[0]
	missingColumn.Name = "colour"
	if got := s.PresentColumns("main", tagsTable, append(slices.Clone(columns), missingColumn)); !reflect.DeepEqual(got, columns) {
		t.Errorf("the present columns are %v, want %v", got, columns)
	}
	if got := s.PresentColumns("main", "orders", columns); len(got) > 0 {
		t.Errorf("the columns of a missing table are %v, want none", got)
	}
	harness.Must(t, s.Close())
	if exists(t, s.Scratch) {
		t.Errorf("the scratch folder %s is left, want it removed", s.Scratch)
	}
	requireFailure := func(run string, want any) {
		t.Helper()
		if _, err := w.OpenVerified(t.Context(), run); !errors.As(err, want) {
			t.Errorf("the error of opening %s is %v, want a %T", run, err, want)
		}
	}
	flipBit(t, w.Folder.VersionCatalog(firstNight), 70_000)
	requireFailure(firstNight, new(*warehouse.DamagedError))
	requireFailure("20261109T020000Z", new(*warehouse.DamagedError))
	editManifest(t, w, filepath.Join(w.Folder.VersionPath(secondNight), "manifest.json"), func(m *warehouse.Manifest) { m.Format++ })
	requireFailure(secondNight, new(*warehouse.NewerError))
	if _, err := w.OpenUnchecked(t.Context(), "20261109T020000Z"); err == nil {
		t.Error("OpenUnchecked of a missing version: got no error")
	}
	if scratch, _ := filepath.Glob(path(w, "state", ".sealed.*")); len(scratch) > 0 {
		t.Errorf("after all versions are closed there are the scratch folders %v, want none", scratch)
	}
	version, err := warehouse.EngineVersion(t.Context())
	if err != nil || !strings.HasPrefix(version, "v1.") {
		t.Errorf("the version of DuckDB is %q (%v), want v1.x", version, err)
	}
}

// TestStatusesOfTheConfigurationReplaceEarlierOnes publishes a night and changes the statuses for the next one.
func TestStatusesOfTheConfigurationReplaceEarlierOnes(t *testing.T) {
	harness.Slow(t)
	c := warehouse.Config{Dir: t.TempDir(), Statuses: []warehouse.Status{{Prefix: "a", State: "open"}, {Prefix: "b", State: "open"}}}
	harness.Must(t, os.Mkdir(filepath.Join(c.Dir, "state"), 0o700))
	publish(t, openWith(t, c), firstNight, "one")
	c.Statuses = []warehouse.Status{{Prefix: "b", State: "ended"}, {Prefix: "c", State: "open", WaitsFor: "partner", IsRevision: true}}
	d := beginDraft(t, openWith(t, c), secondNight, "two")
	defer func() { harness.Must(t, d.Discard()) }()
	var got string
	harness.Must(t, d.DB.QueryRowContext(t.Context(), "SELECT string_agg(concat_ws(' ', prefix, state, coalesce(waits_for, 'NULL'), is_revision), ', ' ORDER BY prefix) FROM meta.statuses").Scan(&got))
	if want := "b ended NULL false, c open partner true"; got != want {
		t.Errorf("the next night has the statuses %q, want only %q", got, want)
	}
}

// TestADraftIsCleanedUpAfterItsContext ends the context of a draft while its only connection is in use.
func TestADraftIsCleanedUpAfterItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, err := open(t).Begin(ctx, firstNight, firstNightAt)
	harness.Must(t, err)
	defer func() { harness.Must(t, d.Discard()) }()
	conn, err := d.DB.Conn(t.Context())
	harness.Must(t, err)
	defer conn.Close()
	cancel()
	if err := d.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Errorf("a statement on another connection: %v", err)
	}
}

// TestATableIsRecreatedWithAnotherColumn recreates an empty table for a load that sorts its rows by an additional column.
func TestATableIsRecreatedWithAnotherColumn(t *testing.T) {
	w := open(t)
	d := begin(t, w, firstNight)
	defer func() { harness.Must(t, d.Discard()) }()
	harness.Must(t, d.Exec(t.Context(), "DROP TABLE main.product_listing_tags"))
	harness.Must(t, d.RecreateTable(t.Context(), "product_listing_tags", stream.Column{Name: "seq", Type: stream.Int64},
		map[string]string{"name": "uncompressed"}))
	const columns = "SELECT string_agg(column_name, ',' ORDER BY column_index) FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = 'product_listing_tags'"
	if got := queryOne(t, d, columns); !strings.HasSuffix(got, ",valid_from,row_hash,seq") || !strings.HasPrefix(got, "product_listing_id,position,name,") {
		t.Errorf("the table has the columns %s, want those of its definition, the system columns and seq", got)
	}
	if got := queryOne(t, d, "SELECT count(comment) > 0 FROM duckdb_columns() WHERE table_name = 'product_listing_tags' AND schema_name = 'main'"); got != "true" {
		t.Error("the columns have no comments")
	}
	if got := d.VersionCatalog(firstNight); got != w.Folder.VersionCatalog(firstNight) {
		t.Errorf("the catalog of a version is %s, want %s", got, w.Folder.VersionCatalog(firstNight))
	}
}
