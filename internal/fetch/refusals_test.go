package fetch_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// TestRefusedIDs responds with 403 to some ids.
func TestRefusedIDs(t *testing.T) {
	for name, tc := range map[string]struct {
		refused func(n int) bool
		n       int
		skipped bool
		want    string
	}{
		"one of twelve":         {func(n int) bool { return n == 2 }, 12, false, "[id2]"},
		"the first four":        {func(n int) bool { return n < 4 }, 12, false, "[id0 id1 id2 id3]"},
		"ten in a row":          {func(n int) bool { return n >= 20 && n < 30 }, 40, false, "[id20 id21 id22 id23 id24 id25 id26 id27 id28 id29]"},
		"all of a hundred":      {func(int) bool { return true }, 100, true, "[]"},
		"all of three":          {func(int) bool { return true }, 3, true, "[]"},
		"the first five of six": {func(n int) bool { return n < 5 }, 6, true, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			var requests sync.Map
			cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Store(r.URL.Path, true)
				n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/v1/outlets/id"))
				if tc.refused(n) {
					w.WriteHeader(http.StatusForbidden)
					io.WriteString(w, `{"message":"outlet is private"}`)
					return
				}
				io.WriteString(w, `{"id":"a"}`)
			}))
			var got collector
			d, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(tc.n), got.read)
			if refused := fmt.Sprint(d.Refused); refused != tc.want || d.Failed != len(d.Refused) {
				t.Errorf("got %+v, want the refused ids %s", d, tc.want)
			}
			if tc.skipped {
				if !errors.Is(err, fetch.ErrScope) {
					t.Errorf("got the error %v, want ErrScope", err)
				}
				checkError(t, err, "add the stream to streams.exclude")
				return
			}
			if err != nil || d.Found != tc.n-d.Failed {
				t.Errorf("found %d ids with the error %v, want %d", d.Found, err, tc.n-d.Failed)
			}
		})
	}
}

// TestGoneRecords responds with 404 and 410.
func TestGoneRecords(t *testing.T) {
	dir := t.TempDir()
	for _, when := range []string{"from the service", "from the store"} {
		cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/outlets/id1":
				respondWith(http.StatusNotFound, "not shown")(w, r)
			case "/v1/outlets/id2":
				respondWith(http.StatusGone, "not shown")(w, r)
			default:
				io.WriteString(w, `{"id":"a"}`)
			}
		}))
		cfg.Offline = when == "from the store"
		store, err := fetch.OpenResponseStore(dir, fetch.StoreOptions{})
		harness.Must(t, err)
		var got collector
		d, err := newClient(t, cfg, store).Details(t.Context(), outletDetail, numberedIDs(7), got.read)
		if err != nil || fmt.Sprint(d.Gone) != "[id1 id2]" || d.Failed != 0 || d.Found != 5 {
			t.Errorf("%s: got %+v and %v, want id1 and id2 gone", when, d, err)
		}
		harness.Must(t, store.Close())
	}
	for _, response := range storedResponses(t, dir) {
		if strings.Contains(response.body, "not shown") {
			t.Errorf("the body of status %d is stored, want only the status", response.Status)
		}
	}
}

// TestEmptyResponses responds without content. For the list of an id, a 204 is an empty list at once, and a 200 without
// a body is a doubtful list after all attempts. For a whole list, only a 204 is accepted. For a record, both are errors.
func TestEmptyResponses(t *testing.T) {
	empty := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	readList := func(list []byte) bool { return len(list) == 0 }
	for code, requests := range map[int]int64{204: 7, 200: 7 * 3} {
		dir := t.TempDir()
		for _, offline := range []bool{false, true} {
			service := newScript(empty(code))
			cfg := testConfig(service)
			cfg.Offline = offline
			store, err := fetch.OpenResponseStore(dir, fetch.StoreOptions{})
			harness.Must(t, err)
			got := collector{isEmptyList: readList}
			d, err := newClient(t, cfg, store).Details(t.Context(), articleLists, numberedIDs(7), got.read)
			isDoubtful := len(d.Doubtful) == 7
			if err != nil || d.Found != 7 || d.Grade != stream.Exact || isDoubtful != (code == 200) {
				t.Errorf("%d, offline %v: got %+v and %v, want 7 exact lists, doubtful only after a 200", code, offline, d, err)
			}
			if n := service.n.Load(); !offline && n != requests {
				t.Errorf("%d: sent %d requests, want %d", code, n, requests)
			}
			harness.Must(t, store.Close())
		}
		list, listDir := collector{isEmptyList: readList}, t.TempDir()
		_, err := newClient(t, testConfig(newScript(empty(code))), testStore(t, listDir)).Walk(t.Context(), ordersStream, "", list.read)
		stored := len(storedResponses(t, listDir))
		wantMalformed := code == 200
		if errors.Is(err, fetch.ErrMalformed) != wantMalformed {
			t.Errorf("%d for a whole list: got %v, want ErrMalformed only for 200", code, err)
		}
		if (stored == 0) != wantMalformed {
			t.Errorf("%d for a whole list: %d responses are stored, want none only for 200", code, stored)
		}
		var record collector
		_, err = newClient(t, testConfig(newScript(empty(code))), nil).Details(t.Context(), outletDetail, numberedIDs(7), record.read)
		if !errors.Is(err, fetch.ErrMalformed) {
			t.Errorf("%d for a record: got %v, want ErrMalformed", code, err)
		}
	}
}

// TestPagesBeyondTheEnd responds with an error to the pages after the last.
func TestPagesBeyondTheEnd(t *testing.T) {
	for _, code := range []int{400, 404, 410, 416} {
		for name, service := range map[string]*listService{
			"bare array":            {n: 25, shape: "array"},
			"full last page":        {n: 30, shape: "array"},
			"no next page":          {n: 30, noNext: true},
			"a total that is wrong": {n: 25, totalError: 12},
		} {
			t.Run(fmt.Sprintf("%d, %s", code, name), func(t *testing.T) {
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if page, _ := strconv.Atoi(r.URL.Query().Get("page")); (page-1)*10 >= service.n {
						w.WriteHeader(code)
						io.WriteString(w, `{"detail":"Invalid page."}`)
						return
					}
					service.ServeHTTP(w, r)
				})
				dir := t.TempDir()
				for _, offline := range []bool{false, true} {
					cfg := testConfig(h)
					cfg.Offline = offline
					store, err := fetch.OpenResponseStore(dir, fetch.StoreOptions{})
					harness.Must(t, err)
					var got collector
					e, err := newClient(t, cfg, store).Walk(t.Context(), ordersStream, "", got.read)
					wantGrade := stream.Exact
					if service.totalError != 0 {
						wantGrade = stream.BestEffort
					}
					if err != nil || len(got.ids) != service.n || e.Grade != wantGrade {
						t.Errorf("offline %v: got %d ids, %+v and %v, want %d ids and the grade %s", offline, len(got.ids), e, err, service.n, wantGrade)
					}
					harness.Must(t, store.Close())
				}
			})
		}
	}
	t.Run("a deletion during the walk starts another pass", func(t *testing.T) {
		service := &listService{n: 51, dated: true}
		var mu sync.Mutex
		first := true
		var got collector
		e, err := newClient(t, testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if page, _ := strconv.Atoi(r.URL.Query().Get("page")); (page-1)*10 >= service.n {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			service.ServeHTTP(w, r)
			if first {
				first, service.n = false, 50
			}
		})), nil).Walk(t.Context(), ordersStream, "", got.read)
		if err != nil || e.Grade != stream.Repaired || e.Passes < 2 || e.TotalLast != 50 {
			t.Errorf("got %+v and %v, want repaired after several passes", e, err)
		}
	})
}
