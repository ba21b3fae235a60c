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

// TestTrialRebuildRestoresTheClosedRowsOfEveryRun checks the closed rows after a rebuild. A closed row
// is an earlier version of a row, in the schema past. The test runs nights on several days, three of
// them on the same day. One night is rolled back, and old days are pruned. A rebuild from parquet/
// and state/, and a rebuild after another night, must restore all closed rows.
func TestTrialRebuildRestoresTheClosedRowsOfEveryRun(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.TrialWorld(4), append(trials.FewStreams(), "campaigns", "campaign_articles")...)
	first := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	for _, hours := range []time.Duration{0, 24, 48, 51} {
		nightAt(h, first.Add(hours*time.Hour))
	}
	wh := trials.WarehouseOf(h.Config)
	_, err := wh.Rollback("", first.Add(52*time.Hour))
	testharness.Must(t, err)
	nightAt(h, first.Add(53*time.Hour))
	nightAt(h, first.Add(77*time.Hour))
	pruned, err := wh.Pruner.Prune(warehouse.Retention{Daily: 2}, h.At, false)
	testharness.Must(t, err)
	if len(pruned) == 0 {
		t.Error("Prune removed no day, so the test shows nothing")
	}
	for range 2 {
		before, closed := contents(t, h.Path("catalog.duckdb")), 0
		for name, rows := range before {
			switch {
			case strings.HasPrefix(name, "past."):
				closed += len(rows)
			case !strings.HasPrefix(name, "main."):
				delete(before, name)
			}
		}
		if closed < 40 {
			t.Errorf("past has %d closed rows, want at least 40", closed)
		}
		for _, name := range []string{"versions", "raw", "latest", "catalog.duckdb"} {
			testharness.Must(t, os.RemoveAll(h.Path(name)))
		}
		h.At = h.At.Add(time.Hour)
		r, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
		testharness.Must(t, err)
		if r.RestoredRuns == 0 || r.SnapshotsWithoutDay != 0 {
			t.Errorf("the rebuild returned %+v, want RestoredRuns > 0 and SnapshotsWithoutDay 0", r)
		}
		after := contents(t, h.Path("catalog.duckdb"))
		for name, rows := range before {
			if diff := cmp.Diff(rows, after[name]); diff != "" {
				t.Errorf("%s differs (-before +after):\n%s", name, diff)
			}
		}
		nightAt(h, h.At.Add(24*time.Hour))
	}
}
