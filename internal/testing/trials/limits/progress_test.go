package limits_test

import (
	"context"
	"errors"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/trials"
)

// TestFinishCommitFinishesACancelledCommit cancels the context of a night during its commit or earlier. If
// FinishCommit is set, a night that is cancelled during its commit must continue until it is published.
func TestFinishCommitFinishesACancelledCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		cancelStep   string
		finishCommit bool
		outcome      ledger.Outcome
		exitCode     int
	}{
		{"with FinishCommit, a commit is finished", "before write run.json", true, ledger.Complete, 0},
		{"without FinishCommit, a commit is interrupted", "before write run.json", false, ledger.Interrupted, 130},
		{"with FinishCommit, the reading is interrupted", "after write of the journal", true, ledger.Interrupted, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
			ctx, stop := context.WithCancel(t.Context())
			h.Config.FinishCommit = c.finishCommit
			h.Config.Warehouse.Step = func(name, _ string) error {
				if name == c.cancelStep {
					stop()
				}
				return nil
			}
			res, err := h.NightWithContext(ctx)
			if res.Run.Outcome != c.outcome || res.Run.ExitCode != c.exitCode {
				t.Errorf("the night ended %s with exit code %d, want %s with %d: %v", res.Run.Outcome, res.Run.ExitCode, c.outcome, c.exitCode, err)
			}
			if c.exitCode != 0 && !errors.Is(err, context.Canceled) {
				t.Errorf("the error of the night is %v, want context.Canceled", err)
			}
		})
	}
}
