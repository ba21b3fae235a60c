package pipeline

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

func TestPerSecond(t *testing.T) {
	startedAt := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		requests int64
		after    time.Duration
		want     float64
	}{{0, time.Hour, 0}, {50, time.Second - 1, 0}, {50, time.Second, 50}, {50, 20 * time.Second, 2.5}} {
		if got := perSecond(fetch.Telemetry{Requests: c.requests, First: startedAt}, startedAt.Add(c.after)); got != c.want {
			t.Errorf("%d requests in %v: got %v per second, want %v", c.requests, c.after, got, c.want)
		}
	}
}

// TestProgressOfRequests sends five requests to a stream, and then three to another. Each takes a second.
func TestProgressOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := fetch.New(fetch.Config{BaseURL: "http://service.test", Transport: slowTransport{},
			Token: func(context.Context) (string, error) { return "pc_test", nil }}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		tracker := &ProgressTracker{client: client, requestsBefore: []int64{5, 8}}
		tracker.current.Streams = []ledger.StreamProgress{{Name: "orders", State: ledger.Read}, {Name: "articles", State: ledger.Reading}}
		read := func(context.Context, fetch.Response) (stream.PageFacts, error) { return stream.PageFacts{}, nil }
		for i := range 8 {
			name := "orders"
			if i >= 5 {
				name = "articles"
			}
			if i == 5 { // without a rate of the stream, that of the run is used
				if p, _ := tracker.Progress(); p.PerSecond != 1 || p.Left != 8*time.Second {
					t.Errorf("before the first request for articles: %v requests a second and %v left, want 1 and 8s", p.PerSecond, p.Left)
				}
			}
			if _, err := client.Get(t.Context(), fetch.Request{Stream: name, Path: "/a"}, read); err != nil {
				t.Fatal(err)
			}
		}
		want := ledger.Progress{Requests: 8, Expected: 13, PerSecond: 1, Left: 5 * time.Second, Streams: []ledger.StreamProgress{
			{Name: "orders", State: ledger.Read, Requests: 5, PerSecond: 0.625},
			{Name: "articles", State: ledger.Reading, Requests: 3, PerSecond: 1, Left: 5 * time.Second}}}
		for range 2 {
			p, _ := tracker.Progress()
			if diff := cmp.Diff(want, p); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
			p.Streams[0].Rows = 99 // the caller may change its copy
		}
	})
}

// slowTransport answers each request after a second.
type slowTransport struct{}

func (slowTransport) RoundTrip(*http.Request) (*http.Response, error) {
	<-time.After(time.Second) // the time is virtual (synctest)
	w := httptest.NewRecorder()
	w.WriteString("{}")
	return w.Result(), nil
}

// TestCountResponse counts the pages of a list with two passes, and ids with several pages.
func TestCountResponse(t *testing.T) {
	tracker := &ProgressTracker{countedInIDs: map[string]bool{"details": true}}
	tracker.current.Streams = []ledger.StreamProgress{{Name: "list"}, {Name: "details"}}
	countPage := func(name string, pass, number, records int, pages int64) {
		tracker.countResponse(fetch.Response{Request: fetch.Request{Stream: name, Pass: pass, Page: number}}, stream.PageFacts{Records: records, Paginated: true, TotalPages: pages})
	}
	for i := range 3 {
		countPage("list", 1, i+1, 10, 3)
	}
	countPage("list", 2, 1, 7, 4)
	countPage("list", 2, 2, 1, 0)    // a page without a total
	countPage("details", 0, 0, 2, 9) // a single record
	countPage("details", 1, 1, 2, 9) // the first page of a second id
	countPage("details", 2, 2, 2, 9)
	countPage("details", 1, 1, 2, 9) // the first page of a third id
	countPage("unknown", 1, 1, 9, 9)
	want := []ledger.StreamProgress{{Name: "list", Pass: 2, Done: 2, Total: 4, Rows: 8}, {Name: "details", Done: 3, Rows: 8}}
	if diff := cmp.Diff(want, tracker.current.Streams); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	var noTracker *ProgressTracker
	noTracker.setPhase("ignored")
}

// TestLedgerStream checks the used share of the allowed request rate and the rows of a stream before
// and after the merge.
func TestLedgerStream(t *testing.T) {
	startedAt := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	r := resultOf(t, "orders", stream.Exact, load.Whole)
	r.rows, r.stored, r.evidence.TotalFirst = 5, load.RowAges{Rows: 7, Old: 2, Since: startedAt}, 9
	r.evidence.TotalLast, r.evidence.Pages, r.evidence.Passes, r.evidence.Distinct, r.evidence.Repeated, r.evidence.Unsortable = 11, 12, 13, 14, 15, true
	r.rejects, r.found, r.carried, r.rechecked, r.missed, r.unread, r.failure = 16, 17, 18, 19, 20, 22, errors.New("failed")
	telemetry := fetch.Telemetry{Requests: 21, First: startedAt, Last: startedAt.Add(4 * time.Second), P50: time.Second, P95: 2 * time.Second, Max: 3 * time.Second,
		RateWait: 4 * time.Second, RetryWait: 5 * time.Second, Bytes: 6, Retries: 7, RateLimited: 8, Hits: 9}
	row := r.ledgerStream(telemetry, 10)
	want := ledger.Stream{Stream: "orders", Grade: "exact", Reason: "why orders", Requests: 21, TotalFirst: 9, Rows: 5, RowsOld: 2, AgeSince: startedAt,
		LatencyP50: 1000, LatencyP95: 2000, LatencyMax: 3000, RateWaitSeconds: 4, RetryAfterSeconds: 5, Bytes: 6, Retries: 7, RateLimited: 8, Reused: 9, RateUsed: 0.5,
		TotalLast: 11, Pages: 12, Passes: 13, Distinct: 14, Repeated: 15, Unsorted: true, Rejects: 16, Fetched: 17, Carried: 18, Rechecked: 19, Failed: 20, Unread: 22, Incomplete: true}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("before the merge (-want +got):\n%s", diff)
	}
	if events := resultOf(t, "article_status_events", stream.BestEffort, load.Unproven); !events.ledgerStream(fetch.Telemetry{}, 0).Events {
		t.Error("a stream of events is not marked in the ledger")
	}
	r.isMerged = true
	if row = r.ledgerStream(telemetry, 10); row.Rows != 7 {
		t.Errorf("after the merge the stream has %d rows, want 7", row.Rows)
	}
	if row = r.ledgerStream(telemetry, 0); row.RateUsed != 0 {
		t.Errorf("without a limit the used share of the rate is %v, want 0", row.RateUsed)
	}
	telemetry.Last = startedAt
	if row = r.ledgerStream(telemetry, 10); row.RateUsed != 0 {
		t.Errorf("without a time span the used share of the rate is %v, want 0", row.RateUsed)
	}
}

// TestTooFull checks that 16 MiB and half of the needed bytes must be free.
func TestTooFull(t *testing.T) {
	const minBytes, gib = 16 << 20, 1 << 30
	for _, c := range []struct {
		free, need int64
		want       bool
	}{
		{0, 0, true},
		{minBytes - 1, 0, true},
		{minBytes, 0, false},
		{minBytes, 2 * minBytes, false},
		{gib, 2 * gib, false},
		{gib - 1, 2 * gib, true},
	} {
		if got := (Plan{FreeBytes: c.free, NeedBytes: c.need}).TooFull(); got != c.want {
			t.Errorf("%d bytes free, %d needed: TooFull returned %t, want %t", c.free, c.need, got, c.want)
		}
	}
}

func TestLastRequests(t *testing.T) {
	runs := []ledger.Run{
		{Streams: []ledger.Stream{{Stream: "a", Requests: 3}, {Stream: "b", Requests: 5}}},
		{Streams: []ledger.Stream{{Stream: "a", Requests: 4, Reused: 2}, {Stream: "b"}}},
	}
	for name, want := range map[string]int64{"a": 6, "b": 5, "c": -1} {
		if got := lastRequests(runs, name); got != want {
			t.Errorf("the last requests of %s are %d, want %d", name, got, want)
		}
	}
}

// TestDriftIsLimited finds more unknown fields than the collector keeps. The sample of a field must be
// from its first record, in any order of the records.
func TestDriftIsLimited(t *testing.T) {
	d := newDriftCollector()
	at := func(seq uint64) transform.Place { return transform.Place{Seq: seq} }
	findingsOf := func(path, sample string, seq uint64) transform.Findings {
		return transform.Findings{Drift: []transform.Drift{{Drift: stream.Drift{Table: "orders", Path: path, Kind: "unknown_field", Sample: sample}, First: at(seq)}}}
	}
	d.addFindings(findingsOf("a", "third", 3))
	d.addFindings(findingsOf("a", "first", 1))
	d.addFindings(findingsOf("a", "second", 2))
	d.addFindings(findingsOf("a", "fourth", 4))
	if len(d.drifts) != 1 || d.drifts[0].Sample != "first" {
		t.Errorf("the unknown fields are %+v, want one with the sample \"first\"", d.drifts)
	}
	for i := range maxDrifts + 5 {
		d.addFindings(findingsOf(string(rune(0x4e00+i)), "", uint64(10+i))) // each path is a different character
	}
	if len(d.drifts) != maxDrifts+1 || d.drifts[maxDrifts].Path != "…" {
		t.Errorf("%d unknown fields are kept, want %d and one for all further paths", len(d.drifts), maxDrifts)
	}
}
