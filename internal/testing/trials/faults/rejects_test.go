package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// serveListings makes the service return a file of testdata for all requests for listings.
func serveListings(h *trials.Harness, file string) {
	h.T.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", file))
	testharness.Must(h.T, err)
	h.Service.SetFaults(sim.Fault{Path: "/products/listings", Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return body }})
}

// TestRejectedValuesAreKept lets the service return listings with wrong values. The rows must be stored without these
// values. meta.rejects must contain the wrong values, and meta.drift must count unknown fields and values.
func TestRejectedValuesAreKept(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), "product_listings")
	serveListings(h, "wrong_values.json")
	first := h.GoodNight()
	rejects := []string{
		`product_listing_includes third/1  "no object"`,
		`product_listing_prices first/1 unit_amount "a lot"`,
		`product_listing_prices first/2 unit_amount 1234567890123`,
		`product_listings   {"name": "nameless", "min_delivery_days": 1}`,
		`product_listings first min_delivery_days "abc"`,
		`product_listings second created_at "yesterday"`,
		`product_listings second is_indexed 7`,
		`product_listings third name ["a", "list"]`,
	}
	requireRejects(h, rejects...)
	requireDrift(h, first.Run.ID, first.Run.ID, `max_delivery_days converted x1 "7" first`,
		`placement_type=HOLOGRAM unknown_enum x1 "HOLOGRAM" second`, `surprise unknown_field x2 {"a": 1} second`)
	h.RequireLines(`SELECT concat_ws(' ', id, coalesce(name, '-'), coalesce(min_delivery_days::VARCHAR, '-'), coalesce(max_delivery_days::VARCHAR, '-'),
		coalesce(created_at::VARCHAR, '-'), coalesce(placement_type, '-'), coalesce(extra::VARCHAR, '-')) FROM product_listings ORDER BY 1`,
		"first First - 7 - QUOTE -", `second Second - - - HOLOGRAM {"surprise":{"a":1}}`, `third - - - - MENTION {"surprise":2}`)
	h.RequireLines("SELECT position || ' ' || coalesce(unit_amount::VARCHAR, '-') FROM product_listing_prices ORDER BY 1",
		"1 -", "2 -", "3 12.500000")
	h.RequireLines("SELECT position || ' ' || channel_type FROM product_listing_includes", "2 PODCAST")

	second := h.GoodNight()
	requireRejects(h, rejects...)
	requireDrift(h, first.Run.ID, second.Run.ID, `max_delivery_days converted x2 "7" first`,
		`placement_type=HOLOGRAM unknown_enum x2 "HOLOGRAM" second`, `surprise unknown_field x4 {"a": 1} second`)

	serveListings(h, "clean.json")
	h.GoodNight()
	requireRejects(h)
	requireDrift(h, first.Run.ID, second.Run.ID, `max_delivery_days converted x2 "7" first`,
		`placement_type=HOLOGRAM unknown_enum x2 "HOLOGRAM" second`, `surprise unknown_field x4 {"a": 1} second`)
}

// TestDriftCountsRecords lets the service return a list with a wrong total, so that it is read in
// several passes. meta.drift must count each record with an unknown field once per night.
func TestDriftCountsRecords(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.SmallWorld(), "orders", "order_details")
	h.Config.AllowMassDelete = true // the service returns 404 for the details of these orders
	var records []string
	for i := range 12 {
		records = append(records, fmt.Sprintf(`{"id":"o%02d","colour":%d,"line_items":[{"size":1},{"size":2}]}`, i, i))
	}
	h.Service.SetFaults(sim.Fault{Path: "/orders", Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte {
		return []byte(`{"records":[` + strings.Join(records, ",") + `],"total_records":30,"hint":1}`)
	}})
	for night := 1; night <= 2; night++ {
		_, err := h.Night()
		testharness.Must(t, err)
		h.RequireLines(`SELECT concat_ws(' ', table_name, path, count, sample, key) FROM meta.drift WHERE kind = 'unknown_field' AND path <> '$envelope.hint' ORDER BY 1`,
			fmt.Sprintf("order_line_items size %d 1 o00", 12*night), fmt.Sprintf("orders colour %d 0 o00", 12*night))
	}
}

// requireRejects compares the table, key, column and raw value of all rows in meta.rejects.
func requireRejects(h *trials.Harness, want ...string) {
	h.T.Helper()
	h.RequireLines(`SELECT table_name || ' ' || coalesce(key, '') || ' ' || coalesce(column_name, '') || ' ' || raw FROM meta.rejects
		WHERE reason <> '' AND run_id <> '' ORDER BY 1`, want...)
}

// requireDrift compares the rows of meta.drift about listings, and their first and last runs.
func requireDrift(h *trials.Harness, firstRun, lastRun string, want ...string) {
	h.T.Helper()
	h.RequireLines(`SELECT path || ' ' || kind || ' x' || count || ' ' || sample || ' ' || coalesce(key, '-') FROM meta.drift
		WHERE table_name = 'product_listings' ORDER BY 1`, want...)
	h.RequireLines("SELECT DISTINCT first_run || ' ' || last_run FROM meta.drift WHERE table_name = 'product_listings'", firstRun+" "+lastRun)
}
