package ledger_test

import (
	"testing"
	"time"

	"placementsync/internal/ledger"
)

func TestInterruptionsDoNotChangeIsBehind(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	entries := []ledger.Run{}
	for i, step := range []struct {
		outcome ledger.Outcome
		behind  bool
	}{{ledger.Interrupted, false}, {ledger.Complete, false}, {ledger.Interrupted, false}, {ledger.Failed, true}, {ledger.Interrupted, true}, {ledger.Complete, false}} {
		entries = append(entries, ledger.Run{Kind: ledger.Backup, Outcome: step.outcome, StartedAt: at, EndedAt: at})
		if f := ledger.FollowUps(entries)[0]; f.IsBehind() != step.behind {
			t.Errorf("step %d: IsBehind is %v after %s, want %v", i, f.IsBehind(), step.outcome, step.behind)
		}
	}
}
