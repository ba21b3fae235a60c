package pipeline_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
)

// TestUnreadRowsAreKept publishes a night, and runs two nights with a time limit. In the first, the time ends before the first list. In the
// second, it ends after the first list. Unread lists and details must keep their rows.
func TestUnreadRowsAreKept(t *testing.T) {
	h := newHarness(t, smallWorld(), append(orderStreamNames(), "product_listings")...)
	h.cfg.Fetch.PageSize = 100
	published, _, err := h.limitedNight(0)
	previous := h.requireComplete(published, err).Run.ID
	_, requests, err := h.limitedNight(time.Second) // GET /auth/token takes this second
	if requests != 1 || h.latest() != previous || !errors.Is(err, pipeline.ErrNoData) ||
		!strings.Contains(err.Error(), "orders: the list was not read within run.max_duration (1s); rows of earlier nights are kept") {
		t.Errorf("after %d requests the night ended with %v, want 1 request and an unread list", requests, err)
	}
	res, requests, err := h.limitedNight(1500 * time.Millisecond)
	h.requirePartial(res, err)
	if requests != 2 {
		t.Errorf("%d requests were sent in 1.5 s, want 2: the token and the first list", requests)
	}
	orderCount := int64(len(h.service.Records("/orders")))
	h.requireStream(res.Run, "product_listings", stream.Exact, "", false)
	s := h.requireStream(res.Run, "orders", stream.CarriedForward, "the list was not read within run.max_duration (1.5s)", true)
	if s.Requests != 0 || s.Rows != orderCount {
		t.Errorf("orders: %+v, want %d carried rows", s, orderCount)
	}
	s = h.requireStream(res.Run, "order_details", stream.BestEffort, "ids were not read within run.max_duration (1.5s)", true)
	if s.Unread != orderCount || s.Fetched+s.Carried != 0 {
		t.Errorf("order_details: %+v, want %d unread ids, and no fetched or carried ids", s, orderCount)
	}
	// A failed id must not hide the unread ones.
	h.service.SetFaults(sim.Fault{Route: "/orders/{order_id}", Kind: sim.FaultStatus, Status: 400, Times: 1})
	failing, _, err := h.limitedNight(4500 * time.Millisecond)
	h.requirePartial(failing, err)
	s = h.requireStream(failing.Run, "order_details", stream.BestEffort, "ids were not read within run.max_duration (4.5s)", true)
	if s.Failed != 1 || !strings.Contains(s.Reason, "1 of ") || !strings.Contains(s.Reason, " failed; ") {
		t.Errorf("the reason is %q with %d failed ids, want one failed id and the unread ones", s.Reason, s.Failed)
	}
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	if ids, streams := plan.LastNight.Unread(); ids != s.Unread || streams != 1 {
		t.Errorf("the plan has %d unread ids of %d streams, want %d of 1", ids, streams, s.Unread)
	}
	h.requireIDs("orders", "/orders")
}

// TestNightsReadTheRest runs nights in a new warehouse, with time for the lists and a few details. Each night
// must leave fewer ids unread than the night before.
func TestNightsReadTheRest(t *testing.T) {
	world := smallWorld()
	world.Orders, world.SilentChange = 20, -1
	h := newHarness(t, world, orderStreamNames()...)
	h.cfg.Fetch.PageSize, h.cfg.Details, h.cfg.LiveDays = 100, pipeline.ChangedDetails, 1
	unread := int64(len(h.service.Records("/orders")))
	const limit = 15 * time.Second // for the token, two requests of the list, and 12 details
	for night := 1; unread > 0; night++ {
		if night > 6 {
			t.Fatalf("%d ids are unread before night %d, want none", unread, night)
		}
		res, requests, err := h.limitedNight(limit)
		testharness.Must(t, err)
		if requests > int(limit/time.Second)+1 {
			t.Errorf("night %d sent %d requests in %v, want at most one per second", night, requests, limit)
		}
		h.requireStream(res.Run, "orders", stream.Exact, "", false)
		h.requireIDs("orders", "/orders")
		s := streamOf(t, res.Run, "order_details")
		if s.Unread >= unread {
			t.Errorf("night %d leaves %d ids unread, want fewer than %d: %s", night, s.Unread, unread, s.Reason)
		}
		unread = s.Unread
		if night > 1 {
			continue
		}
		h.at = h.at.Add(time.Minute)
		replayed, err := pipeline.Replay(t.Context(), h.cfg, res.Run.ID)
		testharness.Must(t, err)
		if replayedStream := streamOf(t, replayed.Run, "order_details"); replayedStream.Unread != s.Unread || replayed.Run.Outcome != res.Run.Outcome {
			t.Errorf("the replay has the outcome %s with %d unread ids, want %s with %d", replayed.Run.Outcome, replayedStream.Unread, res.Run.Outcome, s.Unread)
		}
	}
	res, _, err := h.limitedNight(0)
	h.requireComplete(res, err)
	if s := streamOf(t, res.Run, "order_details"); s.Unread > 0 || s.RowsOld > s.Carried {
		t.Errorf("without a limit: %+v, want no unread ids, and old rows only of carried ids", s)
	}
}

// TestStoredResponsesNeedNoTime stops a night at its fourth detail, and resumes it without time for requests. The
// resumed night must publish the three stored details. It may only read the token and confirm the list.
func TestStoredResponsesNeedNoTime(t *testing.T) {
	h := newHarness(t, smallWorld(), "orders", "order_details")
	h.cfg.ResumeMaxAge, h.cfg.Fetch.Concurrency = 2*time.Hour, 1
	ctx, stop := context.WithCancel(t.Context())
	details := 0
	hook := func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/orders/") {
			details++
		}
		if details == 4 {
			stop()
		}
	}
	h.onRequest.Store(&hook)
	stopped, err := pipeline.Run(ctx, h.cfg)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the night ended with %v, want a stopped night", err)
	}
	h.onRequest.Store(nil)
	h.service.ResetRequests()
	h.cfg.MaxDuration = time.Nanosecond
	res := h.requirePartial(h.unchangedNight())
	s := h.requireStream(res.Run, "order_details", stream.BestEffort, "ids were not read within run.max_duration", true)
	if res.Run.ID != stopped.Run.ID || s.Fetched != 3 || s.Unread == 0 {
		t.Errorf("run %s followed %s with the details %+v, want the same run with 3 of the details", res.Run.ID, stopped.Run.ID, s)
	}
	h.requireIDs("orders", "/orders")
	for _, r := range h.service.Requests() {
		if r.Path != "/auth/token" && !strings.HasSuffix(r.Path, "page=1") {
			t.Errorf("the resumed run requested %s, want no list or detail", r.Path)
		}
	}
}
