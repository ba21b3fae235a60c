package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

func TestFiguresAreComparedExactly(t *testing.T) {
	for name, c := range map[string]struct {
		now, earlier, unit string
		want               Change
	}{
		"up":                     {"110.00", "100.00", "USD", Change{"up", "▲\u00a0+10.00 (+10.0 %)", ""}},
		"down":                   {"90.00", "100.00", "USD", Change{"down", "▼\u00a0−10.00 (−10.0 %)", ""}},
		"the same":               {"100.00", "100", "USD", Change{"same", "no change", ""}},
		"a count":                {"1300.00", "100.00", "", Change{"up", "▲\u00a0+1,200 (+1,200.0 %)", ""}},
		"from zero":              {"5.00", "0.00", "", Change{"up", "▲\u00a0+5", ""}},
		"to zero":                {"0.00", "5.00", "", Change{"down", "▼\u00a0−5 (−100.0 %)", ""}},
		"from negative":          {"5.00", "-10.00", "USD", Change{"up", "▲\u00a0+15.00 (+150.0 %)", ""}},
		"both negative":          {"-15.00", "-10.00", "USD", Change{"down", "▼\u00a0−5.00 (−50.0 %)", ""}},
		"unknown number now":     {"", "5.00", "USD", Change{"none", "not known", ""}},
		"unknown earlier number": {"5.00", "", "USD", Change{"none", "not known", ""}},
		"not a number":           {"5.00", "many", "USD", Change{"none", "not known", ""}},
		// A float would be inexact.
		"ten cents":                {"0.30", "0.20", "USD", Change{"up", "▲\u00a0+0.10 (+50.0 %)", ""}},
		"a cent of a large amount": {"9007199254740993.01", "9007199254740993.00", "USD", Change{"up", "▲\u00a0+0.01 (+0.0 %)", ""}},
	} {
		got := compareFigures(query.Value{Text: c.now, Null: c.now == ""}, query.Value{Text: c.earlier, Null: c.earlier == ""}, c.unit)
		got.Text = plainSpaces(got.Text)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// plainSpaces replaces thin spaces by spaces, so that expected texts are readable.
func plainSpaces(text string) string {
	return strings.ReplaceAll(text, html.Thin, " ")
}

func TestTileHasChangesToEachSnapshot(t *testing.T) {
	current := parseResult(`
		figure|unit|value
		Listings||1234.00
		Unpaid|amount|9000.10
		Median price, basic|USD|50.00
		Lowest price|no currency|7.00`)
	current.Columns[0].Type = "VARCHAR"
	previous := figuresByLabel(parseResult("figure|unit|value\nListings||1200.00\nUnpaid|amount|9000.10\nMedian price|EUR|1.00"))
	week := figuresByLabel(parseResult("figure|unit|value\nListings||1234.00"))
	earlier := []earlierFigures{{comparison: "vs previous", values: previous}, {comparison: "vs week", values: week}}
	want := []Tile{
		{Label: "Listings", Value: "1,234", Changes: []Change{{"up", "▲\u00a0+34 (+2.8 %)", "vs previous"}, {"same", "no change", "vs week"}}},
		{Label: "Unpaid", Value: "9,000.10", Changes: []Change{{"same", "no change", "vs previous"}, {"none", "not known", "vs week"}}},
		{Label: "Median price, Basic", Value: "50.00", Unit: "USD", Currency: "USD",
			Changes: []Change{{"none", "not known", "vs previous"}, {"none", "not known", "vs week"}}},
		{Label: "Lowest price", Value: "7.00", Unit: "no currency", Currency: html.NoCurrency,
			Changes: []Change{{"none", "not known", "vs previous"}, {"none", "not known", "vs week"}}},
	}
	for i, row := range current.Rows {
		got := newTile(current, row, earlier)
		for k := range got.Changes {
			got.Changes[k].Text = plainSpaces(got.Changes[k].Text)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("tile %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestOtherListingsAreNotCompared has a median price without a listing that both snapshots contain.
func TestOtherListingsAreNotCompared(t *testing.T) {
	current := parseResult("figure|unit|value|compared\nMedian price|USD|50.00|0")
	earlier := []earlierFigures{{comparison: "vs week", values: figuresByLabel(parseResult("figure|unit|value\nMedian price|USD|40.00"))}}
	want := []Change{{"none", "not known", "vs week"}}
	if diff := cmp.Diff(want, newTile(current, current.Rows[0], earlier).Changes); diff != "" {
		t.Errorf("change of a median price of other listings (-want +got):\n%s", diff)
	}
}

// TestFiguresOfUnreadTablesAreNotCompared reads the number of orders, which were not read in an earlier snapshot.
func TestFiguresOfUnreadTablesAreNotCompared(t *testing.T) {
	earlier := parseResult("figure|unit|value|reads\nOrders||0.00|orders\nOutlets||5.00|outlets")
	earlier.Sources = []query.Source{{Table: "orders", Standing: ledger.NotRead}}
	for label, value := range figuresByLabel(earlier) {
		if wantNull := strings.HasPrefix(label, "Orders"); value.Null != wantNull {
			t.Errorf("%s of the earlier snapshot is %q (unknown: %t), want unknown: %t", label, value.Text, value.Null, wantNull)
		}
	}
}

func TestFigureText(t *testing.T) {
	for _, c := range []struct{ value, unit, want string }{
		{"1234.00", "", "1,234"}, {"1234.50", "", "1,234.50"}, {"1234.00", "USD", "1,234.00"}, {"", "USD", "–"}, {"", "", "–"},
	} {
		if got := figureText(query.Value{Text: c.value, Null: c.value == ""}, c.unit); got != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestReadSnapshots(t *testing.T) {
	parseTime := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for name, c := range map[string]struct {
		snapshots      []string
		previous, week string
	}{
		"only one snapshot":               {[]string{"2026-11-09T02:00:00Z"}, "", ""},
		"two nights":                      {[]string{"2026-11-09T02:00:00Z", "2026-11-08T02:00:00Z"}, "2026-11-08T02:00:00Z", ""},
		"nights of a week":                {[]string{"2026-11-09T02:00:00Z", "2026-11-08T02:00:00Z", "2026-11-02T02:00:30Z", "2026-11-01T02:00:00Z"}, "2026-11-08T02:00:00Z", "2026-11-02T02:00:30Z"},
		"six and a half days":             {[]string{"2026-11-09T02:00:00Z", "2026-11-08T02:00:00Z", "2026-11-02T14:00:00Z"}, "2026-11-08T02:00:00Z", "2026-11-02T14:00:00Z"},
		"less than six and a half days":   {[]string{"2026-11-09T02:00:00Z", "2026-11-08T02:00:00Z", "2026-11-02T14:00:01Z"}, "2026-11-08T02:00:00Z", ""},
		"a night once a week":             {[]string{"2026-11-09T02:00:00Z", "2026-11-02T02:00:00Z"}, "2026-11-02T02:00:00Z", ""},
		"a much older snapshot":           {[]string{"2026-11-09T02:00:00Z", "2026-01-01T00:00:00Z"}, "2026-01-01T00:00:00Z", ""},
		"nothing from last week":          {[]string{"2026-11-09T02:00:00Z", "2026-11-08T02:00:00Z", "2026-10-26T02:00:00Z"}, "2026-11-08T02:00:00Z", ""},
		"almost two weeks":                {[]string{"2026-11-09T02:00:00Z", "2026-11-08T02:00:00Z", "2026-10-26T02:00:01Z"}, "2026-11-08T02:00:00Z", "2026-10-26T02:00:01Z"},
		"hourly snapshots":                {[]string{"2026-11-09T02:00:00Z", "2026-11-09T01:00:00Z", "2026-11-02T02:00:00Z", "2026-11-02T01:00:00Z"}, "2026-11-09T01:00:00Z", "2026-11-02T02:00:00Z"},
		"times with fractions of seconds": {[]string{"2026-11-09T02:00:00.5Z", "2026-11-08T02:00:00.25Z"}, "2026-11-08T02:00:00.25Z", ""},
	} {
		text := "run_id|snapshot_at|outcome"
		for _, s := range c.snapshots {
			text += "\nr" + s + "|" + s + "|partial"
		}
		b := newBuilder(map[string]string{"snapshots?top=400": text}) // by default, the query returns 30
		got, err := b.readSnapshots()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !got.at.Equal(parseTime(c.snapshots[0])) || got.run != "r"+c.snapshots[0] || got.outcome != "partial" {
			t.Errorf("%s: got %+v, want the snapshot of %s with the outcome %q", name, got, c.snapshots[0], "partial")
		}
		var want []ComparedSnapshot
		if c.previous != "" {
			want = append(want, ComparedSnapshot{"the previous snapshot", "vs previous", parseTime(c.previous)})
		}
		if c.week != "" {
			want = append(want, ComparedSnapshot{"last week", "vs week", parseTime(c.week)})
		}
		if diff := cmp.Diff(want, got.compared); diff != "" {
			t.Errorf("%s: compared snapshots (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadSnapshotsReturnsErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no snapshot":  {"run_id|snapshot_at|outcome", "read the snapshots: the warehouse has none"},
		"invalid time": {"run_id|snapshot_at|outcome\nr1|soon|complete", `read the snapshots: parsing time "soon"`},
	} {
		_, err := newBuilder(map[string]string{"snapshots": c.text}).readSnapshots()
		requireErr(t, name, err, c.want)
	}
	_, err := newBuilder(nil).readSnapshots()
	requireErr(t, "no table", err, "read the snapshots: the warehouse has none")
}
