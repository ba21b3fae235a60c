package limits_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
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
func newGatedHarness(t *testing.T, streams ...string) *trials.Harness {
	t.Helper()
	h := trials.NewHarness(t, trials.SmallWorld(), streams...)
	h.Config.Limits = load.Limits{Share: 0.2, Rows: 3}
	h.Config.ResumeMaxAge = 24 * time.Hour
	h.GoodNight()
	return h
}

// stoppedNight runs a night that must stop because the table would lose too many rows.
func stoppedNight(h *trials.Harness, table string) pipeline.Result {
	h.T.Helper()
	res, err := h.FailedNight(h.T.Context(), trials.ExitFailed)
	massDelete, ok := errors.AsType[*load.MassDeleteError](err)
	if !ok || !massDelete.Reread || len(massDelete.Losses) == 0 || massDelete.Losses[0].Table != table {
		h.T.Fatalf("got %v, want a MassDeleteError of %s after a second reading", err, table)
	}
	if !strings.Contains(res.Run.Error, "a second reading had the same result") {
		h.T.Errorf("the ledger has the error %q, want one that names the second reading", res.Run.Error)
	}
	return res
}

func TestTrialRunStoppedByAGateIsNotResumed(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	for _, acceptsLoss := range []bool{false, true} {
		h := newGatedHarness(t, trials.FewStreams()...)
		ref := trials.NewReference(t, h.Service, h.Config.Streams)
		h.Service.SetFaults(emptyList("/products/listings", 0))
		stopped := stoppedNight(h, "product_listings")
		// Now the service returns the complete list. The next run must not use the stored
		// false responses, even if the operator has accepted the loss.
		h.Service.SetFaults()
		h.Config.AllowMassDelete = acceptsLoss
		h.At = h.At.Add(time.Minute)
		res := h.MustComplete(pipeline.Run(t.Context(), h.Config))
		if res.Run.ID == stopped.Run.ID {
			t.Errorf("run %s was resumed, want a new run", stopped.Run.ID)
		}
		h.RequireValues(ref)
	}
}

// TestTrialGateReadsDetailsAgain lets the service return 404 for all products. The night must stop.
// In the next run, only the first request for each product gets a 404. The run must request each
// product a second time.
func TestTrialGateReadsDetailsAgain(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	h := newGatedHarness(t, "product_listings", "products")
	gone := sim.Fault{Route: "/products/{product_id}", Kind: sim.FaultStatus, Status: 404}
	h.Service.SetFaults(gone)
	stoppedNight(h, "products")
	gone.Times = h.Count("products", "true")
	h.Service.SetFaults(gone)
	ref := trials.NewReference(t, h.Service, h.Config.Streams)
	h.At = h.At.Add(time.Minute)
	h.MustComplete(pipeline.Run(t.Context(), h.Config))
	h.RequireValues(ref)
}
