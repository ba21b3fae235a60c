package repair_test

import (
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/repair"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// historyQuery returns the row versions of a table: position, name, and the days on which each begins and ends. A
// closed row version also has the run that closed it.
const historyQuery = "SELECT string_agg(concat_ws(' ', position, name, day(valid_from), day(valid_to), run_id), ', ' " +
	"ORDER BY position, valid_from) " +
	"FROM (FROM version.main." + table + " UNION ALL BY NAME FROM version.past." + table + ")"

// publishChange publishes a night that changes the name of the row of the first night. Early programs did not record
// the closed version of the row.
func publishChange(t *testing.T, w *warehouse.Warehouse, run string, isRecorded bool) {
	t.Helper()
	d := beginDraft(t, w, run, run)
	at := sqltext.SQL("TIMESTAMPTZ " + sqltext.Literal(d.At.Format(time.RFC3339)))
	if isRecorded {
		harness.Must(t, d.Exec(t.Context(), "INSERT INTO past."+table+
			" SELECT *, "+at+", '"+sqltext.SQL(run)+"' FROM main."+table+" WHERE position = 1"))
	}
	harness.Must(t, d.Exec(t.Context(),
		"UPDATE main."+table+" SET name = 'changed', valid_from = "+at+" WHERE position = 1",
		sqltext.SQL("COPY main."+table+" TO "+sqltext.Literal(filepath.Join(d.Dir, tagsFile))+" (FORMAT parquet)")))
	publishTwoFiles(t, w, d)
}

// TestRebuiltHistoryHasEachVersionOfARow rebuilds three nights, of which the third changed the row of the first. Each
// version of the row must be in the history once, whichever files are left.
func TestRebuiltHistoryHasEachVersionOfARow(t *testing.T) {
	original, originalCfg := publishTables(t, firstNight, secondNight)
	publishChange(t, original, thirdNight, true)
	const closed, second = "1 " + firstNight + " 1 3 " + thirdNight, "2 " + secondNight + " 2"
	const all = closed + ", 1 changed 3, " + second + ", 3 " + thirdNight + " 3"
	for name, c := range map[string]struct {
		lost []string
		want string
	}{
		"the files of changes are intact": {[]string{"versions", "latest"}, all},
		"a file of changes is lost, and the catalog is intact": {
			[]string{changes2 + ".changes", version2 + warehouse.MetaFile}, all},
		"all files of changes and catalogs are lost": {[]string{"versions", "latest", "parquet/.meta"}, all},
		// The file of the second night has the old version of the row as a current row.
		"the newest file is lost": {[]string{"versions", "latest", series3}, closed + ", " + second},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := originalCfg
			cfg.Warehouse.Dir = clone(t, original).Folder.Dir()
			w := warehouse.New(cfg.Warehouse)
			damager{t, w}.remove(c.lost...)
			result, err := repair.Rebuild(t.Context(), cfg, true)
			harness.Must(t, err)
			checkVersion(t, w, result.Manifest.RunID, map[string]string{historyQuery: c.want})
		})
	}
}

// TestComputedHistoryNamesItsGaps rebuilds four nights, of which the last two changed a row. An early program did not
// record the rows that the third night closed. The retention removed the first and the third day, so the history
// between the other two is incomplete, and the result must say so.
func TestComputedHistoryNamesItsGaps(t *testing.T) {
	w, cfg := publishTables(t, firstNight, secondNight)
	publishChange(t, w, thirdNight, false)
	publishChange(t, w, fourthNight, true)
	d := damager{t, w}
	d.editManifest(changes1+".json", func(m *warehouse.Manifest) { m.Meta.HasPast = false })
	removeDay(t, w, firstNightAt)
	removeDay(t, w, secondNightAt.AddDate(0, 0, 1))
	writeIndex(d, secondNight, fourthNight)
	d.remove("versions", "latest")
	result, err := repair.Rebuild(t.Context(), cfg, false)
	if err != nil || result.Snapshots != 2 || result.SnapshotsWithoutDay != 1 || result.RestoredRuns != 0 {
		t.Fatalf("the rebuild is %+v (%v), want two snapshots, and one without a day", result, err)
	}
	const want = "1 " + firstNight + " 1 3 " + thirdNight + ", 1 changed 3 4 " + fourthNight + ", 1 changed 4, " +
		"2 " + secondNight + " 2, 3 " + thirdNight + " 3, 4 " + fourthNight + " 4"
	checkVersion(t, w, result.Manifest.RunID, map[string]string{historyQuery: want})
}
