package load_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/load"
	"placementsync/internal/testing/harness"
)

// TestManyRowsFillAnEmptyTableDirectly checks that directly filled tables equal merged tables: the values are those of the
// batches, only the last copy of a record remains, the columns and comments are those of schema/, and the next night
// finds only the changed row. There are more rows than one vector of DuckDB holds.
func TestManyRowsFillAnEmptyTableDirectly(t *testing.T) {
	const count = 2_100
	h := newFixture(t, "product_listings")
	var listings, prices []string
	for i := range count {
		id := fmt.Sprintf("id%04d", i)
		listings = append(listings, fmt.Sprintf(`{"id":%q,"name":"n%d","min_delivery_days":%[2]d,"is_featured":%t,"row_hash":%[2]d,"seq":1}`, id, i, i%2 == 0))
		prices = append(prices, price(id, 1, "1.5", i, 1))
	}
	listings = append(listings, listing("id0000", "late", count, 2))
	prices = append(prices, price("id0000", 1, "2.5", count, 2))
	lists := wholeList(strings.Join(listings, ","), strings.Join(prices, ","))
	changes, err := h.run(lists, load.Limits{})
	harness.Must(t, err)
	if got, want := changes["product_listings"], (load.Change{Table: "product_listings", After: count, New: count}); got != want {
		t.Errorf("first night: got %+v, want %+v", got, want)
	}
	h.requireRows("SELECT count(*), count(DISTINCT id), count(valid_from) FROM main.product_listings", "2100 2100 2100")
	h.requireRows(`SELECT count(*) FROM product_listings WHERE name = 'n' || min_delivery_days AND is_featured = (min_delivery_days % 2 = 0)
		AND id = printf('id%04d', min_delivery_days)`, "2099") // all but the one with the name "late"
	h.requireRows("SELECT name, unit_amount FROM main.product_listings JOIN main.product_listing_prices ON product_listing_id = id WHERE name = 'late'",
		"late 2.5")
	// main has no column seq, no column of a record without a comment, and no view.
	h.requireRows(`SELECT column_name FROM duckdb_columns() WHERE table_name = 'product_listings' AND schema_name = 'main'
		AND (column_name = 'seq' OR comment IS NULL) AND column_name NOT IN ('valid_from', 'row_hash')`)
	h.requireRows("SELECT view_name FROM duckdb_views() WHERE database_name = 'catalog' AND schema_name = 'main' AND NOT internal")

	listings[1] = listing("id0001", "new", count+1, 3)
	changes, err = h.run(wholeList(strings.Join(listings, ","), strings.Join(prices, ",")), load.Limits{})
	harness.Must(t, err)
	if got, want := changes["product_listings"], (load.Change{Table: "product_listings", Before: count, After: count, Changed: 1}); got != want {
		t.Errorf("second night: got %+v, want %+v", got, want)
	}
	h.requireRows("SELECT name, valid_to IS NULL FROM history.product_listings WHERE id = 'id0001' ORDER BY valid_from", "n1 false", "new true")
}

// TestFailedLargeBatchPreventsTheMerge adds a batch of rows without ids to a directly filled table. Its INSERT
// fails, and Merge must report the failure.
func TestFailedLargeBatchPreventsTheMerge(t *testing.T) {
	h := newRaceFixture(t, "product_listings")
	ctx, s := t.Context(), h.openStage()
	rowsWithoutID := strings.Repeat(`{"name":"no id","row_hash":1,"seq":1},`, 3_000)
	// DuckDB converts the batch later, so the error may be returned only when the feed is closed.
	_ = s.AddRows(ctx, "product_listings", "product_listings", h.batch("product_listings", strings.TrimSuffix(rowsWithoutID, ",")))
	if _, err := s.Merge(ctx, map[string]load.Coverage{"product_listings": load.Whole}, load.Limits{}); err == nil {
		t.Error("Merge succeeded without the lost rows")
	}
}

// TestOneStoppedRequestLosesNoRowsOfOthers ends the context of the call that opened the INSERT of a large table. The
// INSERT also reads the batches of later calls. If the list then cannot be read completely, no row remains. The stage
// is closed while another INSERT waits for rows.
func TestOneStoppedRequestLosesNoRowsOfOthers(t *testing.T) {
	h := newFixture(t, "product_listings")
	s := h.openStage()
	batch := func(prefix string) arrow.RecordBatch {
		var listings []string
		for i := range 1_100 {
			listings = append(listings, listing(fmt.Sprintf("%s%04d", prefix, i), "name", i, i))
		}
		return h.batch("product_listings", strings.Join(listings, ","))
	}
	first, stop := context.WithCancel(t.Context())
	harness.Must(t, s.AddRows(first, "product_listings", "product_listings", batch("a")))
	stop()
	harness.Must(t, s.AddRows(t.Context(), "product_listings", "product_listings", batch("b")))
	for _, coverage := range []load.Coverage{load.Whole, load.Carried} {
		if err := s.FinishStream(t.Context(), h.streams[0], coverage); err != nil {
			t.Fatalf("after one stopped request, the rows of all are lost: %v", err)
		}
		isFilled, err := s.HasRows(t.Context(), "product_listings")
		if want := coverage == load.Whole; err != nil || isFilled != want {
			t.Errorf("a list with the coverage %d has rows: %t (%v), want %t", coverage, isFilled, err, want)
		}
	}
	prices := h.batch("product_listing_prices", price("a0000", 1, "1", 1, 1))
	harness.Must(t, s.AddRows(t.Context(), "product_listings", "product_listing_prices", prices))
}

// TestAllBatchesAreInserted ends the INSERT of a large table directly after its last batch was added. All batches,
// also one of a small table, must then be released.
func TestAllBatchesAreInserted(t *testing.T) {
	h := newFixture(t, "product_listings")
	ctx, s := t.Context(), h.openStage()
	allocator := memory.NewCheckedAllocator(memory.DefaultAllocator)
	h.allocator = allocator
	const count, size = 12, 3_000
	var batches []arrow.RecordBatch
	for b := range count {
		var listings []string
		for i := range size {
			listings = append(listings, listing(fmt.Sprintf("id%02d-%04d", b, i), "name", i, b))
		}
		batches = append(batches, h.batch("product_listings", strings.Join(listings, ",")))
	}
	for _, b := range batches {
		harness.Must(t, s.AddRows(ctx, "product_listings", "product_listings", b))
	}
	tag := h.batch("product_listing_tags", `{"product_listing_id":"id00-0000","position":1,"row_hash":1,"seq":1}`)
	harness.Must(t, s.AddRows(ctx, "product_listings", "product_listing_tags", tag))
	changes, err := s.Merge(ctx, map[string]load.Coverage{"product_listings": load.Whole}, load.Limits{})
	harness.Must(t, err)
	i := slices.IndexFunc(changes, func(c load.Change) bool { return c.Table == "product_listings" })
	if i < 0 || changes[i].New != count*size {
		t.Errorf("got the changes %+v, want %d new rows of product_listings", changes, count*size)
	}
	if n := allocator.CurrentAlloc(); n > 0 {
		t.Errorf("%d bytes of the inserted batches are still in memory", n)
	}
}
