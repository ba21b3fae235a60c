package fetch_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

// sortingService is a service with a list of 45 records in no order. Requests without sort_by get the default order.
type sortingService struct {
	// order compares two records of a request that asks for newest first. Nil means that the parameter is ignored.
	order func(a, b record) int
	// status is the response to a request that asks for an order, or 0.
	status int
	// isUnstable means that the order of records of the same time is another one in each response.
	isUnstable bool
	// isUndated removes created_at from one record.
	isUndated bool
	// sameTime is the number of consecutive records with the same created_at.
	sameTime int64

	requests []string // sort or plain, and the page
}

func (s *sortingService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page, _ := strconv.Atoi(query.Get("page"))
	isSorted := query.Get("sort_by") == "created_at" && query.Get("order_by") == "desc"
	kind := "plain "
	if isSorted {
		kind = "sorted "
	}
	s.requests = append(s.requests, kind+query.Get("page"))
	if isSorted && s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	var records []record
	for i := range 45 {
		created := int64(i*17%45) / max(s.sameTime, 1) // i*17%45 shuffles the numbers 0 to 44
		records = append(records, record{ID: fmt.Sprint("id", i), Created: &created})
	}
	if s.isUndated {
		records[20].Created = nil
	}
	if isSorted && s.isUnstable {
		// The rank of a record of the same time differs in each request.
		rank := func(r record) int { return numberOf(r) * len(s.requests) % 47 }
		s.order = func(a, b record) int { return cmp.Or(newestFirst(a, b), cmp.Compare(rank(a), rank(b))) }
	}
	if isSorted && s.order != nil {
		slices.SortStableFunc(records, s.order)
	}
	from := min((page-1)*10, len(records))
	json.NewEncoder(w).Encode(map[string]any{"records": records[from:min(from+10, 45)], "total_records": 45, "next_page": nil})
}

// numberOf returns the number in the id of a record.
func numberOf(r record) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(r.ID, "id"))
	return n
}

func newestFirst(a, b record) int {
	if a.Created == nil || b.Created == nil {
		return 0
	}
	return cmp.Compare(*b.Created, *a.Created)
}

var sortedStream = stream.Stream{Name: "sorted", Path: "/sorted", Envelope: stream.Paginated, Sorts: true}

// walkInOrder walks the list without parallel requests, and returns the requests as one text.
func walkInOrder(t *testing.T, s *sortingService, dir string, change func(*fetch.Config)) (fetch.Evidence, string) {
	t.Helper()
	cfg := testConfig(s)
	cfg.Concurrency = 1
	change(&cfg)
	store := openStore(t, dir, fetch.StoreOptions{})
	defer closeStore(t, store)
	s.requests = nil
	var got collector
	client := newClient(t, cfg, store)
	e, err := client.Walk(t.Context(), sortedStream, "", got.read)
	if err != nil || len(got.ids) != 45 || !client.HasStored(sortedStream, "") {
		t.Errorf("read %d records and %v, want 45 with stored responses", len(got.ids), err)
	}
	return e, strings.Join(s.requests, ", ")
}

// TestListsAreRequestedNewestFirst walks a list for which one pass in the requested order is a proof. If the service
// refuses the order or does not keep it, the walk continues without it, and the next run does not ask again.
func TestListsAreRequestedNewestFirst(t *testing.T) {
	const sorted, plain = "sorted 1, sorted 2, sorted 3, sorted 4, sorted 5", "plain 1, plain 2, plain 3, plain 4, plain 5"
	withinPages := func(a, b record) int { // as if pages were sorted after the list was divided into pages
		pageOf := func(r record) int { return numberOf(r) / 10 }
		return cmp.Or(cmp.Compare(pageOf(a), pageOf(b)), newestFirst(a, b))
	}
	for name, tc := range map[string]struct {
		service  *sortingService
		requests string
		grade    stream.Grade
		isSorted bool
	}{
		"the order is kept":         {&sortingService{order: newestFirst}, sorted + ", sorted 1", stream.Exact, true},
		"the order is ignored":      {&sortingService{}, sorted + ", " + plain, stream.Exact, false},
		"another order":             {&sortingService{order: func(a, b record) int { return -newestFirst(a, b) }}, sorted + ", " + plain, stream.Exact, false},
		"only pages are sorted":     {&sortingService{order: withinPages}, sorted + ", " + plain, stream.Exact, false},
		"a record without a time":   {&sortingService{order: newestFirst, isUndated: true}, sorted + ", " + plain, stream.Exact, false},
		"400":                       {&sortingService{status: 400}, "sorted 1, " + plain + ", " + plain, stream.Exact, false},
		"422":                       {&sortingService{status: 422}, "sorted 1, " + plain + ", " + plain, stream.Exact, false},
		"500":                       {&sortingService{status: 500}, "sorted 1, sorted 1, sorted 1, " + plain + ", " + plain, stream.Exact, false},
		"one time on all of page 1": {&sortingService{order: newestFirst, sameTime: 12}, sorted + ", " + sorted, stream.Exact, true},
		"no order of the same time": {&sortingService{isUnstable: true, sameTime: 6}, sorted + ", " + sorted + ", " + plain, stream.Repaired, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			e, requests := walkInOrder(t, tc.service, dir, func(*fetch.Config) {})
			if e.Grade != tc.grade || requests != tc.requests || e.Unsortable == tc.isSorted {
				t.Errorf("got %+v with %s\nwant %s, sorted %t with %s", e, requests, tc.grade, tc.isSorted, tc.requests)
			}
			again, requests := walkInOrder(t, tc.service, dir, func(cfg *fetch.Config) { cfg.Offline, cfg.Unsortable = true, []string{"sorted"} })
			again.Unsortable = e.Unsortable
			if requests != "" || again != e {
				t.Errorf("a walk of the stored responses sent %q, and got %+v, want %+v", requests, again, e)
			}
			if !e.Unsortable {
				return
			}
			e, requests = walkInOrder(t, tc.service, t.TempDir(), func(cfg *fetch.Config) { cfg.Unsortable = []string{"sorted"} })
			if requests != plain+", "+plain || !e.Unsortable || e.Grade != stream.Exact {
				t.Errorf("the next run: got %+v with %s", e, requests)
			}
		})
	}
}

// TestFailureIsNoRefusalOfTheOrder reads a list that fails in any order. The next run must ask for newest first again.
func TestFailureIsNoRefusalOfTheOrder(t *testing.T) {
	for _, c := range []struct {
		stream   stream.Stream
		status   int
		requests int64
	}{{sortedStream, 500, 6}, {sortedStream, 403, 1}, {sortedStream, 401, 1}, {ordersStream, 500, 3}} {
		service := newScript(statusWithToken(c.status))
		var got collector
		e, err := newClient(t, testConfig(service), nil).Walk(t.Context(), c.stream, "", got.read)
		if n := service.n.Load(); err == nil || e.Unsortable || n != c.requests {
			t.Errorf("status %d: got %+v and %v after %d requests, want a failure after %d", c.status, e, err, n, c.requests)
		}
	}
}

// TestRefusedConnectionIsNoRefusalOfTheOrder refuses the connections of all attempts of the first request. The list is
// not read, and the next run must ask for newest first again.
func TestRefusedConnectionIsNoRefusalOfTheOrder(t *testing.T) {
	cfg, attempts := testConfig(nil), 0
	service := handlerTransport{&sortingService{}}
	cfg.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		attempts++
		if attempts <= 3 {
			return nil, syscall.ECONNREFUSED
		}
		return service.RoundTrip(r)
	})
	var got collector
	e, err := newClient(t, cfg, nil).Walk(t.Context(), sortedStream, "", got.read)
	if !errors.Is(err, fetch.ErrUnreachable) || e.Unsortable {
		t.Errorf("got %+v and %v, want ErrUnreachable, and no refusal of the order", e, err)
	}
}

// TestFailedConfirmationIsNoRefusalOfTheOrder makes the second request for page 1 fail, after the service kept the
// order on all five pages.
func TestFailedConfirmationIsNoRefusalOfTheOrder(t *testing.T) {
	service := &sortingService{order: newestFirst}
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(service.requests) >= 5 && r.URL.Query().Has("sort_by") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		service.ServeHTTP(w, r)
	}))
	cfg.Concurrency = 1
	var got collector
	e, err := newClient(t, cfg, nil).Walk(t.Context(), sortedStream, "", got.read)
	if err != nil || e.Unsortable || e.Grade != stream.BestEffort || len(service.requests) != 5 {
		t.Errorf("got %+v and %v after %q, want best_effort: later nights would need two passes", e, err, service.requests)
	}
}
