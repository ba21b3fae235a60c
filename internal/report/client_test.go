package report

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// TestClientPage checks that the page for a client asks only for its numbers, and has no commands, reasons of the
// service, costs, margins and commissions.
func TestClientPage(t *testing.T) {
	const secret = "77.77"
	texts := map[string]string{
		"snapshots": "run_id|snapshot_at|outcome\nr2|2026-11-09T02:00:00Z|partial",
		"month_to_date": "period|first_day|last_day|orders|order_total|items|sale_total|items_with_margin|margin_total|articles_published\n" +
			"this month|2026-11-01|2026-11-09|1|300.00|2|250.00|2|" + secret + "|3",
		"campaign_budgets":                "campaign_name|budget|spent|committed|budget_left\nAutumn|1000.00|100.00|600.50|299.50",
		"client_spend?by=month":           "month|orders|items|spent|average_price\n2026-10-01|1|2|100.00|50.00",
		"client_articles?state=open":      "article_name|campaign_name|promised_at|past_promise\nSlow piece|Autumn|2026-10-17T10:00:00Z|true",
		"client_articles?state=published": "article_name|published_at|live_url\nTen facts|2026-10-12T10:00:00Z|https://x.example/ten",
	}
	b := withProblems(newBuilder(texts), ledger.Problem{Name: "order_items", Standing: ledger.NotProven, Reason: "a secret reason"})
	b.opts.Client = Client{ID: "p1"} // the name can be empty
	ask := b.ask
	b.ask = func(ctx context.Context, q QuerySpec) (query.Result, bool, error) {
		if q.Query != "snapshots" && q.Params["profile"] != "p1" {
			t.Errorf("the query %s has the parameters %v, want the profile p1", q.Query, q.Params)
		}
		return ask(ctx, q)
	}
	p, err := b.buildPage()
	if err != nil {
		t.Fatal(err)
	}
	if want := "rows of these may be old or missing: order items"; p.Completeness != want {
		t.Errorf("got the completeness %q, want %q", p.Completeness, want)
	}
	var shown []string
	for _, s := range p.Sections {
		for _, panel := range s.Panels {
			if panel.Table == nil {
				continue
			}
			for _, row := range panel.Table.Rows {
				for _, cell := range row.Cells {
					shown = append(shown, cell.Text)
				}
			}
			if panel.Command.Text != "" || panel.Note != "" {
				t.Errorf("%s: got the command %q and the note %q, want none", panel.ID, panel.Command.Text, panel.Note)
			}
		}
	}
	text := strings.Join(shown, " ")
	if strings.Contains(text, secret) || !strings.Contains(text, "299.50") || !strings.Contains(text, "Slow piece") || !strings.Contains(text, "https://x.example/ten") {
		t.Errorf("the tables contain %q, want the budget and the articles without the margin", text)
	}
	for _, s := range clientSections(Client{ID: "p1"}) {
		for _, panel := range s.panels {
			for _, f := range panel.fields {
				for _, word := range []string{"cost", "margin", "commission", "writer", "vendor", "reseller", "waits"} {
					if strings.Contains(f.column+f.sub, word) {
						t.Errorf("%s shows the column %s", panel.id, f.column)
					}
				}
			}
		}
	}
}

// TestSheets checks that each panel of the page is a sheet with its fields, and that a chart has only columns of its sheet.
func TestSheets(t *testing.T) {
	var all []string
	for _, c := range []Client{{}, {ID: "p1"}} {
		sheets, err := Sheets(c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace("# Client: "+c.ID))
		charts := 0
		for _, s := range sheets {
			all = append(all, describeSheet(s))
			if s.Chart == nil {
				continue
			}
			charts++
			for _, column := range slices.Concat([]string{s.Chart.Category}, s.Chart.Values, s.Chart.Same) {
				if !slices.ContainsFunc(s.Fields, func(f query.SheetField) bool { return f.Column == column }) {
					t.Errorf("%s: the chart has the column %s, but not the sheet", s.Title, column)
				}
			}
		}
		if len(sheets) < 6 || charts < 2 {
			t.Errorf("client %q: got %d sheets with %d charts, want at least 6 and 2", c.ID, len(sheets), charts)
		}
		sheet := func(title string) query.Sheet {
			i := slices.IndexFunc(sheets, func(s query.Sheet) bool { return s.Title == title })
			if i < 0 {
				return query.Sheet{}
			}
			return sheets[i]
		}
		if c.ID != "" {
			if got := sheet("Spending by outlet").Values; got["profile"] != "p1" || got["by"] != "outlet" || sheet("Margin by outlet").Title != "" {
				t.Errorf("the workbook of a client has the parameters %v and margins %+v, want its profile and no margins", got, sheet("Margin by outlet"))
			}
			continue
		}
		// The nights are drawn in another order, and a sheet has no boxes.
		for title, want := range map[string]*query.SheetChart{"Changes by night": nil, "Price by segment": nil,
			"Price moves by day":      {Category: "day", Values: []string{"rises", "falls"}, MaxRows: daysDrawn, Same: []string{"pricing_tier", "currency"}},
			"From paid order to live": {IsLine: true, Category: "month", Values: []string{"p50_days", "p90_days"}, MaxRows: monthsDrawn}} {
			if diff := cmp.Diff(want, sheet(title).Chart); diff != "" {
				t.Errorf("chart of %s (-want +got):\n%s", title, diff)
			}
		}
		for _, s := range sheets {
			if s.Query.SQL == "" || s.About == "" && s.Title != "Load per writer" || s.About == s.Query.Name {
				t.Errorf("%s: the query %q, about %q, want a text", s.Title, s.Query.Name, s.About)
			}
		}
	}
	want, err := os.ReadFile("testdata/sheets.txt")
	if diff := cmp.Diff(string(want), strings.Join(all, "\n")+"\n"); err != nil || diff != "" {
		t.Errorf("%v, sheets (-testdata/sheets.txt +got):\n%s", err, diff)
	}
}

// describeSheet returns a line for the query of a sheet, for its chart, and for each of its columns.
func describeSheet(s query.Sheet) string {
	line := s.Title + ": " + s.Query.Name
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		line += " " + name + "=" + s.Values[name]
	}
	lines := []string{line}
	if c := s.Chart; c != nil {
		kind := "bars"
		if c.IsLine {
			kind = "lines"
		}
		chart := fmt.Sprintf("  %s: %s by %s, %d rows", kind, strings.Join(c.Values, " and "), c.Category, c.MaxRows)
		if len(c.Same) > 0 {
			chart += " of the same " + strings.Join(c.Same, " and ")
		}
		lines = append(lines, chart)
	}
	for _, f := range s.Fields {
		lines = append(lines, "  "+f.Column+": "+f.Heading)
	}
	return strings.Join(lines, "\n")
}
