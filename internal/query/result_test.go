package query_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

func TestCollectReturnsFirstRowsAndTotal(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	db := openAt(t, fillCatalog(t, poorNights))
	for limit, rows := range map[int]int{0: 0, 3: 3, math.MaxInt: 5} {
		r, err := db.Collect(t.Context(), query.Text("SELECT range AS n, NULL AS n, 'x' AS text FROM range(5)"), nil, limit)
		if err != nil || len(r.Rows) != rows || r.Total != 5 || len(r.Columns) != 3 {
			t.Fatalf("limit %d: got %d rows of %d, %v, want %d of 5", limit, len(r.Rows), r.Total, err, rows)
		}
		for i, row := range r.Rows {
			// Get returns the first of two columns with the same name.
			if want := (query.Value{Text: strconv.Itoa(i)}); row.Get("n") != want || !row.Values[1].Null {
				t.Errorf("row %d: got %+v, want n %d and NULL", i, row.Values, i)
			}
		}
	}
	r, err := db.Ask(t.Context(), query.Text("SELECT id AS n FROM product_listings"), nil, 1)
	if err != nil || r.NoPlan || len(r.Sources) != 1 || r.Sources[0].Table != "product_listings" || len(query.FindProblems(r.Sources)) != 0 {
		t.Errorf("Ask returned %+v, %v, want the source product_listings without problems", r, err)
	}
	if got := r.Rows[0].Get("name"); !got.Null || got.Or("-") != "-" || r.Rows[0].Get("n").Or("-") != "a" {
		t.Errorf("unknown column: got %+v, want NULL", got)
	}
	// Describe runs nothing.
	columns, err := db.Describe(t.Context(), query.Text("-- a comment\nSELECT error('it ran') AS a, $n AS b"), map[string]string{"n": "1"})
	if err != nil || len(columns) != 2 || columns[1].Name != "b" {
		t.Errorf("Describe returned %+v, %v, want the columns a and b", columns, err)
	}
	r, err = db.Collect(t.Context(), query.Text("FROM range(9); ").Limit(4), nil, 3)
	if err != nil || r.Total != 4 || len(r.Rows) != 3 {
		t.Errorf("got %d rows of %d, %v, want 3 of 4, the limit", len(r.Rows), r.Total, err)
	}
	_, err = db.Collect(t.Context(), query.Text("SELECT 1; -- end").Limit(4), nil, 3)
	if err == nil || !strings.Contains(err.Error(), "cannot be limited: remove the semicolon or the comment") {
		t.Errorf("a comment after the semicolon: got %v, want the advice to remove it", err)
	}
	r, err = db.Ask(t.Context(), query.Text("PIVOT (SELECT 'a' AS k, 1 AS n) ON k USING sum(n)"), nil, 1)
	if err != nil || !r.NoPlan || r.Total != 1 {
		t.Errorf("PIVOT without IN: got %+v, %v, want NoPlan", r, err)
	}
}

func TestRecordsAreGrouped(t *testing.T) {
	t.Parallel()
	var records []query.Record
	for _, text := range []string{"b1", "a1", "b2"} {
		records = append(records, query.Record{Values: []query.Value{{Text: text}}})
	}
	labels, groups := query.GroupRecords(records, func(r query.Record) string { return r.Values[0].Text[:1] })
	if diff := cmp.Diff([]string{"b", "a"}, labels); diff != "" || len(groups) != 2 || len(groups["b"]) != 2 || groups["b"][1].Values[0].Text != "b2" {
		t.Errorf("the groups are %v, labels (-want +got):\n%s", groups, diff)
	}
}

func TestValueNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		n  float64
		ok bool
	}{
		"12.5": {12.5, true}, "-3": {-3, true}, "0": {0, true}, "": {0, false}, "many": {0, false}, "1,234": {0, false},
		"NaN": {0, false}, "-Infinity": {0, false}, "1e+300": {1e300, true},
	} {
		if n, ok := (query.Value{Text: text}).Number(); n != want.n || ok != want.ok {
			t.Errorf("%q: got %g, %t, want %g, %t", text, n, ok, want.n, want.ok)
		}
	}
}
