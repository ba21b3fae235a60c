package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/html"
)

func requireVariants(t *testing.T, want, got []html.Variant) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
}

func TestSeriesByMeasure(t *testing.T) {
	result := parseResult(`
		week|started|published|note
		W1|12|3|x
		W2|1234||y
		W3|||z
		W4|0|7.50|z`)
	p := plot{category: "week", limit: 10, unit: "articles", measures: []measure{{column: "started", name: "started", colour: grey},
		{column: "published", name: "published", colour: green, below: true, as: asDays}}}
	requireVariants(t, []html.Variant{{
		Heading:    "articles",
		Categories: []string{"W1", "W2", "W4"}, // in W3, both measures are NULL
		Series: []html.Series{
			{Name: "started", Colour: 5, Values: []any{12.0, 1234.0, 0.0}, Texts: []string{"12", "1,234", "0"}},
			{Name: "published", Colour: 2, Values: []any{-3.0, nil, -7.5}, Texts: []string{"3" + html.Thin + "d", "–", "7.50" + html.Thin + "d"}},
		},
		AxisEnd: 15, Note: "The axis ends at 15. Values beyond five times the 75th percentile are cut: W2, started 1,234.",
	}}, p.drawVariants(result.Rows))
}

// TestStackedBarsAreCutByTheirTotals draws a week whose total is an outlier. The single values of the week are not.
func TestStackedBarsAreCutByTheirTotals(t *testing.T) {
	result := parseResult("week|a|b\nW1|1|1\nW2|1|1\nW3|1|1\nW4|4|8\nW5|1|1")
	p := plot{category: "week", limit: 10, stacked: true, measures: []measure{{column: "a", name: "a"}, {column: "b", name: "b"}}}
	if got, want := p.drawVariants(result.Rows)[0].Note, "The axis ends at 2. Values beyond five times the 75th percentile are cut: W4 12."; got != want {
		t.Errorf("got the note %q, want %q", got, want)
	}
}

func TestSeriesByMeasureLimitsCategories(t *testing.T) {
	result := parseResult("day|n\nd1|1\nd2|2\nd3|3\nd4|") // d4 has no value
	got := plot{category: "day", limit: 2, measures: []measure{{column: "n", name: "n"}}}.drawMeasures(result.Rows)
	if diff := cmp.Diff([]string{"d1", "d2"}, got.Categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if want := "The chart shows 2 of 4 rows."; got.Note != want {
		t.Errorf("got the note %q, want %q", got.Note, want)
	}
	if len(got.Series[0].Values) != 2 {
		t.Errorf("got %d values, want 2", len(got.Series[0].Values))
	}
}

func TestSeriesByValue(t *testing.T) {
	result := parseResult(`
		month|status|total
		2026-10-01|paid|1000.00
		2026-10-01|due|5.00
		2026-11-01|due|7.00
		2026-11-01||1.00
		2026-12-01|paid|`)
	want := func(limit int) []html.Variant {
		all := []html.Series{
			{Name: "paid", Colour: 0, Values: []any{1000.0, nil, nil}, Texts: []string{"1,000.00", "–", "–"}},
			{Name: "due", Colour: 1, Values: []any{5.0, 7.0, nil}, Texts: []string{"5.00", "7.00", "–"}},
			{Name: "(status unknown)", Colour: 2, Values: []any{nil, 1.0, nil}, Texts: []string{"–", "1.00", "–"}},
		}
		v := html.Variant{Categories: []string{"2026-10", "2026-11", "2026-12"}, Series: all[:limit], Note: fmt.Sprintf("The chart shows %d of 3 series.", limit)}
		if limit == 3 {
			v.AxisEnd, v.Note = 7, "The axis ends at 7. Values beyond five times the 75th percentile are cut: 2026-10, paid 1,000.00."
		}
		return []html.Variant{v}
	}
	for _, limit := range []int{3, 2, 1} {
		requireVariants(t, want(limit), plot{category: "month", series: "status", value: "total", limit: limit}.drawVariants(result.Rows))
	}
}

func TestBoxByRowSkipsIncompleteRows(t *testing.T) {
	result := parseResult(`
		segment|min_price|p25_price|median_price|p75_price|max_price
		US|1|2|3000|4000|5000.50
		DE|1||3|4|5
		FR|1|1|1|1|1
		IT|1|1|1|1|1`)
	requireVariants(t, []html.Variant{{
		Categories: []string{"US", "FR"},
		Series: []html.Series{{Name: "prices", Values: []any{[5]float64{1, 2, 3000, 4000, 5000.5}, [5]float64{1, 1, 1, 1, 1}},
			Texts: []string{"median 3,000, middle half 2 to 4,000, all prices 1 to 5,000.50", "median 1, middle half 1 to 1, all prices 1 to 1"}}},
		Note: "The chart shows 2 of 4 rows.",
	}}, plot{kind: html.Boxes, category: "segment", limit: 3}.drawVariants(result.Rows))
}

func TestNightsAreDrawnOldestFirst(t *testing.T) {
	result := parseResult(`
		snapshot_at|rows_new|hours_since_previous
		2026-11-04T14:30:00Z|4|12.50
		2026-11-04T02:00:00Z|3|48.00
		2026-11-02T02:00:00Z|2|24.00
		2026-11-01T02:00:00Z|9000|`)
	requireVariants(t, []html.Variant{{
		// The first night is left out. Labels have a time only on the day with two snapshots.
		Categories: []string{"2026-11-02", "2026-11-04 02:00", "2026-11-04 14:30"},
		Series:     []html.Series{{Name: "new", Values: []any{2.0, 3.0, 4.0}, Texts: []string{"2", "3", "4"}}},
	}}, plot{category: "snapshot_at", limit: 9, newestFirst: true, skipIfNull: "hours_since_previous", measures: []measure{{column: "rows_new", name: "new"}}}.drawVariants(result.Rows))
	for _, newestFirst := range []bool{false, true} {
		p := plot{category: "snapshot_at", limit: 1, newestFirst: newestFirst, measures: []measure{{column: "rows_new", name: "new"}}}
		if diff := cmp.Diff([]string{"2026-11-04 14:30"}, p.drawVariants(result.Rows)[0].Categories); diff != "" {
			t.Errorf("the newest of two snapshots of a day, drawn oldest first: %t (-want +got):\n%s", newestFirst, diff)
		}
	}
	if result.Rows[0].Get("rows_new").Text != "4" {
		t.Error("drawVariants changed the order of its argument's rows")
	}
}

func TestVariantsAreSplitAndOrderedByWeight(t *testing.T) {
	result := parseResult(`
		tier|currency|band|prices
		pro|EUR|a|1
		basic|USD|a|10
		pro|EUR|b|2
		basic|USD|b|20
		basic||a|30`)
	p := plot{split: []string{"tier", "currency"}, unit: "number of prices", category: "band", limit: 9, measures: []measure{{column: "prices", name: "prices"}}}
	labelsOf := func(variants []html.Variant) []string {
		var labels []string
		for _, v := range variants {
			labels = append(labels, v.Label)
		}
		return labels
	}
	if diff := cmp.Diff([]string{"pro · EUR", "basic · USD", "basic · (no currency)"}, labelsOf(p.drawVariants(result.Rows))); diff != "" {
		t.Errorf("labels in the order of the rows (-want +got):\n%s", diff)
	}
	p.weight = "prices"
	got := p.drawVariants(result.Rows)
	if diff := cmp.Diff([]string{"basic · USD", "basic · (no currency)", "pro · EUR"}, labelsOf(got)); diff != "" {
		t.Errorf("labels by weight (-want +got):\n%s", diff)
	}
	requireVariants(t, []html.Variant{{Label: "pro · EUR", Heading: "pro · EUR · number of prices", Currency: "EUR", Categories: []string{"a", "b"},
		Series: []html.Series{{Name: "prices", Values: []any{1.0, 2.0}, Texts: []string{"1", "2"}}}}}, got[2:])
}

func TestVariantsAreLimited(t *testing.T) {
	var rows strings.Builder
	for i := range maxCategories + 1 {
		fmt.Fprintf(&rows, "\nB%d|a|1", i)
	}
	bands := plot{category: "band", series: "kind", value: "prices", limit: 9}.drawVariants(parseResult("band|kind|prices" + rows.String()).Rows)
	if n := len(bands[0].Categories); n != maxCategories {
		t.Errorf("got %d categories, want %d", n, maxCategories)
	}
	rows.Reset()
	for i := range maxVariants + 5 {
		fmt.Fprintf(&rows, "\nT%02d|a|%d", i, i)
	}
	result := parseResult("tier|band|prices" + rows.String())
	p := plot{split: []string{"tier"}, weight: "prices", category: "band", limit: 9, measures: []measure{{column: "prices", name: "prices"}}}
	got := p.drawVariants(result.Rows)
	if len(got) != maxVariants || got[0].Label != "T28" || got[maxVariants-1].Label != "T05" {
		t.Errorf("got %d variants from %s to %s, want %d from T28 to T05", len(got), got[0].Label, got[len(got)-1].Label, maxVariants)
	}
}

func TestChartWithoutValuesHasNoVariants(t *testing.T) {
	empty := parseResult("tier|band|prices|min_price|p25_price|median_price|p75_price|max_price\npro|a|||||||")
	plain := plot{category: "band", limit: 9, measures: []measure{{column: "prices", name: "prices"}}}
	splitPlot, boxPlot := plain, plain
	splitPlot.split, boxPlot.kind = []string{"tier"}, html.Boxes
	for name, p := range map[string]plot{"plain": plain, "split": splitPlot, "boxes": boxPlot} {
		if got := p.drawVariants(empty.Rows); len(got) != 0 {
			t.Errorf("%s: got %+v, want no variants", name, got)
		}
	}
}

func TestPriceBand(t *testing.T) {
	result := parseResult("price_from|price_below\n0.00|250.00\n1000.00|2500.00\n10000.00|\n2.50|5.00\n|100.00")
	for i, want := range []string{"0 to 250", "1,000 to 2,500", "from 10,000", "2.50 to 5", "below 100"} {
		if got := priceBand(result.Rows[i]); got != want {
			t.Errorf("row %d: got %q, want %q", i, got, want)
		}
	}
}
