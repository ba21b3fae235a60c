package pipeline_test

import (
	"regexp"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
)

// TestUnchangedDetailsAreNotRequested runs a second night without changes of the service and without rechecks. It
// requests no single record, not even the withdrawn products that orders name and that returned 404. A night in which
// only prices changed requests no outlet.
func TestUnchangedDetailsAreNotRequested(t *testing.T) {
	world := smallWorld()
	world.Listings, world.Orders, world.ListingTurnover = 20, 30, 0.2
	h := newHarness(t, world, "outlet_listings", "product_listings", "orders", "order_items", "order_details", "outlets", "outlet_products", "products")
	h.cfg.Details, h.cfg.Recheck = pipeline.ChangedDetails, 0
	details := []string{"order_details", "outlets", "outlet_products", "products"}
	first := h.requireComplete(h.night())
	if s := streamOf(t, first.Run, "products"); s.Requests <= s.Fetched {
		t.Fatalf("products: %d requests and %d records, want some 404s", s.Requests, s.Fetched)
	}
	second := h.requireComplete(h.unchangedNight())
	for _, name := range details {
		if s := streamOf(t, second.Run, name); s.Requests != 0 {
			t.Errorf("%s: %d requests, want none", name, s.Requests)
		}
	}
	// A price of a listing is no part of its outlet.
	h.service.SetFaults(sim.Fault{Route: "/products/listings", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		return regexp.MustCompile(`"unit_amount":[0-9.]+`).ReplaceAll(body, []byte(`"unit_amount":1`))
	}})
	priced := h.requireComplete(h.unchangedNight())
	for _, name := range details {
		if s := streamOf(t, priced.Run, name); (s.Requests > 0) != (name == "products") {
			t.Errorf("%s: %d requests after a change of prices, want requests only for products", name, s.Requests)
		}
	}
	// A change of an ignored column is no change.
	h.cfg.Ignored = []string{"product_listing_prices.unit_amount"}
	h.service.SetFaults()
	ignoring := h.requireComplete(h.unchangedNight())
	for _, c := range ignoring.Changes {
		if c.Changed > 0 {
			t.Errorf("%s has %d changed rows, want none", c.Table, c.Changed)
		}
	}
	// A recheck requests the 404s, too.
	h.cfg.Recheck = 1
	third := h.requireComplete(h.unchangedNight())
	for _, name := range details {
		want := streamOf(t, first.Run, name).Requests
		if s := streamOf(t, third.Run, name); s.Requests != want {
			t.Errorf("%s: %d requests in a recheck, want %d", name, s.Requests, want)
		}
	}
}
