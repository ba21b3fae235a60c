package repair_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

var secondNightAt = firstNightAt.AddDate(0, 0, 1)

// publishTwoTables publishes two nights of a warehouse with the tables product_listing_tags and tags. Each night adds a
// row to the first table and reads one detail. The configuration has a rebuild an hour after the second night.
func publishTwoTables(t *testing.T) (*warehouse.Warehouse, repair.Config) {
	t.Helper()
	cfg := repair.Config{Warehouse: configOf(warehouse.Config{Dir: t.TempDir()}), Streams: stream.All(),
		Now: func() time.Time { return secondNightAt.Add(time.Hour) }, Log: slog.New(slog.DiscardHandler)}
	cfg.Warehouse.Tables = slices.DeleteFunc(stream.Tables(stream.All()), func(t stream.Table) bool { return t.Name != table && t.Name != "tags" })
	w := warehouse.New(cfg.Warehouse)
	lock, err := w.Lock("test", firstNightAt)
	harness.Must(t, err)
	harness.Must(t, lock.Release())
	for _, run := range []string{firstNight, secondNight} {
		d := beginDraft(t, w, run, run)
		line := ledger.Run{ID: run, Outcome: ledger.Complete, StartedAt: d.At, SnapshotAt: d.At}
		harness.Must(t, load.WriteRun(t.Context(), d, line))
		harness.Must(t, d.Exec(t.Context(),
			sqltext.SQL(fmt.Sprintf("INSERT INTO meta.details (stream, id, run_id, read_at) VALUES ('product_listings', %[1]s, %[1]s, TIMESTAMPTZ %[2]s)",
				sqltext.Literal(run), sqltext.Literal(d.At.Format(time.RFC3339)))),
			sqltext.SQL("COPY main.tags TO "+sqltext.Literal(filepath.Join(d.Dir, "tags.parquet"))+" (FORMAT parquet)")))
		harness.Must(t, load.WriteMeta(t.Context(), d, w.Schema.MetaDefinitions, w.Schema.Tables))
		_, err := d.Publish(t.Context(), []warehouse.ManifestTable{fileOf(table), fileOf("tags")})
		harness.Must(t, err)
		harness.Must(t, w.RunLog.Record(line))
	}
	return w, cfg
}

func fileOf(name string) warehouse.ManifestTable {
	return warehouse.ManifestTable{Name: name, Grade: stream.Exact, FileSum: checksum.FileSum{File: name + ".parquet"}}
}

// removeFile removes the file of a night from the series and from the version.
func removeFile(t *testing.T, w *warehouse.Warehouse, run string) {
	t.Helper()
	at, _ := warehouse.RunTime(run)
	harness.Must(t, errors.Join(os.Remove(w.Series.FilePath(fileOf(table), at)), os.Remove(filepath.Join(w.Folder.VersionPath(run), table+".parquet"))))
}

// checkVersion compares the results of queries that return a text.
func checkVersion(t *testing.T, w *warehouse.Warehouse, run string, results map[string]string) {
	t.Helper()
	version, err := w.OpenUnchecked(t.Context(), run)
	harness.Must(t, err)
	defer func() { harness.Must(t, version.Close()) }()
	for query, want := range results {
		var got string
		harness.Must(t, version.DB.QueryRowContext(t.Context(), query).Scan(&got))
		if got != want {
			t.Errorf("%s returns %s, want %s", query, got, want)
		}
	}
}

const tagsQuery = "SELECT string_agg(name ORDER BY name) FROM version.main.product_listing_tags"

// TestRebuildRecordsWhatItLost rebuilds a catalog after the newest file of a table was lost. The details whose rows were
// in this file must be requested again, and its snapshot must have one run.
func TestRebuildRecordsWhatItLost(t *testing.T) {
	w, cfg := publishTwoTables(t)
	cfg.AcceptLoss = true
	removeFile(t, w, secondNight)
	result, err := repair.Rebuild(t.Context(), cfg, true)
	if err != nil || len(result.Skipped) != 1 {
		t.Fatalf("the rebuild ended with %v and skipped %+v, want one skipped file", err, result.Skipped)
	}
	checkVersion(t, w, result.Manifest.RunID, map[string]string{
		tagsQuery: firstNight,
		"SELECT string_agg(id ORDER BY id) FROM version.meta.details":                                    firstNight,
		"SELECT string_agg(run_id ORDER BY run_id) FROM version.meta.runs WHERE snapshot_at IS NOT NULL": firstNight + "," + secondNight,
	})
	for name, grade := range map[string]stream.Grade{table: stream.CarriedForward, "tags": stream.Exact} {
		if file := result.Manifest.Table(name); file.Grade != grade || (file.Note != "") != (grade != stream.Exact) {
			t.Errorf("table %s is %s with the note %q, want %s, with a note if it has older rows", name, file.Grade, file.Note, grade)
		}
	}
	runs, err := w.RunLog.Runs()
	harness.Must(t, err)
	if line := ledger.Find(runs, result.Manifest.RunID); line.Outcome != ledger.Partial || line.ExitCode != ledger.Partial.ExitCode() {
		t.Errorf("the ledger has %+v, want a partial rebuild", line)
	}
}

// TestRebuildFromTheSeries rebuilds a catalog without versions. Its files are those of the series, unless another program
// wrote them. The meanings of the statuses are those of the configuration.
func TestRebuildFromTheSeries(t *testing.T) {
	for program, isLinked := range map[string]bool{"test": true, "later": false} {
		t.Run(program, func(t *testing.T) {
			w, cfg := publishTwoTables(t)
			harness.Must(t, errors.Join(os.RemoveAll(w.Folder.Path(warehouse.VersionsDir)), os.Remove(w.Folder.Path(warehouse.LatestLink))))
			inSeries, err := os.Stat(w.Series.FilePath(fileOf(table), secondNightAt))
			harness.Must(t, err)
			cfg.Warehouse.Program, cfg.Warehouse.Statuses = program, []warehouse.Status{{Prefix: "rejected", State: "ended"}}
			result, err := repair.Rebuild(t.Context(), cfg, false)
			harness.Must(t, err)
			checkVersion(t, w, result.Manifest.RunID, map[string]string{
				tagsQuery: firstNight + "," + secondNight,
				"SELECT string_agg(prefix) FROM version.meta.statuses": "rejected",
			})
			inVersion, err := os.Stat(filepath.Join(w.Folder.VersionPath(result.Manifest.RunID), table+".parquet"))
			if err != nil || os.SameFile(inSeries, inVersion) != isLinked {
				t.Errorf("the version has the file of the series: %t (%v), want %t", !isLinked, err, isLinked)
			}
		})
	}
}

// TestRestoredFileHasTheRowsOfItsDay restores the file of the first night from the catalog of the second.
func TestRestoredFileHasTheRowsOfItsDay(t *testing.T) {
	w, cfg := publishTwoTables(t)
	removeFile(t, w, firstNight)
	var done, total int64
	cfg.Progress = func(files, all int64) {
		if files != done+1 || all < files {
			t.Errorf("the progress after %d files of %d is %d of %d", done, total, files, all)
		}
		done, total = files, all
	}
	files, err := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
	if want := []string{"table " + table + " of 2026-11-01"}; err != nil || !slices.Equal(files, want) {
		t.Fatalf("the repair restored %q and ended with %v, want %q", files, err, want)
	}
	if done == 0 || done != total {
		t.Errorf("at the end the progress is %d of %d files, want all", done, total)
	}
	checkVersion(t, w, secondNight, map[string]string{
		"SELECT string_agg(name) FROM read_parquet(" + sqltext.Literal(w.Series.FilePath(fileOf(table), firstNightAt)) + ", hive_partitioning = false)": firstNight,
	})
	report, err := repair.Check(t.Context(), w, true)
	if err != nil || len(report.Damage) > 0 {
		t.Errorf("after the repair the check found %+v (%v), want no damage", report.Damage, err)
	}
}

// TestRepairsCreateNoWarehouse repairs a folder that a typing error names.
func TestRepairsCreateNoWarehouse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "misspelt")
	cfg := repair.Config{Warehouse: configOf(warehouse.Config{Dir: dir}), Streams: stream.All(), Now: func() time.Time { return firstNightAt }, Log: slog.New(slog.DiscardHandler)}
	_, rebuildErr := repair.Rebuild(t.Context(), cfg, false)
	_, restoreErr := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{})
	for _, err := range []error{rebuildErr, restoreErr} {
		if !errors.As(err, new(*warehouse.NoWarehouseError)) {
			t.Errorf("the repair ended with %v, want a NoWarehouseError", err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder exists after the repairs (%v), want none", err)
	}
}
