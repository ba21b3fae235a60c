package fetch_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
)

func TestWalk(t *testing.T) {
	cases := []struct {
		name     string
		service  *listService
		grade    fetch.Grade
		requests int // 0 means any number
	}{
		{"a list on one page takes one request", &listService{n: 7}, fetch.Exact, 1},
		{"an empty list takes one request", &listService{}, fetch.Exact, 1},
		{"a full single page takes one request", &listService{n: 10}, fetch.Exact, 1},
		{"newest first is proven by one more request", &listService{n: 35, dated: true}, fetch.Exact, 5},
		{"an exact multiple of the page size has no further page", &listService{n: 40, dated: true}, fetch.Exact, 5},
		{"another order is proven by one more pass", &listService{n: 35}, fetch.Exact, 8},
		{"a cap below the limit is noticed", &listService{n: 35, cap: 4, dated: true}, fetch.Exact, 10},
		{"a total that is too high proves nothing", &listService{n: 35, totalError: 30, dated: true}, fetch.BestEffort, 0},
		{"a total that is too low does not end the walk", &listService{n: 35, totalError: -12, dated: true}, fetch.BestEffort, 0},
		{"a total that is too low does not hide a next page", &listService{n: 35, totalError: -15, correctNext: true, dated: true}, fetch.BestEffort, 0},
		{"a total that is far too high costs few requests", &listService{n: 35, totalError: 1_000_000, dated: true}, fetch.BestEffort, 0},
		{"an endless next_page is stopped", &listService{n: 35, dated: true, endless: true}, fetch.Exact, 0},
		{"an endless next_page on the last page is stopped", &listService{n: 35, clamp: true, endless: true}, fetch.Exact, 0},
		{"an absent next_page needs a page beyond the end", &listService{n: 30, noNext: true, dated: true}, fetch.Exact, 5},
		{"an array that ignores page numbers is complete", &listService{n: 35, shape: "fixed"}, fetch.Exact, 2},
		{"an empty array takes one request", &listService{shape: "array"}, fetch.Exact, 1},
		{"an array shorter than a page takes one request", &listService{n: 9, shape: "array"}, fetch.Exact, 1},
		{"an array as long as a page is confirmed", &listService{n: 10, shape: "array"}, fetch.Exact, 3},
		{"records without totals on one page take one request", &listService{n: 9, shape: "records"}, fetch.Exact, 1},
		{"a short page in an envelope without totals is confirmed", &listService{n: 9, noTotal: true}, fetch.Exact, 2},
		{"an array of many pages is walked", &listService{n: 35, shape: "array"}, fetch.Exact, 0},
		{"records without totals on many pages are walked", &listService{n: 40, shape: "records"}, fetch.Exact, 0},
		{"pages beyond the end that repeat the last one end the walk", &listService{n: 35, shape: "array", clamp: true}, fetch.Exact, 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.service
			var got collector
			e, err := newClient(t, testConfig(s), nil).Walk(t.Context(), sniffedStream, "", got.read)
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
				t.Errorf("made %d requests, want %d: %q", s.requests(), tc.requests, s.requestURIs)
			}
			if s.requests() > 250 {
				t.Errorf("made %d requests for %d records, want at most 250", s.requests(), s.n)
			}
		})
	}
}

func TestWalkEvidence(t *testing.T) {
	s := &listService{n: 35, dated: true}
	var got collector
	e, err := newClient(t, testConfig(s), nil).Walk(t.Context(), ordersStream, "", got.read)
	if err != nil {
		t.Fatal(err)
	}
	want := fetch.Evidence{
		Grade: fetch.Exact, Pages: 4, Passes: 1,
		TotalFirst: 35, TotalLast: 35, Distinct: 35,
		Reason: "the list is sorted newest first; totals and page 1 did not change, and no id was repeated",
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestWalkEndsAtMaxPages(t *testing.T) {
	for name, shape := range map[string]string{"without totals": "array", "with a total above the limit": ""} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(&listService{n: 1_000_000, shape: shape})
			cfg.MaxPages, cfg.MaxPasses = 50, 1
			var got collector
			e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
			if err != nil || e.Grade != fetch.BestEffort || e.Pages != 50 {
				t.Errorf("got %+v and %v, want best_effort after 50 pages", e, err)
			}
		})
	}
}

func TestWalkSendsFixedQueryAndParameter(t *testing.T) {
	s := &listService{n: 3, shape: "array"}
	fixed := articleLists
	fixed.Query = "include_outlets_data=true"
	var got collector
	if _, err := newClient(t, testConfig(s), nil).Walk(t.Context(), fixed, "a/b ?", got.read); err != nil {
		t.Fatal(err)
	}
	want := "/v1/campaigns/a%2Fb%20%3F/articles?include_outlets_data=true&limit=10&page=1"
	if !slices.Contains(s.requestURIs, want) {
		t.Errorf("requested %q, want %q among them", s.requestURIs, want)
	}
}

func TestWorseGrade(t *testing.T) {
	grades := []fetch.Grade{fetch.Exact, fetch.Repaired, fetch.Bounded, fetch.BestEffort, fetch.CarriedForward, fetch.Skipped}
	for i, worse := range grades {
		for _, better := range grades[:i] {
			if fetch.WorseGrade(better, worse) != worse || fetch.WorseGrade(worse, better) != worse {
				t.Errorf("the worse grade of %[2]q and %[1]q is not %[1]q", worse, better)
			}
		}
	}
}
