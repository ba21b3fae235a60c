package load_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestUnchangedRecordsKeepTheirRows reads some records of a list several times. Some copies are unchanged and
// not staged, others have changed values. The last copy of each record must be kept. Both copies of g have the
// same seq, because all records after the first million of a response have the same seq. The copy with changed
// values must then be kept. The stage shows the stored rows of unchanged records, as the plan of details needs them.
func TestUnchangedRecordsKeepTheirRows(t *testing.T) {
	h := newFixture(t, "product_listings")
	first := listing("a", "a1", 1, 1) + "," + listing("b", "b1", 2, 2) + "," + listing("c", "c1", 3, 3) + "," +
		listing("d", "d1", 4, 4) + "," + listing("f", "f1", 5, 5) + "," + listing("g", "g1", 6, 6)
	_, err := h.run(wholeList(first, price("a", 1, "1", 5, 1)+","+price("b", 1, "2", 6, 2)+","+price("c", 1, "3", 7, 3)), load.Limits{})
	harness.Must(t, err)
	h.copies = []listingCopy{
		{"a", 9, true}, {"a", 2, false}, // the last copy is unchanged
		{"b", 1, true}, {"b", 8, false}, // the last copy has changed
		{"c", 3, true}, {"c", 4, true},
		{"f", 5, true}, {"f", 6, false}, {"f", 10, true}, // the last copy is unchanged
		{"g", 12, true}, {"g", 12, false},
	}
	// The staged row of e has the seq 2. It is also the row id of c, whose price must not be joined with it.
	h.beforeMerge = func(_ *load.Stage, d *warehouse.Draft) {
		staged := queryDraft(t, d, `SELECT id, name, price.unit_amount::INTEGER, l.row_hash FROM stage.product_listings.product_listings l
			LEFT JOIN stage.product_listings.product_listing_prices price USING (seq) ORDER BY ALL`)
		if diff := cmp.Diff([]string{"a a1 1 1", "b b2 8 12", "c c1 3 3", "e e1 13", "f f1 5", "g g2 17"}, staged); diff != "" {
			t.Errorf("the staged rows with the stored rows (-want +got):\n%s", diff)
		}
	}
	changes, err := h.run(wholeList(listing("a", "a2", 11, 2)+","+listing("b", "b2", 12, 8)+","+listing("e", "e1", 13, 2)+","+
		listing("f", "f2", 16, 6)+","+listing("g", "g2", 17, 12),
		price("a", 1, "9", 14, 2)+","+price("b", 1, "8", 15, 8)), load.Limits{Rows: 10})
	harness.Must(t, err)
	h.requireRows("SELECT id, name FROM product_listings ORDER BY id", "a a1", "b b2", "c c1", "e e1", "f f1", "g g2")
	h.requireRows("SELECT product_listing_id, unit_amount::INTEGER FROM product_listing_prices ORDER BY ALL", "a 1", "b 8", "c 3")
	if c := changes["product_listings"]; c.New != 1 || c.Changed != 2 || c.Gone != 1 || c.After != 6 {
		t.Errorf("the change is %+v, want 1 new, 2 changed, 1 gone, 6 after", c)
	}
	h.requireRows("SELECT id FROM past.product_listings ORDER BY id", "b", "d", "g")
}

// TestStoredRecordsAreFoundByTheirRows compares copies of a stored record that has two prices.
func TestStoredRecordsAreFoundByTheirRows(t *testing.T) {
	h := newFixture(t, "product_listings")
	_, err := h.run(wholeList(listing("a", "a1", 1, 1)+","+listing("b", "b1", 1, 2),
		hashedPrice("a", 1, 5)+","+hashedPrice("a", 2, 6)), load.Limits{})
	harness.Must(t, err)
	st, _ := stream.Find(h.streams, "product_listings")
	prices := -1
	for i, table := range st.Tables {
		if table.Name == "product_listing_prices" {
			prices = i
		}
	}
	h.check(wholeList(listing("a", "a1", 1, 1)+","+listing("b", "b1", 1, 2),
		hashedPrice("a", 1, 5)+","+hashedPrice("a", 2, 6)), func(s *load.Stage, _ *warehouse.Draft) {
		stored, err := s.StoredRecords(t.Context(), st)
		harness.Must(t, err)
		for name, c := range map[string]struct {
			id          string
			hashes      []uint64 // of the record and of its prices, without their positions
			isUnchanged bool
		}{
			"the same rows":               {"a", []uint64{1, 5, 6}, true},
			"prices in another order":     {"a", []uint64{1, 6, 5}, true},
			"a price is missing":          {"a", []uint64{1, 5}, false},
			"an additional price":         {"b", []uint64{1, 5}, false},
			"another value in the record": {"b", []uint64{2}, false},
			"a record without prices":     {"b", []uint64{1}, true},
		} {
			sum := stream.RowSum(0, c.hashes[0])
			for _, hash := range c.hashes[1:] {
				sum += stream.RowSum(prices, hash)
			}
			record, isUnchanged := stored.Find([]byte(c.id), sum, -1)
			if record < 0 || isUnchanged != c.isUnchanged {
				t.Errorf("%s: record %d is unchanged: %t, want %t", name, record, isUnchanged, c.isUnchanged)
			}
		}
		if record, _ := stored.Find([]byte("new"), 0, -1); record >= 0 {
			t.Errorf("the number of an unknown record is %d, want -1", record)
		}
	})
}

// hashedPrice returns a price with a fingerprint as the decoder computes it. content is the part of the values.
func hashedPrice(id string, position int, content uint64) string {
	return fmt.Sprintf(`{"product_listing_id":%q,"position":%d,"row_hash":%d,"seq":1}`, id, position, content+stream.PositionHash(int64(position)))
}
