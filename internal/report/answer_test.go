package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answerOf makes an answer of a line of column names and a line a row, fields
// parted by a bar. An empty text is NULL, and ” is an empty text.
func answerOf(text string) Answer {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	a := Answer{Total: int64(len(lines) - 1), lacking: map[string]bool{}}
	for name := range strings.SplitSeq(strings.TrimSpace(lines[0]), "|") {
		a.Columns = append(a.Columns, Column{Name: name})
	}
	for _, line := range lines[1:] {
		var row []Cell
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "|") {
			row = append(row, Cell{Text: strings.Trim(cell, "'"), Null: cell == ""})
		}
		a.Rows = append(a.Rows, row)
	}
	return a
}

func TestValuesAreFoundByTheirColumn(t *testing.T) {
	a := answerOf(`
		name|amount|note
		x|12.5|''
		y||z`)
	if got, want := a.valueOf(a.Rows[0], "amount"), (Cell{Text: "12.5"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := a.valueOf(a.Rows[0], "note"), (Cell{}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := a.valueOf(a.Rows[1], "amount"), (Cell{Null: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := a.textOf(a.Rows[1], "note"); got != "z" {
		t.Errorf("got %q", got)
	}
	if err := a.missingColumnsErr("q"); err != nil {
		t.Errorf("got %v, though every column was there", err)
	}
}

func TestEveryMissingColumnIsNamed(t *testing.T) {
	a := answerOf("name\nx")
	for _, column := range []string{"zebra", "apple", "zebra"} {
		if got := a.valueOf(a.Rows[0], column); !got.Null {
			t.Errorf("%s: got %+v, want NULL", column, got)
		}
	}
	want := `read the answer of "prices": it has no column apple, zebra`
	if err := a.missingColumnsErr("prices"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestNumbersAreReadForDrawing(t *testing.T) {
	for text, want := range map[string]struct {
		n  float64
		ok bool
	}{
		"12.5": {12.5, true}, "-3": {-3, true}, "0": {0, true}, "": {0, false}, "many": {0, false}, "1,234": {0, false},
	} {
		if n, ok := (Cell{Text: text}).Number(); n != want.n || ok != want.ok {
			t.Errorf("%q: got %g, %t", text, n, ok)
		}
	}
}

func TestRowsAreFilteredAndTold(t *testing.T) {
	a := answerOf(`
		tier|price
		pro|1
		basic|2
		pro|3
		|4
		basic|5`)
	pro := a.filterRows(func(row []Cell) bool { return a.textOf(row, "tier") == "pro" })
	if diff := cmp.Diff([][]Cell{{{Text: "pro"}, {Text: "1"}}, {{Text: "pro"}, {Text: "3"}}}, pro.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if len(a.Rows) != 5 || pro.Total != 5 {
		t.Errorf("the answer itself has %d rows, total %d", len(a.Rows), pro.Total)
	}
	labels := a.distinctLabels(func(row []Cell) string { return a.textOf(row, "tier") })
	if diff := cmp.Diff([]string{"pro", "basic", ""}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if none := a.filterRows(func([]Cell) bool { return false }); none.Rows != nil {
		t.Errorf("got %v, want no rows", none.Rows)
	}
}

func TestLabelsJoinColumns(t *testing.T) {
	a := answerOf(`
		tier|currency|outlet_name
		pro|USD|Daily
		||
		''|''|''`)
	for i, want := range []string{
		"pro · USD · Daily",
		"(tier unknown) · (no currency) · (outlet name unknown)",
		"(tier unknown) · (no currency) · (outlet name unknown)",
	} {
		if got := rowLabel(a, a.Rows[i], "tier", "currency", "outlet_name"); got != want {
			t.Errorf("row %d: got %q, want %q", i, got, want)
		}
	}
	long := answerOf("name\n" + strings.Repeat("n", 200))
	if got := rowLabel(long, long.Rows[0], "name"); len([]rune(got)) != longest+1 {
		t.Errorf("a label has %d characters", len([]rune(got)))
	}
}

func TestACurrencyIsNeverLong(t *testing.T) {
	long := strings.Repeat("\u20ac", 100_000)
	a := answerOf("currency|price\n" + long + "|1")
	b := builder{}
	b.addCurrencies(a)
	table := panel{fields: []field{{column: "price"}}, shown: 1}.buildTable(a, false)
	if want := clipText(long); table.Rows[0].Currency != want || len(b.currencies) != 1 || b.currencies[0] != want {
		t.Errorf("a row has %d bytes, the choice %d, want %d", len(table.Rows[0].Currency), len(b.currencies[0]), len(want))
	}
}
