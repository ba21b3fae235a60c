package faults_test

import (
	"path"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/trials"
)

// TestGradesFollowFromEvidence reads a list in several ways. It checks the grade of the list, the
// reason of the grade, and the counts in meta.streams.
func TestGradesFollowFromEvidence(t *testing.T) {
	unchangedReason := "sorted newest first; totals and page 1 did not change"
	for name, c := range map[string]struct {
		fault    sim.Fault
		pageCap  int
		pageSize int
		records  int // -1 means none
		grade    stream.Grade
		reason   string
		// numbers is a pattern of path.Match for: pages, requests, passes, first total, last
		// total, distinct ids, repeated ids.
		numbers string
	}{
		"a total that is a multiple of the page size": {pageSize: 7, records: 21, grade: stream.Exact, reason: unchangedReason, numbers: "3 4 1 21 21 21 0"},
		"a service with smaller pages":                {pageSize: 7, pageCap: 5, records: 21, grade: stream.Exact, reason: unchangedReason, numbers: "5 6 1 21 21 21 0"},
		"a page that is not full":                     {pageSize: 8, records: 21, grade: stream.Exact, reason: unchangedReason, numbers: "3 4 1 21 21 21 0"},
		"one full page":                               {pageSize: 21, records: 21, grade: stream.Exact, reason: "one response", numbers: "1 1 1 21 21 21 0"},
		"an empty list":                               {pageSize: 7, records: -1, grade: stream.Exact, reason: "one response", numbers: "1 1 1 0 0 0 0"},
		"a next_page that never ends": {fault: sim.Fault{Kind: sim.FaultEndlessPages}, pageSize: 7, records: 21, grade: stream.Exact,
			reason: unchangedReason, numbers: "3 5 1 21 21 21 0"},
		"the same page again and again": {fault: sim.Fault{Kind: sim.FaultSamePage}, pageSize: 7, records: 21, grade: stream.BestEffort,
			reason: "total_records is 21, but the pages contain 7 records", numbers: "1 [3-6] 2 21 21 7 0"},
		"a total that is too high": {fault: sim.Fault{Kind: sim.FaultTotals, Delta: 5}, pageSize: 7, records: 21, grade: stream.BestEffort,
			reason: "total_records is 26, but the pages contain 21 records", numbers: "3 8 2 26 26 21 0"},
		"a total that is too low": {fault: sim.Fault{Kind: sim.FaultTotals, Delta: -5}, pageSize: 7, records: 21, grade: stream.BestEffort,
			reason: "total_records is 16, but the pages contain 21 records", numbers: "3 8 2 16 16 21 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := trials.SmallWorld()
			world.Listings, world.ListingTurnover, world.PageCap = c.records, -1, c.pageCap
			h := trials.NewHarness(t, world, "product_listings")
			h.Config.Fetch.PageSize = c.pageSize
			c.fault.Path = "/products/listings"
			// A case without a fault has the zero value, FaultStatus.
			if c.fault.Kind != sim.FaultStatus {
				h.Service.SetFaults(c.fault)
			}
			res := h.GoodNight()
			h.RequireStream(res.Run, "product_listings", c.grade, c.reason)
			numbers := h.QueryOne(`SELECT concat_ws(' ', pages, requests, passes, total_first, total_last, distinct_ids, repeated_ids)
				FROM meta.streams WHERE stream = 'product_listings'`)
			if ok, err := path.Match(c.numbers, numbers); err != nil || !ok {
				t.Errorf("meta.streams has the numbers %s, want %s", numbers, c.numbers)
			}
		})
	}
}

// TestIncompleteListDeletesNoRows lets the service return only a third of the records of a list. The
// night must keep the rows of the other records.
func TestIncompleteListDeletesNoRows(t *testing.T) {
	t.Parallel()
	world := trials.SmallWorld()
	world.Listings = 21
	h := trials.NewHarness(t, world, "product_listings")
	h.GoodNight()
	h.Service.SetFaults(sim.Fault{Path: "/products/listings", Kind: sim.FaultSamePage})
	res := h.SameDayNight()
	h.RequireStream(res.Run, "product_listings", stream.BestEffort, "the pages contain 7 records")
	for _, c := range res.Changes {
		if c.Gone != 0 || c.After != c.Before {
			t.Errorf("got the changes %+v, want the same number of rows before and after", c)
		}
	}
}
