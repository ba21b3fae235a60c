package repair_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// TestRestoreSeriesUsesTheCatalog restores files that have no copy from the newest intact catalog. Afterwards a full check
// must find no damage, and the restored day must have the rows, the run and the grade of its snapshot.
func TestRestoreSeriesUsesTheCatalog(t *testing.T) {
	original, originalCfg := publishTwoTables(t)
	allOfFirst := []string{version1, changes1 + ".json", changes1 + ".changes"}
	tagsOfFirst := "parquet/tags/snapshot_date=2026-11-01/tags.parquet"
	for name, c := range map[string]struct {
		damage func(d damager)
		files  []string
		grade  stream.Grade // of the first day
	}{
		"a day without any copy": {func(d damager) {
			removeDay(d.t, d.w, firstNightAt)
			d.remove(allOfFirst...)
		}, []string{changes2 + ".changes", "table " + table + " of 2026-11-01", "table tags of 2026-11-01", manifest1}, stream.Bounded},
		"the index, and a day whose run has a manifest": {func(d damager) {
			removeDay(d.t, d.w, firstNightAt)
			d.remove(version1, index, changes2+".json")
			removeFile(d.t, d.w, secondNight)
		}, []string{changes2 + ".json", index, "table " + table + " of 2026-11-02", tagsOfFirst, manifest1, "table " + table + " of 2026-11-01"}, stream.Exact},
		"a file with the bytes of another day": {func(d damager) { d.flip(tagsOfFirst) }, []string{version1 + "tags.parquet", tagsOfFirst}, stream.Exact},
		"a day that its run did not add": {func(d damager) {
			removeDay(d.t, d.w, secondNightAt)
			writeIndex(d, firstNight)
		}, []string{"the files of 2026-11-02"}, stream.Exact},
		"a day that its run did not add, with a damaged file": {func(d damager) {
			removeDay(d.t, d.w, secondNightAt)
			writeIndex(d, firstNight)
			d.flip(version2 + tagsFile)
		}, []string{"table " + table + " of 2026-11-02"}, stream.Exact},
		"the changes of a run": {func(d damager) { d.remove(allOfFirst[0], changes1+".changes") }, []string{changes2 + ".changes"}, stream.Exact},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir, cfg.Warehouse.PublishedMode = clone(t, original).Folder.Dir(), 0o640
			w := warehouse.New(cfg.Warehouse)
			c.damage(damager{t, w})
			var done, total int64
			cfg.Progress = func(files, all int64) {
				if files != done+1 || all < files {
					t.Errorf("the progress after %d files of %d is %d of %d", done, total, files, all)
				}
				done, total = files, all
			}
			files, err := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
			if err != nil || !slices.Equal(files, c.files) {
				t.Errorf("the repair restored %q (%v), want %q", files, err, c.files)
			}
			cfg.Progress = nil
			if done == 0 || done != total {
				t.Errorf("at the end the progress is %d of %d files, want all", done, total)
			}
			for name, path := range map[string]string{"table " + table + " of 2026-11-01": series1, changes2 + ".changes": changes2 + ".changes"} {
				if info, err := os.Stat(w.Folder.Path(path)); slices.Contains(c.files, name) && (err != nil || info.Mode().Perm() != 0o640) {
					t.Errorf("the restored %s has %v (%v), want the mode 0640 of published files", path, info, err)
				}
			}
			report, err := repair.Check(t.Context(), w, true)
			if err != nil || len(report.Damage) > 0 {
				t.Errorf("after the repair the check found %q (%v), want no damage", describeDamage(report.Damage), err)
			}
			m, err := w.Versions.ReadManifestFile(w.Folder.DayManifestPath("2026-11-01"), "")
			if m.Schema != schema.SchemaVersion() || m.Program != "test" || m.Format != warehouse.Format {
				t.Errorf("the day has the manifest %+v (%v), want the schema, program and format of this release", m, err)
			}
			if got := m.Table(table); err != nil || m.RunID != firstNight || !m.SnapshotAt.Equal(firstNightAt) || got.Rows != 1 || got.KeyMin != "p" || got.Grade != c.grade {
				t.Errorf("the day has the manifest %+v (%v), want one row with the key p and the grade %s of the run %s", m, err, c.grade, firstNight)
			}
			checkVersion(t, w, secondNight, map[string]string{
				"SELECT string_agg(name) FROM read_parquet(" + sqltext.Literal(w.Series.FilePath(fileOf(table), firstNightAt)) + ", hive_partitioning = false)": firstNight,
			})
			if !slices.Contains(c.files, changes2+".changes") {
				return
			}
			// A rebuild from the restored changes has the rows of both nights.
			d := damager{t, w}
			d.remove("versions", "latest")
			result, err := repair.Rebuild(t.Context(), cfg, false)
			harness.Must(t, err)
			checkVersion(t, w, result.Manifest.RunID, map[string]string{tagsQuery: firstNight + "," + secondNight,
				"SELECT string_agg(run_id ORDER BY run_id) FROM version.meta.runs": firstNight + "," + secondNight})
		})
	}
}

// TestInterruptedRestoreIsCompleted loses the index, a day without any copy, and all manifests of another day. The power
// fails after each manifest and index that RestoreSeries writes. The next RestoreSeries must then restore both days,
// but none that the retention removes.
func TestInterruptedRestoreIsCompleted(t *testing.T) {
	original, originalCfg := publishTables(t, firstNight, secondNight, thirdNight)
	removeDay(t, original, firstNightAt)
	damager{t, original}.remove(index, version1, version2, changes1+".json", changes2+".json", manifest2)
	for n := 1; ; n++ {
		cfg, written := originalCfg, 0
		cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
		cfg.Warehouse.Step = func(name, _ string) error {
			if strings.HasPrefix(name, "after rename ") && strings.HasSuffix(name, ".json") {
				written++
			}
			if written < n {
				return nil
			}
			return syscall.EIO // also for all later changes
		}
		_, interrupted := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
		cfg.Warehouse.Step = nil
		_, err := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
		days, indexErr := warehouse.New(cfg.Warehouse).Series.Index()
		if err != nil || indexErr != nil || len(days) != 3 {
			t.Errorf("interrupted after %d files (%v), the next repair ended with %v and the index %v (%v), want three days", n, interrupted, err, days, indexErr)
		}
		if interrupted == nil {
			break
		}
	}
	cfg := originalCfg
	cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
	_, err := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 2})
	days, indexErr := warehouse.New(cfg.Warehouse).Series.Index()
	kept, want := slices.Sorted(maps.Keys(days)), []string{"2026-11-02", "2026-11-03"}
	if err != nil || indexErr != nil || !slices.Equal(kept, want) {
		t.Errorf("the repair ended with %v and the index has %v (%v), want %v", err, kept, indexErr, want)
	}
}

// TestRestoreSeriesNamesWhatIsLost damages files that no copy and no catalog can replace.
func TestRestoreSeriesNamesWhatIsLost(t *testing.T) {
	original, originalCfg := publishTwoTables(t)
	for name, c := range map[string]struct {
		damage func(d damager)
		want   []string // parts of the error
		files  []string // that are restored
	}{
		"a file, and no intact catalog": {func(d damager) {
			removeFile(d.t, d.w, firstNight)
			breakCatalogs(d.t, d.w, firstNight, secondNight)
		}, []string{"no catalog is intact: run placementsync rebuild --skip-damaged, or restore a backup",
			"restore table " + table + " of 2026-11-01"}, nil},
		"a day that no catalog names, beside a day that a catalog has": {func(d damager) {
			removeDay(d.t, d.w, firstNightAt)
			d.remove(version1, changes1+".json", changes1+".changes")
			harness.Must(d.t, d.w.Series.WriteIndex(map[string]string{"2026-10-31": "20261031T020000Z", "2026-11-01": firstNight, "2026-11-02": secondNight}))
		}, []string{"restore the day 2026-10-31: meta.runs has no snapshot of this day"},
			[]string{changes2 + ".changes", "table " + table + " of 2026-11-01", "table tags of 2026-11-01", manifest1}},
		"a file that is newer than the only intact catalog": {func(d damager) {
			removeFile(d.t, d.w, secondNight)
			breakCatalogs(d.t, d.w, secondNight)
		}, []string{"restore table " + table + " of 2026-11-02: there is no intact copy, " +
			"and no intact catalog has its rows: placementsync rebuild --skip-damaged"}, nil},
		"a table of another release, beside a file that the catalog has": {func(d damager) {
			removeFile(d.t, d.w, firstNight)
			d.editManifest(manifest1, func(m *warehouse.Manifest) {
				m.Tables = append([]warehouse.ManifestTable{fileOf("adverts")}, m.Tables...)
			})
		}, []string{"restore table adverts: this version of placementsync has no such table; its file was not changed"},
			[]string{"table " + table + " of 2026-11-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
			w := warehouse.New(cfg.Warehouse)
			c.damage(damager{t, w})
			files, err := repair.RestoreSeries(t.Context(), cfg, warehouse.Retention{Daily: 30})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the repair restored %q and ended with %v, want an error with %q", files, err, want)
				}
			}
			if !slices.Equal(files, c.files) {
				t.Errorf("the repair restored %q, want %q", files, c.files)
			}
			if days, want := slices.Sorted(maps.Keys(w.Series.ManifestDays())), []string{"2026-11-01", "2026-11-02"}; !slices.Equal(days, want) {
				t.Errorf("after the repair the series has the days %v, want %v", days, want)
			}
		})
	}
}
