package limits_test

import (
	"slices"
	"testing"

	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestRunsOfTheSameSecondAreInMeta starts a night, a rollback and another night in the same second,
// as a script can do. meta.runs must contain all of them.
func TestRunsOfTheSameSecondAreInMeta(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), "tags", "token")
	h.GoodNight()
	night := h.GoodNight()
	wh := trials.WarehouseOf(t, h.Config)
	_, err := wh.Rollback("", h.At)
	testharness.Must(t, err)
	nextNight := h.MustComplete(pipeline.Run(t.Context(), h.Config))
	rows := trials.Query(t, h.Catalog(), "SELECT run_id, kind FROM meta.runs WHERE started_at = ? ORDER BY run_id", h.At)
	var got []string
	for _, row := range rows {
		got = append(got, row[0].String+" "+row[1].String)
	}
	want := []string{night.Run.ID + " night", night.Run.ID + "-2 rollback", night.Run.ID + "-3 night"}
	if !slices.Equal(got, want) || nextNight.Run.ID != night.Run.ID+"-3" {
		t.Errorf("meta.runs has %q and the run after the rollback is %s, want %q and the last run of this list", got, nextNight.Run.ID, want)
	}
}
