package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

func TestWalk(t *testing.T) {
	cases := []struct {
		name     string
		service  *listService
		grade    stream.Grade
		requests int // 0 means any number
	}{
		{"a list on one page takes one request", &listService{n: 7}, stream.Exact, 1},
		{"an empty list takes one request", &listService{}, stream.Exact, 1},
		{"a full single page takes one request", &listService{n: 10}, stream.Exact, 1},
		{"newest first is proven by one more request", &listService{n: 35, dated: true}, stream.Exact, 5},
		{"an exact multiple of the page size has no further page", &listService{n: 40, dated: true}, stream.Exact, 5},
		{"another order is proven by one more pass", &listService{n: 35}, stream.Exact, 8},
		{"a cap below the limit is noticed", &listService{n: 35, cap: 4, dated: true}, stream.Exact, 10},
		{"newest first is noticed on pages of two records", &listService{n: 12, cap: 2, dated: true}, stream.Exact, 7},
		{"a total that is too high proves nothing", &listService{n: 35, totalError: 30, dated: true}, stream.BestEffort, 0},
		{"a total that is too low does not end the walk", &listService{n: 35, totalError: -12, dated: true}, stream.BestEffort, 0},
		{"a total that is too low does not hide a next page", &listService{n: 35, totalError: -15, correctNext: true, dated: true}, stream.BestEffort, 0},
		{"a total that is far too high costs few requests", &listService{n: 35, totalError: 1_000_000, dated: true}, stream.BestEffort, 0},
		{"a total that is far too high with a repeated last page costs few requests", &listService{n: 35, totalError: 1_000_000, dated: true, clamp: true}, stream.BestEffort, 0},
		{"an endless next_page is stopped", &listService{n: 35, dated: true, endless: true}, stream.Exact, 0},
		{"an endless next_page on the last page is stopped", &listService{n: 35, clamp: true, endless: true}, stream.Exact, 0},
		{"an absent next_page needs a page beyond the end", &listService{n: 30, noNext: true, dated: true}, stream.Exact, 5},
		{"an array that ignores page numbers is complete", &listService{n: 35, shape: "fixed"}, stream.Exact, 2},
		{"an empty array takes one request", &listService{shape: "array"}, stream.Exact, 1},
		{"an array shorter than a page takes one request", &listService{n: 9, shape: "array"}, stream.Exact, 1},
		{"an array as long as a page is confirmed", &listService{n: 10, shape: "array"}, stream.Exact, 3},
		{"records without totals on one page take one request", &listService{n: 9, shape: "records"}, stream.Exact, 1},
		{"a short page in an envelope without totals is confirmed", &listService{n: 9, noTotal: true}, stream.Exact, 2},
		{"a next page contradicts the total", &listService{n: 10, endless: true}, stream.Exact, 4},
		{"a total without records proves nothing", &listService{totalError: 5}, stream.BestEffort, 0},
		{"two pages without totals need a second pass", &listService{n: 15, noTotal: true}, stream.Exact, 4},
		{"newest first without totals needs a second pass", &listService{n: 35, noTotal: true, dated: true}, stream.Exact, 8},
		{"an array of many pages is walked one page at a time", &listService{n: 35, shape: "array"}, stream.Exact, 10},
		{"records without totals on many pages are walked one page at a time", &listService{n: 40, shape: "records"}, stream.Exact, 10},
		{"pages beyond the end that repeat the last one end the walk", &listService{n: 35, shape: "array", clamp: true}, stream.Exact, 0},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.service
			var got collector
			e, err := newClient(t, testConfig(s), nil).Walk(t.Context(), sniffedStream, "", got.read)
			harness.Must(t, err)
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
	harness.Must(t, err)
	want := fetch.Evidence{
		Grade: stream.Exact, Pages: 4, Passes: 1,
		TotalFirst: 35, TotalLast: 35, Distinct: 35,
		Reason: "the list is sorted newest first; totals and page 1 did not change, and no id was repeated",
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	e, err = newClient(t, testConfig(&listService{n: 7}), nil).Walk(t.Context(), ordersStream, "", got.read)
	harness.Must(t, err)
	want = fetch.Evidence{Grade: stream.Exact, Pages: 1, Passes: 1, TotalFirst: 7, TotalLast: 7, Distinct: 7, Reason: "complete in one response"}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("evidence of one page (-want +got):\n%s", diff)
	}
}

// TestReasonAfterOnePass reads an unchanged list once. The reason must not claim that the list changed.
func TestReasonAfterOnePass(t *testing.T) {
	cfg := testConfig(&listService{n: 35})
	cfg.MaxPasses = 1
	var got collector
	e, err := newClient(t, cfg, nil).Walk(t.Context(), ordersStream, "", got.read)
	const want = "not proven in 1 pass (streams.max_passes): the list is not sorted newest first, so one pass is no proof"
	if err != nil || e.Reason != want {
		t.Errorf("got the reason %q and %v, want %q", e.Reason, err, want)
	}
}

func TestWalkEndsAtMaxPages(t *testing.T) {
	for name, shape := range map[string]string{"without totals": "array", "with a total above the limit": ""} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(&listService{n: 1_000_000, shape: shape})
			cfg.MaxPages, cfg.MaxPasses = 50, 2
			var got collector
			e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
			if err != nil || e.Grade != stream.BestEffort || e.Pages != 50 || !strings.HasSuffix(e.Reason, "streams.max_pages (50) was reached") {
				t.Errorf("got %+v and %v, want best_effort after 50 pages", e, err)
			}
		})
	}
}

// TestFailedPages answers some pages of a list of 65 records with 500.
func TestFailedPages(t *testing.T) {
	always := func(int) bool { return true }
	for name, tc := range map[string]struct {
		service *listService
		pages   []int               // that fail
		isDown  func(pass int) bool // whether they fail in a pass
		grade   stream.Grade        // empty if the walk fails
		lost    int                 // number of records that are not read
		reason  string
	}{
		"one page":                    {&listService{n: 65}, []int{3}, always, stream.BestEffort, 10, "page 3 could not be read; the other pages are used; first error: "},
		"two pages, newest first":     {&listService{n: 65, dated: true}, []int{2, 5}, always, stream.BestEffort, 20, "pages 2, 5 could not"},
		"the last page":               {&listService{n: 65}, []int{7}, always, stream.BestEffort, 5, "page 7 could not"},
		"the last page and all later": {&listService{n: 65}, []int{7, 8, 9, 10, 11, 12}, always, stream.BestEffort, 5, "page 7 could not"},
		"one page without totals":     {&listService{n: 65, shape: "array"}, []int{3}, always, stream.BestEffort, 10, "page 3 could not"},
		"the first pass":              {&listService{n: 65, dated: true}, []int{3}, func(pass int) bool { return pass == 1 }, stream.Repaired, 0, "newest first"},
		"the second pass":             {&listService{n: 65}, []int{3}, func(pass int) bool { return pass == 2 }, stream.Repaired, 0, "number of existing ids"},
		"the confirmation":            {&listService{n: 65}, []int{1}, func(pass int) bool { return pass > 1 }, stream.BestEffort, 0, "the pages were read, but not a second time: "},
		"page 1":                      {&listService{n: 65}, []int{1}, always, "", 65, ""},
		"five pages in a row":         {&listService{n: 65}, []int{2, 3, 4, 5, 6}, always, "", 55, "stopped after 5 failed pages in a row"},
		"five pages, not in a row": {&listService{n: 65}, []int{2, 3, 4, 6, 7}, always, stream.BestEffort, 45,
			"pages 2, 3, 4, 6, 7 could not"},
	} {
		t.Run(name, func(t *testing.T) {
			pass, attempts := 0, 0 // attempts counts the failed attempts of the current request, of at most 3
			cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				if page == 1 && attempts == 0 {
					pass++
				}
				if slices.Contains(tc.pages, page) && tc.isDown(pass) {
					attempts = (attempts + 1) % 3
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				tc.service.ServeHTTP(w, r)
			}))
			cfg.Concurrency = 1
			var got collector
			e, err := newClient(t, cfg, nil).Walk(t.Context(), sniffedStream, "", got.read)
			if e.Grade != tc.grade || (err != nil) != (tc.grade == "") || len(got.ids) != 65-tc.lost {
				t.Errorf("got %d ids, %+v and %v, want %d ids and the grade %q", len(got.ids), e, err, 65-tc.lost, tc.grade)
			}
			reason := e.Reason
			if err != nil {
				reason = err.Error()
			}
			if !strings.Contains(reason, tc.reason) {
				t.Errorf("the reason is %q, want %q", reason, tc.reason)
			}
			if (e.Failure != nil) != (tc.grade == stream.BestEffort) {
				t.Errorf("the failure is %v, want one only for best_effort", e.Failure)
			}
			if e.Failure != nil && e.Failure.Error() != reason {
				t.Errorf("the failure is %v, want the reason %q", e.Failure, reason)
			}
			failed, ok := errors.AsType[*fetch.StatusError](errors.Join(err, e.Failure))
			if tc.grade != stream.Repaired && (!ok || failed.Code != http.StatusInternalServerError) {
				t.Errorf("the cause of the failure is %+v, want the status 500", failed)
			}
			wantFailed := max(1, (tc.lost+9)/10) // pages of up to 10 records; a failed confirmation loses no record
			if tc.grade == stream.BestEffort && e.FailedPages != wantFailed {
				t.Errorf("%d pages failed, want %d", e.FailedPages, wantFailed)
			}
		})
	}
	t.Run("a list of an id", func(t *testing.T) {
		service := &listService{n: 35}
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("page") == "3" && strings.Contains(r.URL.Path, "/2/") {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			service.ServeHTTP(w, r)
		})
		var got collector
		d, err := newClient(t, testConfig(h), nil).Details(t.Context(), articleLists, slices.Values([]string{"1", "2", "3"}), got.read)
		if err != nil || d.Failed != 1 || !slices.Equal(d.Unproven, []string{"2"}) || !strings.Contains(fmt.Sprint(d.FirstFailure), "page 3 could not be read") {
			t.Errorf("got %+v and %v, want the failed id 2", d, err)
		}
	})
}

// TestEmptyPagesInTheMiddle reads lists whose service removes all records of some pages after dividing the list into pages.
func TestEmptyPagesInTheMiddle(t *testing.T) {
	for _, c := range []struct{ n, emptyPages int }{{65, 1}, {50, 2}} { // from page 3 on
		service := &listService{n: c.n, totalError: -10 * c.emptyPages, correctNext: true, dated: true}
		for _, concurrency := range []int{1, 8} {
			cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if page, _ := strconv.Atoi(r.URL.Query().Get("page")); page >= 3 && page < 3+c.emptyPages {
					service.write(w, nil, page, 10)
					return
				}
				service.ServeHTTP(w, r)
			}))
			cfg.Concurrency = concurrency
			var got collector
			e, err := newClient(t, cfg, nil).Walk(t.Context(), ordersStream, "", got.read)
			if want := c.n - 10*c.emptyPages; err != nil || len(got.ids) != want || e.Grade != stream.Exact {
				t.Errorf("concurrency %d: got %d ids, %+v and %v, want %d ids and exact", concurrency, len(got.ids), e, err, want)
			}
		}
	}
}

// TestRejectedTokenEndsASecondPass rejects the token in the second pass. The run must end, and not use an unproven list.
func TestRejectedTokenEndsASecondPass(t *testing.T) {
	service, firstPages := &listService{n: 35}, 0
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			firstPages++
		}
		if firstPages > 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		service.ServeHTTP(w, r)
	}))
	cfg.Concurrency = 1
	var got collector
	if e, err := newClient(t, cfg, nil).Walk(t.Context(), ordersStream, "", got.read); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("got %+v and %v, want ErrAuth", e, err)
	}
}

// TestCancelledWalkEnds cancels a walk while no request is in flight.
func TestCancelledWalkEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got collector
	cfg := testConfig(&listService{n: 35})
	cfg.MaxPasses = 1 // the walk must not grade a pass that it did not finish
	_, err := newClient(t, cfg, nil).Walk(ctx, ordersStream, "", func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
		defer cancel()
		return got.read(t.Context(), r)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestEndpointsWithoutPages reads an array that turns out to be paged, a record with members of a paged list, and page 1
// of a list and of an array.
func TestEndpointsWithoutPages(t *testing.T) {
	array, record := sniffedStream, outletDetail
	array.Envelope = stream.Array
	service := &listService{n: 35}
	c := newClient(t, testConfig(service), nil)
	var got, gotRecord collector
	e, err := c.Walk(t.Context(), array, "", got.read)
	if err != nil || len(got.ids) != 35 || e.Grade != stream.Exact || service.requestURIs[0] != "/v1/items" {
		t.Errorf("got %d ids, %+v and %v after %q, want 35 ids and exact", len(got.ids), e, err, service.requestURIs)
	}
	single := &listService{n: 3}
	e, err = newClient(t, testConfig(single), nil).Walk(t.Context(), record, "a", gotRecord.read)
	want := fetch.Evidence{Grade: stream.Exact, Reason: "complete in one response", Pages: 1, Passes: 1, TotalFirst: -1, TotalLast: -1, Distinct: 3}
	if diff := cmp.Diff(want, e); err != nil || diff != "" || single.requests() != 1 {
		t.Errorf("a record took %d requests (%v), want one; evidence (-want +got):\n%s", single.requests(), err, diff)
	}
	bare := &listService{n: 3, shape: "array"}
	if _, err := newClient(t, testConfig(bare), nil).Walk(t.Context(), array, "", got.read); err != nil || bare.requests() != 1 {
		t.Errorf("a bare array took %d requests (%v), want one", bare.requests(), err)
	}
	if c.HasStored(array, "") {
		t.Error("a response is found without a store")
	}
	service.requestURIs = nil
	counts := array
	counts.Envelope = stream.StatusCounts
	for _, s := range []stream.Stream{ordersStream, array, counts, record} {
		_, err := c.ReadFirstPage(t.Context(), s, "a", got.read)
		harness.Must(t, err)
	}
	if diff := cmp.Diff([]string{"/v1/orders?limit=10&page=1", "/v1/items", "/v1/items", "/v1/outlets/a"}, service.requestURIs); diff != "" {
		t.Errorf("requests of first pages (-want +got):\n%s", diff)
	}
	var names []string
	for _, m := range c.Telemetry() {
		names = append(names, m.Stream)
	}
	if diff := cmp.Diff([]string{"items", "orders", "outlets"}, names); diff != "" {
		t.Errorf("streams of the telemetry (-want +got):\n%s", diff)
	}
}
