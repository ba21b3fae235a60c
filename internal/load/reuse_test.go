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

// runTwoNights runs two nights and calls between after the first night. In the second night only a price
// is changed.
func runTwoNights(t *testing.T, h *fixture, between func()) {
	t.Helper()
	listings := listing("a", "apple", 1, 1) + "," + listing("b", "bear", 2, 2)
	_, err := h.run(wholeList(listings, price("a", 1, "1.5", 5, 1)), load.Limits{})
	harness.Must(t, err)
	if got := h.reusedTables(); len(got) > 0 {
		t.Errorf("the first night reused the files of the tables %v, want none", got)
	}
	between()
	_, err = h.run(wholeList(listings, price("a", 1, "2.5", 7, 1)), load.Limits{})
	harness.Must(t, err)
}

func TestUnchangedTablesKeepTheirParquet(t *testing.T) {
	h := newFixture(t, "product_listings")
	var firstBytes string
	runTwoNights(t, h, func() { firstBytes = h.bytesOf("product_listings") })
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
	_, err := h.run(wholeList(listing("b", "bear", 2, 2), ""), load.Limits{Rows: 9})
	harness.Must(t, err)
	h.requireRows("SELECT id FROM read_parquet("+sqltext.Literal(h.file("product_listings"))+")", "b")
}

func TestDamagedParquetIsWrittenAgain(t *testing.T) {
	damage := map[string]func(t *testing.T, path string){
		"a changed byte": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			harness.Must(t, err)
			data[len(data)/3] ^= 1
			harness.Must(t, os.WriteFile(path, data, 0o600))
		},
		"a missing end": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			harness.Must(t, err)
			harness.Must(t, os.Truncate(path, info.Size()-1))
		},
		"an empty file": func(t *testing.T, path string) { harness.Must(t, os.Truncate(path, 0)) },
	}
	for name, damageFile := range damage {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, "product_listings")
			runTwoNights(t, h, func() { damageFile(t, h.file("product_listings")) })
			h.requireRows("SELECT id, name FROM read_parquet("+sqltext.Literal(h.file("product_listings"))+")", "a apple", "b bear")
			h.requireRows("SELECT value::VARCHAR FROM parquet_kv_metadata("+sqltext.Literal(h.file("product_listings"))+") WHERE key = 'changed_run'", "20261102T020000Z")
		})
	}
}

func TestParquetOfAnEarlierProgramIsWrittenAgain(t *testing.T) {
	h := newFixture(t, "product_listings")
	runTwoNights(t, h, func() { h.open("newer") })
	if got := h.reusedTables(); len(got) > 0 {
		t.Errorf("the night reused files of the earlier program for the tables %v, want none", got)
	}
}
