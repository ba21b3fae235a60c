package damage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestTrialRebuildGivesTheSameHistory rebuilds the catalog of some streams from the Parquet files
// of four days. TestTrialRestoreEqualsTheOriginal does the same with all streams.
func TestTrialRebuildGivesTheSameHistory(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.SomeStreams()...)
	for range 4 {
		h.GoodNight()
	}
	before := h.HistorySums()
	details := h.QueryOne("SELECT string_agg(stream || id || coalesce(fingerprint, ''), ',' ORDER BY stream, id) FROM meta.details")

	h.At = h.At.Add(time.Hour)
	r, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(t, err)
	if r.Snapshots != 4 || h.LatestRun() != r.Manifest.RunID {
		t.Errorf("the rebuild %s used %d snapshots and latest is %s, want 4 snapshots and the rebuild as latest", r.Manifest.RunID, r.Snapshots, h.LatestRun())
	}
	if diff := cmp.Diff(before, h.HistorySums()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
	if got := h.QueryOne("SELECT string_agg(stream || id || coalesce(fingerprint, ''), ',' ORDER BY stream, id) FROM meta.details"); got != details {
		t.Errorf("meta.details after the rebuild: got %s, want %s", got, details)
	}
	h.Config.Details = "changed"
	res := h.GoodNight()
	if res.Run.Changed+res.Run.New == 0 || res.Run.New > 100 {
		t.Errorf("the next night found %d new and %d changed rows, want at least 1 new or changed row, and at most 100 new rows", res.Run.New, res.Run.Changed)
	}
}
