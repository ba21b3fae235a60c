package queries_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"placementsync/internal/config"
	"placementsync/internal/dialect"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
	"placementsync/schema"
)

// TestQueries runs testdata/<query>/*.test. A test is a txtar archive: a comment, the rows of the
// tables (fixture.sql), the parameters as lines name=value (params), and the result (want.csv). "case NAME" begins
// another case with the same rows: its comment, parameters and result.
func TestQueries(t *testing.T) {
	session := fixture.NewEmptyCatalog(t).Open(t, "", query.Options{Settings: config.Default().QuerySettings()})
	for _, q := range query.All() {
		tests, err := filepath.Glob(filepath.Join("testdata", q.Name, "*.test"))
		if err != nil || len(tests) == 0 {
			t.Errorf("query %s has no test in testdata (%v)", q.Name, err)
		}
		for _, path := range tests {
			fixtureSQL, cases := parseTest(t, path)
			session.Fill(t, fixtureSQL)
			for _, c := range cases {
				t.Run(q.Name+"/"+c.name, func(t *testing.T) {
					if diff := cmp.Diff(c.want, runCSV(t, session.DB, q, parseParams(t, c.params))); diff != "" {
						t.Errorf("result (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// TestMartsOfEngines runs the views for Spark and Trino, translated for DuckDB, on the rows of testdata/mart/<view>/*.test.
// Each must have the rows of the test, as the view of DuckDB in a test of the package schema.
// The tests of the lake run the views in Spark and Trino, which are large downloads.
func TestMartsOfEngines(t *testing.T) {
	const pairs = "(SELECT pair[1], pair[2] FROM unnest(g.segment_medians) AS u (pair))"
	toDuckDB := map[string]*strings.Replacer{
		dialect.Trino: strings.NewReplacer("lake_current.", "main.", "lake_past.", "past.", "lake_meta.", "meta.", "lake_mart.", "mart.",
			"cardinality(", "len(", "element_at(", "list_extract(", "array_sort(", "list_sort(", "TIMESTAMP(6) WITH TIME ZONE", "TIMESTAMPTZ",
			"domain_authority / 10", "domain_authority // 10", "UNNEST(g.segment_medians)", pairs,
			"date_add('hour', 24 * f.delivery_days, f.paid_at)", "f.paid_at + 24 * f.delivery_days * INTERVAL 1 HOUR"),
		dialect.Spark: strings.NewReplacer("lake_current.", "main.", "lake_past.", "past.", "lake_meta.", "meta.", "lake_mart.", "mart.",
			"size(", "len(", " get(", " list_extract(", "AS INT) - 1)", "AS INT))", "element_at(array(", "list_extract(list_value(",
			"sort_array(collect_list(", "list_sort(list(", "collect_list(struct(value, median))", "list({'value': value, 'median': median})",
			"explode(", "unnest(", "<=>", "IS NOT DISTINCT FROM", " div ", " // ", "timestamp_micros(unix_micros(", "make_timestamptz(epoch_us("),
	}
	selects := map[string]map[string]string{} // of DuckDB, by view and engine
	for _, e := range dialect.Engines() {
		for _, v := range e.Views(dialect.LakeNames{Prefix: "lake"}) {
			if selects[v.Name] == nil {
				selects[v.Name] = map[string]string{}
			}
			selects[v.Name][e.Name] = toDuckDB[e.Name].Replace(v.Select)
		}
	}
	session := fixture.NewEmptyCatalog(t).Open(t, "", query.Options{})
	for view, byEngine := range selects {
		tests, err := filepath.Glob(filepath.Join("testdata", "mart", view, "*.test"))
		if err != nil || len(tests) == 0 {
			t.Errorf("the view %s has no test (%v)", view, err)
		}
		hasRows := false
		for _, path := range tests {
			fixtureSQL, cases := parseTest(t, path)
			session.Fill(t, fixtureSQL)
			want := cases[0].want
			for engine, sql := range byEngine {
				got := runCSV(t, session.DB, query.Query{Name: view, SQL: "FROM (" + sql + ") ORDER BY ALL"}, nil)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s with the rows of %s (-want +got of %s):\n%s", view, path, engine, diff)
				}
			}
			hasRows = hasRows || strings.Count(want, "\n") > 1
		}
		if !hasRows {
			t.Errorf("the view %s has no rows in its tests", view)
		}
	}
}

// TestMartsOfAnEarlierSnapshot reads all views as of a snapshot. Their definitions are then those that
// DuckDB stored, which can differ from the files.
func TestMartsOfAnEarlierSnapshot(t *testing.T) {
	path := fixture.NewEmptyCatalog(t).Fill(t, "INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r1', '2026-11-01 02:00:00+00')")
	db, err := query.Open(t.Context(), path, query.Options{AsOf: "r1", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, v := range schema.MartViews() {
		runCSV(t, db, query.Query{Name: v.Name, SQL: "FROM mart." + v.Name}, nil)
	}
}

// queryCase is one case of a test.
type queryCase struct{ name, params, want string }

// parseTest returns the rows and the cases of a test. The first case has the name of the file.
func parseTest(t *testing.T, path string) (fixtureSQL string, cases []queryCase) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases = []queryCase{{name: strings.TrimSuffix(filepath.Base(path), ".test")}}
	for _, f := range archive.Files {
		if name, isCase := strings.CutPrefix(f.Name, "case "); isCase {
			cases = append(cases, queryCase{name: name})
			continue
		}
		last := &cases[len(cases)-1]
		switch f.Name {
		case "fixture.sql":
			fixtureSQL = string(f.Data)
		case "params":
			last.params = string(f.Data)
		case "want.csv":
			last.want = string(f.Data)
		default:
			t.Fatalf("%s has the unknown part %q", path, f.Name)
		}
	}
	return fixtureSQL, cases
}

// TestHeadersAreComplete checks that each header has all parts, and runs the SQL of each values line.
func TestHeadersAreComplete(t *testing.T) {
	all := query.All()
	subjects := []string{"commissions", "margins", "orders", "placements", "prices", "quality", "report", "throughput"}
	parameters := map[string]string{} // query and parameter, by the SQL of its values line
	for _, q := range all {
		if q.Title == "" || q.Grain == "" || q.About == "" || q.Also == "" || !slices.Contains(subjects, q.Subject) {
			t.Errorf("%s: its header needs title, grain, about, also and one of the subjects %s, not %q", q.Name, strings.Join(subjects, ", "), q.Subject)
		}
		for _, p := range q.Params {
			if needsValues := p.Type == "VARCHAR" && slices.Contains([]string{"currency", "tier", "country", "tag"}, p.Name); needsValues && p.Values == "" {
				t.Errorf("%s: parameter %s has no values line", q.Name, p.Name)
			}
			parameters[p.Values] = q.Name + " " + p.Name
		}
	}
	delete(parameters, "")
	db := open(t, "")
	for values, name := range parameters {
		if _, _, err := db.ParamValues(t.Context(), query.Param{Name: name, Values: values}, 1); err != nil {
			t.Error(err)
		}
	}
}

// TestSearchFindsQuestions searches with words that a user would type.
func TestSearchFindsQuestions(t *testing.T) {
	for words, want := range map[string][]string{
		"owed":                     {"commissions_by_month", "orders_open", "payables_ageing", "payables_open"},
		"whom do we owe":           {"orders_open", "paid_by_profile", "payables_ageing", "payables_open"},
		"debts":                    {"payables_ageing", "payables_open"},
		"late":                     {"campaign_funnel", "campaigns_at_risk", "delivery", "overdue_articles"},
		"late articles":            {"overdue_articles"},
		"spend":                    {"campaign_budgets", "client_spend"},
		"vanished":                 {"bought_and_gone", "came_and_left", "listing_turnover"},
		"What did a client spend":  {"client_spend"},
		"how much is our profit":   {"margins"},
		"cheap":                    {"best_value", "price_outliers"},
		"which outlets are unused": {"sites_not_used"},
		"price increases":          {"price_changes", "price_moves", "price_net_changes"},
		"ate":                      nil,                                 // part of "late"
		"interpolated":             {"price_by_segment", "price_moves"}, // only in their descriptions
		"margin months":            {"margins", "month_to_date", "refunds_by_month"},
	} {
		var got []string
		for _, q := range query.FilterByWords(query.List(), strings.Fields(words)) {
			got = append(got, q.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", words, diff)
		}
	}
}

// TestHeadersNameColumns checks that the columns of each chart, heading and line "columns" are columns of the query, and that the
// values of the chart are numbers.
func TestHeadersNameColumns(t *testing.T) {
	db := open(t, "")
	for _, q := range query.List() {
		if q.Chart == nil && q.Headings == nil && q.First == nil {
			continue
		}
		result, err := db.Collect(t.Context(), q, requiredValues(q, "1"), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(slices.Sorted(maps.Keys(q.Headings)), q.First) {
			if !slices.ContainsFunc(result.Columns, func(c query.Column) bool { return c.Name == name }) {
				t.Errorf("%s: its header names the column %q, which the result does not have", q.Name, name)
			}
		}
		if q.Chart == nil {
			continue
		}
		for _, name := range q.Chart.Columns() {
			i := slices.IndexFunc(result.Columns, func(c query.Column) bool { return c.Name == name })
			if i < 0 {
				t.Errorf("%s: its chart names the column %q, which the result does not have", q.Name, name)
				continue
			}
			if isValue := slices.Contains(q.Chart.Y, name); isValue && !result.Columns[i].Numeric {
				t.Errorf("%s: its chart draws the column %q of type %s, want numbers", q.Name, name, result.Columns[i].Type)
			}
		}
	}
}

// TestMoneyAndThroughputHaveDates checks that queries about money or throughput have the
// parameters of a period.
func TestMoneyAndThroughputHaveDates(t *testing.T) {
	all := query.List()
	for _, q := range all {
		// campaigns_at_risk forecasts all unfinished campaigns, and month_to_date has its own periods.
		exempt := []string{"campaigns_at_risk", "month_to_date"}
		if !slices.Contains([]string{"commissions", "margins", "orders", "throughput"}, q.Subject) || slices.Contains(exempt, q.Name) {
			continue
		}
		for _, want := range []struct{ name, typ string }{{"since", "DATE"}, {"until", "DATE"}, {"timezone", "TIMEZONE"}} {
			if !slices.ContainsFunc(q.Params, func(p query.Param) bool { return p.Name == want.name && p.Type == want.typ }) {
				t.Errorf("%s has no parameter %s of type %s", q.Name, want.name, want.typ)
			}
		}
	}
}

// TestBacklogRowsEqualBacklogAtEnd compares the number of rows of the query backlog with the column
// backlog_at_end of the query weekly_throughput.
func TestBacklogRowsEqualBacklogAtEnd(t *testing.T) {
	fixtureSQL, _ := parseTest(t, filepath.Join("testdata", "backlog", "late.test"))
	db := open(t, fixtureSQL)
	rowsOf := func(name string, values map[string]string) []string {
		q, err := query.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(runCSV(t, db, q, values)), "\n")[1:]
	}
	items, weeks := rowsOf("backlog", nil), rowsOf("weekly_throughput", map[string]string{"weeks": "1"})
	if want := fmt.Sprintf(",%d", len(items)); len(items) == 0 || len(weeks) != 1 || !strings.HasSuffix(weeks[0], want) {
		t.Errorf("backlog has %d items and weekly_throughput returned %q, want one week with the same number", len(items), weeks)
	}
}

// TestQueryOfTheGuide runs the example of a user's query in the guide.
func TestQueryOfTheGuide(t *testing.T) {
	page, err := os.ReadFile("../docs/guide/own-queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```sql\n-- subject: ")
	text, _, found := strings.Cut(text, "```")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cheap.sql"), []byte("-- subject: "+text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := query.Load(dir)
	if err != nil || !found {
		t.Fatalf("load the example query of docs/guide/own-queries.md: found %t, SQL %q, error %v", found, text, err)
	}
	q, ok := all.Find("cheap")
	db := open(t, `INSERT INTO product_listings (id, name, country) VALUES ('a', 'A', 'Germany'), ('b', 'B', 'France');
		INSERT INTO product_listing_prices (product_listing_id, position, unit_amount, currency) VALUES ('a', 1, 2, 'EUR'), ('a', 2, 1, 'EUR'), ('a', 3, 9, 'EUR'), ('b', 1, 1, 'EUR');`)
	const want = "listing_name,outlet_name,pricing_tier,currency,unit_amount\nA,,,EUR,1.000000\nA,,,EUR,2.000000\n"
	if got := runCSV(t, db, q, map[string]string{"max_price": "2.00"}); !ok || got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
