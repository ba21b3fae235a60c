package trials_test

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
	"placementsync/internal/warehouse"
)

// newDiscardingHarness returns a harness whose nights remove their stored responses after the
// publish.
func newDiscardingHarness(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.cfg.Warehouse.DiscardRaw, h.cfg.ResumeMaxAge = true, time.Hour
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

func TestTrialResponsesAreDiscardedAfterThePublish(t *testing.T) {
	t.Parallel()
	h := newDiscardingHarness(t)
	first := h.goodNight()
	requireRunsWithResponses(t, h.path("raw"))
	h.cfg.Warehouse.DiscardRaw = false
	kept := h.goodNight()
	requireRunsWithResponses(t, h.path("raw"), kept.Run.ID)
	h.cfg.Warehouse.DiscardRaw = true
	h.goodNight()
	requireRunsWithResponses(t, h.path("raw"))

	for _, discards := range []bool{true, false} {
		h.cfg.Warehouse.DiscardRaw = discards
		_, err := pipeline.Replay(t.Context(), h.cfg, first.Run.ID)
		if err == nil || !strings.Contains(err.Error(), "replay "+first.Run.ID+": its stored responses were removed, because its night was published (privacy.raw: discard)") {
			t.Errorf("the replay of a run without responses returned %v, want an error with \"its stored responses were removed\"", err)
		}
	}
}

func TestResponsesOfAnUnpublishedRunAreKept(t *testing.T) {
	t.Parallel()
	h := newDiscardingHarness(t)
	h.goodNight()
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	interrupted := interruptedNight(h, 7)
	stored := storedRequests(h, interrupted.Run.ID)
	requireRunsWithResponses(t, h.path("raw"), interrupted.Run.ID)
	h.service.ResetRequests()
	h.at = h.at.Add(10 * time.Minute)
	res := h.mustComplete(pipeline.Run(t.Context(), h.cfg))
	if res.Run.ID != interrupted.Run.ID {
		t.Errorf("got run %s, want the resumed run %s", res.Run.ID, interrupted.Run.ID)
	}
	for _, r := range h.service.Requests() {
		if stored[r.Path] && !strings.HasSuffix(r.Path, "page=1") && r.Path != "/auth/token" {
			t.Errorf("%s was requested again although its response was stored", r.Path)
		}
	}
	requireRunsWithResponses(t, h.path("raw"))
}

func TestReplayDiscardsPublishedResponses(t *testing.T) {
	t.Parallel()
	h := newDiscardingHarness(t)
	h.goodNight()
	h.cfg.Limits = load.Limits{}
	h.serveListings("empty.json")
	stopped, _ := h.failedNight(t.Context(), exitFailed)
	requireRunsWithResponses(t, h.path("raw"), stopped.Run.ID)
	h.cfg.AllowMassDelete = true
	h.mustComplete(pipeline.Replay(t.Context(), h.cfg, stopped.Run.ID))
	requireRunsWithResponses(t, h.path("raw"))
}

// TestKilledDiscardIsFinished kills a night before or during the removal of its stored responses,
// after the link "latest" is switched. Prune or the next night must remove the responses.
func TestKilledDiscardIsFinished(t *testing.T) {
	for step, finish := range map[string]func(*testing.T, *harness, *warehouse.Warehouse){
		"after rename latest":              pruneRaw,
		"before discarding of the version": startNextNight,
		"before fsync raw":                 startNextNight,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newDiscardingHarness(t)
			h.service.Advance(1)
			h.at = h.service.Now().Add(2 * time.Hour)
			p := job{URL: h.server.URL, Dir: h.cfg.Warehouse.Dir, Streams: fewStreams(), At: h.at, DiscardRaw: true, KillAt: stepCall{Step: step}}.start(t)
			if !p.wasKilled() {
				t.Fatalf("the night was not killed at the step %q:\n%s", step, p.output)
			}
			run := h.latestRun()
			if run == "" {
				t.Fatal("the night is not published")
			}
			if step != "before fsync raw" {
				requireRunsWithResponses(t, h.path("raw"), run)
			}
			_, err := pipeline.Replay(t.Context(), h.cfg, run)
			if err == nil || !strings.Contains(err.Error(), "its stored responses were removed") {
				t.Errorf("the replay of the killed run returned %v, want an error with \"its stored responses were removed\"", err)
			}
			wh := warehouseOf(t, h.cfg)
			finish(t, h, wh)
			if _, err := os.Stat(wh.Folder.RawPath(run)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the stored responses of the killed run still exist (error %v)", err)
			}
		})
	}
}

func pruneRaw(t *testing.T, h *harness, wh *warehouse.Warehouse) {
	t.Helper()
	lock, err := wh.Lock("prune", h.at)
	testharness.Must(t, err)
	removed, err := wh.Pruner.Prune(warehouse.Retention{RawDays: 99, Daily: 1}, h.at, false)
	testharness.Must(t, errors.Join(err, lock.Release()))
	if len(removed) != 1 {
		t.Errorf("Prune removed %v, want only the stored responses", removed)
	}
}

// startNextNight runs a night that is interrupted at its first request. Before this request it
// must finish the removal of the stored responses.
func startNextNight(t *testing.T, h *harness, _ *warehouse.Warehouse) {
	t.Helper()
	h.at = h.at.Add(time.Hour)
	interruptedNight(h, 1)
}
