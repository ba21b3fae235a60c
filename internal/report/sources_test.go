package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/html"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

func openEmptyCatalog(t *testing.T) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), fixture.NewEmptyCatalog(t).Fill(t, ""), query.Options{Threads: 1, Settings: config.Default().QuerySettings()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestNeededTablesAreSources compares the tables that panels and headlines need with the sources
// of their queries.
func TestNeededTablesAreSources(t *testing.T) {
	db := openEmptyCatalog(t)
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
	hiddenWithout := map[string][]string{} // the panels that have no numbers without a table
	for _, s := range slices.Concat(allSections(), clientSections(Client{ID: "p1"})) {
		for _, p := range s.panels {
			tables := sourcesOf(p.query, p.params)
			neededTables := p.needs
			if p.needs == nil {
				neededTables = tables
			}
			for _, table := range neededTables {
				hiddenWithout[table] = append(hiddenWithout[table], p.id)
			}
			for _, needed := range p.needs {
				if !slices.Contains(tables, needed) {
					t.Errorf("panel %s needs %s, but its query reads %v", p.id, needed, tables)
				}
			}
		}
	}
	for table, want := range map[string][]string{
		"articles": nil, "outlets": nil,
		"orders": {"payables-ageing", "commissions-by-month", "refunds", "payables-open", "orders-without-commission", "month",
			"spending-by-month", "spending-by-outlet"},
		"order_items": {"payables-ageing", "commissions-by-month", "margin-by-month", "refunds", "margin-by-outlet", "payables-open",
			"orders-without-commission", "month", "campaigns", "spending-by-month", "spending-by-outlet"},
		"campaign_articles": {"articles-by-status", "waiting", "weekly-throughput", "late", "writers", "month", "campaigns",
			"articles-in-progress", "articles-published"},
		"article_statuses": {"weekly-throughput", "cycle-time", "paid-to-live"},
		"campaigns":        {"campaigns", "campaigns"}, // of all clients, and of one
		"product_listing_prices": {"price-spread", "price-distribution", "price-authority", "price-moves", "price-changes", "tier-gaps",
			"do-follow", "best-value"},
	} {
		if diff := cmp.Diff(want, hiddenWithout[table]); diff != "" {
			t.Errorf("panels without numbers if %s was not read (-want +got):\n%s", table, diff)
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

// TestQueriesHaveTheColumnsOfThePage checks that each query returns the columns that the page reads, and that the
// formats and charts of the page fit them.
func TestQueriesHaveTheColumnsOfThePage(t *testing.T) {
	db := openEmptyCatalog(t)
	requireColumns := func(name string, params map[string]string, columns ...string) map[string]query.Column {
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
		byName := map[string]query.Column{}
		for _, c := range r.Columns {
			byName[c.Name] = c
		}
		return byName
	}
	var charts []string
	for _, s := range slices.Concat(allSections(), clientSections(Client{ID: "p1"})) {
		for _, p := range s.panels {
			byName := requireColumns(p.query, p.params, columnsOf(p)...)
			checkFields(t, p, byName)
			if p.plot != nil {
				checkPlot(t, p, byName)
				charts = append(charts, p.id)
			}
		}
	}
	want := []string{"price-spread", "price-distribution", "price-authority", "price-moves", "listing-turnover", "payables-ageing", "commissions-by-month",
		"margin-by-month", "refunds", "margin-by-outlet", "articles-by-status", "weekly-throughput", "cycle-time", "paid-to-live", "nights",
		"spending-by-month", "spending-by-outlet"}
	if diff := cmp.Diff(want, charts); diff != "" {
		t.Errorf("panels with a chart (-want +got):\n%s", diff)
	}
	requireColumns("report_headlines", nil, "figure", "unit", "value", "reads", "compared", "change_percent")
	requireColumns("check_results", nil, "check_name", "outcome", "rows", "sample", "reason")
	requireColumns("stream_grades", nil, "stream", "grade", "reason", "oldest_at", "failed")
	requireColumns("overdue_articles", map[string]string{"past": "promise"}, "article_name", "campaign_name", "days_past_promise", "days_past_expected")
	requireColumns("snapshots", nil, "run_id", "outcome", "snapshot_at")
	requireColumns("price_distribution", nil, "price_from", "price_below")
}

// columnsOf returns the columns that a panel reads.
func columnsOf(p panel) []string {
	var columns []string
	for _, f := range p.fields {
		columns = append(columns, f.column, f.sub, f.currency)
	}
	if p.plot == nil {
		return columns
	}
	columns = slices.Concat(columns, p.plot.split, []string{p.plot.category, p.plot.weight, p.plot.series, p.plot.value, p.plot.skipIfNull})
	for _, m := range p.plot.measures {
		columns = append(columns, m.column)
	}
	if p.plot.kind == html.Boxes {
		boxes := boxColumns()
		columns = append(columns, boxes[:]...)
	}
	return columns
}

// checkFields compares the formats of the fields of a panel with the names and types of their columns.
func checkFields(t *testing.T, p panel, columns map[string]query.Column) {
	t.Helper()
	labels := map[string]bool{}
	for _, f := range p.fields {
		if f.label == "" || labels[f.label] {
			t.Errorf("panel %s: the label %q of %s is empty or used twice", p.id, f.label, f.column)
		}
		labels[f.label] = true
		if want := formatsOf(columns[f.column]); !slices.Contains(want, f.as) {
			t.Errorf("panel %s: %s %s has the format %d, want one of %v", p.id, f.column, columns[f.column].Type, f.as, want)
		}
	}
}

func checkPlot(t *testing.T, p panel, columns map[string]query.Column) {
	t.Helper()
	if p.plot.kind == "" {
		t.Errorf("panel %s: the chart has no kind", p.id)
	}
	hasValues := columns[p.plot.series].Name != "" && columns[p.plot.value].Numeric
	if p.plot.kind != html.Boxes && !hasValues && len(p.plot.measures) == 0 {
		t.Errorf("panel %s: the chart has neither measures nor a series with numbers", p.id)
	}
	if p.plot.limit <= 0 {
		t.Errorf("panel %s: the chart has the limit %d, want at least 1", p.id, p.plot.limit)
	}
	if p.plot.unit == "" {
		t.Errorf("panel %s: the chart has no unit", p.id)
	}
	if len(p.plot.split) > 0 && p.plot.choiceLabel == "" {
		t.Errorf("panel %s: the choice of a variant of the chart has no label", p.id)
	}
	groups := slices.Concat(p.plot.split, []string{p.plot.category, p.plot.series})
	if columns["currency"].Name != "" && !slices.Contains(groups, "currency") {
		t.Errorf("panel %s: the chart has amounts of several currencies", p.id)
	}
	colours := map[int]bool{}
	for _, m := range p.plot.measures {
		if m.name == "" || !columns[m.column].Numeric {
			t.Errorf("panel %s: got the series %+v, want a name and numbers", p.id, m)
		}
		if colours[m.colour] {
			t.Errorf("panel %s: two series have the colour %d", p.id, m.colour)
		}
		colours[m.colour] = true
	}
}

// formatsOf returns the formats that fit a column. A missing column has none.
func formatsOf(c query.Column) []valueFormat {
	switch {
	case c.Name == "":
		return nil
	case strings.HasSuffix(c.Name, "_percent") && c.HasWord("change", "premium", "gap", "median"):
		return []valueFormat{asChange}
	case strings.HasSuffix(c.Name, "_percent"):
		return []valueFormat{asPercent}
	case c.Numeric && c.HasWord("days"):
		return []valueFormat{asDays}
	case c.Numeric:
		return []valueFormat{asNumber}
	case strings.HasPrefix(c.Type, "TIMESTAMP"):
		return []valueFormat{asMoment}
	case c.Type == "DATE":
		return []valueFormat{asDate, asMonth, asText}
	case c.Type == "BOOLEAN":
		return []valueFormat{asYesNo}
	case c.Name == "grade":
		return []valueFormat{asGrade}
	case c.Name == "outcome":
		return []valueFormat{asTag}
	case c.Name == "value": // of the query premium with by=is_do_follow: true or false
		return []valueFormat{asYesNo}
	case c.HasWord("url"):
		return []valueFormat{asLink}
	}
	return []valueFormat{asText}
}
