package faults_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
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

// TestTrialListedArticlesWith404AreKept lets the service return 404 for some articles, in the first
// night or in a later night. With up to three of these articles the night is complete, and with more
// it is partial. A later night must keep the rows of these articles, because the lists of
// campaigns contain them.
func TestTrialListedArticlesWith404AreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		notFoundCount int // articles with status 404
		isPartial     bool
		isFirst       bool // whether the night is the first
	}{{3, false, false}, {4, true, true}} {
		t.Run(fmt.Sprintf("%d articles, first night %v", c.notFoundCount, c.isFirst), func(t *testing.T) {
			t.Parallel()
			world := trials.RichWorld()
			world.Campaigns, world.Orders, world.SilentChange = 30, 200, -1
			h := trials.NewHarness(t, world, "order_items", "campaigns", "campaign_details", "campaign_articles", "articles", "article_comments")
			h.Config.Fetch.PageSize = 100
			h.UseChangedDetails(45, 1)
			if !c.isFirst {
				h.GoodNight()
			} else {
				h.Service.Advance(1)
			}
			var articles []string
			for campaign := range trials.RecordIDs(h.Service, "/campaigns") {
				articles = slices.AppendSeq(articles, maps.Keys(trials.RecordIDs(h.Service, "/campaigns/"+campaign+"/articles")))
			}
			if len(articles) < 100 || len(articles) >= 300 {
				t.Fatalf("the world has %d articles, want 100 to 299, for which the limit is three", len(articles))
			}
			missing := articles[:c.notFoundCount]
			if !c.isFirst {
				for i, row := range trials.Query(t, h.Catalog(), "SELECT id FROM articles ORDER BY id LIMIT ?", c.notFoundCount) {
					missing[i] = row[0].String
				}
			}
			keptRows := 0
			if !c.isFirst {
				keptRows = c.notFoundCount
			}
			var faults []sim.Fault
			for _, id := range missing {
				faults = append(faults, sim.Fault{Path: "/articles/" + id, Kind: sim.FaultStatus, Status: http.StatusNotFound})
			}
			h.Service.SetFaults(faults...)
			res, err := h.Night()
			testharness.Must(t, err)
			code, grade := 0, stream.Repaired
			if c.isPartial {
				code, grade = 3, stream.BestEffort
			}
			if res.Run.ExitCode != code {
				t.Errorf("the night ended with exit code %d, want %d", res.Run.ExitCode, code)
			}
			h.RequireStream(res.Run, "articles", grade, fmt.Sprintf("%d of ", c.notFoundCount))
			rows := "their rows are kept"
			if c.isFirst {
				rows = "they have no rows from an earlier night"
			}
			h.RequireStream(res.Run, "articles", grade, "returned 404 although a list contains them; "+rows)
			s := trials.StreamOf(t, res.Run, "articles")
			if int(s.Fetched) != h.Count("articles", "TRUE")-keptRows || s.Incomplete != c.isPartial {
				t.Errorf("fetched %d articles with Incomplete %t, want %d and %t", s.Fetched, s.Incomplete, h.Count("articles", "TRUE")-keptRows, c.isPartial)
			}
			for _, id := range missing {
				if n := h.Count("articles", "id = ?", id); (n == 1) == c.isFirst {
					t.Errorf("article %s has %d rows, want 1, or none in a first night (first night: %t)", id, n, c.isFirst)
				}
				if n := h.Count("meta.deletions", "key LIKE ?", "%"+id+"%"); n != 0 {
					t.Errorf("meta.deletions has %d rows of article %s, want none", n, id)
				}
			}
			// The next night requests the missing articles again.
			h.Service.SetFaults()
			res = h.GoodNight()
			h.RequireStream(res.Run, "articles", stream.Exact, "")
			for _, id := range missing {
				if h.Count("articles", "id = ?", id) != 1 {
					t.Errorf("the next night did not read article %s", id)
				}
			}
		})
	}
}
