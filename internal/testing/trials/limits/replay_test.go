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
