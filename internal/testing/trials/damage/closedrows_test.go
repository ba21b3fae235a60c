package damage_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// nightAt advances the world by a day and runs a night at the given time. The night must be complete.
func nightAt(h *trials.Harness, at time.Time) pipeline.Result {
	h.T.Helper()
	h.Service.Advance(1)
	h.At = at
	return h.MustComplete(pipeline.Run(h.T.Context(), h.Config))
}

// rebuildFromSeries removes all files except parquet/ and state/ and then rebuilds the warehouse.
func rebuildFromSeries(h *trials.Harness) repair.RebuildResult {
	h.T.Helper()
	for _, name := range []string{"versions", "raw", "latest", "catalog.duckdb"} {
		testharness.Must(h.T, os.RemoveAll(h.Path(name)))
	}
	h.At = h.At.Add(time.Hour)
	r, err := repair.Rebuild(h.T.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(h.T, err)
	return r
}

// storedRows returns the rows of all tables in the schemas main and past.
func storedRows(t *testing.T, file string) map[string][]string {
	t.Helper()
	rows := contents(t, file)
	for name := range rows {
		if !strings.HasPrefix(name, "main.") && !strings.HasPrefix(name, "past.") {
			delete(rows, name)
		}
	}
	return rows
}

// TestTrialRebuildRestoresTheClosedRowsOfEveryRun checks the closed rows after a rebuild. A closed row
// is an earlier version of a row, in the schema past. The test runs nights on several days, four of
// them on the same day. One night is rolled back, and old days are pruned. A rebuild from parquet/
// and state/, a second rebuild, and a rebuild after another night must restore all closed rows.
func TestTrialRebuildRestoresTheClosedRowsOfEveryRun(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.TrialWorld(4), trials.SomeStreams()...)
	first := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for _, hours := range []time.Duration{0, 24, 48, 72, 75} {
		nightAt(h, first.Add(hours*time.Hour))
	}
	nightAt(h, first.Add(78*time.Hour))
	wh := trials.WarehouseOf(h.Config)
	_, err := wh.Rollback("", first.Add(79*time.Hour))
	testharness.Must(t, err)
	nightAt(h, first.Add(80*time.Hour))
	nightAt(h, first.Add(104*time.Hour))
	pruned, err := wh.Pruner.Prune(warehouse.Retention{Daily: 2}, h.At, false)
	testharness.Must(t, err)
	if len(pruned) == 0 {
		t.Error("Prune removed no day, so the test shows nothing")
	}
	before := storedRows(t, h.Path("catalog.duckdb"))
	for range 2 {
		r := rebuildFromSeries(h)
		if r.RestoredRuns == 0 || r.SnapshotsWithoutDay != 0 {
			t.Errorf("the rebuild returned %+v, want RestoredRuns > 0 and SnapshotsWithoutDay 0", r)
		}
		requireContents(t, before, storedRows(t, h.Path("catalog.duckdb")))
	}
	nightAt(h, first.Add(130*time.Hour))
	before = storedRows(t, h.Path("catalog.duckdb"))
	closed := 0
	for name, rows := range before {
		if strings.HasPrefix(name, "past.") {
			closed += len(rows)
		}
	}
	if closed < 50 {
		t.Errorf("past has %d closed rows, want at least 50", closed)
	}
	rebuildFromSeries(h)
	if diff := cmp.Diff(before, storedRows(t, h.Path("catalog.duckdb"))); diff != "" {
		t.Errorf("the restored rows after another night differ (-before +after):\n%s", diff)
	}
}

// TestTrialDamagedFileOfChangesLosesOnlyItsRows damages the file with the changes of one run. If
// the catalog is intact, a rebuild must restore the whole history. Without a catalog, a rebuild
// must fail. A rebuild that skips damaged files must restore all rows that other runs closed, and
// no two versions of a row may be valid at the same time.
func TestTrialDamagedFileOfChangesLosesOnlyItsRows(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.TrialWorld(4), trials.SomeStreams()...)
	first := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	var damagedRun string
	for i, hours := range []time.Duration{0, 3, 24, 27, 30} {
		res := nightAt(h, first.Add(hours*time.Hour))
		if i == 3 {
			damagedRun = res.Run.ID
		}
	}
	before := storedRows(t, h.Path("catalog.duckdb"))
	file := h.Path("parquet", ".meta", damagedRun+".changes")
	testharness.Must(t, os.WriteFile(file, []byte("PAR1"), 0o600))
	h.At = h.At.Add(time.Hour)
	_, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(t, err)
	requireContents(t, before, storedRows(t, h.Path("catalog.duckdb")))

	// The rebuild has replaced the damaged file. Damage the file of the next night, and remove the
	// catalogs.
	damagedRun = nightAt(h, first.Add(54*time.Hour)).Run.ID
	nightAt(h, first.Add(57*time.Hour))
	before = storedRows(t, h.Path("catalog.duckdb"))
	testharness.Must(t, os.WriteFile(h.Path("parquet", ".meta", damagedRun+".changes"), []byte("PAR1"), 0o600))
	for _, name := range []string{"versions", "latest"} {
		testharness.Must(t, os.RemoveAll(h.Path(name)))
	}
	h.At = h.At.Add(time.Hour)
	if _, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false); !errors.As(err, new(*repair.SeriesError)) {
		t.Fatalf("a rebuild without the changes of %s returned %v, want a SeriesError", damagedRun, err)
	}
	r, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), true)
	testharness.Must(t, err)
	if len(r.Skipped) != 1 || r.RestoredRuns != 0 {
		t.Errorf("the rebuild returned %+v, want one skipped file and no restored run", r)
	}
	after := storedRows(t, h.Path("catalog.duckdb"))
	closedByOtherRuns := 0
	for name, rows := range before {
		if strings.HasPrefix(name, "main.") {
			requireContents(t, map[string][]string{name: rows}, map[string][]string{name: after[name]})
			continue
		}
		restored := map[string]bool{}
		for _, row := range after[name] {
			restored[row] = true
		}
		for _, row := range rows {
			if strings.Contains(row, damagedRun) {
				continue
			}
			if closedByOtherRuns++; !restored[row] {
				t.Errorf("%s has lost %s", name, row)
			}
		}
	}
	if closedByOtherRuns < 20 {
		t.Errorf("other runs closed %d rows, want at least 20", closedByOtherRuns)
	}
	for _, table := range h.Config.Warehouse.Tables {
		key := strings.Join(table.Key, ", ")
		if n := h.QueryOne("SELECT count(*)::VARCHAR FROM (SELECT valid_to, lead(valid_from) OVER (PARTITION BY " + key + " ORDER BY valid_from) AS next_from FROM history." + table.Name + ") WHERE valid_to > next_from"); n != "0" {
			t.Errorf("%s versions of rows of %s are valid at the same time as the next version, want none", n, table.Name)
		}
	}
}
