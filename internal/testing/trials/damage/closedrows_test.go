package damage_test

import (
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
