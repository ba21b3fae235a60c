package pipeline_test

import (
	"net/http"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// TestListOrderIsRemembered reads a list of five pages in no order. If the service sends the list newest first on
// request, each night takes one pass. Otherwise only the first night and a night of all details ask for this order.
func TestListOrderIsRemembered(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*sim.Options)
		requests [3]int // of the first night, of the second night, and of a night of all details
	}{
		"the service sorts": {func(o *sim.Options) { o.Sorts = true }, [3]int{6, 6, 6}},
		"the service refuses the order": {func(o *sim.Options) {
			o.FaultFunc = func(r *http.Request) *sim.Fault {
				if !r.URL.Query().Has("sort_by") {
					return nil
				}
				return &sim.Fault{Kind: sim.FaultStatus, Status: http.StatusBadRequest}
			}
		}, [3]int{11, 10, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			world := smallWorld()
			world.Orders, world.Unordered = 31, true
			tc.change(&world)
			h := newHarness(t, world, "orders")
			for night, details := range []pipeline.Details{pipeline.ChangedDetails, pipeline.ChangedDetails, pipeline.AllDetails} {
				h.cfg.Details = details
				sorted := 0
				hook := func(r *http.Request) {
					if r.URL.Query().Has("sort_by") {
						sorted++
					}
				}
				h.onRequest.Store(&hook)
				h.cfg.Fetch.Concurrency = 1
				res := h.requireComplete(h.unchangedNight())
				s := h.requireStream(res.Run, "orders", stream.Exact, "", false)
				if s.Requests != int64(tc.requests[night]) || s.Unsorted == world.Sorts {
					t.Errorf("night %d: %d requests, unsorted %t; want %d requests", night+1, s.Requests, s.Unsorted, tc.requests[night])
				}
				isSecondNight := night == 1
				asks := world.Sorts || !isSecondNight
				if (sorted > 0) != asks {
					t.Errorf("night %d: %d requests ask for newest first, want some: %t", night+1, sorted, asks)
				}
				h.requireIDs("orders", "/orders")
			}
		})
	}
}
