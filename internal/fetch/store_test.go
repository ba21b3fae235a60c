package fetch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// testRequest returns the request for response i.
func testRequest(i int) fetch.Request {
	return fetch.Request{Stream: "s", Path: "/x/{id}", Param: fmt.Sprint("p", i), Query: "a=b", Pass: 1, Page: i}
}

// bodyText returns the body of response i.
func bodyText(i int) string { return strings.Repeat(fmt.Sprintf(`{"id":"%d"}`, i), i) }

// pageRequest returns the request for a page of a list.
func pageRequest(pass, number int) fetch.Request {
	return fetch.Request{Stream: "list", Path: "/list", Pass: pass, Page: number}
}

// storeResponses stores the responses with the numbers first to last. Response 2 is a 404.
func storeResponses(t *testing.T, l *fetch.ResponseStore, first, last int) {
	t.Helper()
	for i := first; i <= last; i++ {
		r := fetch.Response{Request: testRequest(i), Status: http.StatusOK, Body: []byte(bodyText(i))}
		if i == 2 {
			r.Status, r.Body = http.StatusNotFound, nil
		}
		if _, err := l.Append(r, time.Now(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// storedResponse is a stored response with its body.
type storedResponse struct {
	fetch.StoredResponse
	body string
}

// storedResponses returns the responses in the store, without the replaced ones.
func storedResponses(t *testing.T, dir string) (all []storedResponse) {
	t.Helper()
	stored, err := fetch.OpenStoredResponses(dir)
	harness.Must(t, err)
	defer stored.Close()
	for response, err := range stored.All() {
		if errors.Is(err, fetch.ErrDamagedLine) || response.Replaced {
			continue
		}
		body, bodyErr := stored.Body(response)
		harness.Must(t, errors.Join(err, bodyErr))
		all = append(all, storedResponse{response, string(body)})
	}
	return all
}

// lookupAll returns the numbers of the stored responses up to n, and checks their content.
func lookupAll(t *testing.T, l *fetch.ResponseStore, n int) (found []int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		r, ok := l.Lookup(testRequest(i))
		if !ok {
			continue
		}
		found = append(found, i)
		want := bodyText(i)
		if i == 2 {
			want = ""
		}
		if string(r.Body) != want || (r.Status == http.StatusNotFound) != (i == 2) {
			t.Errorf("response %d is %d %q, want %q, and 404 for response 2 only", i, r.Status, r.Body, want)
		}
	}
	return found
}

func openStore(t *testing.T, dir string, options fetch.StoreOptions) *fetch.ResponseStore {
	t.Helper()
	l, err := fetch.OpenResponseStore(dir, options)
	harness.Must(t, err)
	return l
}

func closeStore(t *testing.T, l *fetch.ResponseStore) {
	t.Helper()
	harness.Must(t, l.Close())
}

func TestStoreKeepsResponses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raw", "run")
	small := fetch.StoreOptions{SegmentBytes: 100, SyncBytes: 150}
	l := openStore(t, dir, small)
	storeResponses(t, l, 1, 20)
	if got := lookupAll(t, l, 25); len(got) != 20 {
		t.Errorf("found responses %v before closing, want 20", got)
	}
	closeStore(t, l)

	l = openStore(t, dir, small)
	storeResponses(t, l, 21, 25)
	if n := l.Responses(); n != 25 {
		t.Errorf("a resumed run counts %d responses, want 25", n)
	}
	if got := lookupAll(t, l, 25); len(got) != 25 {
		t.Errorf("found responses %v after reopening, want 25", got)
	}
	var seqs []uint64
	segment := uint32(0)
	for _, response := range storedResponses(t, dir) {
		if response.Segment != segment && response.Offset != 0 {
			t.Errorf("the first body of file %d begins at %d, want 0: the disk would fill with gaps", response.Segment+1, response.Offset)
		}
		segment = response.Segment
		if response.Page != int(response.Seq) {
			t.Errorf("listed %+v, want page %d", response.Request, response.Seq)
		}
		seqs = append(seqs, response.Seq)
	}
	if len(seqs) != 25 || seqs[24] != 25 {
		t.Errorf("listed seqs %v, want 1 to 25", seqs)
	}
	closeStore(t, l)
	checkModes(t, dir)
}

func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLaterResponseReplacesEarlierOne(t *testing.T) {
	dir := t.TempDir()
	l := testStore(t, dir)
	at := time.Date(2026, 11, 20, 3, 0, 0, 0, time.FixedZone("", 3600))
	for i, b := range []string{"first", "second"} {
		r, err := l.Append(fetch.Response{Request: testRequest(1), Status: 200, Body: []byte(b)}, at, 2500*time.Microsecond)
		if err != nil || r.Seq != uint64(i+1) {
			t.Fatalf("the response has the seq %d (%v), want %d: of two copies the later one counts", r.Seq, err, i+1)
		}
	}
	if r, ok := l.Lookup(testRequest(1)); !ok || string(r.Body) != "second" || r.Seq != 2 {
		t.Errorf("found %q with seq %d, want \"second\" with seq 2", r.Body, r.Seq)
	}
	if all := storedResponses(t, dir); len(all) != 1 || all[0].body != "second" {
		t.Errorf("listed %+v, want only \"second\"", all)
	} else if text := all[0].At.Format(time.RFC3339); text != "2026-11-20T02:00:00Z" || all[0].Millis != 2.5 {
		t.Errorf("the time of the response is %s after %v ms, want 2026-11-20T02:00:00Z after 2.5", text, all[0].Millis)
	}
}

// TestEachFieldIdentifiesARequest stores a response and looks up requests that differ in one field.
func TestEachFieldIdentifiesARequest(t *testing.T) {
	l := testStore(t, t.TempDir())
	storeResponses(t, l, 1, 1)
	for name, change := range map[string]func(*fetch.Request){
		"stream": func(r *fetch.Request) { r.Stream = "other" }, "path": func(r *fetch.Request) { r.Path = "/y/{id}" },
		"query": func(r *fetch.Request) { r.Query = "a=c" }, "param": func(r *fetch.Request) { r.Param = "p2" },
		"pass": func(r *fetch.Request) { r.Pass = 2 }, "page": func(r *fetch.Request) { r.Page = 2 },
	} {
		r := testRequest(1)
		change(&r)
		if found, ok := l.Lookup(r); ok {
			t.Errorf("the response %q is found for another %s", found.Body, name)
		}
	}
}

// withoutSync returns options without fsync, for tests that open thousands of stores.
func withoutSync() fetch.StoreOptions { return fetch.StoreOptions{SyncBytes: -1} }

func TestStoreIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	l := openStore(t, dir, fetch.StoreOptions{SegmentBytes: 4096, SyncBytes: 8192})
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 50 {
				r := fetch.Response{Request: testRequest(w*50 + i), Status: 200, Body: []byte(bodyText(i))}
				if _, err := l.Append(r, time.Now(), 0); err != nil {
					t.Error(err)
				}
				if got, ok := l.Lookup(r.Request); !ok || string(got.Body) != bodyText(i) {
					t.Errorf("lookup of response %d: found %v with body %q, want %q", i, ok, got.Body, bodyText(i))
				}
			}
		})
	}
	group.Wait()
	if n := len(storedResponses(t, dir)); n != 400 {
		t.Errorf("stored %d responses, want 400", n)
	}
	closeStore(t, l)
	if _, err := l.Append(fetch.Response{Request: testRequest(1)}, time.Now(), 0); !errors.Is(err, fetch.ErrStore) {
		t.Errorf("Append after Close returned %v, want ErrStore", err)
	}
}

func TestResumedRunRequestsOnlyMissingResponses(t *testing.T) {
	s := &listService{n: 95, dated: true}
	dir := t.TempDir()
	walk := func(h http.Handler) (fetch.Evidence, []string, error) {
		l := openStore(t, dir, fetch.StoreOptions{})
		defer closeStore(t, l)
		var got collector
		cfg := testConfig(h)
		cfg.Concurrency = 1 // otherwise the failure cancels requests in flight
		e, err := newClient(t, cfg, l).Walk(t.Context(), ordersStream, "", got.read)
		return e, got.sorted(), err
	}
	broken := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if page := r.URL.Query().Get("page"); page == "7" || page == "8" {
			w.WriteHeader(http.StatusUnauthorized) // ends the walk
			return
		}
		s.ServeHTTP(w, r)
	})
	if _, _, err := walk(broken); !isError[*fetch.StatusError](err) {
		t.Fatalf("got %v, want the failure of page 7", err)
	}
	e, ids, err := walk(s)
	if err != nil || e.Grade != stream.Exact || len(ids) != 95 {
		t.Fatalf("the resumed walk returned %+v with %d ids (%v), want exact with 95", e, len(ids), err)
	}
	if total := s.requests(); total != 11 {
		t.Errorf("both runs made %d successful requests, want 10 pages and a confirmation: %q", total, s.requestURIs)
	}
	again, ids, err := walk(newScript(statusWithToken(500)))
	if diff := cmp.Diff(e, again); err != nil || diff != "" || len(ids) != 95 {
		t.Errorf("a walk from the store alone: error %v, %d ids, want 95; evidence (-want +got):\n%s", err, len(ids), diff)
	}
}

// TestResumedPassesStayInOrder resumes a walk after page 2 failed in two passes. The resumed run requests page 2 of the
// second pass, but not page 2 of the first pass: its response would be later than the second pass. Otherwise the first
// pass and its confirmation would seem to prove the list, although page 2 was read after the confirmation.
func TestResumedPassesStayInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		stream        stream.Stream
		service       http.Handler
		first, second string // requested pages
	}{
		"the order of the service": {ordersStream, &listService{n: 35}, "1 2 3 4 5 1 2 3 4 5", "2 1 2 3 4"},
		"the list of an id":        {articleLists, &listService{n: 35}, "1 2 3 4 5 1 2 3 4 5", "2 1 2 3 4"},
		"newest first":             {sortedStream, &sortingService{order: newestFirst}, "1 2 3 4 5 6 1 2 3 4 5 6", "2 1"},
		"the order is ignored":     {sortedStream, &sortingService{}, "1 2 3 4 5 6 1 2 3 4 5 6", "2 1 2 3 4 5"},
	} {
		dir := t.TempDir()
		walk := func(fails bool) (fetch.Evidence, string) {
			var pages []string
			cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page := r.URL.Query().Get("page")
				pages = append(pages, page)
				if fails && page == "2" {
					w.WriteHeader(http.StatusNotImplemented)
					return
				}
				tc.service.ServeHTTP(w, r)
			}))
			cfg.Concurrency = 1
			l := openStore(t, dir, fetch.StoreOptions{})
			defer closeStore(t, l)
			var got collector
			c := newClient(t, cfg, l)
			e, err := c.Walk(t.Context(), tc.stream, "a", got.read)
			harness.Must(t, err)
			if isOther := c.HasStored(tc.stream, "b"); !c.HasStored(tc.stream, "a") || isOther && tc.stream.IsDetail() {
				t.Errorf("%s: the stored list is found as that of another id: %t", name, isOther)
			}
			return e, strings.Join(pages, " ")
		}
		if e, pages := walk(true); e.Grade != stream.BestEffort || pages != tc.first {
			t.Errorf("%s, with failures: got %+v with the pages %s, want best_effort with %s", name, e, pages, tc.first)
		}
		if e, pages := walk(false); e.Grade != stream.Repaired || pages != tc.second {
			t.Errorf("%s, resumed: got %+v with the pages %s, want repaired with %s", name, e, pages, tc.second)
		}
	}
}

func TestMalformedStoredBodyIsRequestedAgain(t *testing.T) {
	l := testStore(t, t.TempDir())
	service := newScript(textBody("<html>"), textBody(`{"id":"a"}`))
	cfg := testConfig(service)
	cfg.Retry.MaxRetries = 0
	checkError(t, requestTokenInfo(t, newClient(t, cfg, l)), "malformed")
	checkError(t, requestTokenInfo(t, newClient(t, cfg, l)), "")
	checkError(t, requestTokenInfo(t, newClient(t, cfg, l)), "")
	if n := service.n.Load(); n != 2 {
		t.Errorf("made %d requests, want 2", n)
	}
}

// TestUnusableStoredResponsesAreRequestedAgain begins with an incomplete response of an earlier release: a part, or no
// body at all. As an empty list, it would delete the rows of the list. The refusal of a first page must not be stored:
// a resumed run would fail without asking the service again.
func TestUnusableStoredResponsesAreRequestedAgain(t *testing.T) {
	for name, stored := range map[string]fetch.Response{
		"a part":  {Status: http.StatusPartialContent, Body: []byte(`{"id":"part"}`)},
		"no body": {Status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			l := testStore(t, t.TempDir())
			stored.Request = pageRequest(1, 1)
			if _, err := l.Append(stored, time.Now(), 0); err != nil {
				t.Fatal(err)
			}
			c := newClient(t, testConfig(newScript(respondWith(400, "busy"), textBody(`{"id":"whole"}`))), l)
			got := collector{isEmptyList: func(body []byte) bool { return len(body) == 0 }}
			if _, err := c.Get(t.Context(), stored.Request, got.read); !isError[*fetch.StatusError](err) {
				t.Errorf("got %v and the ids %q, want the error of status 400", err, got.sorted())
			}
			if _, err := c.Get(t.Context(), stored.Request, got.read); err != nil || !slices.Equal(got.sorted(), []string{"whole"}) {
				t.Errorf("got %v and the ids %q, want only the second response of the service", err, got.sorted())
			}
		})
	}
}

// TestStoredResponsesAreIgnoredOnRequest sends a request with Fresh, and calls Refetch for a stream. An offline client
// uses the stored responses nevertheless.
func TestStoredResponsesAreIgnoredOnRequest(t *testing.T) {
	service, l := newScript(textBody(`{"id":"a"}`)), testStore(t, t.TempDir())
	cfg := testConfig(service)
	online := newClient(t, cfg, l)
	cfg.Offline = true
	offline := newClient(t, cfg, l)
	checkError(t, requestTokenInfo(t, offline),
		`fetch stream "token": GET http://service.test/v1/auth/token?access_token=<secret>&x=1: the response is not stored`)
	for _, step := range []struct {
		name      string
		client    *fetch.Client
		isFresh   bool
		isRefetch bool
		requests  int64
	}{
		{"the first request", online, false, false, 1},
		{"a stored response", online, false, false, 1},
		{"a fresh response", online, true, false, 2},
		{"a stream after Refetch", online, false, true, 3},
		{"a fresh response of a stream after Refetch, offline", offline, true, true, 3},
	} {
		if step.isRefetch {
			step.client.Refetch("token")
		}
		var got collector
		if _, err := step.client.Get(t.Context(), fetch.Request{Stream: "token", Path: "/auth/token", Fresh: step.isFresh}, got.read); err != nil {
			t.Errorf("%s: got %v, want no error", step.name, err)
		}
		if n := service.n.Load(); n != step.requests {
			t.Errorf("%s: %d requests in all, want %d", step.name, n, step.requests)
		}
	}
}

// TestCancelledCallReadsNothing repeats the call, because a select between its context and a slot chooses at random.
func TestCancelledCallReadsNothing(t *testing.T) {
	c := newClient(t, testConfig(textBody(`{"id":"a"}`)), testStore(t, t.TempDir()))
	checkError(t, requestTokenInfo(t, c), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		var got collector
		_, err := c.Get(ctx, fetch.Request{Stream: "token", Path: "/auth/token", Query: "access_token=hidden&x=1"}, got.read)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v and the ids %q after the cancellation, want context.Canceled", err, got.sorted())
		}
	}
}

func TestJournalContainsNoToken(t *testing.T) {
	dir := t.TempDir()
	checkError(t, requestTokenInfo(t, newClient(t, testConfig(newScript(textBody(`{"id":"a"}`))), testStore(t, dir))), "")
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	harness.Must(t, err)
	if bytes.Contains(journal, []byte(token)) {
		t.Errorf("the journal contains the token: %s", journal)
	}
	var line map[string]any
	if err := json.Unmarshal(journal, &line); err != nil || line["stream"] != "token" || line["status"] != 200.0 {
		t.Errorf("the journal line is %s (%v), want the stream \"token\" and the status 200", journal, err)
	}
}

func TestEchoedTokenIsScrubbed(t *testing.T) {
	const special = "pc_with/slash+plus"
	cfg, dir := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		fmt.Fprintf(w, `{"id":"a","header":"Bearer %s","url":"/x?token=%s"}`, sent, url.QueryEscape(sent))
	})), t.TempDir()
	cfg.Token = func(context.Context) (string, error) { return special, nil }
	l := testStore(t, dir)
	var seen string
	_, err := newClient(t, cfg, l).Get(t.Context(), fetch.Request{Stream: "token", Path: "/auth/token"},
		func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			seen = string(r.Body)
			return stream.PageFacts{}, nil
		})
	harness.Must(t, err)
	const want = `{"id":"a","header":"Bearer <secret>","url":"/x?token=<secret>"}`
	stored := storedResponses(t, dir)
	if len(stored) != 1 || stored[0].body != want || seen != want {
		t.Errorf("stored %+v and read %s, want %s", stored, seen, want)
	}
}

func TestTelemetryCounts(t *testing.T) {
	c := newClient(t, testConfig(newScript(statusWithToken(503), textBody(`{"id":"a"}`))), testStore(t, t.TempDir()))
	for range 3 {
		checkError(t, requestTokenInfo(t, c), "")
	}
	m := c.Telemetry()
	if len(m) != 1 || m[0].Stream != "token" || m[0].Requests != 2 || m[0].Retries != 1 || m[0].Hits != 2 {
		t.Errorf("telemetry is %+v, want 2 requests, 1 retry and 2 hits of the stream \"token\"", m)
	}
	if m[0].Bytes == 0 || m[0].P50 == 0 || m[0].P50 > m[0].P95 || m[0].P95 > m[0].Max || m[0].First.IsZero() {
		t.Errorf("telemetry is %+v, want bytes, ascending latencies and a time of the first request", m)
	}
}

// TestFailedAttemptAddsNothingOfTheOneBefore sends an attempt without a response after a 429. Only the first attempt
// may count the status and the bytes of the 429.
func TestFailedAttemptAddsNothingOfTheOneBefore(t *testing.T) {
	cfg := testConfig(nil)
	service, sent := handlerTransport{newScript(respondWith(429, "slow down"), textBody(`{"id":"a"}`))}, 0
	cfg.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		if sent == 2 {
			return nil, errors.New("connection reset")
		}
		return service.RoundTrip(r)
	})
	c := newClient(t, cfg, nil)
	checkError(t, requestTokenInfo(t, c), "")
	wantBytes := int64(len("slow down") + len(`{"id":"a"}`))
	if m := c.Telemetry()[0]; m.Requests != 3 || m.RateLimited != 1 || m.Bytes != wantBytes {
		t.Errorf("telemetry is %+v, want 3 requests, one 429 and %d bytes", m, wantBytes)
	}
}

// TestBodiesAreSyncedBeforeTheJournal records the order of the syncs. A line of the journal that survives a power cut
// must have its body.
func TestBodiesAreSyncedBeforeTheJournal(t *testing.T) {
	var syncs []string
	step := func(name, _ string) error {
		if file, ok := strings.CutPrefix(name, "before fsync "); ok {
			syncs = append(syncs, file)
		}
		return nil
	}
	l := openStore(t, filepath.Join(t.TempDir(), "run"), fetch.StoreOptions{SyncBytes: 1, Step: step})
	if want := "above of the stored responses"; strings.Join(syncs, ", ") != want {
		t.Errorf("a new folder has the syncs %q, want %q, so that a power cut does not remove it", syncs, want)
	}
	for _, number := range []int{3, 4} { // two bodies in one file; response 2 would have no body
		syncs = nil
		storeResponses(t, l, number, number)
		if diff := cmp.Diff([]string{"of the bodies", "of the journal", "of the stored responses"}, syncs); diff != "" {
			t.Errorf("order of the syncs after response %d (-want +got):\n%s", number, diff)
		}
	}
	closeStore(t, l)
	l = openStore(t, t.TempDir(), fetch.StoreOptions{SegmentBytes: 1, Step: step})
	storeResponses(t, l, 3, 5)
	syncs = nil
	harness.Must(t, l.Sync())
	want := []string{"of the bodies", "of the bodies", "of the bodies", "of the journal", "of the stored responses"}
	if diff := cmp.Diff(want, syncs); diff != "" {
		t.Errorf("syncs of three files of bodies (-want +got):\n%s", diff)
	}
	closeStore(t, l)
}

// TestSyncsOfTheDefault stores a body of 17 MB, after which a power cut must not lose the responses before.
func TestSyncsOfTheDefault(t *testing.T) {
	syncs := 0
	l := openStore(t, t.TempDir(), fetch.StoreOptions{Step: func(name, _ string) error {
		if name == "before fsync of the bodies" {
			syncs++
		}
		return nil
	}})
	for i, size := range []int{15 << 20, 1 << 20, 1 << 20, 1} {
		r := fetch.Response{Request: testRequest(i), Status: http.StatusOK, Compressed: make([]byte, size), Encoding: "gzip"}
		_, err := l.Append(r, time.Now(), 0)
		harness.Must(t, err)
		if want := min(i, 1); syncs != want {
			t.Errorf("%d syncs after response %d, want %d", syncs, i, want)
		}
	}
	closeStore(t, l)
}

// TestFilesOfBodies stores bodies that are larger than a file should be, and opens the store again.
func TestFilesOfBodies(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		l := openStore(t, dir, fetch.StoreOptions{SegmentBytes: 1, SyncBytes: -1})
		storeResponses(t, l, 3, 4)
		closeStore(t, l)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.bodies"))
	harness.Must(t, err)
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s has no body (%v)", file, err)
		}
	}
	if len(files) != 4 {
		t.Errorf("four bodies are in %d files, want 4", len(files))
	}
}

// TestRemedyOfAFullDisk fails to store a response. For a full disk the caller names another remedy.
func TestRemedyOfAFullDisk(t *testing.T) {
	for cause, want := range map[error]bool{syscall.EIO: true, syscall.ENOSPC: false} {
		options := fetch.StoreOptions{Step: func(name, _ string) error {
			if strings.HasPrefix(name, "before write") {
				return cause
			}
			return nil
		}}
		l := openStore(t, t.TempDir(), options)
		_, err := l.Append(fetch.Response{Request: testRequest(1), Status: http.StatusOK}, time.Now(), 0)
		closeStore(t, l)
		if !errors.Is(err, cause) || strings.Contains(err.Error(), "check the disk") != want {
			t.Errorf("got error %v, want %v with the advice to check the disk: %v", err, cause, want)
		}
	}
}

func TestFailedSyncIsPermanent(t *testing.T) {
	broken := errors.New("the disk is broken")
	failed := false
	l, err := fetch.OpenResponseStore(t.TempDir(), fetch.StoreOptions{SyncBytes: 1, Step: func(name, _ string) error {
		if name != "before fsync of the journal" || failed {
			return nil
		}
		failed = true
		return broken
	}})
	harness.Must(t, err)
	r := fetch.Response{Request: testRequest(1), Status: http.StatusOK, Body: []byte(bodyText(1))}
	for range 2 {
		if _, err := l.Append(r, time.Now(), time.Millisecond); !errors.Is(err, broken) {
			t.Errorf("append after a failed fsync: got %v, want %v", err, broken)
		}
	}
	if err := l.Close(); !errors.Is(err, broken) {
		t.Errorf("close after a failed fsync: got %v, want %v", err, broken)
	}
}
