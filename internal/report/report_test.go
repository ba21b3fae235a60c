package report

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

const (
	nights = "run_id|snapshot_at|outcome|rows|rows_new|rows_changed|rows_gone|requests|minutes|hours_since_previous\n" +
		"r9|2026-11-09T02:00:00.5Z|complete|10|1|2|3|4|5.00|24.00\n" +
		"r8|2026-11-08T02:00:00Z|complete|10|1|2|3|4|5.00|24.00\n" +
		"r2|2026-11-02T02:00:01Z|complete|10|10|0|0|4|5.00|"
	headlines = "figure|unit|value|compared\nProduct listings||1234.00|\nUnpaid commissions|amount|9000.10|\nMedian price, pro|USD|50.00|0\nMedian price, base|USD|20.00|0"
)

func writePage(t *testing.T, texts map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(t.Context(), &out, newBuilder(texts).ask, Options{Program: "placementsync query"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// markup returns a page without its style sheet and its scripts, which are at its end.
func markup(page string) string {
	before, rest, _ := strings.Cut(page, "<style>")
	_, rest, _ = strings.Cut(rest, "</style>")
	rest, _, _ = strings.Cut(rest, "<script")
	return before + rest
}

// visibleText returns the text of a page without tags, scripts and style sheet.
func visibleText(page string) string {
	page = markup(page)
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

// TestPageShowsHeadlineChanges compares headline numbers of three snapshots. The changes of median
// prices must come from the listings that are in both snapshots.
func TestPageShowsHeadlineChanges(t *testing.T) {
	text := visibleText(writePage(t, map[string]string{
		"snapshots":        nights,
		"report_headlines": headlines,
		"best_value": "pricing_tier|currency|rank|listing_name|outlet_name|domain_authority|price|price_per_point\n" +
			"pro|USD|1|A|B|40|10.00|0.25\npro|EUR|1|C|D|40|10.00|0.25",
		"report_headlines@08":                         "figure|unit|value\nProduct listings||1200.00\nUnpaid commissions|amount|9000.10\nMedian price, pro|EUR|50.00",
		"report_headlines@02":                         "figure|unit|value\nProduct listings||0.00\nUnpaid commissions|amount|12000.35\nMedian price, pro|USD|40.00\nMedian price, base|USD|40.00",
		"report_headlines?since=2026-11-08T02:00:00Z": "figure|unit|value|compared|change_percent\nMedian price, pro|USD|50.00|0|\nMedian price, base|USD|20.00|1200|0.0",
		"report_headlines?since=2026-11-02T02:00:01Z": "figure|unit|value|compared|change_percent\nMedian price, pro|USD|50.00|1|2.5\nMedian price, base|USD|20.00|30|-1.0",
	}))
	for _, want := range []string{
		"Currency all USD EUR ",
		"Product listings 1,234 vs previous ▲\u00a0+34 (+2.8 %) vs week ▲\u00a0+1,234 ",
		"Unpaid commissions 9,000.10 vs previous no change vs week ▼\u00a0−3,000.25 (−25.0 %)",
		"Median price, pro 50.00 USD vs previous not known vs week ▲\u00a0+2.5 % (same 1 listing)",
		"Median price, base 20.00 USD vs previous no change (same 1,200 listings) vs week ▼\u00a0−1.0 % (same 30 listings)",
		"prices vs week placementsync query report_headlines --param since=2026-11-02T02:00:01Z",
		"Snapshot 2026-11-09 02:00 UTC Run r9 Outcome complete Compared with the previous snapshot 2026-11-08 02:00 UTC Compared with last week 2026-11-02 02:00 UTC",
		"vs week placementsync query --as-of 2026-11-02T02:00:01Z report_headlines",
	} {
		if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the page lacks %q:\n%.1500s", want, text)
		}
	}
}

// TestPanelsShowTheirNotes checks the order of the texts of a headline, of a panel and of a notice.
func TestPanelsShowTheirNotes(t *testing.T) {
	const orders = "figure|unit|value|reads|compared\nOrders||5.00|orders|\nMargin|amount|6.00|order_items|"
	texts := map[string]string{
		"snapshots": nights, "report_headlines": orders, "report_headlines@08": orders,
		"stream_grades": "stream|grade|reason|rows|rows_old|fetched|carried|failed|oldest_at|oldest_days\n" +
			"orders|best_effort|the list changed|5|5|6|0|0|2026-11-07T02:00:00Z|2.00\n" +
			"article_status_events|skipped|no webhook delivery was received yet|0|0|0|0|0||",
		"rejects_by_column": "table_name|column_name|reason|rejects|sample" + strings.Repeat("\norders|total|no number|3|x", 30),
	}
	pageWith := func(sources ...query.Source) string {
		ask := func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
			r, ok, err := newBuilder(texts).ask(ctx, q)
			r.Sources = sources
			return r, ok, err
		}
		var out bytes.Buffer
		if err := Write(t.Context(), &out, ask, Options{Program: "ps query"}); err != nil {
			t.Fatal(err)
		}
		return visibleText(out.String())
	}
	unproven := query.Source{Table: "orders", Standing: ledger.NotProven, Reason: "the list changed"}
	text := pageWith(unproven, query.Source{Table: "order_items", Standing: ledger.NotRead, Reason: "403"})
	for _, parts := range [][]string{
		{"Rows of these streams may be old or missing:", "orders is not proven: the list changed", "ps query stream_grades"},
		{"Orders 5", "orders is not proven: the list changed", "vs previous no change"},
		{"Margin not read", "order_items was not read: 403"},
		{"Commands of these numbers ps query report_headlines", "vs previous ps query --as-of 2026-11-08T02:00:00Z report_headlines"},
		{"Each number is computed from prices of one currency and one tier.", "Price by segment",
			"This snapshot lacks a table that the query reads.", "ps query report_price_spread"},
		{"if the team uses a single currency.", "No numbers: order_items was not read: 403.", "Articles Durations are in days"},
	} {
		requireInOrder(t, text, parts)
	}
	requireInOrder(t, pageWith(unproven), []string{"Completeness of the streams, age of the data", "Grades of the streams Proven means",
		"orders is not proven: the list changed", "Ids read", "orders not proven best_effort 5",
		"Not in use: article_status_events was not read", "ps query stream_grades Copy", "Values that did not fit The values are stored", "no number 3 x", "25 of 30 rows. The query below returns all.", "ps query rejects_by_column"})
}

// requireInOrder checks that a text contains all parts in their order.
func requireInOrder(t *testing.T, text string, parts []string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		before, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("the page lacks %q after the texts before it, %q:\n%.600s", part, parts, rest)
			return
		}
		if rest = after; len(before) > 3000 && part != parts[0] {
			t.Errorf("%q is %d bytes after the text before it, want it in the same panel", part, len(before))
		}
	}
}

func TestPageOfTheFirstSnapshot(t *testing.T) {
	first := strings.Join(strings.Split(nights, "\n")[:2], "\n")
	text := visibleText(writePage(t, map[string]string{"snapshots": first, "report_headlines": headlines}))
	if !strings.Contains(text, "no other: this is the first snapshot") || strings.Contains(text, "not known") {
		t.Errorf("the page of the first snapshot contains a comparison, want none:\n%.900s", text)
	}
}

func TestPageOfAPartialNightHasNotices(t *testing.T) {
	text := visibleText(writePage(t, map[string]string{
		"snapshots": strings.ReplaceAll(nights, "complete", "partial"),
		"stream_grades": "stream|grade|reason|rows|rows_old|fetched|carried|failed|oldest_at|oldest_days\n" +
			"orders|carried_forward|answered 500|5|5|0|0|0|2026-11-07T02:00:00Z|2.00\n" +
			"articles|skipped|missing scope articles:read|0|0|0|0|0||\n" +
			"article_status_events|skipped|no delivery|0|0|0|0|0||",
	}))
	if strings.Contains(text, "article_status_events was not read") {
		t.Error("a notice lists article_status_events, want only streams with numbers on the page")
	}
	// The findings are first, and then what is not known.
	attention, facts := strings.Index(text, "This snapshot is partial."), strings.Index(text, "Snapshot 2026-11-09")
	notKnown := strings.Index(text, "Not known: articles was not read: missing scope articles:read.")
	if attention < 0 || notKnown < attention || facts < notKnown {
		t.Errorf("the notices, the line on unknown data and the facts are at %d, %d and %d, want them in this order:\n%.900s", attention, notKnown, facts, text)
	}
	for _, want := range []string{
		"This snapshot is partial. Some streams were not read, or not completely: orders is carried since 2026-11-07 02:00 UTC: answered 500",
		"articles was not read: missing scope articles:read",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestTextsOfTheServiceAreEscaped(t *testing.T) {
	const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>{{.}} =cmd()/' /C calc'!A0`
	content := writePage(t, map[string]string{
		"snapshots": nights,
		"articles_by_status": "status_prefix|status_name|waits_for|articles|p50_days_in_status|oldest_days\n" +
			hostile + "|" + hostile + "|partner|3|1.00|2.00",
		"schema_drift": "table_name|path|kind|is_new|count|sample\n" + hostile + "|" + hostile + "|field|true|3|" + hostile,
		"margins":      "group_name|items|margin_known_percent|sale_total|vendor_cost_total|internal_cost_total|reseller_total|commission_total|margin_total|margin_percent\n2026-10|1|0.0|1.00|1.00|1.00|1.00|1.00|1.00|1.0",
	})
	if n := strings.Count(content, "<script"); n != 4 {
		t.Errorf("the page has %d script elements, want 4", n)
	}
	if strings.Contains(content, "<img") || strings.Contains(content, "</script><script>alert") {
		t.Error("the page contains markup of the service, want it escaped")
	}
	if !strings.Contains(visibleText(content), strings.Join(strings.Fields(hostile), " ")) {
		t.Errorf("the page does not show the text %q", hostile)
	}
}

// TestPageSizeIsLimited builds a page from results with the maximum number of rows and very long texts.
func TestPageSizeIsLimited(t *testing.T) {
	large := largeResult()
	ask := func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
		if q.Query == "snapshots" {
			return newBuilder(map[string]string{"snapshots": nights}).ask(ctx, QuerySpec{Query: "snapshots"})
		}
		return large, true, nil
	}
	var out bytes.Buffer
	if err := Write(t.Context(), &out, ask, Options{Program: "placementsync query"}); err != nil {
		t.Fatal(err)
	}
	const limit = 3_000_000
	size := out.Len()
	if size > limit {
		t.Errorf("the page has %d bytes, want at most %d", size, limit)
	}
	t.Logf("the page has %d bytes", size)
}

// largeResult returns as many rows as a page reads, with the columns of all queries.
func largeResult() query.Result {
	const maxRows = 2000
	// The columns of the headlines and of the notices, and those of the panels.
	names := []string{"figure", "unit", "value", "reads", "compared", "change_percent", "check_name", "outcome", "rows", "sample", "reason",
		"stream", "grade", "oldest_at", "failed", "article_name", "campaign_name", "days_past_promise", "days_past_expected"}
	for _, s := range allSections() {
		for _, p := range s.panels {
			names = append(names, columnsOf(p)...)
		}
	}
	slices.Sort(names)
	var columns []query.Column
	for _, name := range slices.Compact(names) {
		columns = append(columns, query.Column{Name: name})
	}
	r := query.Result{Columns: columns, Total: 1_000_000}
	for i := range maxRows {
		number := query.Value{Text: fmt.Sprintf("%d123456.75", i)}
		long := query.Value{Text: fmt.Sprint(i, strings.Repeat("<\u00e9", 2000))}
		row := make([]query.Value, len(columns))
		for c, column := range columns {
			row[c] = number
			if strings.HasSuffix(column.Name, "_name") || column.Name == "sample" || column.Name == "segment" {
				row[c] = long
			}
		}
		r.Rows = append(r.Rows, query.Record{Columns: columns, Values: row})
	}
	return r
}

func TestPageIsReproducible(t *testing.T) {
	texts := map[string]string{"snapshots": nights, "report_headlines": headlines}
	if first, second := writePage(t, texts), writePage(t, texts); first != second {
		t.Error("two pages of the same snapshot differ, want the same bytes")
	}
}

// TestNumbersLinkToTheirQueries checks that a served page links to the pages of its queries with
// the same parameters, and that an offline file does not.
func TestNumbersLinkToTheirQueries(t *testing.T) {
	texts := map[string]string{"snapshots": nights, "report_headlines": headlines, "report_headlines@08": headlines}
	var out bytes.Buffer
	if err := Write(t.Context(), &out, newBuilder(texts).ask, Options{Program: "placementsync query", QueryPages: "/explore/questions/"}); err != nil {
		t.Fatal(err)
	}
	served := markup(out.String())
	for _, address := range []string{"/explore/questions/report_headlines", "/explore/questions/report_headlines?as_of=2026-11-08T02%3A00%3A00Z", "/explore/questions/stream_grades"} {
		if !strings.Contains(served, `<a href="`+address+`"`) {
			t.Errorf("the page has no link to %s", address)
		}
	}
	if strings.Contains(markup(writePage(t, texts)), "/explore/") {
		t.Error("an offline page contains links to a server, want none")
	}
}

func TestPageLoadsNoOtherFile(t *testing.T) {
	text := markup(writePage(t, map[string]string{"snapshots": nights, "report_headlines": headlines}))
	if !strings.Contains(html.UnescapeString(text), `content="default-src 'none'; script-src 'sha256-`) {
		t.Error("the page has no content security policy")
	}
	for _, tag := range []string{"<link", "<iframe", " src=", "@import", "url("} {
		if strings.Contains(text, tag) {
			t.Errorf("the page contains %q, which could load another file", tag)
		}
	}
}

// TestTitleNamesTheClient writes the pages of an operator and of clients. Only the operator can run commands. The name of a
// client can be empty.
func TestTitleNamesTheClient(t *testing.T) {
	texts := map[string]string{"snapshots": "run_id|snapshot_at|outcome\nr2|2026-11-09T02:00:00Z|complete"}
	for _, c := range []struct {
		client             Client
		title, facts, hint string
	}{
		{Client{}, "placementsync report 2026-11-09 02:00 UTC", "Run r2 Outcome complete Compared with no other",
			"prints it again from the newest snapshot or, with --as-of 2026-11-09T02:00:00Z , from this one."},
		{Client{ID: "p1", Name: "Acme & Sons"}, "Report for Acme &amp; Sons, 2026-11-09 02:00 UTC", "Data complete", ""},
		{Client{ID: "p1"}, "Report 2026-11-09 02:00 UTC", "Data complete", ""},
	} {
		var out bytes.Buffer
		if err := Write(t.Context(), &out, newBuilder(texts).ask, Options{Program: "placementsync query", Client: c.client}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "<title>"+c.title+"</title>") {
			t.Errorf("the page of %+v lacks the title %s", c.client, c.title)
		}
		text := visibleText(out.String())
		_, hint, _ := strings.Cut(text, " The command below each number ")
		isHint := strings.HasPrefix(hint, c.hint) && (hint == "") == (c.hint == "")
		if !strings.Contains(text, " Snapshot 2026-11-09 02:00 UTC "+c.facts) || !isHint {
			t.Errorf("the page of %+v says %.60q on its commands, want %q, and the facts %q:\n%.500s", c.client, hint, c.hint, c.facts, text)
		}
	}
}

// TestQueriesOfAnOpenSnapshot asks a real catalog. A table that an earlier release did not have is no error.
func TestQueriesOfAnOpenSnapshot(t *testing.T) {
	empty := fixture.NewEmptyCatalog(t)
	for name, c := range map[string]struct {
		fill, query string
		params      map[string]string
		ok, isErr   bool
	}{
		"a result":             {"", "stream_grades", nil, true, false},
		"a missing table":      {"DROP TABLE meta.streams", "stream_grades", nil, false, false},
		"an unknown query":     {"", "nothing_of_ours", nil, false, true},
		"an unknown parameter": {"", "stream_grades", map[string]string{"nothing": "x"}, false, true},
	} {
		db, err := query.Open(t.Context(), empty.Fill(t, c.fill), query.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		r, ok, err := AskDB(t.Context(), db, QuerySpec{Query: c.query, Params: c.params})
		if ok != c.ok || (err != nil) != c.isErr || ok && len(r.Columns) == 0 {
			t.Errorf("%s: got %d columns, found: %t (%v), want found: %t, an error: %t", name, len(r.Columns), ok, err, c.ok, c.isErr)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
