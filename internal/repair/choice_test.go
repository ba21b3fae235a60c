package repair_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestTheRepairIsPossible damages a warehouse in ways for which a nearby repair would do nothing, fail or lose data.
func TestTheRepairIsPossible(t *testing.T) {
	nights := threeNights(t)
	const later = "20261101T030000Z"
	twice := open(t) // two runs on the first day
	publishFull(t, twice, firstNight, later, secondNight)
	const rebuilt = secondNight + "-2"
	again := open(t) // the second night was rebuilt with other rows
	publishFull(t, again, firstNight, secondNight)
	publishRebuilt(t, again, rebuilt)
	refreshed := open(t) // the second night builds on a refresh of its day
	publishFull(t, refreshed, firstNight)
	d := beginDraft(t, refreshed, secondNight, "refresh")
	d.Kind = ledger.Refresh
	publish(t, refreshed, d)
	const afterRefresh = "20261102T030000Z"
	publishFull(t, refreshed, afterRefresh)
	const meta1, tagsOfRebuilt = "parquet/.meta/" + firstNight, "versions/" + rebuilt + "/" + tagsFile
	const rebuildSeries = ": rebuild --series"
	manifestIsLost := []string{changes2 + ".json" + rebuildSeries, manifest2 + rebuildSeries, version2 + "manifest.json: prune --version " + secondNight}
	for name, c := range map[string]struct {
		w      *warehouse.Warehouse
		damage func(d damager)
		want   []string
	}{
		"a rebuild keeps more than a rollback and a replay": {nights, func(d damager) {
			d.flip(version3 + "catalog.duckdb")
			storeResponses(d.t, d.w, thirdNight)
		}, []string{version3 + "catalog.duckdb: rebuild"}},
		"a catalog with the right checksum that DuckDB cannot read": {nights, func(d damager) {
			text := []byte("no database")
			harness.Must(d.t, os.WriteFile(d.w.Folder.VersionCatalog(thirdNight), text, 0o600))
			for _, name := range []string{version3 + "manifest.json", changes3 + ".json", manifest3} {
				d.editManifest(name, func(m *warehouse.Manifest) { m.Catalog = checksum.SumText(warehouse.CatalogFile, text) })
			}
		}, []string{version3 + "catalog.duckdb: rebuild"}},
		"readers see a version that a rollback left": {nights, func(d damager) {
			_, err := d.w.Rollback(firstNight, firstNightAt.AddDate(0, 0, 3))
			harness.Must(d.t, err)
			d.symlink("versions/"+secondNight, "latest")
			d.flip(version2 + tagsFile)
		}, []string{"latest: rollback " + firstNight, manifest2 + rebuildSeries, version2 + tagsFile + ": rollback " + firstNight}},
		"the link names a missing version, and the ledger is damaged": {nights, func(d damager) {
			d.symlink("versions/20261109T020000Z", "latest")
			d.flip("state/runs.jsonl")
		}, []string{"latest: rollback " + thirdNight, "state/runs.jsonl: run, lost"}},
		"a rollback, and the index is lost": {nights, func(d damager) {
			_, err := d.w.Rollback(firstNight, firstNightAt.AddDate(0, 0, 3))
			harness.Must(d.t, err)
			d.remove(index)
		}, []string{index + rebuildSeries}},
		"a rollback, and the ledger is lost": {nights, func(d damager) {
			_, err := d.w.Rollback(firstNight, firstNightAt.AddDate(0, 0, 3))
			harness.Must(d.t, err)
			d.remove("state/runs.jsonl")
		}, []string{"state/runs.jsonl: run, lost"}},
		"another run of the day replaced the file in the series": {twice, func(d damager) { d.flip(version1 + tagsFile) },
			[]string{version1 + tagsFile + ": prune --version " + firstNight}},
		"the file was accepted as lost": {nights, func(d damager) {
			for _, name := range []string{manifest1, meta1 + ".json"} {
				d.editManifest(name, func(m *warehouse.Manifest) { m.Tables, m.Lost = nil, []string{table} })
			}
			d.flip(series1)
		}, []string{version1 + tagsFile + ": prune --version " + firstNight}},
		"the only copy of a manifest is of another day": {nights, func(d damager) {
			d.remove(version2+"manifest.json", changes2+".json")
			d.editManifest(manifest2, moveToNextDay)
		}, manifestIsLost},
		"all copies of the newest manifest are lost": {nights, func(d damager) {
			d.remove(version3+"manifest.json", changes3+".json", manifest3)
		}, []string{manifest3 + ": rebuild --skip-damaged, lost", version3 + "manifest.json: rollback " + secondNight + ", lost"}},
		"a file before a lost manifest": {nights, func(d damager) {
			d.remove(version2+"manifest.json", changes2+".json", manifest2)
			d.flip(series1)
		}, append([]string{series1 + rebuildSeries, version1 + tagsFile + rebuildSeries}, manifestIsLost...)},
		"only a refresh has an intact catalog": {refreshed, func(d damager) {
			d.flip(version1+"catalog.duckdb", "versions/"+afterRefresh+"/catalog.duckdb", series1)
		}, []string{series1 + rebuildSeries, version1 + "catalog.duckdb: prune --version " + firstNight, version1 + tagsFile + rebuildSeries,
			"versions/" + afterRefresh + "/catalog.duckdb: rebuild"}},
		"a night has the snapshot of a rebuilt version": {again, func(d damager) {
			d.remove("versions/" + rebuilt + "/catalog.duckdb")
			d.flip(tagsOfRebuilt)
		}, []string{series2 + rebuildSeries, "versions/" + rebuilt + "/catalog.duckdb: rollback " + secondNight + ", lost", tagsOfRebuilt + rebuildSeries}},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, c.w)
			c.damage(damager{t, w})
			report, err := repair.Check(t.Context(), w, true)
			harness.Must(t, err)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, describeDamage(report.Damage)); diff != "" {
				t.Errorf("damage (-want +got):\n%s", diff)
			}
		})
	}
}

// publishRebuilt publishes a version that a rebuild made of the second night.
func publishRebuilt(t *testing.T, w *warehouse.Warehouse, run string) {
	t.Helper()
	at, _ := warehouse.RunTime(run)
	d, err := w.BeginFrom(t.Context(), run, at, "")
	harness.Must(t, err)
	d.Kind, d.Source = ledger.Rebuild, secondNight
	harness.Must(t, d.Exec(t.Context(), "COPY main.product_listing_tags TO "+sqltext.SQL(sqltext.Literal(filepath.Join(d.Dir, tagsFile)))+" (FORMAT parquet)"))
	harness.Must(t, os.WriteFile(filepath.Join(d.Dir, warehouse.MetaFile), []byte("changes of "+run), 0o600))
	d.RecordMetaBase("")
	publish(t, w, d)
}

// TestADayIsRepairedForItsRun loses the entry of a day in the index. The repair must add the run of the day again, not
// another run of the same day.
func TestADayIsRepairedForItsRun(t *testing.T) {
	const later, day = "20261101T030000Z", "2026-11-01"
	const versionLater, metaLater = "versions/" + later + "/", "parquet/.meta/" + later + ".json"
	twice := open(t)
	publishFull(t, twice, firstNight, later, secondNight, thirdNight)
	back := open(t) // the second night does not build on the later run of the first day
	publishFull(t, back, firstNight, later)
	_, err := back.Rollback(firstNight, firstNightAt.AddDate(0, 0, 1))
	harness.Must(t, err)
	publishFull(t, back, secondNight)
	newestTwice := open(t) // two runs on the only day
	publishFull(t, newestTwice, firstNight, later)
	// copyFile replaces a file. Other hard links of the file stay.
	copyFile := func(d damager, from, to string) {
		data, err := os.ReadFile(d.path(from))
		harness.Must(t, err)
		d.remove(to)
		harness.Must(t, os.WriteFile(d.path(to), data, 0o600))
	}
	for name, c := range map[string]struct {
		w       *warehouse.Warehouse
		damage  func(d damager)
		want    string // the run of the day in the index
		without []string
	}{
		"only the files of the earlier run are there": {twice, func(d damager) {
			data := contentOf(t, back)[version1+tagsFile]
			d.remove("versions/"+later, version2, manifest1, manifest2, changes2+".json", series1)
			harness.Must(t, os.WriteFile(d.path(series1), []byte(data), 0o600))
			writeIndex(d, secondNight, thirdNight)
		}, firstNight, []string{"2026-11-02"}},
		"the files are of a run that a rollback left": {back, func(d damager) {
			copyFile(d, versionLater+tagsFile, series1)
			d.remove(manifest1)
			writeIndex(d, secondNight)
		}, firstNight, nil},
		"the later run was killed before it added its day": {newestTwice, func(d damager) { writeIndex(d, firstNight) }, later, nil},
		"all manifests of the later run are lost": {back, func(d damager) {
			d.remove(versionLater, metaLater, manifest1, version2, changes2+".json", manifest2, filepath.Dir(series2))
			harness.Must(t, d.w.Series.WriteIndex(map[string]string{day: later}))
			keepLines(d, 1)
			d.symlink("versions/"+firstNight, "latest")
		}, later, []string{day}},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, c.w)
			c.damage(damager{t, w})
			result, err := repair.RepairFromCopies(t.Context(), w)
			harness.Must(t, err)
			days, err := w.Series.Index()
			if err != nil || days[day] != c.want || !slices.Equal(result.DaysWithoutManifest, c.without) {
				t.Errorf("the index names %q as the run of %s (%v), and the days without a manifest are %v; want %q and %v",
					days[day], day, err, result.DaysWithoutManifest, c.want, c.without)
			}
		})
	}
	t.Run("a day without a run", func(t *testing.T) {
		w := clone(t, twice)
		d := damager{t, w}
		harness.Must(t, os.MkdirAll(filepath.Dir(d.path("parquet/"+table+"/snapshot_date=2026-11-04/"+tagsFile)), 0o700))
		harness.Must(t, os.WriteFile(d.path("parquet/"+table+"/snapshot_date=2026-11-04/"+tagsFile), nil, 0o600))
		d.remove(index)
		_, err := repair.RepairFromCopies(t.Context(), w)
		harness.Must(t, err)
		if days, err := w.Series.Index(); err != nil || len(days) != 3 {
			t.Errorf("the index names %v (%v), want the three days with a run", days, err)
		}
	})
	t.Run("the manifest of the day is of another run", func(t *testing.T) {
		w := clone(t, twice)
		d := damager{t, w}
		before := contentOf(t, w)[manifest1]
		m, err := w.Versions.ReadManifestFile(d.path("parquet/.meta/"+firstNight+".json"), firstNight)
		harness.Must(t, err)
		file := filepath.Join(t.TempDir(), tagsFile)
		harness.Must(t, os.WriteFile(file, []byte("other bytes"), 0o600))
		_, err = repair.ReplaceFile(w, warehouse.SeriesFile{DayManifest: m, Table: m.Tables[0]}, file)
		harness.Must(t, err)
		if contentOf(t, w)[manifest1] != before {
			t.Errorf("the manifest of %s was changed for a file of run %s, want that of run %s unchanged", day, firstNight, later)
		}
	})
}
