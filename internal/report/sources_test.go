package report

import (
	"slices"
	"strings"
	"testing"

	"placementsync/internal/config"
	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// TestNeededTablesAreSources compares the tables that panels and headlines need with the sources
// of their queries.
func TestNeededTablesAreSources(t *testing.T) {
	db, err := query.Open(t.Context(), fixture.NewEmptyCatalog(t).Fill(t, ""), query.Options{Threads: 1, Settings: config.Default().QuerySettings()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sourcesOf := func(name string, params map[string]string) (tables []string) {
		q, err := query.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		sources, err := db.Sources(t.Context(), q, params)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			tables = append(tables, s.Table)
		}
		return tables
	}
	for _, s := range slices.Concat(allSections(), clientSections(Client{ID: "p1"})) {
		for _, p := range s.panels {
			tables := sourcesOf(p.query, p.params)
			for _, needed := range p.needs {
				if !slices.Contains(tables, needed) {
					t.Errorf("panel %s needs %s, but its query reads %v", p.id, needed, tables)
				}
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
	tables := sourcesOf("report_headlines", nil)
	for _, row := range headlines.Rows {
		for table := range strings.SplitSeq(row.Get("reads").Text, ",") {
			if !slices.Contains(tables, table) {
				t.Errorf("a headline needs %q, but its query reads %v", table, tables)
			}
		}
	}
}

// TestQueriesHaveTheColumnsOfThePage checks that each query returns the columns that the page reads.
func TestQueriesHaveTheColumnsOfThePage(t *testing.T) {
	db, err := query.Open(t.Context(), fixture.NewEmptyCatalog(t).Fill(t, ""), query.Options{Threads: 1, Settings: config.Default().QuerySettings()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	requireColumns := func(name string, params map[string]string, columns ...string) {
		t.Helper()
		q, err := query.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := db.Collect(t.Context(), q, params, maxRows)
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range columns {
			if column != "" && !slices.ContainsFunc(r.Columns, func(c query.Column) bool { return c.Name == column }) {
				t.Errorf("the query %s has no column %s", name, column)
			}
		}
	}
	for _, s := range slices.Concat(allSections(), clientSections(Client{ID: "p1"})) {
		for _, p := range s.panels {
			var columns []string
			for _, f := range p.fields {
				columns = append(columns, f.column, f.sub, f.currency)
			}
			if p.plot != nil {
				columns = slices.Concat(columns, p.plot.split, p.plot.categoryColumns, []string{p.plot.weight, p.plot.series, p.plot.value, p.plot.skipIfNull})
				for _, m := range p.plot.measures {
					columns = append(columns, m.column)
				}
				if p.plot.kind == html.Boxes {
					boxes := boxColumns()
					columns = append(columns, boxes[:]...)
				}
			}
			requireColumns(p.query, p.params, columns...)
		}
	}
	requireColumns("report_headlines", nil, "figure", "unit", "value", "reads", "compared", "change_percent")
	requireColumns("check_results", nil, "check_name", "outcome", "rows", "sample", "reason")
	requireColumns("stream_grades", nil, "stream", "grade", "reason", "oldest_at", "failed")
	requireColumns("overdue_articles", map[string]string{"past": "promise"}, "article_name", "campaign_name", "days_past_promise", "days_past_expected")
	requireColumns("snapshots", nil, "run_id", "outcome", "snapshot_at")
	requireColumns("price_distribution", nil, "price_from", "price_below")
}
