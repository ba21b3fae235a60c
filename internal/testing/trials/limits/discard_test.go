package limits_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// TestKilledDiscardIsFinished kills a night before or during the removal of its stored responses,
// after the link "latest" is switched. Prune or the next night must remove the responses.
func TestKilledDiscardIsFinished(t *testing.T) {
	prune := func(h *trials.Harness) {
		testharness.Must(h.T, trials.WithLock(h.Config, "prune", func(w *warehouse.Warehouse) error {
			_, err := w.Pruner.Prune(warehouse.Retention{RawDays: 99, Daily: 1}, h.At, false)
			return err
		}))
	}
	// The next night must remove the responses before its first request, at which it is interrupted.
	startNight := func(h *trials.Harness) {
		h.At = h.At.Add(time.Hour)
		interruptedNight(h, 1)
	}
	for step, finish := range map[string]func(*trials.Harness){
		"after rename latest":              prune,
		"before discarding of the version": startNight,
		"before fsync raw":                 startNight,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := trials.NewHarness(t, trials.SmallWorld(), trials.FewStreams()...)
			h.Config.Warehouse.DiscardRaw, h.Config.ResumeMaxAge = true, time.Hour
			h.NextDay()
			job := trials.Job{URL: h.Server.URL, Dir: h.Config.Warehouse.Dir, Streams: trials.FewStreams(), At: h.At, DiscardRaw: true,
				KillAt: trials.StepCall{Step: step}}
			p := job.Start(t)
			run := ""
			if p.WasKilled() {
				run = h.LatestRun()
			}
			if run == "" {
				t.Fatalf("the night was not killed at the step %q, or was killed before its publish:\n%s", step, p.Output)
			}
			folder := trials.WarehouseOf(h.Config).Folder
			if runs, err := folder.RunsWithResponses(); err != nil || slices.Contains(runs, run) != (step != "before fsync raw") {
				t.Errorf("after the kill, the runs %v have stored responses (%v)", runs, err)
			}
			_, err := pipeline.Replay(t.Context(), h.Config, run)
			if err == nil || !strings.Contains(err.Error(), "its stored responses were removed, because its night was published (privacy.raw: discard)") {
				t.Errorf("the replay of the killed run returned %v, want an error with \"its stored responses were removed\"", err)
			}
			finish(h)
			if runs, err := folder.RunsWithResponses(); err != nil || slices.Contains(runs, run) {
				t.Errorf("the runs %v have stored responses (%v), want none of the killed run", runs, err)
			}
		})
	}
}
