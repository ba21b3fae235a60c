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

// TestResults shares one catalog between the methods that return a whole result.
func TestResults(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	db := openPoorNights(t)
	t.Run("Collect returns the first rows and the total", func(t *testing.T) {
		for limit, rows := range map[int]int{0: 0, 3: 3, math.MaxInt: 5} {
			r, err := db.Collect(t.Context(), query.Text("SELECT range AS n, NULL AS n, 'x' AS text FROM range(5)"), nil, limit)
			if err != nil || len(r.Rows) != rows || r.Total != 5 || len(r.Columns) != 3 {
				t.Fatalf("limit %d: got %d rows of %d, %v, want %d of 5", limit, len(r.Rows), r.Total, err, rows)
			}
			for i, row := range r.Rows {
				want := []query.Value{{Text: strconv.Itoa(i)}, {Null: true}, {Text: "x"}}
				if diff := cmp.Diff(want, row.Values); diff != "" {
					t.Errorf("row %d (-want +got):\n%s", i, diff)
				}
				if got := row.Get("n"); got != want[0] {
					t.Errorf("row %d: Get returned %+v, want the first of two columns with the same name", i, got)
				}
			}
		}
	})
	t.Run("Ask returns the sources", func(t *testing.T) {
		r, err := db.Ask(t.Context(), query.Text("SELECT id AS n FROM product_listings"), nil, 1)
		if err != nil || r.NoPlan {
			t.Fatalf("got %+v, %v, want a result with a plan", r, err)
		}
		if len(r.Sources) != 1 || r.Sources[0].Table != "product_listings" {
			t.Errorf("got the sources %+v, want only product_listings", r.Sources)
		}
		if problems := query.FindProblems(r.Sources); len(problems) > 0 {
			t.Errorf("the sources have the problems %+v", problems)
		}
		if got := r.Rows[0].Get("n").Or("-"); got != "a" {
			t.Errorf("n is %q, want a", got)
		}
		if got := r.Rows[0].Get("name"); !got.Null || got.Or("-") != "-" {
			t.Errorf("an unknown column: got %+v, want NULL", got)
		}
	})
	t.Run("Ask runs a statement without a plan", func(t *testing.T) {
		r, err := db.Ask(t.Context(), query.Text("PIVOT (SELECT 'a' AS k, 1 AS n) ON k USING sum(n)"), nil, 1)
		if err != nil || !r.NoPlan || r.Total != 1 {
			t.Errorf("PIVOT without IN: got %+v, %v, want NoPlan", r, err)
		}
	})
	t.Run("Describe runs nothing", func(t *testing.T) {
		q := query.Text("-- a comment\nSELECT error('it ran') AS a, $n AS b")
		columns, err := db.Describe(t.Context(), q, map[string]string{"n": "1"})
		if err != nil || len(columns) != 2 || columns[1].Name != "b" {
			t.Errorf("got %+v, %v, want the columns a and b", columns, err)
		}
	})
	t.Run("Limit", func(t *testing.T) {
		r, err := db.Collect(t.Context(), query.Text("FROM range(9); ").Limit(4), nil, 3)
		if err != nil || r.Total != 4 || len(r.Rows) != 3 {
			t.Errorf("got %d rows of %d, %v, want 3 of 4, the limit", len(r.Rows), r.Total, err)
		}
		_, err = db.Collect(t.Context(), query.Text("SELECT 1; -- end").Limit(4), nil, 3)
		if err == nil || !strings.Contains(err.Error(), "cannot be limited: remove the semicolon or the comment") {
			t.Errorf("a comment after the semicolon: got %v, want the advice to remove it", err)
		}
	})
}

func TestRecordsAreGrouped(t *testing.T) {
	t.Parallel()
	var records []query.Record
	for _, text := range []string{"b1", "a1", "b2"} {
		records = append(records, query.Record{Values: []query.Value{{Text: text}}})
	}
	labels, groups := query.GroupRecords(records, func(r query.Record) string { return r.Values[0].Text[:1] })
	if diff := cmp.Diff([]string{"b", "a"}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := map[string][]query.Record{"b": {records[0], records[2]}, "a": {records[1]}}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
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
