package pipeline_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestLostResponsesAreFound damages the stored responses of a published night. verify must report the damage. A
// replay must end before it replaces the night, unless the loss is accepted.
func TestLostResponsesAreFound(t *testing.T) {
	h := newHarness(t, smallWorld(), orderStreamNames()...)
	night := h.requireComplete(h.night())
	if night.Run.Responses < 10 {
		t.Fatalf("the ledger names %d stored responses, want 10 or more", night.Run.Responses)
	}
	journal := h.path("raw", night.Run.ID, "journal.jsonl")
	intact, err := os.ReadFile(journal)
	testharness.Must(t, err)
	lines := slices.Collect(bytes.Lines(intact))
	middle := len(lines) / 2
	lost := len(lines) - middle // the responses of the second half
	firstHalf := bytes.Join(lines[:middle], nil)
	withoutLine := slices.Concat(bytes.Join(lines[:middle-1], nil), bytes.Join(lines[middle:], nil))
	for name, c := range map[string]struct {
		journal []byte
		lost    int
	}{
		"intact":                    {intact, 0},
		"truncated within a line":   {firstHalf[:len(firstHalf)-10], lost + 1},
		"without a line in between": {withoutLine, 1},
	} {
		testharness.Must(t, os.WriteFile(journal, c.journal, 0o600))
		want := fmt.Sprintf("%d of %d stored responses are missing or damaged", c.lost, night.Run.Responses)
		v := h.verify()
		isFound := len(v.Damage) == 1 && v.Damage[0].Problem == want
		if isFound != (c.lost > 0) {
			t.Errorf("%s: verify found %+v, want %s", name, v.Damage, want)
		}
		h.at = h.at.Add(time.Minute)
		cfg := h.cfg
		cfg.DryRun = true
		_, err = pipeline.Replay(t.Context(), cfg, night.Run.ID)
		want = "replay " + night.Run.ID + ": " + want + "; nothing was changed: run placementsync rebuild, "
		if c.lost == 0 && err != nil {
			t.Errorf("%s: the replay ended with %v, want no error", name, err)
		}
		if c.lost > 0 && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: the replay ended with %v, want %s", name, err, want)
		}
		if data, err := os.ReadFile(journal); err != nil || !bytes.Equal(data, c.journal) {
			t.Errorf("%s: the replay changed the journal (%v)", name, err)
		}
	}
	accepting := h.cfg
	accepting.AcceptLoss, accepting.DryRun = true, true
	_, withoutToken, _ := bytes.Cut(intact, []byte("\n"))
	testharness.Must(t, os.WriteFile(journal, withoutToken, 0o600))
	h.at = h.at.Add(time.Minute)
	_, err = pipeline.Replay(t.Context(), accepting, night.Run.ID)
	const want = "the stored response with the rights of the token is lost"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without the first response the replay ended with %v, want %s", err, want)
	}

	testharness.Must(t, os.WriteFile(journal, withoutLine, 0o600))
	h.at = h.at.Add(time.Minute)
	accepting.DryRun = false
	replayed := h.requirePartial(pipeline.Replay(t.Context(), accepting, night.Run.ID))
	// Only the id of the lost response is unread. The replay uses all other responses.
	s := h.requireStream(replayed.Run, "order_details", stream.BestEffort, "1 of 9 ids were not read by the run that is replayed", true)
	if s.Unread != 1 || s.Fetched != 8 {
		t.Errorf("order_details: %+v, want 1 unread id and 8 read ones", s)
	}
}

// TestResumedRunCountsItsResponses interrupts a night, removes stored responses, and resumes the night. The ledger
// must then name the responses that are stored.
func TestResumedRunCountsItsResponses(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags", "folders")
	h.cfg.ResumeMaxAge = time.Hour
	hook := func(r *http.Request) {
		if r.URL.Path == "/folders" {
			h.service.SetFaults(sim.Fault{Kind: sim.FaultStatus, Status: http.StatusUnauthorized})
		}
	}
	h.onRequest.Store(&hook)
	failed, err := h.night()
	if err == nil || failed.Run.Responses == 0 {
		t.Fatalf("the night ended with %v and %d responses, want an error", err, failed.Run.Responses)
	}
	journal := h.path("raw", failed.Run.ID, "journal.jsonl")
	data, err := os.ReadFile(journal)
	testharness.Must(t, err)
	// The changed name of a member makes the first line invalid.
	testharness.Must(t, os.WriteFile(journal, bytes.Replace(data, []byte("status"), []byte("stalus"), 1), 0o600))
	h.onRequest.Store(nil)
	h.service.SetFaults()
	resumed := h.requireComplete(h.unchangedNight())
	data, err = os.ReadFile(journal)
	testharness.Must(t, err)
	if n := bytes.Count(data, []byte("\n")); resumed.Run.ID != failed.Run.ID || resumed.Run.Responses != n {
		t.Errorf("run %s has %d responses in the ledger and %d lines in the journal, want run %s and equal numbers", resumed.Run.ID, resumed.Run.Responses,
			n, failed.Run.ID)
	}
	v := h.verify()
	if len(v.Damage) > 0 {
		t.Errorf("verify found %+v, want no damage", v.Damage)
	}
}

// TestReplayKeepsAnotherUnfinishedRun replays a published night while the next night is unfinished, and after a refresh
// was killed. The unfinished night must then be resumed, so that its requests are not repeated, and the killed refresh
// must be in the ledger.
func TestReplayKeepsAnotherUnfinishedRun(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags", "folders")
	h.cfg.ResumeMaxAge = 3 * time.Hour
	published := h.requireComplete(h.night())
	hook := func(r *http.Request) {
		if r.URL.Path == "/folders" {
			h.service.SetFaults(sim.Fault{Kind: sim.FaultStatus, Status: http.StatusUnauthorized})
		}
	}
	h.onRequest.Store(&hook)
	unfinished, _ := h.failedNight()
	h.onRequest.Store(nil)
	h.service.SetFaults()
	h.at = h.at.Add(time.Hour)
	killed := warehouse.UnfinishedRun{Run: "20261103T023000Z", StartedAt: h.at.Add(-time.Minute), Kind: ledger.Refresh, Attempt: 1}
	testharness.Must(t, h.warehouse().RunLog.WriteUnresumableRun(killed))
	h.requireComplete(pipeline.Replay(t.Context(), h.cfg, published.Run.ID))
	if resumed := h.requireComplete(h.unchangedNight()); resumed.Run.ID != unfinished.Run.ID {
		t.Errorf("run %s was started, want %s resumed after the replay of %s", resumed.Run.ID, unfinished.Run.ID, published.Run.ID)
	}
	runs, err := h.warehouse().RunLog.Runs()
	testharness.Must(t, err)
	if r := ledger.Find(runs, killed.Run); r.Outcome != ledger.Killed {
		t.Errorf("the ledger has the killed refresh as %q, want %q", r.Outcome, ledger.Killed)
	}
	// The responses of a replayed run are published, so this run is not resumed.
	h.cfg.Warehouse.Step = func(name, _ string) error {
		if name == "before write run.json" {
			return syscall.EIO
		}
		return nil
	}
	unpublished, _ := h.failedNight()
	h.cfg.Warehouse.Step = nil
	h.at = h.at.Add(time.Minute)
	h.requireComplete(pipeline.Replay(t.Context(), h.cfg, unpublished.Run.ID))
	if last, isUnfinished, err := h.warehouse().RunLog.ResumableRun(); err != nil || isUnfinished {
		t.Errorf("after its replay, the run %s can still be resumed (%v), want no unfinished run", last.Run, err)
	}
}
