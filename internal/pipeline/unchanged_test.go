package pipeline_test

import (
	"regexp"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
)

// TestUnchangedDetailsAreNotRequested runs a second night without changes of the service and without rechecks. It
// requests no single record, not even the withdrawn products that order items name and that returned 404.
func TestUnchangedDetailsAreNotRequested(t *testing.T) {
	world := smallWorld()
	world.Listings, world.Orders, world.ListingTurnover = 20, 30, 0.2
	h := newHarness(t, world, "product_listings", "order_items", "products")
	h.cfg.Details, h.cfg.Recheck = pipeline.ChangedDetails, 0
	first := streamOf(t, h.requireComplete(h.night()).Run, "products")
	if first.Requests <= first.Fetched {
		t.Fatalf("products: %d requests and %d records, want some 404s", first.Requests, first.Fetched)
	}
	second := h.requireComplete(h.unchangedNight())
	const reason = "unchanged ids are not requested again (streams.recheck is 0)"
	if s := h.requireStream(second.Run, "products", stream.BestEffort, reason, false); s.Requests != 0 {
		t.Errorf("%d requests of products, want none", s.Requests)
	}
	// A recheck requests the 404s, too. A change of an ignored column is no change.
	h.cfg.Recheck, h.cfg.Ignored = 1, []string{"product_listing_prices.unit_amount"}
	h.service.SetFaults(sim.Fault{Route: "/products/listings", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		return regexp.MustCompile(`"unit_amount":[0-9.]+`).ReplaceAll(body, []byte(`"unit_amount":1`))
	}})
	third := h.requireComplete(h.unchangedNight())
	if s := streamOf(t, third.Run, "products"); s.Requests != first.Requests || third.Run.Changed != 0 {
		t.Errorf("%d requests in a recheck and %d changed rows, want %d and none", s.Requests, third.Run.Changed, first.Requests)
	}
}
