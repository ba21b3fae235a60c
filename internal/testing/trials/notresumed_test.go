package trials_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	testharness "placementsync/internal/testing/harness"
)

// TestRunOfAnotherTeamIsNotResumed changes the team between an interrupted run and the next run.
func TestRunOfAnotherTeamIsNotResumed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.cfg.ResumeMaxAge = time.Hour
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	interrupted := interruptedNight(h, 5)
	h.cfg.TeamID = "another"
	h.at = h.at.Add(time.Minute)
	res, err := pipeline.Run(t.Context(), h.cfg)
	testharness.Must(t, err)
	if res.Run.ID == interrupted.Run.ID || !res.Run.SnapshotAt.Equal(h.at) {
		t.Errorf("run %s of %s was resumed, want a new run", res.Run.ID, res.Run.SnapshotAt)
	}
}

// TestInterruptedRunOfTheFutureIsNotResumed interrupts a run whose clock is three days ahead. The
// next run, a day later, has the right clock. It must not use the stored responses of the interrupted run.
func TestInterruptedRunOfTheFutureIsNotResumed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.cfg.ResumeMaxAge = 6 * time.Hour
	h.service.Advance(1)
	h.at = h.service.Now().Add(72 * time.Hour)
	interrupted := interruptedNight(h, 5)
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	res := h.mustComplete(pipeline.Run(t.Context(), h.cfg))
	if res.Run.ID == interrupted.Run.ID || !res.Run.SnapshotAt.Equal(h.at) {
		t.Errorf("run %s of %s was resumed, want a new run", res.Run.ID, res.Run.SnapshotAt)
	}
}

func TestTrialReplayedRunIsNotResumed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.cfg.ResumeMaxAge = time.Hour
	h.goodNight()
	h.cfg.Limits = load.Limits{}
	h.serveListings("empty.json")
	stopped, _ := h.failedNight(t.Context(), exitFailed)
	h.cfg.AllowMassDelete = true
	_, err := pipeline.Replay(t.Context(), h.cfg, stopped.Run.ID)
	testharness.Must(t, err)
	h.at = h.at.Add(time.Minute)
	res, err := pipeline.Run(t.Context(), h.cfg)
	testharness.Must(t, err)
	if res.Run.ID == stopped.Run.ID {
		t.Errorf("the stopped run %s was resumed although a replay had published it, want a new run", stopped.Run.ID)
	}
}

// TestTrialLostVersionIsRebuilt removes the published version. The next night must fail, and a
// rebuild must restore the history.
func TestTrialLostVersionIsRebuilt(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.goodNight()
	h.goodNight()
	before := h.historySums()
	testharness.Must(t, os.RemoveAll(h.path("versions", h.latestRun())))
	h.at = h.at.Add(time.Hour)
	if res, err := pipeline.Run(t.Context(), h.cfg); err == nil || res.Run.ExitCode != 1 {
		t.Fatalf("a night without the published version: got exit code %d and error %v, want 1 and an error", res.Run.ExitCode, err)
	}
	_, err := repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	if diff := cmp.Diff(before, h.historySums()); diff != "" {
		t.Errorf("the rebuilt history differs (-before +after):\n%s", diff)
	}
	h.goodNight()
}
