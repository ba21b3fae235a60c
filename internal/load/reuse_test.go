package load_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/schema"
)

// reusedTables returns the sorted names of the tables whose Parquet files the last night reused from the
// night before.
func (h *fixture) reusedTables() (tables []string) {
	for _, s := range h.steps {
		if file, ok := strings.CutPrefix(s, "after copy "); ok && strings.HasSuffix(file, ".parquet") {
			tables = append(tables, strings.TrimSuffix(file, ".parquet"))
		}
	}
	slices.Sort(tables)
	h.steps = nil
	return tables
}

// file returns the path of a table's Parquet file in the newest version.
func (h *fixture) file(table string) string {
	h.t.Helper()
	run, _, err := h.w.Versions.Latest()
	harness.Must(h.t, err)
	return filepath.Join(h.w.Folder.VersionPath(run), table+".parquet")
}

func (h *fixture) bytesOf(table string) string {
	h.t.Helper()
	data, err := os.ReadFile(h.file(table))
	harness.Must(h.t, err)
	return string(data)
}

// TestUnchangedTablesKeepTheirParquet runs two nights. In the second night only a price is changed.
func TestUnchangedTablesKeepTheirParquet(t *testing.T) {
	h := newFixture(t, "product_listings")
	listings := listing("a", "apple", 1, 1) + "," + listing("b", "bear", 2, 2)
	_, err := h.run(wholeList(listings, price("a", 1, "1.5", 5, 1)), load.Limits{})
	harness.Must(t, err)
	if got := h.reusedTables(); len(got) > 0 {
		t.Errorf("the first night reused the files of the tables %v, want none", got)
	}
	firstBytes := h.bytesOf("product_listings")
	_, err = h.run(wholeList(listings, price("a", 1, "2.5", 7, 1)), load.Limits{})
	harness.Must(t, err)
	want := []string{"product_listing_example_links", "product_listing_includes", "product_listing_tags", "product_listings"}
	if got := h.reusedTables(); !slices.Equal(got, want) {
		t.Errorf("the night reused the files of the tables %v, want %v", got, want)
	}
	for _, table := range append(want, "product_listing_prices") {
		day := "01"
		if table == "product_listing_prices" {
			day = "02"
		}
		h.requireRows("SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata("+sqltext.Literal(h.file(table))+") ORDER BY 1",
			"changed_at 2026-11-"+day+"T02:00:00Z", "changed_run 202611"+day+"T020000Z", "schema_version "+schema.SchemaVersion())
	}
	if h.bytesOf("product_listings") != firstBytes {
		t.Error("the file of an unchanged table has other bytes than in the first night, want the same")
	}
	h.requireRows("SELECT id, name, strftime(valid_from, '%d'), row_hash FROM read_parquet("+sqltext.Literal(h.file("product_listings"))+")",
		"a apple 01 1", "b bear 01 2")
	h.requireRows("SELECT unit_amount::VARCHAR, strftime(valid_from, '%d') FROM read_parquet("+sqltext.Literal(h.file("product_listing_prices"))+")",
		"2.500000 02")
	// A table with only deleted rows is written again, and so is a table with only new rows.
	last := wholeList(listing("b", "bear", 2, 2), "")
	tag := jsonRow(9, 2, "product_listing_id", `"b"`, "position", "1", "name", `"wild"`)
	last["product_listings"].rows["product_listing_tags"] = tag
	_, err = h.run(last, load.Limits{Rows: 9})
	harness.Must(t, err)
	h.requireRows("SELECT id FROM read_parquet("+sqltext.Literal(h.file("product_listings"))+")", "b")
	h.requireRows("SELECT name FROM read_parquet("+sqltext.Literal(h.file("product_listing_tags"))+")", "wild")
	staged, err := filepath.Glob(filepath.Join(filepath.Dir(h.file("product_listings")), "stage*"))
	if err != nil || len(staged) > 0 {
		t.Errorf("the version contains the staged rows in %v (%v), want none", staged, err)
	}
}
