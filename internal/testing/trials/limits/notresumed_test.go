package limits_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// TestTrialReplayedRunIsNotResumed lets the service return an empty list, so that the night stops because of too many
// deletions. A replay that allows the deletions must publish the run, and the next night must not resume it.
func TestTrialReplayedRunIsNotResumed(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Config.ResumeMaxAge = time.Hour
	h.GoodNight()
	h.Config.Limits = load.Limits{}
	h.ServeListings("empty.json")
	stopped, _ := h.FailedNight(t.Context(), trials.ExitFailed)
	h.Config.AllowMassDelete = true
	replayed, err := pipeline.Replay(t.Context(), h.Config, stopped.Run.ID)
	testharness.Must(t, err)
	if h.LatestRun() != replayed.Run.ID || h.Count("product_listings", "true") != 0 {
		t.Errorf("latest is %s with %d listings, want the replay %s without listings", h.LatestRun(), h.Count("product_listings", "true"), replayed.Run.ID)
	}
	h.At = h.At.Add(time.Minute)
	res, err := pipeline.Run(t.Context(), h.Config)
	testharness.Must(t, err)
	if res.Run.ID == stopped.Run.ID {
		t.Errorf("the stopped run %s was resumed although a replay had published it, want a new run", stopped.Run.ID)
	}
}

// TestTrialLostVersionIsRebuilt removes the published version. The next night must fail, and a
// rebuild must restore the history.
func TestTrialLostVersionIsRebuilt(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.GoodNight()
	h.GoodNight()
	before := h.HistorySums()
	testharness.Must(t, os.RemoveAll(h.Path("versions", h.LatestRun())))
	h.At = h.At.Add(time.Hour)
	if res, err := pipeline.Run(t.Context(), h.Config); err == nil || res.Run.ExitCode != 1 {
		t.Fatalf("a night without the published version: got exit code %d and error %v, want 1 and an error", res.Run.ExitCode, err)
	}
	_, err := repair.Rebuild(t.Context(), trials.RepairConfig(h.Config), false)
	testharness.Must(t, err)
	if diff := cmp.Diff(before, h.HistorySums()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
	h.GoodNight()
}
