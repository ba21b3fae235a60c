package limits_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// newDiscardingHarness returns a harness whose nights remove their stored responses after the
// publish.
func newDiscardingHarness(t *testing.T) *trials.Harness {
	t.Helper()
	h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
	h.Config.Warehouse.DiscardRaw, h.Config.ResumeMaxAge = true, time.Hour
	return h
}

// requireRunsWithResponses checks which runs have stored responses in raw/.
func requireRunsWithResponses(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testharness.Must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("raw contains %v, want %v", got, want)
	}
}

// TestTrialResponsesAreDiscardedAfterThePublish runs nights that keep or discard their responses, and replays of a
// discarded night and of a night that was not published.
func TestTrialResponsesAreDiscardedAfterThePublish(t *testing.T) {
	t.Parallel()
	h := newDiscardingHarness(t)
	first := h.GoodNight()
	requireRunsWithResponses(t, h.Path("raw"))
	h.Config.Warehouse.DiscardRaw = false
	kept := h.GoodNight()
	requireRunsWithResponses(t, h.Path("raw"), kept.Run.ID)
	for _, discards := range []bool{false, true} {
		h.Config.Warehouse.DiscardRaw = discards
		_, err := pipeline.Replay(t.Context(), h.Config, first.Run.ID)
		if err == nil || !strings.Contains(err.Error(), "replay "+first.Run.ID+": its stored responses were removed, because its night was published (privacy.raw: discard)") {
			t.Errorf("the replay of a run without responses returned %v, want an error with \"its stored responses were removed\"", err)
		}
	}
	h.Config.Limits = load.Limits{}
	h.ServeListings("empty.json")
	stopped, _ := h.FailedNight(t.Context(), trials.ExitFailed)
	requireRunsWithResponses(t, h.Path("raw"), stopped.Run.ID)
	h.Config.AllowMassDelete = true
	h.MustComplete(pipeline.Replay(t.Context(), h.Config, stopped.Run.ID))
	requireRunsWithResponses(t, h.Path("raw"))
}

// TestKilledDiscardIsFinished kills a night before or during the removal of its stored responses,
// after the link "latest" is switched. Prune or the next night must remove the responses.
func TestKilledDiscardIsFinished(t *testing.T) {
	for step, finish := range map[string]func(*testing.T, *trials.Harness, *warehouse.Warehouse){
		"after rename latest":              pruneRaw,
		"before discarding of the version": startNextNight,
		"before fsync raw":                 startNextNight,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newDiscardingHarness(t)
			h.NextDay()
			job := trials.Job{URL: h.Server.URL, Dir: h.Config.Warehouse.Dir, Streams: trials.FewStreams(), At: h.At, DiscardRaw: true,
				KillAt: trials.StepCall{Step: step}}
			p := job.Start(t)
			if !p.WasKilled() {
				t.Fatalf("the night was not killed at the step %q:\n%s", step, p.Output)
			}
			run := h.LatestRun()
			if run == "" {
				t.Fatal("the night is not published")
			}
			if step != "before fsync raw" {
				requireRunsWithResponses(t, h.Path("raw"), run)
			}
			_, err := pipeline.Replay(t.Context(), h.Config, run)
			if err == nil || !strings.Contains(err.Error(), "its stored responses were removed") {
				t.Errorf("the replay of the killed run returned %v, want an error with \"its stored responses were removed\"", err)
			}
			wh := trials.WarehouseOf(h.Config)
			finish(t, h, wh)
			if _, err := os.Stat(wh.Folder.RawPath(run)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the stored responses of the killed run still exist (error %v)", err)
			}
		})
	}
}

func pruneRaw(t *testing.T, h *trials.Harness, wh *warehouse.Warehouse) {
	t.Helper()
	lock, err := wh.Lock("prune", h.At)
	testharness.Must(t, err)
	removed, err := wh.Pruner.Prune(warehouse.Retention{RawDays: 99, Daily: 1}, h.At, false)
	testharness.Must(t, errors.Join(err, lock.Release()))
	if len(removed) != 1 {
		t.Errorf("Prune removed %v, want only the stored responses", removed)
	}
}

// startNextNight runs a night that is interrupted at its first request. Before this request it
// must finish the removal of the stored responses.
func startNextNight(t *testing.T, h *trials.Harness, _ *warehouse.Warehouse) {
	t.Helper()
	h.At = h.At.Add(time.Hour)
	interruptedNight(h, 1)
}
