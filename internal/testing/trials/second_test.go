package trials_test

import (
	"slices"
	"testing"

	"placementsync/internal/pipeline"
)

// TestRunsOfTheSameSecondAreInMeta starts a night, a rollback and another night in the same second,
// as a script can do. meta.runs must contain all of them.
func TestRunsOfTheSameSecondAreInMeta(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), "tags", "token")
	h.goodNight()
	second := h.goodNight()
	wh := warehouseOf(t, h.cfg)
	_, err := wh.Rollback("", h.at)
	must(t, err)
	third := h.mustComplete(pipeline.Run(t.Context(), h.cfg))
	rows := query(t, h.catalog(), "SELECT run_id, kind FROM meta.runs WHERE started_at = ? ORDER BY run_id", h.at)
	var got []string
	for _, row := range rows {
		got = append(got, row[0].String+" "+row[1].String)
	}
	want := []string{second.Run.ID + " night", second.Run.ID + "-2 rollback", second.Run.ID + "-3 night"}
	if !slices.Equal(got, want) || third.Run.ID != second.Run.ID+"-3" {
		t.Errorf("meta.runs has %q, want %q", got, want)
	}
}
