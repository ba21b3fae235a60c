package ledger_test

import (
	"testing"
	"time"

	"placementsync/internal/ledger"
)

func TestInterruptionsDoNotChangeIsBehind(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	lines := []ledger.Run{}
	for i, step := range []struct {
		outcome  ledger.Outcome
		isBehind bool
	}{{ledger.Interrupted, false}, {ledger.Complete, false}, {ledger.Interrupted, false}, {ledger.Failed, true}, {ledger.Interrupted, true}, {ledger.Complete, false}} {
		lines = append(lines, ledger.Run{Kind: ledger.Backup, Outcome: step.outcome, StartedAt: at, EndedAt: at})
		if f := ledger.FollowUps(lines)[0]; f.IsBehind() != step.isBehind {
			t.Errorf("step %d: IsBehind is %v after %s, want %v", i, f.IsBehind(), step.outcome, step.isBehind)
		}
	}
}
