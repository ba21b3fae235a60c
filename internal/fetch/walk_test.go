package fetch_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
)

func TestWalk(t *testing.T) {
	cases := []struct {
		name     string
		shelf    *shelf
		grade    fetch.Grade
		requests int // 0: not looked at
	}{
		{"a list on one page takes one request", &shelf{n: 7}, fetch.Exact, 1},
		{"an empty list takes one request", &shelf{}, fetch.Exact, 1},
		{"a full single page takes one request", &shelf{n: 10}, fetch.Exact, 1},
		{"newest first is proven by one more request", &shelf{n: 35, dated: true}, fetch.Exact, 5},
		{"an exact multiple of the page size has no page more", &shelf{n: 40, dated: true}, fetch.Exact, 5},
		{"another order is proven by one more pass", &shelf{n: 35}, fetch.Exact, 8},
		{"a cap below the limit is noticed", &shelf{n: 35, cap: 4, dated: true}, fetch.Exact, 10},
		{"a total that lies high is no proof", &shelf{n: 35, lie: 30, dated: true}, fetch.BestEffort, 0},
		{"a total that lies low does not end the walk", &shelf{n: 35, lie: -12, dated: true}, fetch.BestEffort, 0},
		{"a low total does not hide a next page", &shelf{n: 35, lie: -15, honestNext: true, dated: true}, fetch.BestEffort, 0},
		{"a total far too high is not believed", &shelf{n: 35, lie: 1_000_000, dated: true}, fetch.BestEffort, 0},
		{"an endless next_page is stopped", &shelf{n: 35, dated: true, endless: true}, fetch.Exact, 0},
		{"an endless next_page on the last page is stopped", &shelf{n: 35, clamp: true, endless: true}, fetch.Exact, 0},
		{"an absent next_page needs a page beyond the end", &shelf{n: 30, noNext: true, dated: true}, fetch.Exact, 5},
		{"an array that is not paged is seen to be whole", &shelf{n: 35, shape: "fixed"}, fetch.Exact, 2},
		{"an empty array takes one request", &shelf{shape: "array"}, fetch.Exact, 1},
		{"an array that would fill no page takes one request", &shelf{n: 9, shape: "array"}, fetch.Exact, 1},
		{"an array that would fill a page is confirmed", &shelf{n: 10, shape: "array"}, fetch.Exact, 3},
		{"records alone that would fill no page take one request", &shelf{n: 9, shape: "records"}, fetch.Exact, 1},
		{"a short page in an envelope without totals is confirmed", &shelf{n: 9, noTotal: true}, fetch.Exact, 2},
		{"an array that is one page of many is walked", &shelf{n: 35, shape: "array"}, fetch.Exact, 0},
		{"records alone that are one page of many are walked", &shelf{n: 40, shape: "records"}, fetch.Exact, 0},
		{"pages beyond the end that repeat the last one end the walk", &shelf{n: 35, shape: "array", clamp: true}, fetch.Exact, 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.shelf
			var got collector
			e, err := client(t, quick(s), nil).Walk(t.Context(), sniffed, "", got.read)
			if err != nil {
				t.Fatal(err)
			}
			if e.Grade != tc.grade {
				t.Errorf("grade is %q, want %q: %s", e.Grade, tc.grade, e.Reason)
			}
			var want []string
			for i := range s.n {
				want = append(want, s.record(i).ID)
			}
			if diff := cmp.Diff(want, got.sorted()); diff != "" {
				t.Errorf("records read (-want +got):\n%s", diff)
			}
			if tc.requests > 0 && s.requests() != tc.requests {
				t.Errorf("made %d requests, want %d: %q", s.requests(), tc.requests, s.asked)
			}
			if s.requests() > 250 {
				t.Errorf("made %d requests for %d records", s.requests(), s.n)
			}
		})
	}
}

func TestWalkReportsWhatItSaw(t *testing.T) {
	s := &shelf{n: 35, dated: true}
	var got collector
	e, err := client(t, quick(s), nil).Walk(t.Context(), ordersStream, "", got.read)
	if err != nil {
		t.Fatal(err)
	}
	want := fetch.Evidence{
		Stream: "orders", Grade: fetch.Exact, Pages: 4, Requests: 5, Passes: 1,
		TotalFirst: 35, TotalLast: 35, Distinct: 35,
		Reason: "newest first; no total moved, no id repeated, page 1 read again has the same ids",
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestWalkStopsAnEndlessList(t *testing.T) {
	for name, shape := range map[string]string{"without totals": "array", "whose total is beyond the bound": ""} {
		t.Run(name, func(t *testing.T) {
			cfg := quick(&shelf{n: 1_000_000, shape: shape})
			cfg.MaxPages, cfg.MaxPasses = 50, 1
			var got collector
			e, err := client(t, cfg, nil).Walk(t.Context(), sniffed, "", got.read)
			if err != nil || e.Grade != fetch.BestEffort || e.Pages != 50 {
				t.Errorf("got %+v and %v, want best_effort after 50 pages", e, err)
			}
		})
	}
}

func TestWalkPassesTheFixedQueryAndTheParameter(t *testing.T) {
	s := &shelf{n: 3, shape: "array"}
	fixed := rows
	fixed.Query = "include_outlets_data=true"
	var got collector
	if _, err := client(t, quick(s), nil).Walk(t.Context(), fixed, "a/b ?", got.read); err != nil {
		t.Fatal(err)
	}
	want := "/v1/campaigns/a%2Fb%20%3F/articles?include_outlets_data=true&limit=10&page=1"
	if !slices.Contains(s.asked, want) {
		t.Errorf("asked for %q, want %q among them", s.asked, want)
	}
}

func TestWalkGivesWorseGradesTheLast(t *testing.T) {
	grades := []fetch.Grade{fetch.Exact, fetch.Repaired, fetch.Bounded, fetch.BestEffort, fetch.CarriedForward, fetch.Skipped}
	for i, worse := range grades {
		for _, better := range grades[:i] {
			if better.Worse(worse) != worse || worse.Worse(better) != worse {
				t.Errorf("%q is not worse than %q", worse, better)
			}
		}
	}
}

var _ http.Handler = (*shelf)(nil)
