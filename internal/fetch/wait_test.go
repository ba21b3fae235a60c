package fetch

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/time/rate"

	"placementsync/internal/stream"
)

// TestFailedPagesAreNamedInOrder records the failure of page 5 before the one of page 2.
func TestFailedPagesAreNamedInOrder(t *testing.T) {
	t.Parallel()
	p := &pass{view: view{pages: make([]pageState, 5)}}
	first := p.addFailedPage(5, errors.New("the failure of page 5"))
	second := p.addFailedPage(2, errors.New("the failure of page 2"))
	const want = "pages 2, 5 could not be read; the other pages are used; first error: the failure of page 5"
	if got := p.end().failure(); first != nil || second != nil || got == nil || got.Error() != want {
		t.Errorf("the failure is %v (%v, %v), want %q", got, first, second, want)
	}
	for n, want := range map[int]string{5: "pages 1, 2, 3, 4, 5 could not be read", 7: "pages 1, 2, 3, 4, 5 and 2 more could not be read"} {
		v := view{failedPages: []int{1, 2, 3, 4, 5, 6, 7}[:n], firstFailure: errors.New("a failure")}
		if got := v.failure().Error(); !strings.HasPrefix(got, want+";") {
			t.Errorf("%d failed pages: got %s, want %s", n, got, want)
		}
	}
}

// TestIDsThatFailedBeforeTheRunWasResumed counts failures without a response of the service.
func TestIDsThatFailedBeforeTheRunWasResumed(t *testing.T) {
	t.Parallel()
	d := &detailCollector{}
	for n := 1; n <= maxFailuresInARow; n++ {
		if err := d.addFailure("a", errFailedBefore); errors.Is(err, errFailedBefore) != (n == maxFailuresInARow) {
			t.Errorf("failure %d: got %v, want an error after %d", n, err, maxFailuresInARow)
		}
	}
}

// TestReasonsOfUnprovenPasses checks the reason of a grade that an operator reads.
func TestReasonsOfUnprovenPasses(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]view{
		"streams.max_pages (50) was reached":                                 {cfg: Config{MaxPages: 50}, atPageBound: true, pages: make([]pageState, 50)},
		"the list did not end after 49 pages, more than total_records needs": {cfg: Config{MaxPages: 50}, atPageBound: true, pages: make([]pageState, 49)},
		"the list changed during the pass":                                   {changeSeen: true, total: 6, lastTotal: 6},
		"total_records changed from 6 to 7":                                  {changeSeen: true, total: 6, lastTotal: 7},
		"2 ids occurred more than once":                                      {repeatedIDs: 2, total: 9},
		"total_records is 6, but the pages contain 5 records":                {total: 6, ids: make([]uint64, 2), copies: 1, recordsWithoutID: 2, number: 1},
		"total_records is 0, but the pages contain 1 record":                 {ids: make([]uint64, 1), number: 1},
		"the list is not sorted newest first, so one pass is no proof":       {number: 1, total: -1},
		"the list changed between the passes":                                {number: 2, total: -1},
	} {
		if got := v.whyUnproven(); got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
}

// pageOf returns a page of n records without a total.
func pageOf(n int, repeats bool) pageState {
	return pageState{PageFacts: stream.PageFacts{Records: n}, repeats: repeats}
}

// TestListsWithoutPages decides whether page 1 of a list without totals is the whole list. A wrong decision would delete
// the rows of the other pages.
func TestListsWithoutPages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		view       view
		pageSize   int
		isComplete bool
	}{
		"a short page":                         {view{total: -1, pages: []pageState{pageOf(9, false)}}, 10, true},
		"a full page":                          {view{total: -1, pages: []pageState{pageOf(10, false)}}, 10, false},
		"no records":                           {view{total: -1, pages: []pageState{pageOf(0, false)}}, 10, true},
		"no records, but a total":              {view{total: 5, pages: []pageState{pageOf(0, false)}}, 10, false},
		"page 1 again":                         {view{total: -1, pages: []pageState{pageOf(10, false), pageOf(10, true)}}, 10, true},
		"page 1 again, with a total":           {view{total: -1, changeSeen: true, pages: []pageState{pageOf(10, false), pageOf(10, true)}}, 10, false},
		"another page":                         {view{total: -1, pages: []pageState{pageOf(10, false), pageOf(9, false)}}, 10, false},
		"one record again, as after an insert": {view{total: -1, pages: []pageState{pageOf(1, false), pageOf(1, true)}}, 1, false},
		"three records again, although one was requested": {view{total: -1, pages: []pageState{pageOf(3, false), pageOf(3, true)}}, 1, true},
		"one record again, although ten were requested":   {view{total: -1, pages: []pageState{pageOf(1, false), pageOf(1, true)}}, 10, true},
	} {
		c.view.cfg.PageSize, c.view.minPageSize = c.pageSize, c.pageSize
		if got := c.view.isUnpaged(); got != c.isComplete {
			t.Errorf("%s: page 1 is taken for the whole list: %t, want %t", name, got, c.isComplete)
		}
	}
}

// TestPagesThatRepeatEarlierOnes reads page 1 again in place of another page. Its ids count as repeated only if a later
// page has other records.
func TestPagesThatRepeatEarlierOnes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pages            [][]uint64
		repeated, filled int
	}{
		"in the middle":        {[][]uint64{{1, 2}, {1, 2}, {3, 4}}, 2, 2},
		"at the end":           {[][]uint64{{1, 2}, {3, 4}, {1, 2}}, 0, 2},
		"before an empty page": {[][]uint64{{1, 2}, {2, 1}, {}}, 0, 1},
		"an id on two pages":   {[][]uint64{{1, 2}, {2, 3}, {4}}, 1, 3},
	} {
		p := &pass{keySums: map[uint64]bool{}, view: view{pages: make([]pageState, len(c.pages))}}
		for i, ids := range c.pages {
			p.addPage(i+1, stream.PageFacts{Records: len(ids), IDs: ids}, xxh3.Uint128{})
		}
		if v := p.end(); v.repeatedIDs != c.repeated || v.countFilledPages() != c.filled {
			t.Errorf("%s: %d repeated ids and %d pages, want %d and %d", name, v.repeatedIDs, v.countFilledPages(), c.repeated, c.filled)
		}
	}
}

// TestOrderOfPages counts the descending steps of created_at. A page that repeats another one is no contradiction.
func TestOrderOfPages(t *testing.T) {
	t.Parallel()
	page := func(first, last int64, falls int, repeats bool) pageState {
		facts := stream.PageFacts{Records: 2, First: time.Unix(first, 0), Last: time.Unix(last, 0), Falls: falls, IsNewestFirst: true}
		return pageState{PageFacts: facts, repeats: repeats}
	}
	undated := page(1, 1, 0, false)
	undated.IsNewestFirst = false
	for name, c := range map[string]struct {
		pages []pageState
		falls int
	}{
		"two pages":        {[]pageState{page(9, 8, 1, false), page(7, 6, 1, false)}, 3},
		"equal times":      {[]pageState{page(9, 8, 1, false), page(8, 8, 0, false)}, 1},
		"a rising time":    {[]pageState{page(9, 8, 1, false), page(9, 7, 1, false)}, -1},
		"a record undated": {[]pageState{page(9, 8, 1, false), undated}, -1},
		"a repeated page":  {[]pageState{page(9, 8, 1, false), page(7, 6, 1, false), page(9, 8, 1, true)}, 3},
		"an empty page":    {[]pageState{page(9, 8, 1, false), {}}, 1},
	} {
		v := view{pages: c.pages}
		if got := v.countFalls(); got != c.falls {
			t.Errorf("%s: %d descending steps, want %d", name, got, c.falls)
		}
	}
	for first, want := range map[int64]bool{90: false, 91: true} {
		v := view{total: 2, ids: make([]uint64, 2), pages: []pageState{page(first, 90, 0, false), page(80, 70, 9, false)}}
		if v.isConfirmable() != want {
			t.Errorf("page 1 has records of the times %d and 90, and its repetition is a proof: %t, want %t", first, !want, want)
		}
	}
}

// TestSortedListsThatOverlap decides whether the service has no fixed order for records of the same time.
func TestSortedListsThatOverlap(t *testing.T) {
	t.Parallel()
	overlaps := view{asksSorted: true, repeatedIDs: 2, total: 9}
	for name, c := range map[string]struct {
		change func(previous, seen *view)
		want   bool
	}{
		"in both passes":          {func(_, _ *view) {}, true},
		"not in the first pass":   {func(previous, _ *view) { previous.repeatedIDs = 0 }, false},
		"not in the second pass":  {func(_, seen *view) { seen.repeatedIDs = 0 }, false},
		"first in another order":  {func(previous, _ *view) { previous.asksSorted = false }, false},
		"the total has changed":   {func(_, seen *view) { seen.total = 8 }, false},
		"the first pass changed":  {func(previous, _ *view) { previous.changeSeen = true }, false},
		"the second pass changed": {func(_, seen *view) { seen.changeSeen = true }, false},
	} {
		previous, seen := overlaps, overlaps
		c.change(&previous, &seen)
		if got := seen.overlapsLike(&previous); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// TestStatedTimes parses times of all forms. A number is a time since 1970 if it is too large for a wait.
func TestStatedTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Second, " 0 ": 0, "899999999": longestStated, "900000000": 0, "999999999999": longestStated, "1000000000000": 0,
		"1800000005": 5 * time.Second, "1800000005000": 5 * time.Second, "99999999999999": longestStated,
		"9999999999999999999": longestStated, "99999999999999999999": longestStated,
		"2027-01-15T08:00:05Z": 5 * time.Second, "Fri, 15 Jan 2027 08:00:05 GMT": 5 * time.Second, "2027-01-15T07:00:00Z": 0,
	} {
		if got, ok := parseWait(text, time.Unix(1_800_000_000, 0)); got != want || !ok {
			t.Errorf("%q is a wait of %v (%v), want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "soon", "-1"} {
		if got, ok := parseWait(text, time.Now()); ok {
			t.Errorf("%q is a wait of %v, want none", text, got)
		}
	}
}

// TestDescriptionsOfRefusals checks the reason of a wait.
func TestDescriptionsOfRefusals(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]StatusError{
		"the service answered 503 Service Unavailable": {Code: 503, Attempts: 2},
		"the service answered 521":                     {Code: 521},
		"connection reset":                             {Attempts: 2, Err: errors.New("connection reset")},
		"the service did not answer":                   {Attempts: 2},
	} {
		if got := e.describeRefusal(); got != want {
			t.Errorf("the reason is %q, want %q", got, want)
		}
	}
}

// TestSlow429DoesNotLowerTheRateAgain sends two requests together. The 429 to the second one arrives after the pause of the
// first 429, with and without patience.
func TestSlow429DoesNotLowerTheRateAgain(t *testing.T) {
	for _, patience := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var rejected sync.Map
			a := NewAllowance(100, 3)
			cfg := Config{Allowance: a, Patience: patience, Retry: Retry{MaxRetries: 5}, Transport: transport(func(r *http.Request) *http.Response {
				w := httptest.NewRecorder()
				if _, isRepeated := rejected.LoadOrStore(r.URL.Path, true); isRepeated {
					w.WriteString("{}")
					return w.Result()
				}
				if r.URL.Path == "/slow" {
					<-time.After(2500 * time.Millisecond) // the time is virtual (synctest)
				}
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return w.Result()
			})}
			cfg.BaseURL, cfg.Token = "http://service.test", func(context.Context) (string, error) { return "pc_token", nil }
			c, err := New(cfg, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			read := func(context.Context, Response) (stream.PageFacts, error) { return stream.PageFacts{}, nil }
			var requests sync.WaitGroup
			for _, path := range []string{"/fast", "/slow"} {
				requests.Go(func() {
					if _, err := c.Get(t.Context(), Request{Stream: "list", Path: path, Param: "a"}, read); err != nil {
						t.Error(err)
					}
				})
			}
			requests.Wait()
			if got := a.bucket.Limit() / a.fullRate; got < 0.9 {
				t.Errorf("patience %v: %.2f of the rate is used after a slow 429, want more than 0.9", patience, got)
			}
		})
	}
}

// transport answers requests without a network.
type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// TestWaitOfAllWorkers extends a wait until the patience is used up. An answer to an earlier request does not end it.
func TestWaitOfAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := newPatience(time.Hour, slog.New(slog.DiscardHandler)), time.Now()
		<-time.After(time.Second)
		p.spend(time.Minute, "the first failure")
		<-time.After(time.Second)
		p.spend(2*time.Hour, "the second failure")
		p.noteAnswer(start)
		w, ok := p.current()
		if !ok || w.Since.Sub(start) != time.Second || p.isExhausted() {
			t.Errorf("the wait is %+v (%v), exhausted %v, want one since the first failure that is not over", w, ok, p.isExhausted())
		}
		if w.Reason != "the second failure" {
			t.Errorf("the reason of the wait is %s, want the second one", w.Reason)
		}
	})
}

// TestPageSizesOfSeveralLists learns the shortest page of a list with further pages. An array does not show the size of
// a page.
func TestPageSizesOfSeveralLists(t *testing.T) {
	t.Parallel()
	var sizes pageSizes
	sizes.addFirstPage(stream.PageFacts{Records: 60, Total: 200})
	sizes.addFirstPage(stream.PageFacts{Records: 60, Paginated: true, Total: 60})
	sizes.addFirstPage(stream.PageFacts{Records: 60, Paginated: true, Total: -1})
	if got := sizes.shortest(); got != defaultPageSize {
		t.Errorf("the shortest page is %d, want %d: a longer list would be cut", got, defaultPageSize)
	}
	for _, n := range []int{40, 30, 40} {
		sizes.addFirstPage(stream.PageFacts{Records: n, Paginated: true, Total: 200})
	}
	if got := sizes.shortest(); got != 30 {
		t.Errorf("the shortest page is %d, want 30: a longer list would be cut", got)
	}
}

// TestAttemptsThatTakeLong counts an attempt of three hours before an attempt that was sent an hour earlier.
func TestAttemptsThatTakeLong(t *testing.T) {
	t.Parallel()
	var m meter
	sent := time.Date(2026, 11, 20, 3, 0, 0, 0, time.FixedZone("", 3600))
	m.addAttempt(&call{sent: sent, took: 3 * time.Hour})
	m.addAttempt(&call{sent: sent.Add(-time.Hour)})
	if got := m.snapshot("orders"); got.First != sent.Add(-time.Hour).UTC() || got.Last != sent.UTC() || got.Max != 3*time.Hour {
		t.Errorf("the telemetry is %+v, want the first attempt at %v", got, sent.Add(-time.Hour).UTC())
	}
}

// TestNoBurstFollowsA429 reserves requests after the pause of a 429. A burst would get the next 429.
func TestNoBurstFollowsA429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAllowance(10, 5)
		a.throttle(3*time.Second, time.Now())
		<-time.After(3 * time.Second)
		for i := range 3 {
			_, delay, _ := a.reserve()
			if atOnce := delay == 0; atOnce != (i == 0) {
				t.Errorf("request %d after the pause waits %s, want only the first to be sent at once", i+1, delay)
			}
		}
	})
}

// TestBurst reserves requests after a time without requests. One token of the burst stays unused.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for burst, want := range map[int]int{1: 1, 2: 1, 5: 4} {
			a, atOnce := NewAllowance(10, burst), 0
			for range 10 {
				if _, delay, _ := a.reserve(); delay == 0 {
					atOnce++
				}
			}
			if atOnce != want {
				t.Errorf("with a burst of %d, %d requests start together, want %d", burst, atOnce, want)
			}
		}
	})
}

// TestRateRecovers rejects requests at different times. The rate falls with each 429 that is not explained by the one
// before, rises again, and never exceeds the configured rate.
func TestRateRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond = 100.0
		a := NewAllowance(perSecond, 1)
		full := float64(a.bucket.Limit())
		checkRate := func(when string, want float64) {
			t.Helper()
			a.reserve()
			if got := float64(a.bucket.Limit()); got < want*0.999 || got > want*1.001 {
				t.Errorf("%s the rate is %.3f, want %.3f", when, got, want)
			}
		}
		a.throttle(time.Second, time.Now())
		<-time.After(time.Second)
		checkRate("after the pause", 0.7*full)
		<-time.After(time.Second)
		checkRate("a second later", 0.8*full)
		a.throttle(time.Second, time.Now())
		<-time.After(time.Second)
		checkRate("after a second 429", 0.8*0.7*full)
		<-time.After(time.Hour)
		checkRate("after an hour", full)
		a.throttle(time.Second, time.Now())
		a.throttle(10*time.Second, time.Now()) // a request that was sent before the pause gets a longer one
		<-time.After(10 * time.Second)
		checkRate("after the longer of two pauses", 0.7*full)
		<-time.After(time.Second)
		checkRate("a second after the longer pause", 0.8*full)
		unlimited := NewAllowance(0, 1)
		unlimited.throttle(time.Second, time.Now())
		if got := unlimited.bucket.Limit(); got != rate.Inf {
			t.Errorf("without a limit the rate is %v after a 429", got)
		}
		a.pause(10 * time.Second)
		a.throttle(time.Second, time.Now())
		if left := a.pauseLeft(); left != 10*time.Second {
			t.Errorf("%v of a pause of 10s are left after a 429 with 1s", left)
		}
	})
}

// TestGracePeriod rejects requests around the end of the pause of an earlier 429.
func TestGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, isLowered := range map[time.Duration]bool{0: false, gracePeriod - 1: false, gracePeriod: true} {
			a := NewAllowance(100, 1)
			a.throttle(time.Second, time.Now())
			lowered := a.bucket.Limit()
			a.throttle(0, time.Now().Add(time.Second+after))
			if got := a.bucket.Limit(); (got < lowered) != isLowered {
				t.Errorf("a request %v after the pause: the rate fell from %v to %v, want a lower one: %t", after, lowered, got, isLowered)
			}
		}
	})
}

// TestPausesOfAllWorkers starts a pause while workers wait for the rate. No worker may send a request during the pause,
// and a shorter pause must not end a longer one. A stopped worker leaves its turn to the others.
func TestPausesOfAllWorkers(t *testing.T) {
	for name, pause := range map[string]func(a *Allowance, d time.Duration){
		"after a 429":                         func(a *Allowance, d time.Duration) { a.throttle(d, time.Now()) },
		"because the service does not answer": (*Allowance).pause,
	} {
		synctest.Test(t, func(t *testing.T) {
			a, start := NewAllowance(1/usedShare, 1), time.Now() // one request per second
			sent := make(chan time.Duration, 5)
			for range cap(sent) {
				go func() {
					if err := a.wait(t.Context(), &meter{}); err == nil {
						sent <- time.Since(start).Round(time.Second)
					}
				}()
			}
			synctest.Wait()
			if first := <-sent; first != 0 {
				t.Errorf("%s: the first request was sent after %v", name, first)
			}
			pause(a, 10*time.Second)
			pause(a, time.Second)
			if left := a.pauseLeft(); left != 10*time.Second {
				t.Errorf("%s: %v of the pause are left, want 10s", name, left)
			}
			if second := <-sent; second < 10*time.Second || second > 12*time.Second {
				t.Errorf("%s: the next request was sent after %v, want soon after the pause of 10s", name, second)
			}
			for range cap(sent) - 2 {
				<-sent
			}
			if left := a.pauseLeft(); left != 0 {
				t.Errorf("%s: %v of the pause are left after its end", name, left)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		a, start := NewAllowance(1/usedShare, 1), time.Now()
		stopped, stop := context.WithCancel(t.Context())
		_ = a.wait(stopped, &meter{}) // takes the first turn at once
		errs := make(chan error)
		go func() { errs <- a.wait(stopped, &meter{}) }()
		synctest.Wait()
		stop()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if err := a.wait(t.Context(), &meter{}); err != nil || time.Since(start).Round(time.Second) != time.Second {
			t.Errorf("the next request was sent after %v (%v), want 1s: a stopped worker used up its turn", time.Since(start), err)
		}
		if err := a.wait(stopped, &meter{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a stopped worker may send: %v", err)
		}
	})
}

// TestLargeBuffersAreReleased releases the slot of a large response. Otherwise each worker would keep the memory of the
// largest response of the night.
func TestLargeBuffersAreReleased(t *testing.T) {
	t.Parallel()
	s := &sender{slots: make(chan *slot, 1)}
	for _, c := range []struct {
		slot   slot
		isKept bool
	}{
		{slot{received: make([]byte, keptBuffer), decompressed: make([]byte, keptBuffer)}, true},
		{slot{received: make([]byte, keptBuffer+1)}, false},
		{slot{decompressed: make([]byte, keptBuffer+1)}, false},
	} {
		s.releaseSlot(&call{slot: &c.slot})
		released := <-s.slots
		if isKept := released.received != nil || released.decompressed != nil; isKept != c.isKept {
			t.Errorf("buffers of %d and %d bytes are kept: %v, want %v", cap(released.received), cap(released.decompressed), isKept, c.isKept)
		}
	}
}

// TestPercentiles measures 90 fast and 10 slow attempts.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	var m meter
	for i := range 100 {
		took := 10 * time.Millisecond
		if i%10 == 0 {
			took = time.Second
		}
		m.addAttempt(&call{sent: time.Now(), took: took})
	}
	got := m.snapshot("orders")
	if got.P50 < 10*time.Millisecond || got.P50 > 12*time.Millisecond || got.P95 != time.Second || got.Max != time.Second {
		t.Errorf("the latencies are %v, %v and %v, want 10ms to 12ms, 1s and 1s", got.P50, got.P95, got.Max)
	}
}
