package limits_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/testing/trials"
)

// TestProgressOfANight reads the progress before, during and after a night.
func TestProgressOfANight(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	tracker := &pipeline.ProgressTracker{}
	h.Config.Progress = tracker
	if _, ok := tracker.Progress(); ok {
		t.Error("Progress reported a night before the first night began, want none")
	}
	h.GoodNight()
	if _, ok := tracker.Progress(); ok {
		t.Error("Progress reported a night after it ended, want none")
	}

	var seen ledger.Progress
	var once sync.Once
	h.OnRequest(func(r *http.Request) {
		if r.URL.Path == "/orders" && r.URL.Query().Get("page") == "2" {
			once.Do(func() { seen, _ = tracker.Progress() })
		}
	})
	res := h.GoodNight()
	if seen.Run != res.Run.ID || seen.Phase != "reading orders" || !seen.StartedAt.Equal(res.Run.StartedAt) {
		t.Errorf("the progress is %+v, want phase %q of run %s since %v", seen, "reading orders", res.Run.ID, res.Run.StartedAt)
	}
	states := map[string]ledger.StreamProgress{}
	for _, s := range seen.Streams {
		states[s.Name] = s
	}
	if orders := states["orders"]; orders.State != ledger.Reading || orders.Total != 2 || orders.Done != 1 || orders.Rows != 7 || orders.Pass != 1 {
		t.Errorf("the progress of orders is %+v, want the state reading, and 1 page of 2 with 7 rows in pass 1", orders)
	}
	if details := states["order_details"]; details.State != ledger.Waiting {
		t.Errorf("the progress of order_details is %+v, want the state waiting", details)
	}
	if seen.Expected <= seen.Requests || seen.Requests < 2 {
		t.Errorf("the progress has %d of %d expected requests, want at least 2, and fewer than expected", seen.Requests, seen.Expected)
	}
}

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
