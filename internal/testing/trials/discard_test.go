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
	"placementsync/internal/warehouse"
)

// newDiscarding returns a house that discards the landed answers of published nights.
func newDiscarding(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, smallWorld(), few()...)
	h.cfg.Warehouse.DiscardRaw, h.cfg.ResumeMaxAge = true, time.Hour
	return h
}

// requireRaw checks which runs have landed answers on disk.
func requireRaw(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("raw contains %v, want %v", got, want)
	}
}

func TestTrialAnswersAreDiscardedAfterThePublish(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	h := newDiscarding(t)
	first := h.goodNight()
	requireRaw(t, h.path("raw"))
	h.cfg.Warehouse.DiscardRaw = false
	kept := h.goodNight()
	requireRaw(t, h.path("raw"), kept.Run.ID)
	h.cfg.Warehouse.DiscardRaw = true
	h.goodNight()
	requireRaw(t, h.path("raw"))

	for _, discards := range []bool{true, false} {
		h.cfg.Warehouse.DiscardRaw = discards
		_, err := pipeline.Replay(t.Context(), h.cfg, first.Run.ID)
		if err == nil || !strings.Contains(err.Error(), "replay "+first.Run.ID+": its answers are not kept: privacy.raw") {
			t.Errorf("replay of a discarded run: %v", err)
		}
	}
}

func TestAnswersOfAnUnpublishedRunAreKept(t *testing.T) {
	t.Parallel()
	h := newDiscarding(t)
	h.goodNight()
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	cut := h.cutAt(7)
	landed := h.landed(cut.Run.ID)
	requireRaw(t, h.path("raw"), cut.Run.ID)
	h.service.ResetRequests()
	h.at = h.at.Add(10 * time.Minute)
	res := h.complete(pipeline.Run(t.Context(), h.cfg))
	if res.Run.ID != cut.Run.ID {
		t.Errorf("run %s was not resumed, but %s started", cut.Run.ID, res.Run.ID)
	}
	for _, r := range h.service.Requests() {
		if landed[r.Path] && !strings.HasSuffix(r.Path, "page=1") && r.Path != "/auth/token" {
			t.Errorf("%s had landed but was requested again", r.Path)
		}
	}
	requireRaw(t, h.path("raw"))
}

func TestReplayDiscardsPublishedAnswers(t *testing.T) {
	t.Parallel()
	h := newDiscarding(t)
	h.goodNight()
	h.cfg.Limits = load.Limits{}
	h.answerListings("none.json")
	stopped, _ := h.badNight(t.Context(), 1)
	requireRaw(t, h.path("raw"), stopped.Run.ID)
	h.cfg.AllowMassDelete = true
	h.complete(pipeline.Replay(t.Context(), h.cfg, stopped.Run.ID))
	requireRaw(t, h.path("raw"))
}

// TestKilledDiscardIsFinished kills a night between its switch and the removal of its
// answers, and during the removal.
func TestKilledDiscardIsFinished(t *testing.T) {
	for step, finish := range map[string]func(*testing.T, *house, *warehouse.Warehouse){
		"after rename latest":              pruned,
		"before discarding of the version": nightAfter,
		"before fsync raw":                 nightAfter,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newDiscarding(t)
			h.service.Advance(1)
			h.at = h.service.Now().Add(2 * time.Hour)
			p := job{URL: h.server.URL, Dir: h.cfg.Warehouse.Dir, Streams: few(), At: h.at, Discard: true, KillAt: stepCall{Step: step}}.start(t)
			if !p.killed() {
				t.Fatalf("the night was not killed %s:\n%s", step, p.output)
			}
			run := h.latest()
			if run == "" {
				t.Fatal("the night is not published")
			}
			if step != "before fsync raw" {
				requireRaw(t, h.path("raw"), run)
			}
			_, err := pipeline.Replay(t.Context(), h.cfg, run)
			if err == nil || !strings.Contains(err.Error(), "its answers are not kept") {
				t.Errorf("replay of a run that is to be discarded: %v", err)
			}
			wh, err := warehouse.Open(h.cfg.Warehouse)
			must(t, err)
			finish(t, h, wh)
			if _, err := os.Stat(wh.Folder.RawPath(run)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the answers of the killed run still exist (error %v)", err)
			}
		})
	}
}

func pruned(t *testing.T, h *house, wh *warehouse.Warehouse) {
	t.Helper()
	lock, err := wh.Lock("prune", h.at)
	must(t, err)
	gone, err := wh.Pruner.Prune(warehouse.Retention{RawDays: 99, Daily: 1}, h.at, false)
	must(t, errors.Join(err, lock.Release()))
	if len(gone) != 1 {
		t.Errorf("prune removed %v, want only the landed answers", gone)
	}
}

// nightAfter runs a night that fails before its publish, and so only finishes the work of
// the last one.
func nightAfter(t *testing.T, h *house, _ *warehouse.Warehouse) {
	t.Helper()
	h.at = h.at.Add(time.Hour)
	h.cutAt(1)
}
