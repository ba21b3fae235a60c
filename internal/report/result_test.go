package report

import (
	"fmt"
	"strings"
	"testing"

	"placementsync/internal/query"
)

// parseResult parses a line of column names and one line per row, with bars between the fields.
// An empty field is NULL, and two single quotes are an empty text.
func parseResult(text string) query.Result {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	var columns []query.Column
	for name := range strings.SplitSeq(strings.TrimSpace(lines[0]), "|") {
		columns = append(columns, query.Column{Name: name})
	}
	result := query.Result{Columns: columns, Total: int64(len(lines) - 1)}
	for _, line := range lines[1:] {
		var row []query.Value
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "|") {
			row = append(row, query.Value{Text: strings.Trim(cell, "'"), Null: cell == ""})
		}
		result.Rows = append(result.Rows, query.Record{Columns: columns, Values: row})
	}
	return result
}

func TestCellsAndLabelsShowEnumerationsAsWords(t *testing.T) {
	columns := []query.Column{{Name: "status_name", Type: "VARCHAR"}, {Name: "status_prefix", Type: "VARCHAR"}, {Name: "order_status", Type: "VARCHAR"},
		{Name: "outlet_name", Type: "VARCHAR"}}
	row := func(values ...string) query.Record {
		r := query.Record{Columns: columns}
		for _, text := range values {
			r.Values = append(r.Values, query.Value{Text: text, Null: text == ""})
		}
		return r
	}
	named, unnamed := row("In the queue", "on_hold", "NOT_APPLICABLE", "acme"), row("", "on_hold", "", "acme")
	for _, c := range []struct {
		row                   query.Record
		column, cell, inLabel string
	}{
		{named, "status_name", "In the queue", "In the queue"},
		{unnamed, "status_name", "On hold", "On hold"},
		{named, "order_status", "Not applicable", "Not applicable"},
		{unnamed, "order_status", "\u2013", "(order status unknown)"},
		{named, "outlet_name", "acme", "acme"},
	} {
		if got := (field{column: c.column}).tableCell(c.row).Text; got != c.cell {
			t.Errorf("the table shows %s as %q, want %q", c.column, got, c.cell)
		}
		if got := rowLabel(c.row, c.column); got != c.inLabel {
			t.Errorf("the chart shows %s as %q, want %q", c.column, got, c.inLabel)
		}
	}
	if got := (field{column: "outlet_name", sub: "order_status"}).tableCell(named).Sub; got != "Not applicable" {
		t.Errorf("the second line is %q, want %q", got, "Not applicable")
	}
}

func TestLabelsJoinColumns(t *testing.T) {
	result := parseResult(`
		tier|currency|outlet_name
		pro|USD|Daily
		||
		''|''|''`)
	for i, want := range []string{
		"pro · USD · Daily",
		"(tier unknown) · (no currency) · (outlet name unknown)",
		"(tier unknown) · (no currency) · (outlet name unknown)",
	} {
		if got := rowLabel(result.Rows[i], "tier", "currency", "outlet_name"); got != want {
			t.Errorf("row %d: got %q, want %q", i, got, want)
		}
	}
	if got, want := rowLabel(parseResult("month|x\n|1").Rows[0], "month"), "(month unknown)"; got != want {
		t.Errorf("the label of a missing month is %q, want %q", got, want)
	}
	long := parseResult("name\n" + strings.Repeat("n", 200))
	if got := rowLabel(long.Rows[0], "name"); len([]rune(got)) != maxText+1 {
		t.Errorf("a label has %d characters, want %d", len([]rune(got)), maxText+1)
	}
}

func TestLongCurrenciesAreClipped(t *testing.T) {
	long := strings.Repeat("\u20ac", 100_000)
	result := parseResult("currency|price\n" + long + "|1")
	b := builder{}
	b.addCurrencies(parseResult("price\n1")) // has no currency
	b.addCurrencies(result)
	table := panel{fields: []field{{column: "price"}}, rowLimit: 1}.buildTable(result, false)
	if want := clipText(long); table.Rows[0].Currency != want || len(b.currencies) != 1 || b.currencies[0] != want {
		t.Errorf("the currency in the table has %d bytes and the currency of the builder %d, want %d", len(table.Rows[0].Currency), len(b.currencies[0]), len(want))
	}
	for i := range 2 * maxVariants {
		b.addCurrencies(parseResult(fmt.Sprintf("currency\nX%d", i)))
	}
	if n := len(b.currencies); n != maxVariants {
		t.Errorf("the page offers %d currencies, want at most %d", n, maxVariants)
	}
	if row := (panel{rowLimit: 1}).buildTable(parseResult("price\n1"), false).Rows[0]; row.Currency != "" {
		t.Errorf("a row of a result without currencies has the currency %q, so that the page hides it with a chosen currency", row.Currency)
	}
}
