package trials_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
)

// noRecords is a well-formed page of a list without records.
const noRecords = `{"records":[],"total_records":0,"total_pages":0,"current_page":1,"next_page":null,"previous_page":null}`

// emptyList returns a fault with which a list has no records in the given number of responses. 0 means
// in all responses.
func emptyList(route string, times int) sim.Fault {
	return sim.Fault{Route: route, Times: times, Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return []byte(noRecords) }}
}

// newGatedHarness returns a harness with one published night. Its nights have a gate: they stop if a
// table would lose more than three rows and more than a fifth of its rows.
func newGatedHarness(t *testing.T, streams ...string) *harness {
	t.Helper()
	h := newHarness(t, smallWorld(), streams...)
	h.cfg.Limits = load.Limits{Share: 0.2, Rows: 3}
	h.cfg.ResumeMaxAge = 24 * time.Hour
	h.goodNight()
	return h
}

// stoppedNight runs a night that must stop because the table would lose too many rows.
func stoppedNight(h *harness, table string) pipeline.Result {
	h.t.Helper()
	res, err := h.failedNight(h.t.Context(), exitFailed)
	massDelete, ok := errors.AsType[*load.MassDeleteError](err)
	if !ok || !massDelete.Reread || len(massDelete.Losses) == 0 || massDelete.Losses[0].Table != table {
		h.t.Fatalf("got %v, want a MassDeleteError of %s after a second reading", err, table)
	}
	return res
}

// TestGateReadsListsAgain lets the service return an empty list once. The night must read this list a
// second time, and no other list.
func TestGateReadsListsAgain(t *testing.T) {
	t.Parallel()
	h := newGatedHarness(t, fewStreams()...)
	ref := newReference(t, h.service, h.cfg.Streams)
	h.service.ResetRequests()
	h.service.SetFaults(emptyList("/products/listings", 1))
	res := h.goodNight()
	h.requireStream(res.Run, "product_listings", stream.Exact, "")
	h.requireValues(ref)
	if n := h.count("meta.deletions", "table_name = 'product_listings'"); n != int(changeOf(res, "product_listings").Gone) {
		t.Errorf("meta.deletions has %d listings, want only the listings that were removed on this day", n)
	}
	if n := h.service.RequestsByRoute()["/orders"]; n > 3 {
		t.Errorf("the list of orders was requested %d times, want at most 3, because it is complete", n)
	}
}

func changeOf(res pipeline.Result, table string) load.Change {
	for _, c := range res.Changes {
		if c.Table == table {
			return c
		}
	}
	return load.Change{}
}

func TestTrialRunStoppedByAGateIsNotResumed(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, acceptsLoss := range []bool{false, true} {
		h := newGatedHarness(t, fewStreams()...)
		ref := newReference(t, h.service, h.cfg.Streams)
		h.service.SetFaults(emptyList("/products/listings", 0))
		stopped := stoppedNight(h, "product_listings")
		// Now the service returns the complete list. The next run must not use the stored
		// false responses, even if the operator has accepted the loss.
		h.service.SetFaults()
		h.cfg.AllowMassDelete = acceptsLoss
		h.at = h.at.Add(time.Minute)
		res := h.mustComplete(pipeline.Run(t.Context(), h.cfg))
		if res.Run.ID == stopped.Run.ID {
			t.Errorf("run %s was resumed, want a new run", stopped.Run.ID)
		}
		h.requireValues(ref)
	}
}

func TestTrialMassDeletionIsAcceptedAfterASecondReading(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newGatedHarness(t, fewStreams()...)
	h.service.SetFaults(emptyList("/products/listings", 0))
	h.service.ResetRequests()
	h.cfg.AllowMassDelete = true
	h.goodNight()
	if n := h.rowCounts()["product_listings"]; n != "0" {
		t.Errorf("product_listings has %s rows, want none", n)
	}
	if n := h.service.RequestsByRoute()["/products/listings"]; n != 2 {
		t.Errorf("the list was requested %d times, want 2", n)
	}
}

// TestTrialGateReadsDetailsAgain lets the service return 404 for all products. The night must stop.
// In the next run, only the first request for each product gets a 404. The run must request each
// product a second time.
func TestTrialGateReadsDetailsAgain(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	h := newGatedHarness(t, "product_listings", "products")
	gone := sim.Fault{Route: "/products/{product_id}", Kind: sim.FaultStatus, Status: 404}
	h.service.SetFaults(gone)
	stoppedNight(h, "products")
	gone.Times = h.count("products", "true")
	h.service.SetFaults(gone)
	ref := newReference(t, h.service, h.cfg.Streams)
	h.at = h.at.Add(time.Minute)
	h.mustComplete(pipeline.Run(t.Context(), h.cfg))
	h.requireValues(ref)
}

func TestLedgerAndCheckShowTheStoppedRun(t *testing.T) {
	t.Parallel()
	h := newGatedHarness(t, fewStreams()...)
	h.service.SetFaults(emptyList("/products/listings", 0))
	stopped := stoppedNight(h, "product_listings")
	h.service.SetFaults()
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	testharness.Must(t, err)
	if plan.StoppedRun == nil || plan.StoppedRun.ID != stopped.Run.ID || plan.StoppedRun.Losses[0].Table != "product_listings" {
		t.Errorf("PlanNight returned the stopped run %+v, want %s with its losses", plan.StoppedRun, stopped.Run.ID)
	}
	if !strings.Contains(stopped.Run.Error, "a second reading had the same result") || stopped.Run.Outcome != ledger.Failed {
		t.Errorf("the ledger has %s: %s, want failed after a second reading", stopped.Run.Outcome, stopped.Run.Error)
	}
	h.goodNight()
	if plan, err = pipeline.PlanNight(t.Context(), h.cfg); err != nil || plan.StoppedRun != nil {
		t.Errorf("after a complete night: PlanNight returned the stopped run %+v (%v), want none", plan.StoppedRun, err)
	}
}

func TestTrialFreshBeginsANewRun(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	for _, fresh := range []bool{false, true} {
		h := newGatedHarness(t, fewStreams()...)
		h.service.SetFaults(sim.Fault{Path: "/auth/token", Kind: sim.FaultStatus, Status: 500})
		failed, _ := h.failedNight(t.Context(), exitFailed)
		h.service.SetFaults()
		h.at = h.at.Add(time.Minute)
		h.cfg.Fresh = fresh
		res := h.mustComplete(pipeline.Run(t.Context(), h.cfg))
		if (res.Run.ID != failed.Run.ID) != fresh {
			t.Errorf("Fresh %t: run %s followed the failed run %s, want a new run only with Fresh", fresh, res.Run.ID, failed.Run.ID)
		}
	}
}
