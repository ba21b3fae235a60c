package faults_test

import (
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/testing/trials"
)

// requireDeletion checks that meta.deletions has one row for a record, with the given evidence. It also checks that
// main has no row of the record, and that the night closed all its row versions, at the snapshot time of the night.
func requireDeletion(h *trials.Harness, res pipeline.Result, table, key, evidence string) {
	h.T.Helper()
	got := trials.Query(h.T, h.Catalog(), "SELECT run_id, evidence FROM meta.deletions WHERE table_name = ? AND key = ?", table, key)
	if len(got) != 1 || got[0][0].String != res.Run.ID || got[0][1].String != evidence {
		h.T.Errorf("meta.deletions has %v for %s %s, want the evidence %q in run %s", got, table, key, evidence, res.Run.ID)
	}
	if n := h.Count("main."+table, "id = ?", key); n != 0 {
		h.T.Errorf("main.%s has %d rows of %s, want none", table, n, key)
	}
	all := h.Count("history."+table, "id = ?", key)
	closed := h.Count("past."+table, "id = ? AND run_id = ? AND valid_to = ?::TIMESTAMPTZ", key, res.Run.ID, res.Run.SnapshotAt)
	if closed == 0 || all != closed {
		h.T.Errorf("%s: the night closed %d of %d rows of %s, want all, and at least 1", table, closed, all, key)
	}
}

// TestWithdrawnProductsAreClosedOrUpdated runs a night after products were withdrawn. The rows of their
// listings must be closed, because the list no longer contains the listings. For some withdrawn products the service
// returns 404; the rows of these products must be closed too. For the others it returns a record
// with a time of deletion; their rows must be updated.
func TestWithdrawnProductsAreClosedOrUpdated(t *testing.T) {
	t.Parallel()
	world := trials.RichWorld()
	world.ListingTurnover = 0.3
	h := trials.NewHarness(t, world, "product_listings", "orders", "order_items", "order_details", "products")
	h.Config.AllowMassDelete = true
	h.UseChangedDetails(45, 0)
	h.GoodNight()
	listed := trials.RecordIDs(h.Service, "/products/listings")
	res := h.GoodNight()
	listedLater := trials.RecordIDs(h.Service, "/products/listings")
	countByFound := map[bool]int{} // numbers of withdrawn products, by whether the service returns them
	for id := range listed {
		if listedLater[id] {
			continue
		}
		requireDeletion(h, res, "product_listings", id, "absent from a proven walk of product_listings")
		_, found := h.Service.Object("/products/" + id)
		countByFound[found]++
		if !found {
			requireDeletion(h, res, "products", id, "404 from /products/{product_id}")
		} else if h.Count("products", "id = ? AND deleted_at IS NOT NULL AND NOT active", id) != 1 {
			t.Errorf("got no row of the withdrawn product %s with a deleted_at and active false, want one", id)
		}
	}
	if countByFound[true] == 0 || countByFound[false] == 0 {
		t.Errorf("the service returned %d withdrawn products and 404 for %d, want at least 1 of each", countByFound[true], countByFound[false])
	}
	if h.Count("products", "deleted_at IS NOT NULL AND id IN (SELECT product_id FROM order_items) AND id NOT IN (SELECT id FROM history.product_listings)") == 0 {
		t.Error("products has no row for a product that was sold and withdrawn before the first night")
	}
}
