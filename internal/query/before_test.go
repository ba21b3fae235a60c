package query_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

// TestBeforeShowsThePreviousSnapshot reads the listings of the database "before", which is created from the
// file of the previous night or from the history. If the names of listings are hidden, no earlier name must be readable.
func TestBeforeShowsThePreviousSnapshot(t *testing.T) {
	harness.Slow(t)
	newest := createNightsCatalog(t)
	dropped := createNightsCatalog(t, "UPDATE main.product_listings SET name = NULL;") // the last night no longer stores the names
	previous := fillCatalog(t, "INSERT INTO main.product_listings (id, name) VALUES ('p', 'from the file')")
	const (
		noRejects = "the rejects of the previous snapshot are no longer stored"
		noBefore  = "there is no previous snapshot"
	)
	for name, c := range map[string]struct {
		file   string
		before *query.Before
		asOf   string
		// listings are the ids and names in before.product_listings. If listings is empty, the database
		// "before" does not exist.
		listings []string
		// reasons are the reasons why the checks of before.orders and before.meta.rejects cannot compare.
		reasons []string
	}{
		"a file":                         {newest, &query.Before{Catalog: previous}, "", []string{"p from the file"}, []string{"", ""}},
		"a file with a hidden column":    {newest, &query.Before{Catalog: previous, Hidden: []string{"product_listings.name"}}, "", []string{"p NULL"}, []string{"", ""}},
		"the history":                    {newest, &query.Before{}, "", []string{`a new "name"`, "b gone", "c =c", "d other"}, []string{"", noRejects}},
		"the history, a dropped column":  {dropped, &query.Before{Hidden: []string{"product_listings.name", "orders.id"}}, "", []string{"a NULL", "b NULL", "c NULL", "d NULL"}, []string{"", noRejects}},
		"the history of 2 November":      {newest, &query.Before{}, "2026-11-02", []string{"a old", "b gone", "d same"}, []string{"", noRejects}},
		"2 November, a hidden column":    {newest, &query.Before{Hidden: []string{"product_listings.name"}}, "2026-11-02", []string{"a NULL", "b NULL", "d NULL"}, []string{"", noRejects}},
		"the history of the first night": {newest, &query.Before{}, "2026-11-01", nil, []string{noBefore, noBefore}},
		"not requested":                  {newest, nil, "", nil, []string{noBefore, noBefore}},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := query.Open(t.Context(), c.file, query.Options{MemoryLimit: "256MB", Threads: 1, AsOf: c.asOf, Before: c.before})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			got, err := db.Collect(t.Context(), query.Text("SELECT id || ' ' || coalesce(name, 'NULL') FROM before.product_listings ORDER BY ALL"), nil, 9)
			var listings []string
			for _, r := range got.Rows {
				listings = append(listings, r.Values[0].Text)
			}
			if hasBefore := err == nil; hasBefore != (len(c.listings) > 0) {
				t.Errorf("reading the database before: %v, want it: %t", err, len(c.listings) > 0)
			}
			if diff := cmp.Diff(c.listings, listings); diff != "" {
				t.Errorf("listings (-want +got):\n%s", diff)
			}
			reasons := []string{db.WhyNotComparable(query.Text("FROM before.orders")), db.WhyNotComparable(query.Text("FROM Before.meta.rejects"))}
			if diff := cmp.Diff(c.reasons, reasons); diff != "" {
				t.Errorf("reasons why a check cannot compare (-want +got):\n%s", diff)
			}
			if reason := db.WhyNotComparable(query.Text("-- before.orders\nFROM orders")); reason != "" {
				t.Errorf("a check of the newest snapshot cannot compare: %s", reason)
			}
			if c.before != nil && len(c.before.Hidden) > 0 {
				requireNoEarlierNames(t, db)
			}
			if c.asOf == "" && c.file == newest { // the values of the checked night are not hidden
				if names, err := db.Collect(t.Context(), query.Text("FROM product_listings WHERE name IS NOT NULL"), nil, 9); err != nil || names.Total != 3 {
					t.Errorf("the checked night has %d names (%v), want 3", names.Total, err)
				}
			}
		})
	}
}

// requireNoEarlierNames reads the names of listings in all ways in which a check could read the earlier values: by
// the names of the databases, in the history, and with names from DuckDB's own tables.
func requireNoEarlierNames(t *testing.T, db *query.DB) {
	t.Helper()
	for _, table := range []string{"before.main.product_listings", "before.past.product_listings", "past.product_listings",
		"before_file.main.product_listings", "newest.main.product_listings", "newest.past.product_listings",
		"query_table((SELECT max(database_name) || '.main.product_listings' FROM duckdb_databases()))",
		"query('FROM ' || (SELECT max(database_name) FROM duckdb_databases()) || '.main.product_listings')"} {
		got, err := db.Collect(t.Context(), query.Text("SELECT name FROM "+table+" WHERE name IS NOT NULL"), nil, 9)
		if err == nil && len(got.Rows) > 0 {
			t.Errorf("%s has the private value %q", table, got.Rows[0].Values[0].Text)
		}
	}
	history, err := db.Collect(t.Context(), query.Text("SELECT name FROM history.product_listings WHERE valid_to IS NOT NULL AND name IS NOT NULL"), nil, 9)
	if err != nil || len(history.Rows) > 0 {
		t.Errorf("the history has %d private values (%v), want none", len(history.Rows), err)
	}
}
