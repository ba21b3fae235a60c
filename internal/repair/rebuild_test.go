package repair_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// publishTwoTables publishes two nights of a warehouse with the tables product_listing_tags and tags.
func publishTwoTables(t *testing.T) (*warehouse.Warehouse, repair.Config) {
	t.Helper()
	return publishTables(t, firstNight, secondNight)
}

// publishTables publishes runs in a new warehouse with the tables product_listing_tags and tags. Each run adds a row to the
// first table and reads one detail. The table tags has one row from the first run, and meta.tables lacks its row count.
// The configuration has a clock for repairs after the last run.
func publishTables(t *testing.T, runs ...string) (*warehouse.Warehouse, repair.Config) {
	t.Helper()
	now, _ := warehouse.RunTime(runs[len(runs)-1])
	cfg := repair.Config{Warehouse: configOf(warehouse.Config{}), Streams: stream.All(),
		Now: func() time.Time { now = now.Add(time.Hour); return now }, Log: slog.New(slog.DiscardHandler)}
	cfg.Warehouse.Tables = slices.DeleteFunc(stream.Tables(stream.All()), func(t stream.Table) bool { return t.Name != table && t.Name != "tags" })
	original := share(t, "tables of "+strings.Join(runs, " "), cfg.Warehouse, func(w *warehouse.Warehouse) {
		for _, run := range runs {
			publishTwoFiles(t, w, beginDraft(t, w, run, run))
		}
	})
	cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
	return warehouse.New(cfg.Warehouse), cfg
}

// publishTwoFiles publishes a draft of a warehouse of publishTables.
func publishTwoFiles(t *testing.T, w *warehouse.Warehouse, d *warehouse.Draft) {
	t.Helper()
	run, at := sqltext.Literal(d.Run), sqltext.Literal(d.At.Format(time.RFC3339))
	line := ledger.Run{ID: d.Run, Outcome: ledger.Complete, StartedAt: d.At, SnapshotAt: d.At}
	harness.Must(t, load.WriteRun(t.Context(), d, line))
	harness.Must(t, d.Exec(t.Context(),
		sqltext.SQL("INSERT INTO meta.details (stream, id, run_id, read_at) "+
			"VALUES ('product_listings', "+run+", "+run+", TIMESTAMPTZ "+at+")"),
		sqltext.SQL("INSERT INTO meta.tables (run_id, table_name, rows) "+
			"SELECT "+run+", '"+table+"', count(*) FROM main."+table),
		sqltext.SQL("INSERT INTO meta.streams (run_id, stream, grade) VALUES ("+run+", 'product_listings', 'bounded')"),
		sqltext.SQL("INSERT INTO main.tags (name, valid_from, row_hash) "+
			"SELECT "+run+", TIMESTAMPTZ "+at+", 1 WHERE NOT EXISTS (FROM main.tags)"),
		sqltext.SQL("COPY main.tags TO "+sqltext.Literal(filepath.Join(d.Dir, "tags.parquet"))+" (FORMAT parquet)")))
	harness.Must(t, load.WriteMeta(t.Context(), d, w.Schema.MetaDefinitions, w.Schema.Tables))
	_, err := d.Publish(t.Context(), []warehouse.ManifestTable{fileOf(table), fileOf("tags")})
	harness.Must(t, err)
	harness.Must(t, w.RunLog.Record(line))
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

// carriedQuery returns the streams without the rows of the newest snapshot, each with the time of its rows.
const carriedQuery = "SELECT string_agg(stream || ' ' || age_since) FROM version.meta.streams " +
	"WHERE grade = 'carried_forward'"

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
		"SELECT string_agg(id ORDER BY id) FROM version.meta.details":                                     firstNight,
		"SELECT string_agg(run_id ORDER BY run_id) FROM version.meta.runs WHERE snapshot_at IS NOT NULL":  firstNight + "," + secondNight,
		"SELECT string_agg(run_id) FROM version.meta.runs WHERE kind = 'rebuild' AND outcome = 'partial'": result.Manifest.RunID,
		"SELECT sum(rows)::BIGINT FROM version.meta.runs WHERE kind = 'rebuild'":                          "2",
		carriedQuery: "product_listings 2026-11-01 02:00:00+00",
	})
	const note = "its newer file is damaged or missing; the rows are from the snapshot of 2026-11-01T02:00:00Z"
	for name, want := range map[string]warehouse.ManifestTable{table: {Grade: stream.CarriedForward, Note: note}, "tags": {Grade: stream.Exact}} {
		if file := result.Manifest.Table(name); file.Grade != want.Grade || file.Note != want.Note {
			t.Errorf("table %s is %s with the note %q, want %s with %q", name, file.Grade, file.Note, want.Grade, want.Note)
		}
	}
	runs, err := w.RunLog.Runs()
	harness.Must(t, err)
	if line := ledger.Find(runs, result.Manifest.RunID); line.Outcome != ledger.Partial || line.ExitCode != 3 || line.Program != "test" || !line.EndedAt.After(line.StartedAt) ||
		!line.SnapshotAt.Equal(secondNightAt) ||
		!strings.HasPrefix(line.Error, "skipped damaged or missing files: table "+table+" of 2026-11-02 (") {
		t.Errorf("the ledger has %+v, want a partial rebuild that names the skipped file", line)
	}
	if line := ledger.Find(runs, result.Manifest.RunID); line.Rows != 2 {
		t.Errorf("the ledger says that the rebuild has %d rows, want the 2 rows that readers see", line.Rows)
	}
	if line := contentOf(t, w)["versions/"+result.Manifest.RunID+"/run.json"]; !strings.Contains(line, `"outcome":"partial"`) {
		t.Errorf("the version has the ledger line %q, want the outcome partial", line)
	}
	// The files of changes contain the row of the rebuild.
	removeMatches(t, w, "versions", "latest")
	again, err := repair.Rebuild(t.Context(), cfg, true)
	harness.Must(t, err)
	if again.Manifest.Night != secondNight {
		t.Errorf("a rebuild from the files of a rebuild has the snapshot of %q, want that of the night %s", again.Manifest.Night, secondNight)
	}
	checkVersion(t, w, again.Manifest.RunID, map[string]string{
		"SELECT string_agg(run_id) FROM version.meta.runs WHERE kind = 'rebuild'": result.Manifest.RunID})
}

// TestRebuildIsRecordedAfterItsPublish rebuilds a catalog without a damaged file, on a disk that fails at a step. A rebuild
// that published nothing must not be in the ledger. A rebuild whose damaged files could not be moved must be. The next run
// completes a day that could not be added to the series.
func TestRebuildIsRecordedAfterItsPublish(t *testing.T) {
	original, originalCfg := publishTwoTables(t)
	damager{t, original}.flip(changes2+".changes", version2+warehouse.MetaFile)
	breakCatalogs(t, original, firstNight, secondNight)
	for failing, want := range map[string][]string{
		"none": {"publish", "extend", "set aside", "record"}, "publish": {"publish"}, "extend": {"publish", "extend", "set aside", "record"},
		"set aside": {"publish", "extend", "set aside", "record"},
	} {
		cfg := originalCfg
		cfg.AcceptLoss, cfg.Warehouse.Dir = true, clone(t, original).Folder.Dir()
		var steps []string
		cfg.Warehouse.Step = func(name, path string) error {
			step := map[string]string{"before link latest": "publish", "before rename of the day": "extend", "before write runs.jsonl": "record"}[name]
			if strings.Contains(path, "/damaged/") && strings.HasPrefix(name, "before rename ") {
				step = "set aside"
			}
			if step != "" {
				steps = append(steps, step)
			}
			if step == failing {
				return syscall.EIO
			}
			return nil
		}
		_, err := repair.Rebuild(t.Context(), cfg, true)
		if !slices.Equal(steps, want) || (err != nil) != (failing == "publish" || failing == "set aside") {
			t.Errorf("with the failing step %s the rebuild ended with %v after the steps %q, want the steps %q", failing, err, steps, want)
		}
	}
}

// TestRebuildOfAnEarlierDayHasItsMeta loses all Parquet files of the newest night. The rebuilt version has the rows of the
// night before, so its meta must not name the later snapshot, although the catalog of the newest night is intact.
func TestRebuildOfAnEarlierDayHasItsMeta(t *testing.T) {
	w, cfg := publishTwoTables(t)
	cfg.AcceptLoss = true
	removeMatches(t, w, "parquet/*/snapshot_date=2026-11-02", version2+"*.parquet")
	result, err := repair.Rebuild(t.Context(), cfg, true)
	if err != nil || result.LostRun != secondNight {
		t.Fatalf("the rebuild ended with %v and the lost run %q, want %s", err, result.LostRun, secondNight)
	}
	checkVersion(t, w, result.Manifest.RunID, map[string]string{tagsQuery: firstNight,
		"SELECT string_agg(run_id) FROM version.meta.runs WHERE snapshot_at IS NOT NULL": firstNight})
}

// TestRebuildFromTheSeries rebuilds a catalog without versions. Its files are those of the series, unless another program
// wrote them. The meanings of the statuses are those of the configuration.
func TestRebuildFromTheSeries(t *testing.T) {
	for program, isLinked := range map[string]bool{"test": true, "test, another schema": false, "later": false} {
		t.Run(program, func(t *testing.T) {
			w, cfg := publishTwoTables(t)
			program, _, isOtherSchema := strings.Cut(program, ",")
			damager{t, w}.editManifest(manifest2, func(m *warehouse.Manifest) {
				m.Tables[0].Grade = stream.Bounded
				if isOtherSchema {
					m.Schema = "another"
				}
			})
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
			if result.Snapshots != 2 || !result.First.Equal(firstNightAt) || !result.Last.Equal(secondNightAt) {
				t.Errorf("the rebuild used %d snapshots from %s to %s, want 2 from the first night to the second", result.Snapshots, result.First, result.Last)
			}
			if !isLinked {
				checkVersion(t, w, result.Manifest.RunID, map[string]string{"SELECT string_agg(decode(value) ORDER BY decode(key)) FROM parquet_kv_metadata(" +
					sqltext.Literal(w.Series.FilePath(fileOf(table), secondNightAt)) + ") WHERE decode(key) LIKE 'changed%'": "2026-11-02T02:00:00Z," + secondNight})
			}
			if grade := result.Manifest.Table(table).Grade; grade != stream.Bounded {
				t.Errorf("the table has the grade %q, want bounded as in the series", grade)
			}
		})
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

// breakCatalogs replaces the catalogs of all versions by texts.
func breakCatalogs(t *testing.T, w *warehouse.Warehouse, runs ...string) {
	t.Helper()
	for _, run := range runs {
		harness.Must(t, os.WriteFile(w.Folder.VersionCatalog(run), []byte("not a database"), 0o600))
	}
}

// removeDay removes all files of a day from the series.
func removeDay(t *testing.T, w *warehouse.Warehouse, at time.Time) {
	t.Helper()
	harness.Must(t, errors.Join(os.Remove(w.Folder.DayManifestPath(warehouse.DayOf(at))),
		os.RemoveAll(filepath.Dir(w.Series.FilePath(fileOf(table), at))), os.RemoveAll(filepath.Dir(w.Series.FilePath(fileOf("tags"), at)))))
}

// TestRebuildRefusesToLoseData rebuilds damaged warehouses. A rebuild that would lose data publishes nothing and says what
// would be lost, until the option that accepts it is given.
func TestRebuildRefusesToLoseData(t *testing.T) {
	original, originalCfg := publishTwoTables(t)
	changes := func(w *warehouse.Warehouse, run string) []string {
		return []string{w.Folder.ChangesPath(run), filepath.Join(w.Folder.VersionPath(run), warehouse.MetaFile)}
	}
	for name, c := range map[string]struct {
		damage      func(w *warehouse.Warehouse)
		skipDamaged bool
		want        []string // parts of the error
	}{
		"the newest file, beside an intact catalog": {func(w *warehouse.Warehouse) { removeFile(t, w, secondNight) }, false,
			[]string{"the Parquet series is damaged; nothing was published", table + "/snapshot_date=2026-11-02/", "this would be lost: ",
				"the catalog that readers see is undamaged: run placementsync rebuild --series"}},
		"the newest file, without a catalog": {func(w *warehouse.Warehouse) {
			removeFile(t, w, secondNight)
			breakCatalogs(t, w, firstNight, secondNight)
		}, false, []string{"this would be lost: ", "\nplacementsync verify --read-data names repairs that lose less"}},
		"the newest file, with fewer rows than readers see": {func(w *warehouse.Warehouse) { removeFile(t, w, secondNight) }, true,
			[]string{"the result has less data than version " + secondNight, "rebuild --accept-loss publishes the result despite the loss"}},
		"the changes of a run, without a catalog": {func(w *warehouse.Warehouse) {
			for _, path := range changes(w, secondNight) {
				harness.Must(t, os.Remove(path))
			}
			breakCatalogs(t, w, firstNight, secondNight)
		}, false, []string{"the Parquet series is damaged; nothing was published", secondNight}},
		"all days, beside an intact catalog": {func(w *warehouse.Warehouse) { harness.Must(t, os.RemoveAll(w.Folder.Path(warehouse.SeriesDir))) }, false,
			[]string{"the Parquet series is damaged; nothing was published", "the catalog that readers see is undamaged: run placementsync rebuild --series"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
			w := warehouse.New(cfg.Warehouse)
			c.damage(w)
			_, err := repair.Rebuild(t.Context(), cfg, c.skipDamaged)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the rebuild ended with %v, want an error with %q", err, want)
				}
			}
			wantsCatalog := strings.Contains(strings.Join(c.want, "\n"), "undamaged")
			if err != nil && strings.Contains(err.Error(), "undamaged") != wantsCatalog {
				t.Errorf("the rebuild ended with %v, want a command that needs the catalog: %t", err, wantsCatalog)
			}
			versions, err := w.Versions.List()
			if want := []string{firstNight, secondNight}; err != nil || !slices.Equal(versions, want) {
				t.Errorf("the versions are %q (%v) after the rebuild, want %q", versions, err, want)
			}
		})
	}
}

// TestRebuildNeedsASnapshot rebuilds a warehouse without a night.
func TestRebuildNeedsASnapshot(t *testing.T) {
	_, err := repair.Rebuild(t.Context(), repairConfig(open(t)), true)
	if err == nil || !strings.Contains(err.Error(), "there is no Parquet snapshot to build from; nothing was published: placementsync rebuild --from restores a backup") {
		t.Errorf("the rebuild ended with %v, want an error that names the backup", err)
	}
}

// rebuilt is the part of a RebuildResult that TestRebuildUsesTheNextBestSource compares.
type rebuilt struct {
	LostRun                       string
	Unused, Skipped, RestoredRuns int
	HasMeta                       bool
	SnapshotsWithoutDay           int
}

// TestRebuildUsesTheNextBestSource rebuilds warehouses with damage that another source makes good.
func TestRebuildUsesTheNextBestSource(t *testing.T) {
	original, originalCfg := publishTwoTables(t)
	both := firstNight + "," + secondNight
	for name, c := range map[string]struct {
		damage      func(w *warehouse.Warehouse)
		skipDamaged bool
		rows        string
		want        rebuilt
		outcome     ledger.Outcome
	}{
		"an earlier file that is not needed": {damage: func(w *warehouse.Warehouse) { removeFile(t, w, firstNight) }, rows: both,
			want: rebuilt{Unused: 1, RestoredRuns: 2, HasMeta: true}, outcome: ledger.Complete},
		"closed rows and meta of the catalog": {damage: func(w *warehouse.Warehouse) {
			removeFile(t, w, firstNight)
			harness.Must(t, errors.Join(os.Remove(w.Folder.ChangesPath(secondNight)), os.Remove(filepath.Join(w.Folder.VersionPath(secondNight), warehouse.MetaFile))))
		}, rows: both, want: rebuilt{Unused: 1, HasMeta: true}, outcome: ledger.Complete},
		"closed rows computed from the snapshots": {damage: func(w *warehouse.Warehouse) {
			removeFile(t, w, firstNight)
			harness.Must(t, errors.Join(os.Remove(w.Folder.ChangesPath(secondNight)), os.Remove(filepath.Join(w.Folder.VersionPath(secondNight), warehouse.MetaFile))))
			breakCatalogs(t, w, firstNight, secondNight)
		}, skipDamaged: true, rows: both, want: rebuilt{Skipped: 2, HasMeta: true}, outcome: ledger.Partial},
		"a table that earlier releases did not write": {damage: func(w *warehouse.Warehouse) {
			for _, pattern := range []string{"versions/*/manifest.json", "parquet/.meta/*.json", "parquet/.manifests/*-0?.json"} {
				for _, name := range matches(t, w, pattern) {
					damager{t, w}.editManifest(name, func(m *warehouse.Manifest) { m.Tables = m.Tables[:1] })
				}
			}
			breakCatalogs(t, w, firstNight, secondNight)
		}, rows: both, want: rebuilt{RestoredRuns: 2, HasMeta: true}, outcome: ledger.Complete},
		"no day and no version of the newest night": {damage: func(w *warehouse.Warehouse) {
			removeDay(t, w, secondNightAt)
			harness.Must(t, os.RemoveAll(w.Folder.VersionPath(secondNight)))
			harness.Must(t, w.Series.ChangeIndex(func(days map[string]string) { delete(days, warehouse.DayOf(secondNightAt)) }))
		}, skipDamaged: true, rows: firstNight, want: rebuilt{LostRun: secondNight, RestoredRuns: 1, HasMeta: true}, outcome: ledger.Partial},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
			var done, total int64
			cfg.Progress = func(d, n int64) {
				done, total = d, n
				if d > n {
					t.Errorf("the progress is %d of %d tables", d, n)
				}
			}
			w := warehouse.New(cfg.Warehouse)
			c.damage(w)
			result, err := repair.Rebuild(t.Context(), cfg, c.skipDamaged)
			harness.Must(t, err)
			checkVersion(t, w, result.Manifest.RunID, map[string]string{tagsQuery: c.rows})
			got := rebuilt{result.LostRun, len(result.Unused), len(result.Skipped), result.RestoredRuns, result.HasMeta, result.SnapshotsWithoutDay}
			if got != c.want {
				t.Errorf("the rebuild returned %+v, want %+v", got, c.want)
			}
			if total == 0 || done != total {
				t.Errorf("the last progress is %d of %d files, want all", done, total)
			}
			if strings.HasPrefix(name, "closed rows computed") && total != 4 {
				t.Errorf("%d tables of snapshots were read, want 4: both snapshots are compared", total)
			}
			for _, file := range result.Manifest.Tables {
				if file.Note != "" {
					t.Errorf("table %s has the note %q, want none: it has the rows of the newest day", file.Name, file.Note)
				}
			}
			runs, err := w.RunLog.Runs()
			harness.Must(t, err)
			if line := ledger.Find(runs, result.Manifest.RunID); line.Outcome != c.outcome {
				t.Errorf("the ledger has %+v, want the outcome %s", line, c.outcome)
			}
		})
	}
}

// repairAll runs the repairs that verify names until it names none. They must restore the series or remove versions.
func repairAll(t *testing.T, w *warehouse.Warehouse, cfg repair.Config) {
	t.Helper()
	for range 3 {
		report, err := repair.Verify(t.Context(), cfg, true)
		harness.Must(t, err)
		plan := repair.Plan(report.Damage)
		if len(plan) == 0 {
			return
		}
		for _, step := range plan {
			err := errors.New("this repair is not expected")
			switch step.Kind {
			case repair.RebuildSeries:
				_, err = repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
			case repair.DropVersion:
				err = w.Versions.Drop(step.Version, false)
			}
			if err != nil {
				t.Fatalf("%s ended with %v", step.Command(), err)
			}
		}
	}
	t.Fatal("after three repairs verify names further ones")
}

// TestVerifyAfterAnAcceptedLoss loses files of a table, and rebuilds without them. The repairs that verify names must
// end, and RestoreSeries must then have nothing to do.
func TestVerifyAfterAnAcceptedLoss(t *testing.T) {
	original, originalCfg := publishTables(t, firstNight, secondNight, thirdNight)
	for name, c := range map[string]struct {
		lost        []string
		isTableLost bool // all its files
	}{
		"a table, without versions":      {[]string{"versions", "latest", "parquet/" + table}, true},
		"a table of kept versions":       {[]string{"versions/*/catalog.duckdb", "versions/*/" + tagsFile, "parquet/" + table}, true},
		"a table, and a copy of changes": {[]string{"versions", "latest", "parquet/" + table, changes2 + ".changes"}, true},
		"the newest two files":           {[]string{"versions", "latest", "parquet/" + table + "/*-02", "parquet/" + table + "/*-03"}, false},
		"the oldest and the newest file": {[]string{"versions", "latest", "parquet/" + table + "/*-01", "parquet/" + table + "/*-03"}, false},
		"a day":                          {[]string{"versions", "latest", "parquet/*/*-03", "parquet/.manifests/*-03.json", changes3 + ".json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
			w := warehouse.New(cfg.Warehouse)
			removeMatches(t, w, c.lost...)
			result, err := repair.Rebuild(t.Context(), cfg, true)
			if err != nil || len(result.Skipped) == 0 && result.LostRun == "" {
				t.Fatalf("the rebuild is %+v (%v), want a reported loss", result, err)
			}
			const note = "all its files are damaged or missing; its current rows are lost"
			if got := result.Manifest.Table(table).Note; (got == note) != c.isTableLost {
				t.Errorf("the table has the note %q, want %q only if all its files are lost", got, note)
			}
			if c.isTableLost {
				checkVersion(t, w, result.Manifest.RunID, map[string]string{
					carriedQuery: "product_listings 2026-11-01 02:00:00+00",
					// Without their rows, all details are requested again.
					"SELECT count(*)::VARCHAR FROM version.meta.details": "0"})
			}
			repairAll(t, w, cfg)
			restored, err := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
			if err != nil || len(restored) > 0 {
				t.Errorf("RestoreSeries restored %v (%v), want nothing to restore", restored, err)
			}
		})
	}
}

// removeMatches removes the files that match patterns.
func removeMatches(t *testing.T, w *warehouse.Warehouse, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		damager{t, w}.remove(matches(t, w, pattern)...)
	}
}

// matches returns the files that match a pattern, relative to the warehouse.
func matches(t *testing.T, w *warehouse.Warehouse, pattern string) (names []string) {
	t.Helper()
	for _, path := range w.Folder.Glob(w.Folder.Path(pattern)) {
		names = append(names, w.Folder.Relative(path))
	}
	return names
}

// TestRebuildReportsALostNight truncates files of the newest night, which is the second night of its day. The files of the
// first night of the day are intact. The rebuild must report the lost night, although the ledger does not name it.
func TestRebuildReportsALostNight(t *testing.T) {
	const newest = "20261102T030000Z"
	original, originalCfg := publishTables(t, firstNight, secondNight, newest)
	for name, c := range map[string]struct {
		removed []string
		lostRun string
	}{
		"the link and the index name the night": {nil, newest},
		"only the link names the night":         {[]string{index}, newest},
		"only the index names the night":        {[]string{"latest", "versions/" + newest}, newest},
		"only a damaged manifest of the day is left": {
			[]string{"latest", "versions", "parquet/.meta/202611*.json", index}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
			w := warehouse.New(cfg.Warehouse)
			for _, pattern := range []string{"versions/" + newest + "/*", "parquet/*/snapshot_date=2026-11-02/*",
				"parquet/.meta/" + newest + ".*", manifest2, "state/runs.jsonl"} {
				for _, name := range matches(t, w, pattern) { // the hard links of a file stay
					path := damager{t, w}.path(name)
					harness.Must(t, errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)))
				}
			}
			removeMatches(t, w, c.removed...)
			result, err := repair.Rebuild(t.Context(), cfg, true)
			harness.Must(t, err)
			runs, err := w.RunLog.Runs()
			harness.Must(t, err)
			if line := ledger.Find(runs, result.Manifest.RunID); result.LostRun != c.lostRun || line.Outcome != ledger.Partial {
				t.Errorf("the rebuild is %+v and the ledger has %+v, want the lost run %q and the outcome partial", result, line, c.lostRun)
			} else if text := "run " + c.lostRun + " (the series has no complete day of it)"; c.lostRun != "" && !strings.Contains(line.Error, text) {
				t.Errorf("the ledger has the error %q, want it to name the lost %s", line.Error, text)
			}
		})
	}
}

// TestRebuildReportsALostReplay empties files of a replay. The files of the replayed night are intact. The rebuild uses
// them, and must report that the result of the replay is lost.
func TestRebuildReportsALostReplay(t *testing.T) {
	const replay = secondNight + "-2"
	w, cfg := publishTables(t, firstNight, secondNight)
	d, err := w.BeginFrom(t.Context(), replay, secondNightAt, firstNight)
	harness.Must(t, err)
	d.Kind = ledger.Replay
	addTag(t, d, replay)
	publishTwoFiles(t, w, d)
	for _, pattern := range []string{"versions/" + replay + "/*.*et", "versions/" + replay + "/*.duckdb", "parquet/*/snapshot_date=2026-11-02/*"} {
		for _, name := range matches(t, w, pattern) { // the hard links of a file stay
			path := damager{t, w}.path(name)
			harness.Must(t, errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)))
		}
	}
	result, err := repair.Rebuild(t.Context(), cfg, false)
	harness.Must(t, err)
	runs, err := w.RunLog.Runs()
	harness.Must(t, err)
	checkVersion(t, w, result.Manifest.RunID, map[string]string{tagsQuery: firstNight + "," + secondNight})
	if line := ledger.Find(runs, result.Manifest.RunID); result.LostRun != replay || line.Outcome != ledger.Partial {
		t.Errorf("the rebuild is %+v and the ledger has %+v, want the lost run %q and the outcome partial", result, line, replay)
	}
}

// TestRepairsReportAFullDisk repairs and rebuilds on a full disk.
func TestRepairsReportAFullDisk(t *testing.T) {
	w, cfg := publishTwoTables(t)
	removeFile(t, w, firstNight)
	cfg.Warehouse.Step = func(string, string) error { return syscall.ENOSPC }
	_, rebuildErr := repair.Rebuild(t.Context(), cfg, false)
	_, restoreErr := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
	for _, err := range []error{rebuildErr, restoreErr} {
		if !errors.As(err, new(*warehouse.DiskFullError)) {
			t.Errorf("got %v, want a *DiskFullError, which says what to do", err)
		}
	}
}
