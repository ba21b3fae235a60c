package report

import (
	"slices"
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// TestNeededTablesAreSources compares the tables that panels and headlines need with the sources
// of their queries.
func TestNeededTablesAreSources(t *testing.T) {
	db, err := query.Open(t.Context(), fixture.NewEmpty(t).Fill(t, ""), query.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sourcesOf := func(name string) (tables []string) {
		q, err := query.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		sources, err := db.Sources(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			tables = append(tables, s.Table)
		}
		return tables
	}
	for _, s := range allSections() {
		for _, p := range s.panels {
			tables := sourcesOf(p.query)
			for _, needed := range p.needs {
				if !slices.Contains(tables, needed) {
					t.Errorf("panel %s needs %s, but its query reads %v", p.id, needed, tables)
				}
			}
			if len(tables) > 0 && len(p.needs) == 0 {
				t.Errorf("panel %s needs no table, but its query reads %v", p.id, tables)
			}
		}
	}
	q, err := query.Resolve("report_headlines")
	if err != nil {
		t.Fatal(err)
	}
	headlines, err := db.Collect(t.Context(), q, nil, maxRows)
	if err != nil {
		t.Fatal(err)
	}
	tables := sourcesOf("report_headlines")
	for _, row := range headlines.Rows {
		for table := range strings.SplitSeq(row.Get("reads").Text, ",") {
			if !slices.Contains(tables, table) {
				t.Errorf("a headline needs %q, but its query reads %v", table, tables)
			}
		}
	}
}
