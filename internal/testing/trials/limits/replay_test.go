package limits_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/durable"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

func TestTrialReplayGivesIdenticalTablesWithoutTheNetwork(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld())
	h.Config.Details = "changed"
	h.GoodNight()
	last := h.GoodNight()
	before := h.HistorySums()
	h.Service.ResetRequests()

	h.At = h.At.Add(time.Hour)
	res, err := pipeline.Replay(t.Context(), h.Config, last.Run.ID)
	testharness.Must(t, err)
	if res.Run.ExitCode != 0 || h.LatestRun() != res.Run.ID || !strings.HasPrefix(res.Run.ID, last.Run.ID+"-") {
		t.Errorf("the replay %s of %s ended with exit code %d and latest is %s, want 0 and the replay as latest", res.Run.ID, last.Run.ID, res.Run.ExitCode,
			h.LatestRun())
	}
	if diff := cmp.Diff(before, h.HistorySums()); diff != "" {
		t.Errorf("the replayed tables differ (-before +after):\n%s", diff)
	}
	if requests := h.Service.Requests(); len(requests) > 0 {
		t.Errorf("the replay sent %d requests, the first for %s, want none", len(requests), requests[0].Path)
	}
	for i, s := range res.Run.Streams {
		if want := last.Run.Streams[i].Grade; s.Grade != want {
			t.Errorf("the grade of %s in the replay is %s, want %s", s.Stream, s.Grade, want)
		}
	}
}

func TestReplayErrors(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	requireError := func(run, want string) {
		t.Helper()
		_, err := pipeline.Replay(t.Context(), h.Config, run)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of the replay of %q is %v, want it to contain %q", run, err, want)
		}
	}
	first := h.GoodNight()
	second := h.GoodNight()
	requireError(first.Run.ID, "later nights are based on it; nothing was changed: run placementsync rollback "+first.Run.ID+" first")
	requireError("20200101T000000Z", "this run has no stored responses")
	requireError("../state", "this run has no stored responses")
	if h.Config.Fetch.Offline {
		t.Error("the replay changed the configuration of its caller, want Offline to stay false")
	}

	wh := trials.WarehouseOf(h.Config)
	rollback := func(run string) {
		t.Helper()
		_, err := wh.Rollback(run, h.At)
		testharness.Must(t, err)
	}
	rollback(first.Run.ID)
	requireError(second.Run.ID, "readers see "+first.Run.ID+", which is not based on this run; nothing was changed: run placementsync rollback "+second.Run.ID+" first")
	third := h.GoodNight()
	requireError(second.Run.ID, "readers see "+third.Run.ID+", which is not based on this run; nothing was changed: run placementsync rollback "+second.Run.ID+" first")
	testharness.Must(t, wh.Versions.Drop(second.Run.ID, false))
	requireError(second.Run.ID, "readers see "+third.Run.ID+", which is later; nothing was changed: run placementsync rollback "+first.Run.ID+" first")
	testharness.Must(t, wh.Versions.Drop(first.Run.ID, false))
	requireError(second.Run.ID, "no intact version from before this run is kept; nothing was changed: placementsync rebuild")
}

// TestReplayAfterAKilledRollback simulates a rollback that was killed after it switched the link
// "latest" and before it wrote its ledger line. A replay must build on the version to which the link
// points. It must fail because of too many deletions.
func TestReplayAfterAKilledRollback(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	first := h.GoodNight()
	h.GoodNight()
	limits := h.Config.Limits
	h.Config.Limits = load.Limits{}
	h.ServeListings("empty.json")
	stopped, _ := h.FailedNight(t.Context(), trials.ExitFailed)
	wh := trials.WarehouseOf(h.Config)
	unfinished := warehouse.UnfinishedRun{Run: stopped.Run.ID + "-9", Kind: ledger.Rollback, Version: first.Run.ID, StartedAt: h.At, Attempt: 1}
	testharness.Must(t, wh.RunLog.WriteUnresumableRun(unfinished))
	testharness.Must(t, (durable.Disk{}).SwapLink(filepath.Join("versions", first.Run.ID), filepath.Join(h.Config.Warehouse.Dir, "latest")))

	if res, err := pipeline.Replay(t.Context(), h.Config, stopped.Run.ID); err == nil || res.Run.Outcome != ledger.Failed {
		t.Fatalf("the replay %s ended %q, want failed because of too many deletions: %v", res.Run.ID, res.Run.Outcome, err)
	}
	h.Config.Limits, h.Config.AllowMassDelete = limits, true
	h.GoodNight()
}
