package load_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// TestSkippedRecordsKeepTheirRows skips unchanged records of a list. Some records are also read with
// changed values, before they are skipped, after they are skipped, or between two skips. The last copy of
// each record must be kept. Both copies of g have the same seq, because all records after the first million
// of a response have the same seq. The copy with changed values must then be kept.
func TestSkippedRecordsKeepTheirRows(t *testing.T) {
	h := newFixture(t, "product_listings")
	first := listing("a", "a1", 1, 1) + "," + listing("b", "b1", 2, 2) + "," + listing("c", "c1", 3, 3) + "," + listing("d", "d1", 4, 4) + "," + listing("f", "f1", 5, 5) + "," + listing("g", "g1", 6, 6)
	_, err := h.run(wholeList(first, price("a", 1, "1", 5, 1)+","+price("b", 1, "2", 6, 2)+","+price("c", 1, "3", 7, 3)), load.Limits{})
	must(t, err)
	h.skippedKeys = `{"id":"a","seq":9},{"id":"b","seq":1},{"id":"c","seq":3},{"id":"c","seq":4},{"id":"f","seq":5},{"id":"f","seq":10},{"id":"g","seq":12}`
	changes, err := h.run(wholeList(listing("a", "a2", 11, 2)+","+listing("b", "b2", 12, 8)+","+listing("e", "e1", 13, 7)+","+listing("f", "f2", 16, 6)+","+listing("g", "g2", 17, 12),
		price("a", 1, "9", 14, 2)+","+price("b", 1, "8", 15, 8)), load.Limits{Rows: 10})
	must(t, err)
	h.requireRows("SELECT id, name FROM product_listings ORDER BY id", "a a1", "b b2", "c c1", "e e1", "f f1", "g g2")
	h.requireRows("SELECT product_listing_id, unit_amount::INTEGER FROM product_listing_prices ORDER BY ALL", "a 1", "b 8", "c 3")
	if c := changes["product_listings"]; c.New != 1 || c.Changed != 2 || c.Gone != 1 || c.After != 6 {
		t.Errorf("the change is %+v, want 1 new, 2 changed, 1 gone, 6 after", c)
	}
	h.requireRows("SELECT id FROM past.product_listings ORDER BY id", "b", "d", "g")
}

// TestSkippedRecordsWithoutDuplicatesKeepTheirRows skips a record of a list, and no record is read twice.
func TestSkippedRecordsWithoutDuplicatesKeepTheirRows(t *testing.T) {
	h := newFixture(t, "product_listings")
	_, err := h.run(wholeList(listing("a", "a1", 1, 1)+","+listing("b", "b1", 2, 2)+","+listing("c", "c1", 3, 3),
		price("a", 1, "1", 5, 1)+","+price("b", 1, "2", 6, 2)), load.Limits{})
	must(t, err)
	h.skippedKeys = `{"id":"a","seq":1}`
	inputs := wholeList(listing("b", "b2", 12, 2), price("b", 1, "8", 15, 2))
	h.beforeMerge = func(_ *load.Stage, d *warehouse.Draft) {
		staged := queryDraft(t, d, `SELECT id, name, price.unit_amount::INTEGER, l.row_hash, l.seq FROM stage.product_listings.product_listings l
			LEFT JOIN stage.product_listings.product_listing_prices price ON product_listing_id = id AND price.seq = l.seq ORDER BY ALL`)
		if diff := cmp.Diff([]string{"a a1 1 1 1", "b b2 8 12 2"}, staged); diff != "" {
			t.Errorf("the staged rows with the stored rows (-want +got):\n%s", diff)
		}
	}
	changes, err := h.run(inputs, load.Limits{Rows: 10})
	must(t, err)
	h.requireRows("SELECT id, name FROM product_listings ORDER BY id", "a a1", "b b2")
	h.requireRows("SELECT product_listing_id, unit_amount::INTEGER FROM product_listing_prices ORDER BY ALL", "a 1", "b 8")
	if c := changes["product_listings"]; c.New != 0 || c.Changed != 1 || c.Gone != 1 || c.After != 2 {
		t.Errorf("the change is %+v, want 1 changed, 1 gone, 2 after", c)
	}
}
