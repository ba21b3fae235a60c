package warehouse_test

import (
	"testing"

	"placementsync/internal/warehouse"
)

func TestOutcomesHaveTheirExitCodes(t *testing.T) {
	for outcome, want := range map[warehouse.Outcome]int{
		warehouse.Complete: 0, warehouse.Failed: 1, warehouse.Misused: 2, warehouse.Partial: 3, warehouse.Held: 4,
		warehouse.Interrupted: 130, warehouse.Killed: -1, "": 1, "anything else": 1,
	} {
		if got := outcome.ExitCode(); got != want {
			t.Errorf("%q: got %d, want %d", outcome, got, want)
		}
	}
}
