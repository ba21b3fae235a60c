package load_test

import (
	"context"
	"strings"
	"testing"

	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

const (
	firstID  = "0aaaaaaa-0000-4000-8000-00000000000"
	secondID = "0bbbbbbb-0000-4000-8000-00000000000"
)

// TestStoredIDsAreWrittenInOneCase begins a night with three stored ids in each case, as earlier releases wrote them. All
// are then written in lower case. Rows with ids in upper case are changed, and not deleted and inserted again.
func TestStoredIDsAreWrittenInOneCase(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "product_listings", "products", "files")
	files := func(ids ...string) string {
		var rows []string
		for i, id := range ids {
			rows = append(rows, jsonRow(i+1, i+1, "id", quote(id)))
		}
		return strings.Join(rows, ",")
	}
	upper := strings.ToUpper(firstID)
	inputs := wholeList(listing(upper+"1", "x", 1, 1)+","+listing(upper+"2", "x", 2, 2)+","+listing("NOT-A-UUID", "x", 3, 3), price(upper+"1", 1, "1", 5, 1))
	inputs["files"] = streamInput{coverage: load.Whole, rows: rows{"files": files(firstID+"3", firstID+"4", secondID+"5", upper+"3")}}
	_, err := h.run(inputs, load.Limits{})
	harness.Must(t, err)

	h.beforeRead = func(s *load.Stage, d *warehouse.Draft) {
		harness.Must(t, d.Exec(t.Context(), sqltext.SQL("INSERT INTO meta.details (stream, id) VALUES ('products', '"+upper+"1')")))
		ids, err := s.UnifyIDs(context.Background())
		harness.Must(t, err)
		if want := (load.IDs{IsKnown: true, Rewritten: 3}); ids != want {
			t.Errorf("the ids are %+v, want %+v", ids, want)
		}
	}
	inputs = wholeList(listing(firstID+"1", "x", 11, 1)+","+listing(firstID+"2", "x", 12, 2)+","+listing("NOT-A-UUID", "x", 3, 3), price(firstID+"1", 1, "1", 5, 1))
	inputs["files"] = streamInput{coverage: load.Carried}
	changes, err := h.run(inputs, load.Limits{})
	harness.Must(t, err)
	if c := changes["product_listings"]; c.Changed != 2 || c.New+c.Gone > 0 || c.Replaced != 2 {
		t.Errorf("the listings have %+v, want 2 changed and 2 replaced", c)
	}
	if c := changes["product_listing_prices"]; c.Changed+c.New+c.Gone > 0 || c.Replaced != 1 {
		t.Errorf("the prices have %+v, want 1 replaced", c)
	}
	h.requireRows("SELECT product_listing_id FROM product_listing_prices", firstID+"1")
	h.requireRows("SELECT product_listing_id FROM read_parquet('"+h.file("product_listing_prices")+"')", firstID+"1")
	h.requireRows("SELECT id FROM meta.details", firstID+"1")
	// upper+"3" stays, because firstID+"3" is another stored row.
	h.requireRows("SELECT id FROM files ORDER BY id", upper+"3", firstID+"3", firstID+"4", secondID+"5")
}

// TestStoredIDsAreWrittenInUpperCase begins a night with most ids in upper case. Before the first night, the case is
// not known: the service decides it.
func TestStoredIDsAreWrittenInUpperCase(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "files")
	upper := strings.ToUpper(firstID)
	var files []string
	for i, id := range []string{upper + "1", upper + "2", firstID + "3", "not-a-uuid"} {
		files = append(files, jsonRow(i+1, i+1, "id", quote(id)))
	}
	unify := func(want load.IDs) func(*load.Stage, *warehouse.Draft) {
		return func(s *load.Stage, _ *warehouse.Draft) {
			ids, err := s.UnifyIDs(context.Background())
			harness.Must(t, err)
			if ids != want {
				t.Errorf("the ids are %+v, want %+v", ids, want)
			}
		}
	}
	h.beforeRead = unify(load.IDs{})
	_, err := h.run(map[string]streamInput{"files": {coverage: load.Whole, rows: rows{"files": strings.Join(files, ",")}}}, load.Limits{})
	harness.Must(t, err)
	h.beforeRead = unify(load.IDs{IsKnown: true, IsUpper: true, Rewritten: 1})
	_, err = h.run(map[string]streamInput{"files": {coverage: load.Carried}}, load.Limits{})
	harness.Must(t, err)
	h.requireRows("SELECT id FROM files ORDER BY id", upper+"1", upper+"2", upper+"3", "not-a-uuid")
}
