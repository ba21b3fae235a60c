package faults_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
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

// orderDeletionFaults are the deletionFaults of an order. The list of order items still contains the
// items of the order.
func orderDeletionFaults(id string) []sim.Fault { return deletionFaults("/orders", id) }

// deletionFaults returns faults with which the service omits a record from a list and returns 404
// for its id.
func deletionFaults(route, id string) []sim.Fault {
	return []sim.Fault{
		{Path: route + "/" + id, Kind: sim.FaultStatus, Status: http.StatusNotFound},
		{Route: route, Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
			envelope, _ := trials.Decode(string(body)).(map[string]any)
			records, _ := envelope["records"].([]any)
			var kept []any
			for _, r := range records {
				if trials.Dig(r, "id") != id {
					kept = append(kept, r)
				}
			}
			envelope["records"], envelope["total_records"] = kept, len(kept)
			return []byte(trials.Canonical(envelope))
		}},
	}
}

// TestArticlesOfDeletedCampaignAreClosed deletes a campaign, and then an article of another
// campaign. The articles of the deleted campaign must be closed because the service returns 404 for
// their list.
func TestArticlesOfDeletedCampaignAreClosed(t *testing.T) {
	t.Parallel()
	h := trials.NewHarness(t, trials.RichWorld(), "campaigns", "campaign_details", "campaign_articles", "campaign_status_counts")
	h.Config.Fetch.PageSize = 100
	h.GoodNight()
	id := h.QueryOne("SELECT min(campaign_id) FROM campaign_articles")
	articles := trials.Query(t, h.Catalog(), "SELECT id FROM campaign_articles WHERE campaign_id = ?", id)
	h.Service.SetFaults(append(deletionFaults("/campaigns", id),
		notFound("/campaigns/", id+"/articles", id+"/articles/status-count")...)...)
	res := h.SameDayNight()
	requireDeletion(h, res, "campaigns", id, "404 from /campaigns/{id}")
	for _, row := range articles {
		requireDeletion(h, res, "campaign_articles", row[0].String, "404 from /campaigns/{id}/articles")
	}
	if n := h.Count("meta.deletions", "table_name = 'campaign_articles'"); n != len(articles) || n == 0 {
		t.Errorf("meta.deletions has %d articles, want %d", n, len(articles))
	}
	// Replace an article in the list of another campaign.
	campaign := h.QueryOne("SELECT min(campaign_id) FROM campaign_articles")
	article := h.QueryOne("SELECT min(id) FROM campaign_articles WHERE campaign_id = ?", campaign)
	h.Service.SetFaults(sim.Fault{Path: "/campaigns/" + campaign + "/articles", Kind: sim.FaultRewrite, Rewrite: func(body []byte) []byte {
		return []byte(strings.ReplaceAll(string(body), article, "another-article"))
	}})
	requireDeletion(h, h.SameDayNight(), "campaign_articles", article, "absent from a proven walk of campaign_articles")
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

// TestEveryDeletionHasEvidence compares meta.deletions with the rows that a night removed from the
// tables of a changing world.
func TestEveryDeletionHasEvidence(t *testing.T) {
	t.Parallel()
	world := trials.RichWorld()
	world.ListingTurnover = 0.1
	h := trials.NewHarness(t, world, "outlet_listings", "product_listings", "products", "files")
	h.UseChangedDetails(45, 0)
	h.GoodNight()
	res := h.GoodNight()
	removed, recordedDeletions := map[string]int{}, map[string]int{}
	for _, c := range res.Changes {
		if c.Gone > 0 && isRootTable(h.Config.Streams, c.Table) {
			removed[c.Table] = int(c.Gone)
			recordedDeletions[c.Table] = h.Count("meta.deletions", "run_id = ? AND table_name = ? AND key <> '' AND evidence <> ''", res.Run.ID, c.Table)
		}
	}
	if diff := cmp.Diff(removed, recordedDeletions); diff != "" || len(removed) < 2 {
		t.Errorf("rows were removed from %d tables, want at least 2, and each row in meta.deletions (-removed +meta.deletions):\n%s", len(removed), diff)
	}
	if all := h.Count("meta.deletions", "TRUE"); all != trials.Sum(recordedDeletions) {
		t.Errorf("meta.deletions has %d rows, want %d", all, trials.Sum(recordedDeletions))
	}
}

func isRootTable(streams []stream.Stream, table string) bool {
	for _, s := range streams {
		if s.Root().Name == table {
			return true
		}
	}
	return false
}
