package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// newBuilder returns a builder with results from texts, see parseResult. The key of a text is the
// name of its query, such as "freshness". For an earlier snapshot, the key also contains the day of the
// snapshot: "freshness@08", and the key for one value of a parameter this value: "freshness?top=3". For a query without a text, ask reports that the snapshot lacks a table.
func newBuilder(texts map[string]string) *builder {
	return &builder{ctx: context.Background(), opts: Options{Program: "ps query"}, ask: func(_ context.Context, q QuerySpec) (query.Result, bool, error) {
		text, ok := texts[q.Query]
		for name, value := range q.Params {
			if t, isGiven := texts[q.Query+"?"+name+"="+value]; isGiven {
				text, ok = t, true
			}
		}
		if !q.AsOf.IsZero() {
			text, ok = texts[q.Query+"@"+q.AsOf.Format("02")]
		}
		if !ok {
			return query.Result{}, false, nil
		}
		return parseResult(text), true, nil
	}}
}

func requireErr(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

func TestAttentionListsUnprovenStreams(t *testing.T) {
	const head = "stream|grade|reason|oldest_at|failed\n"
	partial := "This snapshot is partial. Some streams were not read, or not completely:"
	neverRead, unproven := "These streams were never read. Their numbers are missing:", "Rows of these streams may be old or missing:"
	for name, c := range map[string]struct {
		grades, outcome string
		want            []Notice
	}{
		"proven streams":                       {"orders|exact|all records were read|2026-11-09T02:00:00Z|0\noutlets|bounded|some records are older|2026-11-02T02:00:00Z|0", "complete", nil},
		"partial night":                        {"orders|exact|all records were read|2026-11-09T02:00:00Z|0", "partial", []Notice{{Title: partial, Alarm: true}}},
		"carried stream":                       {"orders|carried_forward|not chosen|2026-11-07T02:00:00Z|0", "complete", []Notice{{Title: unproven, Lines: []string{"orders is carried since 2026-11-07 02:00 UTC: not chosen"}}}},
		"carried stream of a complete night":   {"orders|carried_forward|answered 500|2026-11-07T02:00:00Z|0", "complete", []Notice{{Title: unproven, Lines: []string{"orders is carried since 2026-11-07 02:00 UTC: answered 500"}}}},
		"unproven stream":                      {"orders|best_effort|the list changed|2026-11-09T02:00:00Z|0", "complete", []Notice{{Title: unproven, Lines: []string{"orders is not proven: the list changed"}}}},
		"streams that the configuration skips": {"articles|skipped|not chosen||0\nfiles|skipped|streams.details is none: 0 rows||0\narticle_status_events|skipped|no webhook delivery was received yet||0", "complete", nil},
		"stream that was never read":           {"articles|skipped|missing scope||0", "complete", []Notice{{Title: neverRead, Lines: []string{"articles was not read: missing scope"}}}},
		"streams without numbers on the page":  {"article_status_events|skipped|no delivery||0\narticle_comment_events|best_effort|deliveries||0", "complete", nil},
		"streams after those without a notice": {"articles|skipped|not chosen||0\nproducts|exact|all records were read||0\norders|best_effort|the list changed||0", "complete",
			[]Notice{{Title: unproven, Lines: []string{"orders is not proven: the list changed"}}}},
		"failed ids": {"files|best_effort|3 of 9 ids failed||3", "partial", []Notice{{Title: partial, Lines: []string{"files is not proven: 3 of 9 ids failed"}, Alarm: true}}},
		"partial night and an excluded stream": {"orders|carried_forward|" + ledger.ReasonNotChosen + "|2026-11-07T02:00:00Z|0", "partial",
			[]Notice{{Title: partial, Alarm: true}, {Title: unproven, Lines: []string{"orders is carried since 2026-11-07 02:00 UTC: " + ledger.ReasonNotChosen}}}},
		"partial night and a stream that was never read": {"orders|carried_forward|answered 500|2026-11-07T02:00:00Z|0\narticles|skipped|missing scope||0", "partial",
			[]Notice{{Title: partial, Lines: []string{"orders is carried since 2026-11-07 02:00 UTC: answered 500"}, Alarm: true}, {Title: neverRead, Lines: []string{"articles was not read: missing scope"}}}},
	} {
		b := newBuilder(map[string]string{"stream_grades": head + c.grades})
		b.snapshots.outcome = c.outcome
		got, goodNews, err := b.findUnprovenStreams()
		for i := range c.want {
			c.want[i].Command.Text = "ps query stream_grades"
		}
		if diff := cmp.Diff(c.want, got); err != nil || goodNews == "" || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, goodNews, err := newBuilder(nil).findUnprovenStreams(); got != nil || goodNews != "" || err != nil {
		t.Errorf("snapshot without grades: got %v, %q, %v, want no notices, no text and no error", got, goodNews, err)
	}
}

func TestAttentionListsChecksAndLateArticles(t *testing.T) {
	const checks = "check_name|severity|outcome|rows|reason|sample\n"
	const late = "article_name|campaign_name|days_past_promise|days_past_expected\n"
	const grades = "stream|grade|reason|oldest_at|failed\n"
	heldNight := Notice{Title: "A night is held:", Lines: []string{"check price_jumps failed in 2 rows"}, Alarm: true}
	for name, c := range map[string]struct {
		texts map[string]string
		given []Notice // Options.Notices
		want  []Notice
		empty string
	}{
		"no notices": {texts: map[string]string{"check_results": checks + "price_jumps|hold|passed|0||\nslow_hosts|warn|skipped|0|too few rows|", "stream_grades": grades + "orders|exact|all records were read||0", "overdue_articles": late[:len(late)-1]},
			empty: "No check failed. All streams behind these numbers are proven. No article is late."},
		"without checks": {texts: map[string]string{"check_results": checks[:len(checks)-1], "stream_grades": grades + "orders|exact|all records were read||0"},
			empty: "All streams behind these numbers are proven."},
		"notices of all kinds": {texts: map[string]string{
			"check_results":                  checks + `repeated_hosts|hold|failed|7||[{"host":"x.com","outlets":2},{"host":"y.com","outlets":null},{"host":"z.com"},{"host":"w.com"}]` + "\nslow_hosts|warn|not run||it ran for 30 s|\nprice_jumps|warn|passed|0||",
			"stream_grades":                  grades + "orders|best_effort|the list changed||0",
			"overdue_articles?past=promise":  late + "A|X|9.50|1.00\nB||3.00|\nC|X|2.00|\nD|X|1.00|\nE|X|0.10|",
			"overdue_articles?past=expected": late + "A|X|9.50|1.00"},
			given: []Notice{heldNight},
			want: []Notice{heldNight,
				{Title: "Checks of this snapshot failed or did not run:", Alarm: true, Command: Command{Text: "ps query check_results"},
					Lines: []string{"check repeated_hosts failed in 7 rows: host x.com, outlets 2; host y.com; host z.com", "check slow_hosts did not run: it ran for 30 s"}},
				{Title: "Rows of these streams may be old or missing:", Command: Command{Text: "ps query stream_grades"}, Lines: []string{"orders is not proven: the list changed"}},
				{Title: "5 articles past the promised date:", Command: Command{Text: "ps query overdue_articles --param past=promise"},
					Lines: []string{"A · X · 9.50" + html.Thin + "d late", "B · (campaign name unknown) · 3.00" + html.Thin + "d late", "C · X · 2.00" + html.Thin + "d late", "2 more"}},
				{Title: "1 article past the expected date:", Command: Command{Text: "ps query overdue_articles --param past=expected"},
					Lines: []string{"A · X · 1.00" + html.Thin + "d late"}},
			}},
		"the same articles past both dates": {texts: map[string]string{
			"overdue_articles?past=promise":  late + "A|X|9.50|9.50",
			"overdue_articles?past=expected": late + "A|X|9.50|9.50"},
			want: []Notice{{Title: "1 article past the promised and the expected date:", Command: Command{Text: "ps query overdue_articles"},
				Lines: []string{"A · X · 9.50" + html.Thin + "d late"}}}},
	} {
		b := newBuilder(c.texts)
		b.opts.Notices, b.snapshots.outcome = c.given, "complete"
		got, err := b.buildAttention()
		if diff := cmp.Diff(c.want, got.Notices); err != nil || diff != "" || got.Empty != c.empty {
			t.Errorf("%s: %v, %q (-want +got):\n%s", name, err, got.Empty, diff)
		}
	}
	// Two articles of the same name are late by the same days.
	const byID = "article_id|article_name|campaign_name|days_past_promise|days_past_expected\n"
	others := newBuilder(map[string]string{
		"overdue_articles?past=promise": byID + "a|A|X|9.50|9.50", "overdue_articles?past=expected": byID + "b|A|X|9.50|9.50"})
	if got, err := others.buildAttention(); err != nil || len(got.Notices) != 2 {
		t.Errorf("two articles of the same name: got %+v (%v), want two notices", got.Notices, err)
	}
	for _, table := range []string{"campaign_articles", "order_items"} {
		b := withProblems(newBuilder(map[string]string{"overdue_articles": late[:len(late)-1]}), ledger.Problem{Name: table, Standing: ledger.NotRead})
		if got, err := b.buildAttention(); err != nil || got.Notices != nil || got.Empty != "" {
			t.Errorf("unread %s: got %+v, %v, want no notices and no text", table, got, err)
		}
	}
	// Without order items, the promised dates are unknown, and the expected dates are known.
	b := withProblems(newBuilder(map[string]string{"overdue_articles": late + "A|X|9.50|1.00"}), ledger.Problem{Name: "order_items", Standing: ledger.NotRead})
	if got, err := b.buildAttention(); err != nil || len(got.Notices) != 1 || got.Notices[0].Title != "1 article past the expected date:" {
		t.Errorf("unread order_items: got %+v, %v, want the article past its expected date", got, err)
	}
	// The result contains only the first rows of 4,000.
	b = newBuilder(map[string]string{"overdue_articles?past=promise": late + "A|X|9.50|1.00"})
	ask := b.ask
	b.ask = func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
		r, ok, err := ask(ctx, q)
		r.Total *= 4000
		return r, ok, err
	}
	if got, err := b.buildAttention(); err != nil || len(got.Notices) != 1 || got.Notices[0].Lines[1] != "3,999 more" {
		t.Errorf("4,000 late articles: got %+v, %v, want a line with the number of the others", got.Notices, err)
	}
}

// TestUnusedStreamsAreNamedOnce checks that a stream without webhook deliveries is in the note of the
// panel "grades" and in no table.
func TestUnusedStreamsAreNamedOnce(t *testing.T) {
	const grades = "stream|grade|reason|rows|rows_old|fetched|carried|failed|oldest_at|oldest_days\n"
	b := newBuilder(map[string]string{
		"stream_grades": grades + "article_status_events|skipped|no webhook delivery was received yet|0|0|0|0|0||\norders|exact|all records were read|5|0|5|0|0||",
		"freshness":     "stream|last_read_at|last_proven_at|runs_behind\narticle_status_events|||\norders|2026-11-09T02:00:00Z|2026-11-09T02:00:00Z|0",
	})
	if _, err := b.buildAttention(); err != nil {
		t.Fatal(err)
	}
	s, err := b.buildSection(qualitySection)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Panels {
		want := map[string]string{"grades": "Not in use: article_status_events was not read: no webhook delivery was received yet."}[p.ID]
		if p.Unused != want {
			t.Errorf("panel %s: got the note %q, want %q", p.ID, p.Unused, want)
		}
		if p.Table != nil && (len(p.Table.Rows) != 1 || p.Table.Rows[0].Cells[0].Text != "orders" || p.Table.More != "") {
			t.Errorf("panel %s: got %+v, want only orders", p.ID, p.Table)
		}
	}
	b.unused = nil
	if p, err := b.buildPanel(panel{query: "stream_grades", rowLimit: 9}); err != nil || p.Unused != "" {
		t.Errorf("all streams are in use: got the note %q (%v), want none", p.Unused, err)
	}
}

// TestCommandsOfAnEarlierReport checks that the commands and links in a report of an earlier snapshot
// read that snapshot and not the newest.
func TestCommandsOfAnEarlierReport(t *testing.T) {
	b := newBuilder(nil)
	b.opts.QueryPages, b.opts.Earlier = "/q/", true
	b.snapshots.at = time.Date(2026, time.November, 9, 2, 0, 0, 0, time.UTC)
	want := Command{Text: "ps query --as-of 2026-11-09T02:00:00Z headline --param 'by=a b'", Address: "/q/headline?as_of=2026-11-09T02%3A00%3A00Z&p.by=a+b"}
	if diff := cmp.Diff(want, b.commandOf(QuerySpec{Query: "headline", Params: map[string]string{"by": "a b"}})); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	compared := b.commandOf(QuerySpec{Query: "headline", AsOf: b.snapshots.at.AddDate(0, 0, -1)})
	if want := "ps query --as-of 2026-11-08T02:00:00Z headline"; compared.Text != want {
		t.Errorf("the command of the compared snapshot is %q, want %q", compared.Text, want)
	}
	for name, c := range map[string]struct {
		earlier, held bool
		want          string
	}{"newest": {want: "2026-11-09T02:00:00Z"}, "earlier": {earlier: true}, "held": {held: true}} {
		b := newBuilder(map[string]string{"snapshots": "run_id|snapshot_at|outcome\nr2|2026-11-09T02:00:00Z|complete"})
		b.opts.Earlier, b.opts.Held = c.earlier, c.held
		if p, err := b.buildPage(); err != nil || p.AsOf != c.want {
			t.Errorf("%s snapshot: the commands need --as-of %q (%v), want %q", name, p.AsOf, err, c.want)
		}
	}
}

func TestUnknownDataIsNamed(t *testing.T) {
	b := newBuilder(nil)
	b.notRead = []ledger.Problem{{Name: "orders", Standing: ledger.NotRead, Reason: "missing scope"}}
	tiles := []Tile{{Label: "Items without a known price", Value: "3"}, {Label: "Items without a known cost", Value: "0"}, {Label: "Orders without a known client", Value: "5", NotRead: true}, {Label: "Orders", Value: "7"}}
	if got, want := newBuilder(nil).describeUnknown(Section{}), "All streams behind these numbers were read."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := b.describeUnknown(Section{Tiles: tiles}), "Not known: orders was not read: missing scope; items without a known price: 3."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadlinesHaveCommandsAndChanges(t *testing.T) {
	const head = "figure|unit|value\n"
	day := func(n int) time.Time { return time.Date(2026, time.November, n, 2, 0, 0, 500_000_000, time.UTC) }
	current := Command{Text: "ps query report_headlines"}
	previous := Command{Label: "vs previous", Text: "ps query --as-of 2026-11-08T02:00:00.5Z report_headlines"}
	week := Command{Label: "vs week", Text: "ps query --as-of 2026-11-02T02:00:00.5Z report_headlines"}
	previousPrices := Command{Label: "prices vs previous", Text: "ps query report_headlines --param since=2026-11-08T02:00:00.5Z"}
	weekPrices := Command{Label: "prices vs week", Text: "ps query report_headlines --param since=2026-11-02T02:00:00.5Z"}
	both := []ComparedSnapshot{{"the previous snapshot", "vs previous", day(8)}, {"last week", "vs week", day(2)}}
	for name, c := range map[string]struct {
		texts    map[string]string
		compared []ComparedSnapshot
		commands []Command
		changes  []string
		empty    string
	}{
		"the first snapshot": {texts: map[string]string{"report_headlines": head + "Listings||7.00"}, commands: []Command{current}},
		"two earlier snapshots": {texts: map[string]string{"report_headlines": head + "Listings||7.00", "report_headlines@08": head + "Listings||6.00", "report_headlines@02": head + "Listings||8.00"},
			compared: both, commands: []Command{current, previous, previousPrices, week, weekPrices}, changes: []string{"vs previous ▲\u00a0+1 (+16.7 %)", "vs week ▼\u00a0−1 (−12.5 %)"}},
		"an earlier snapshot without the table": {texts: map[string]string{"report_headlines": head + "Listings||7.00", "report_headlines@08": head + "Listings||7.00"},
			compared: both, commands: []Command{current, previous, previousPrices}, changes: []string{"vs previous no change"}},
		"a previous snapshot without the table": {texts: map[string]string{"report_headlines": head + "Listings||7.00", "report_headlines@02": head + "Listings||7.00"},
			compared: both, commands: []Command{current, week, weekPrices}, changes: []string{"vs week no change"}},
		"no rows":  {texts: map[string]string{"report_headlines": "figure|unit|value"}, empty: "This snapshot lacks a table that the headlines need."},
		"no table": {empty: "This snapshot lacks a table that the headlines need."},
	} {
		b := newBuilder(c.texts)
		b.snapshots.compared = c.compared
		got, err := b.buildHeadlines()
		if err != nil || got.Empty != c.empty {
			t.Errorf("%s: got the error %v and the text %q, want the text %q", name, err, got.Empty, c.empty)
		}
		if diff := cmp.Diff(c.commands, got.Commands); diff != "" {
			t.Errorf("%s: commands (-want +got):\n%s", name, diff)
		}
		var changes []string
		for _, tile := range got.Tiles {
			for _, change := range tile.Changes {
				changes = append(changes, change.Comparison+" "+plainSpaces(change.Text))
			}
		}
		if diff := cmp.Diff(c.changes, changes); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", name, diff)
		}
	}
}

// TestErrorsOfQueriesAreReturned builds the page once for each of its queries. Each time, a different query
// fails, and its error must be returned.
func TestErrorsOfQueriesAreReturned(t *testing.T) {
	results := map[string]string{"snapshots": "run_id|snapshot_at|outcome|rows|rows_new|rows_changed|rows_gone|requests|minutes|hours_since_previous\n" +
		"r2|2026-11-09T02:00:00Z|complete|1|1|1|1|1|1|24\nr1|2026-11-08T02:00:00Z|complete|1|1|1|1|1|1|",

		"report_headlines": "figure|unit|value\nListings||7.00", "report_headlines@08": "figure|unit|value\nListings||7.00"}
	recording := newBuilder(results)
	var askedQueries []string
	ask := recording.ask
	recording.ask = func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
		askedQueries = append(askedQueries, q.Query+q.Params["by"]+q.Params["past"]+q.Params["since"]+q.AsOf.Format("@02"))
		return ask(ctx, q)
	}
	if _, err := recording.buildPage(); err != nil {
		t.Fatal(err)
	}
	if len(askedQueries) < 25 || len(slices.Compact(slices.Sorted(slices.Values(askedQueries)))) < len(askedQueries)-4 {
		t.Errorf("the page ran %d queries, want at least 25, at most 4 of them repeated: %v", len(askedQueries), askedQueries)
	}
	for failIndex := range askedQueries {
		b, n := newBuilder(results), 0
		ask := b.ask
		b.ask = func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
			n++
			if n == failIndex+1 {
				return query.Result{}, false, errors.New("disk failed")
			}
			return ask(ctx, q)
		}
		if _, err := b.buildPage(); err == nil || err.Error() != "disk failed" {
			t.Errorf("query %d, %s, failed: got %v, want its error", failIndex, askedQueries[failIndex], err)
		}
	}
}

func TestBuildPanel(t *testing.T) {
	p := panel{id: "p", title: "Prices", about: "All.", query: "prices", params: map[string]string{"top": "2", "name": "it's"}, rowLimit: 2, wide: true, empty: "None.",
		plot: &plot{kind: html.Bars, horizontal: true, stacked: true, logScale: true, choiceLabel: "Tier", split: []string{"tier"}, unit: "price",
			category: "name", limit: 9, measures: []measure{{column: "price", name: "price"}}},
		fields: []field{{column: "name", label: "Name", sub: "tier"}, {column: "price", label: "Price", as: asNumber, currency: "currency", about: "Net"},
			{column: "grade", label: "Grade", as: asTag}, {column: "grade", label: "Standing", as: asGrade}, {column: "at", label: "At", as: asMoment}}}
	const text = "name|tier|price|currency|grade|at\n" +
		"A|pro|1000.50|USD|best_effort|2026-11-09T02:00:00Z\nB|pro||EUR|exact|\nC|basic|3||odd_word|2026-11-09T02:00:00Z\nD|basic|4|USD|exact|"
	b := newBuilder(map[string]string{"prices": text})
	got, err := b.buildPanel(p)
	if err != nil {
		t.Fatal(err)
	}
	chart := &html.Chart{Title: "Prices", Kind: html.Bars, Horizontal: true, Stacked: true, LogScale: true, ChoiceLabel: "Tier", Variants: []html.Variant{
		{Label: "pro", Heading: "pro · price", Currency: "USD", Categories: []string{"A"}, Series: []html.Series{{Name: "price", Values: []any{1000.5}, Texts: []string{"1,000.50"}}}},
		{Label: "basic", Heading: "basic · price", Currency: "(no currency)", Categories: []string{"C", "D"}, Series: []html.Series{{Name: "price", Values: []any{3.0, 4.0}, Texts: []string{"3", "4"}}}},
	}}
	want := Panel{ID: "p", Chart: chart, Title: "Prices", About: "All.", Wide: true,
		Command: Command{Text: `ps query prices --param 'name=it'\''s' --param top=2`},
		Table: &html.Table{Caption: "Prices", Folded: true, More: "2 of 4 rows. The query below returns all.",
			Heads: []html.Head{{Label: "Name"}, {Label: "Price", About: "Net", Numeric: true}, {Label: "Grade"}, {Label: "Standing"}, {Label: "At"}},
			Rows: []html.Row{
				{Currency: "USD", Cells: []html.Cell{{Text: "A", Sub: "pro", Class: "w"}, {Text: "1,000.50" + html.Thin + "USD", Sort: "1000.50", Class: "n"}, {Text: "best effort", Tag: "none"}, {Text: "not proven", Tag: "none", Sub: "best_effort"}, {Text: "2026-11-09 02:00", Sort: "2026-11-09T02:00:00Z", Class: "t"}}},
				{Currency: "EUR", Cells: []html.Cell{{Text: "B", Sub: "pro", Class: "w"}, {Text: "–", Class: "n"}, {Text: "exact", Tag: "good"}, {Text: "proven", Tag: "good", Sub: "exact"}, {Text: "–", Class: "t"}}},
			}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("panel (-want +got):\n%s", diff)
	}
	p.plot.split, p.plot.horizontal, p.plot.logScale = nil, false, false
	b.opts.Client = Client{ID: "p1"}
	got, err = b.buildPanel(p)
	if c := got.Chart; !c.Stacked || c.Horizontal || c.LogScale {
		t.Errorf("the chart is stacked: %t, horizontal: %t, logarithmic: %t, want only stacked", c.Stacked, c.Horizontal, c.LogScale)
	}
	if err != nil || got.Chart.ChoiceLabel != "" || got.Table.More != "2 of 4 rows." {
		t.Errorf("got the choice %q and the note %q (%v), want no choice of one variant, and no command for a client", got.Chart.ChoiceLabel, got.Table.More, err)
	}
	if got, want := b.notReadText([]ledger.Problem{{Name: "orders", Reason: "a secret"}}), "No numbers: the data could not be read."; got != want {
		t.Errorf("the page of a client says %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"USD", "EUR", "(no currency)"}, b.currencies); diff != "" {
		t.Errorf("currencies (-want +got):\n%s", diff)
	}
}

func TestEmptyPanelsHaveAReason(t *testing.T) {
	p := panel{id: "p", query: "prices", rowLimit: 9, empty: "No prices.", fields: []field{{column: "name"}}}
	for name, c := range map[string]struct {
		texts map[string]string
		want  string
	}{
		"no rows":  {map[string]string{"prices": "name"}, "No prices."},
		"no table": {nil, "This snapshot lacks a table that the query reads. The next night adds it."},
	} {
		got, err := newBuilder(c.texts).buildPanel(p)
		if err != nil || got.Empty != c.want {
			t.Errorf("%s: got %q and the error %v, want %q", name, got.Empty, err, c.want)
		}
	}
}

// withProblems adds source tables with the given problems to each result of a builder.
func withProblems(b *builder, problems ...ledger.Problem) *builder {
	ask := b.ask
	b.ask = func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
		r, ok, err := ask(ctx, q)
		for _, p := range problems {
			r.Sources = append(r.Sources, query.Source{Table: p.Name, Standing: p.Standing, Reason: p.Reason, RowsSince: p.Since})
		}
		return r, ok, err
	}
	return b
}

func TestPanelsOfUnreadTablesHaveNoNumbers(t *testing.T) {
	s := section{id: "s", title: "S", lead: "Lead.", panels: []panel{
		{id: "a", query: "a", rowLimit: 9, needs: []string{"orders"}, empty: "Every order has a commission.", fields: []field{{column: "x"}}},
		{id: "b", query: "b", rowLimit: 9, needs: []string{"orders", "outlets"}, empty: "No b.", fields: []field{{column: "x"}}}}}
	texts := map[string]string{"a": "x", "b": "x\n0.00"}
	orders := ledger.Problem{Name: "orders", Standing: ledger.NotRead, Reason: "missing scope orders.lists"}
	outlets := ledger.Problem{Name: "outlets", Standing: ledger.NotRead, Reason: "403"}
	carried := ledger.Problem{Name: "orders", Standing: ledger.Carried, Reason: "answered 500", Since: time.Date(2026, time.November, 7, 2, 0, 0, 0, time.UTC)}
	for name, c := range map[string]struct {
		problems []ledger.Problem
		empty    string
		panels   []Panel // only Empty and Note
	}{
		"all tables are proven":             {nil, "", []Panel{{Empty: "Every order has a commission."}, {}}},
		"a table of all panels is not read": {[]ledger.Problem{orders}, "No numbers: orders was not read: missing scope orders.lists.", nil},
		"a table of one panel is not read": {[]ledger.Problem{outlets}, "", []Panel{{Empty: "Every order has a commission.", Note: "outlets was not read: 403"},
			{Empty: "No numbers: outlets was not read: 403."}}},
		"a table is carried": {[]ledger.Problem{carried}, "", []Panel{{Empty: "Every order has a commission.", Note: "orders is carried since 2026-11-07 02:00 UTC: answered 500"},
			{Note: "orders is carried since 2026-11-07 02:00 UTC: answered 500"}}},
	} {
		got, err := withProblems(newBuilder(texts), c.problems...).buildSection(s)
		var shown []Panel
		for _, p := range got.Panels {
			shown = append(shown, Panel{Empty: p.Empty, Note: p.Note})
			if p.Table != nil && p.Empty != "" {
				t.Errorf("%s: panel %s has a table and the text %q, want only one of them", name, p.ID, p.Empty)
			}
		}
		if diff := cmp.Diff(c.panels, shown); err != nil || got.Empty != c.empty || diff != "" {
			t.Errorf("%s: %v, %q (-want +got):\n%s", name, err, got.Empty, diff)
		}
		if got.ID != "s" || got.Title != "S" || got.Lead != "Lead." {
			t.Errorf("%s: got the section %q, %q, %q, want s, S, Lead.", name, got.ID, got.Title, got.Lead)
		}
	}
}

// TestThePeriodOfTheSnapshotIsMarked draws months and weeks in the night of Sunday, 15 November: the numbers of November,
// and of the week from 9 November on, are not complete. In Tokyo it is already Monday.
func TestThePeriodOfTheSnapshotIsMarked(t *testing.T) {
	for _, c := range []struct{ column, last, timezone, want string }{
		{"month", "2026-11-01", "", "2026-11 so far"}, {"month", "2026-10-01", "", "2026-10"},
		{"week", "2026-11-09", "", "2026-11-09 so far"}, {"week", "2026-11-02", "", "2026-11-02"},
		{"week", "2026-11-16", "Asia/Tokyo", "2026-11-16 so far"}, {"week", "2026-11-09", "Asia/Tokyo", "2026-11-09"},
	} {
		want := c.want
		p := panel{query: "spend", rowLimit: 9, plot: &plot{kind: html.Bars, category: c.column, limit: 9, measures: []measure{{column: "n"}}}}
		b := newBuilder(map[string]string{"spend": c.column + "|n\n2026-09-01|1\n" + c.last + "|2"})
		b.snapshots.at, b.opts.Timezone = time.Date(2026, time.November, 15, 22, 0, 0, 0, time.UTC), c.timezone
		got, err := b.buildPanel(p)
		if err != nil {
			t.Fatal(err)
		}
		if v := got.Chart.Variants[0]; v.Categories[1] != want || v.Unfinished != strings.HasSuffix(want, "so far") {
			t.Errorf("got the period %q, pale: %t, want %q", v.Categories[1], v.Unfinished, want)
		}
	}
}

// TestAPanelNeedsAllTablesOfItsQuery reads no orders. A panel that lists no tables needs all that its query reads.
func TestAPanelNeedsAllTablesOfItsQuery(t *testing.T) {
	b := withProblems(newBuilder(map[string]string{"a": "x\n1"}), ledger.Problem{Name: "orders", Standing: ledger.NotRead, Reason: "403"})
	for empty, needs := range map[string][]string{"No numbers: orders was not read: 403.": nil, "": {"outlets"}} {
		if got, err := b.buildPanel(panel{id: "p", query: "a", rowLimit: 9, needs: needs, fields: []field{{column: "x"}}}); err != nil || got.Empty != empty {
			t.Errorf("a panel that needs %q: got %q (%v), want %q", needs, got.Empty, err, empty)
		}
	}
}

func TestTilesOfUnreadTablesHaveNoNumber(t *testing.T) {
	const text = "figure|unit|value|reads\nMargin|USD|0.00|order_items\nMedian price|EUR|5.00|product_listings,product_listing_prices\nOutlets||3.00|outlets"
	b := newBuilder(map[string]string{"report_headlines": text, "report_headlines@08": text})
	b.snapshots.compared = []ComparedSnapshot{{"the previous snapshot", "vs previous", time.Date(2026, time.November, 8, 2, 0, 0, 0, time.UTC)}}
	b = withProblems(b, ledger.Problem{Name: "order_items", Standing: ledger.NotRead, Reason: "missing scope orders.lists"},
		ledger.Problem{Name: "outlets", Standing: ledger.NotProven, Reason: "the list changed"}, ledger.Problem{Name: "files", Standing: ledger.NotRead})
	got, err := b.buildHeadlines()
	if err != nil {
		t.Fatal(err)
	}
	same := []Change{{Direction: "same", Text: "no change", Comparison: "vs previous"}}
	want := []Tile{
		{Label: "Margin", Value: "not read", Currency: "USD", NotRead: true, Note: "order_items was not read: missing scope orders.lists"},
		{Label: "Median price", Value: "5.00", Unit: "EUR", Currency: "EUR", Changes: same},
		{Label: "Outlets", Value: "3", Note: "outlets is not proven: the list changed", Changes: same},
	}
	if diff := cmp.Diff(want, got.Tiles); diff != "" {
		t.Errorf("tiles (-want +got):\n%s", diff)
	}
}

// TestChartsOfChanges draws the nights, and the moves of the catalog. Losses are below the axis, and the tier with the most
// price moves is first.
func TestChartsOfChanges(t *testing.T) {
	b := newBuilder(map[string]string{
		"snapshots": "snapshot_at|rows_new|rows_changed|rows_gone|hours_since_previous\n" +
			"2026-11-03T02:00:00Z|1|2|3|24\n2026-11-02T02:00:00Z|4|5|6|24\n2026-11-01T02:00:00Z|7|0|0|",
		"price_moves":      "day|pricing_tier|currency|changes|rises|falls\n2026-11-02|base|EUR|3|1|2\n2026-11-02|pro|EUR|5|2|3",
		"listing_turnover": "day|new_listings|returned_listings|withdrawn_listings\n2026-11-02|1|2|3",
		"commissions_by_month": "month|commission_status|commission_total|commission_paid\n" +
			"2026-10-01|PAID|5.00|4.00\n2026-11-01|PAID|7.00|1.00\n2026-11-01|DUE|2.00|0.00",
	})
	b.snapshots.compared = []ComparedSnapshot{{}}
	charts := map[string][]html.Variant{}
	for _, s := range allSections() {
		for _, p := range s.panels {
			got, err := b.buildPanel(p)
			if err != nil {
				t.Fatal(err)
			}
			if got.Chart != nil {
				charts[p.id] = got.Chart.Variants
			}
		}
	}
	moves := func(tier string, rises, falls float64) html.Variant {
		return html.Variant{Label: tier + " · EUR", Heading: tier + " · EUR · number of prices", Currency: "EUR", Categories: []string{"2026-11-02"},
			Series: []html.Series{{Name: "risen", Colour: orange, Values: []any{rises}, Texts: []string{fmt.Sprint(rises)}},
				{Name: "fallen", Colour: blue, Values: []any{-falls}, Texts: []string{fmt.Sprint(falls)}}}}
	}
	want := map[string][]html.Variant{
		"nights": {{Heading: "rows", Categories: []string{"2026-11-02", "2026-11-03"}, Series: []html.Series{
			{Name: "new", Colour: green, Values: []any{4.0, 1.0}, Texts: []string{"4", "1"}},
			{Name: "changed", Colour: blue, Values: []any{5.0, 2.0}, Texts: []string{"5", "2"}},
			{Name: "deleted", Colour: pink, Values: []any{-6.0, -3.0}, Texts: []string{"6", "3"}}}}},
		"price-moves": {moves("pro", 2, 3), moves("base", 1, 2)},
		"listing-turnover": {{Heading: "listings", Categories: []string{"2026-11-02"}, Series: []html.Series{
			{Name: "new", Colour: green, Values: []any{1.0}, Texts: []string{"1"}},
			{Name: "returned", Colour: lightBlue, Values: []any{2.0}, Texts: []string{"2"}},
			{Name: "withdrawn", Colour: pink, Values: []any{-3.0}, Texts: []string{"3"}}}}},
		"commissions-by-month": {{Heading: amountsWithoutCurrency, Categories: []string{"2026-10", "2026-11"}, Series: []html.Series{
			{Name: "PAID", Colour: 0, Values: []any{5.0, 7.0}, Texts: []string{"5.00", "7.00"}},
			{Name: "DUE", Colour: 1, Values: []any{nil, 2.0}, Texts: []string{"–", "2.00"}}}}},
	}
	if diff := cmp.Diff(want, charts); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
}

func TestPanelOfTheFirstSnapshotHasNoChanges(t *testing.T) {
	var comparing []string
	for _, s := range allSections() {
		for _, p := range s.panels {
			if p.compares {
				comparing = append(comparing, p.id)
			}
		}
	}
	if diff := cmp.Diff([]string{"price-moves", "listing-turnover", "price-changes"}, comparing); diff != "" {
		t.Errorf("panels that compare snapshots (-want +got):\n%s", diff)
	}
	p := panel{id: "p", query: "moves", rowLimit: 9, compares: true, empty: "No price moved.", fields: []field{{column: "x"}}}
	b := newBuilder(map[string]string{"moves": "x\n0"})
	first, firstErr := b.buildPanel(p)
	b.snapshots.compared = []ComparedSnapshot{{"the previous snapshot", "vs previous", time.Date(2026, time.November, 8, 2, 0, 0, 0, time.UTC)}}
	second, secondErr := b.buildPanel(p)
	if firstErr != nil || secondErr != nil || first.Empty != "This is the first snapshot. Changes are shown from the second one on." || first.Table != nil || second.Empty != "" || second.Table == nil {
		t.Errorf("got %+v, %v for the first snapshot, want a reason without a table; got %+v, %v for the second, want a table", first, firstErr, second, secondErr)
	}
}

// TestPanelsAreComplete checks the texts and limits of all panels. TestQueriesHaveTheColumnsOfThePage runs their queries.
func TestPanelsAreComplete(t *testing.T) {
	ids := map[string]bool{"": true, "headlines": true}
	requireUnique := func(id string) {
		if ids[id] {
			t.Errorf("the id %q is empty or used twice, want a unique id", id)
		}
		ids[id] = true
	}
	for _, s := range allSections() {
		requireUnique(s.id)
		for _, p := range s.panels {
			requireUnique(p.id)
		}
	}
	for _, s := range slices.Concat(allSections(), clientSections(Client{ID: "p1"})) {
		for _, p := range s.panels {
			hasRows := p.query == "month_to_date"
			if p.params["profile"] != "" && p.needs == nil {
				t.Errorf("panel %s of a client lists no needed tables, so that it is empty if any table of its query was not read", p.id)
			}
			if p.title == "" || p.empty == "" && !hasRows || len(p.fields) == 0 || p.rowLimit == 0 || p.rowLimit > maxRows {
				t.Errorf("panel %s: got %+v, want a title, a text in the field \"empty\", and a rowLimit from 1 to %d", p.id, p, maxRows)
			}
		}
	}
	for stream, want := range map[string]bool{"orders": true, "articles": true, "product_listings": true, "article_status_events": false, "tags": false} {
		if isShownStream(stream) != want {
			t.Errorf("isShownStream(%s) = %t, want %t", stream, !want, want)
		}
	}
}
