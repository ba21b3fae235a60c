package ledger_test

import (
	"testing"

	"placementsync/internal/ledger"
)

func TestExitCodes(t *testing.T) {
	for outcome, want := range map[ledger.Outcome]int{
		ledger.Complete: 0, ledger.Failed: 1, ledger.Misused: 2, ledger.Partial: 3, ledger.Held: 4,
		ledger.Interrupted: 130, ledger.Killed: -1, "": 1, "anything else": 1,
	} {
		if got := outcome.ExitCode(); got != want {
			t.Errorf("%q: got %d, want %d", outcome, got, want)
		}
	}
}
