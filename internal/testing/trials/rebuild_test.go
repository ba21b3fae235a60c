package trials_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
)

// TestTrialRebuildGivesTheSameHistory rebuilds the catalog of some streams from the Parquet files
// of four days. TestTrialRestoreEqualsTheOriginal does the same with all streams.
func TestTrialRebuildGivesTheSameHistory(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newHarness(t, smallWorld(), someStreams()...)
	for range 4 {
		h.goodNight()
	}
	before := h.historySums()
	details := h.queryOne("SELECT string_agg(stream || id || coalesce(fingerprint, ''), ',' ORDER BY stream, id) FROM meta.details")

	h.at = h.at.Add(time.Hour)
	r, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	if r.Snapshots != 4 || h.latestRun() != r.Manifest.RunID {
		t.Errorf("the rebuild %s used %d snapshots and latest is %s, want 4 snapshots and the rebuild as latest", r.Manifest.RunID, r.Snapshots, h.latestRun())
	}
	if diff := cmp.Diff(before, h.historySums()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
	if got := h.queryOne("SELECT string_agg(stream || id || coalesce(fingerprint, ''), ',' ORDER BY stream, id) FROM meta.details"); got != details {
		t.Errorf("meta.details after the rebuild: got %s, want %s", got, details)
	}
	h.cfg.Details = "changed"
	res := h.goodNight()
	if res.Run.Changed+res.Run.New == 0 || res.Run.New > 100 {
		t.Errorf("the next night found %d new and %d changed rows, want at least 1 new or changed row, and at most 100 new rows", res.Run.New, res.Run.Changed)
	}
}

func TestTrialRebuildWorksWithoutACatalog(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.goodNight()
	h.goodNight()
	before := h.historySums()
	testharness.Must(t, os.RemoveAll(h.path("versions")))
	testharness.Must(t, os.Remove(h.path("latest")))
	h.at = h.at.Add(time.Hour)
	_, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	if diff := cmp.Diff(before, h.historySums()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
}
