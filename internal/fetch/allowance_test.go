package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// limitedService is a service with a latency and a rate limit.
type limitedService struct {
	limiter    *rate.Limiter
	latency    time.Duration
	retryAfter string

	mu       sync.Mutex
	served   []time.Time
	count429 int
}

func (s *limitedService) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	<-time.After(s.latency) // the time is virtual (synctest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limiter != nil && !s.limiter.AllowN(now, 1) {
		s.count429++
		if s.retryAfter != "" {
			w.Header().Set("Retry-After", s.retryAfter)
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	s.served = append(s.served, now)
	io.WriteString(w, `{"id":"a"}`)
}

// fetchIDs requests n details and returns the time that this took.
func fetchIDs(t *testing.T, c *fetch.Client, n int) time.Duration {
	t.Helper()
	start := time.Now()
	var got collector
	d, err := c.Details(t.Context(), outletDetail, numberedIDs(n), got.read)
	if err != nil || d.Found != n {
		t.Fatalf("found %d ids (%v), want %d", d.Found, err, n)
	}
	return time.Since(start)
}

func numberedIDs(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("id%d", i)) {
				return
			}
		}
	}
}

func TestRateIsUsedAndNotExceeded(t *testing.T) {
	for _, tc := range []struct{ perSecond, burst int }{{50, 50}, {50, 1}, {7, 3}} {
		t.Run(fmt.Sprintf("%d a second, burst %d", tc.perSecond, tc.burst), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := &limitedService{
					limiter: rate.NewLimiter(rate.Limit(tc.perSecond), tc.burst), latency: 90 * time.Millisecond,
				}
				cfg := testConfig(service)
				cfg.RequestsPerSecond, cfg.Burst = float64(tc.perSecond), tc.burst
				const n = 600
				took := fetchIDs(t, newClient(t, cfg, nil), n)
				if service.count429 > 0 {
					t.Errorf("%d requests got a 429, want none", service.count429)
				}
				allowed := float64(tc.perSecond) * took.Seconds()
				if used := n / allowed; used < 0.97 {
					t.Errorf("used %.1f%% of the rate, want at least 97%%", 100*used)
				}
			})
		})
	}
}

// TestRefusalPausesWorkers refuses a request in the middle. A 429 pauses all workers and lowers the rate, with and
// without patience. A 503 pauses only its own request, and with patience all workers. It does not lower the rate.
func TestRefusalPausesWorkers(t *testing.T) {
	for name, tc := range map[string]struct {
		status      int
		patience    time.Duration
		least, most int // requests in the second after the pause, or 0 if the other requests do not pause
	}{
		"503":               {http.StatusServiceUnavailable, 0, 0, 0},
		"429":               {http.StatusTooManyRequests, 0, 60, 85},
		"429 with patience": {http.StatusTooManyRequests, time.Hour, 60, 85},
		"503 with patience": {http.StatusServiceUnavailable, time.Hour, 97, 110},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := &limitedService{latency: 10 * time.Millisecond}
				var requests atomic.Int64
				var rejected time.Time
				cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if requests.Add(1) == 400 {
						rejected = time.Now()
						w.Header().Set("Retry-After", "3")
						w.WriteHeader(tc.status)
						return
					}
					service.ServeHTTP(w, r)
				}))
				cfg.RequestsPerSecond, cfg.Retry, cfg.Patience = 100, fetch.Retry{MaxRetries: 5, Jitter: 0.1}, tc.patience
				c := newClient(t, cfg, nil)
				fetchIDs(t, c, 1500)

				pause, resumed := longestPause(service.served)
				if tc.most == 0 {
					if pause > 50*time.Millisecond {
						t.Errorf("the other requests paused for %v, want no pause", pause)
					}
					return
				}
				if pause < 2900*time.Millisecond || pause > 3200*time.Millisecond {
					t.Errorf("the longest pause was %v, want 3s", pause)
				}
				if n := countBetween(service.served, rejected.Add(1), rejected.Add(3*time.Second)); n > 0 {
					t.Errorf("%d requests were sent during the pause, want none", n)
				}
				if n := countBetween(service.served, resumed, resumed.Add(time.Second)); n < tc.least || n > tc.most {
					t.Errorf("%d requests in the second after the pause, want %d to %d", n, tc.least, tc.most)
				}
				if n := countBetween(service.served, resumed.Add(5*time.Second), resumed.Add(6*time.Second)); n < 97 {
					t.Errorf("%d requests in the sixth second after the pause, want at least 97 of 100", n)
				}
				isLimited := tc.status == http.StatusTooManyRequests
				if m := c.Telemetry()[0]; (m.RateLimited == 1) != isLimited || m.Retries != 1 || m.RetryWait < 3*time.Second || m.RateWait == 0 {
					t.Errorf("telemetry is %+v, want one 429 (%t), one retry, and waits for the retry and the rate", m, isLimited)
				}
			})
		})
	}
}

// TestSlowReadersDoNotBunchRequests reads the first response for five seconds, with one response in memory. The
// requests that wait for this must then be sent at the rate, and not all at once.
func TestSlowReadersDoNotBunchRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &limitedService{}
		cfg := testConfig(service)
		cfg.Concurrency, cfg.RequestsPerSecond, cfg.Burst = 1, 10, 1
		c := newClient(t, cfg, nil)
		var slowOnce sync.Once
		read := func(context.Context, fetch.Response) (stream.PageFacts, error) {
			slowOnce.Do(func() { <-time.After(5 * time.Second) }) // the time is virtual (synctest)
			return stream.PageFacts{}, nil
		}
		var requests sync.WaitGroup
		for i := range 5 {
			requests.Go(func() {
				if _, err := c.Get(t.Context(), fetch.Request{Stream: "list", Path: "/list", Page: i + 1}, read); err != nil {
					t.Error(err)
				}
			})
		}
		requests.Wait()
		for i, at := range service.served[1:] {
			if gap := at.Sub(service.served[i]); gap < 100*time.Millisecond {
				t.Errorf("request %d was sent %v after the one before, want at least 100ms", i+2, gap)
			}
		}
	})
}

func longestPause(times []time.Time) (longest time.Duration, end time.Time) {
	for i, at := range times[1:] {
		if d := at.Sub(times[i]); d > longest {
			longest, end = d, at
		}
	}
	return longest, end
}

func countBetween(times []time.Time, from, to time.Time) (n int) {
	for _, at := range times {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

func TestDelays(t *testing.T) {
	cases := []struct {
		name       string
		code       int
		retryAfter string
		jitter     float64
		want       []time.Duration
	}{
		{"delays double up to the maximum", 503, "", 0, parseDelays("250ms 500ms 1s 2s 4s 4s")},
		{"jitter adds a share of the delay", 503, "", 0.1, parseDelays("250ms 500ms 1s 2s 4s 4s")},
		{"Retry-After replaces the delay", 503, "2", 0.1, parseDelays("2s 2s 2s 2s 2s 2s")},
		{"Retry-After on 429 replaces the delay", 429, "1", 0, parseDelays("1s 1s 1s 1s 1s 1s")},
		{"Retry-After 0 means no delay", 503, "0", 0, parseDelays("0s 0s 0s 0s 0s 0s")},
		{"a long Retry-After is capped", 503, "86400", 0.1, parseDelays("4s 4s 4s 4s 4s 4s")},
		{"a Retry-After that overflows is capped", 503, "99999999999999999999999", 0, parseDelays("4s 4s 4s 4s 4s 4s")},
		{"a Retry-After date replaces the delay", 503, "Fri, 20 Nov 2026 02:00:00 GMT", 0, parseDelays("4s 4s 4s 4s 4s 4s")},
		{"an invalid Retry-After is ignored", 503, "soon", 0, parseDelays("250ms 500ms 1s 2s 4s 4s")},
		{"a negative Retry-After is ignored", 503, "-1", 0, parseDelays("250ms 500ms 1s 2s 4s 4s")},
		{"a fractional Retry-After is ignored", 503, "1.5", 0, parseDelays("250ms 500ms 1s 2s 4s 4s")},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					at = append(at, time.Now())
					w.Header().Set("Retry-After", tc.retryAfter)
					w.WriteHeader(tc.code)
				}))
				cfg.Retry = fetch.Retry{MaxRetries: len(tc.want), Jitter: tc.jitter}
				checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), "after 7 attempts")
				if tc.retryAfter != "" {
					tc.jitter = 0 // a Retry-After is kept exactly
				}
				jittered := false
				for i, want := range tc.want {
					got := at[i+1].Sub(at[i])
					if longest := want + time.Duration(float64(want)*tc.jitter); got < want || got > longest {
						t.Errorf("delay %d is %v, want %v to %v", i, got, want, longest)
					}
					jittered = jittered || got > want
				}
				if jittered != (tc.jitter > 0) {
					t.Errorf("the delays have jitter: %v, want %v", jittered, tc.jitter > 0)
				}
			})
		})
	}
}

func parseDelays(text string) (all []time.Duration) {
	for word := range strings.FieldsSeq(text) {
		d, err := time.ParseDuration(word)
		if err != nil {
			panic(err)
		}
		all = append(all, d)
	}
	return all
}

// TestDetails checks the counts, the grade and the reason of details that end with their last id.
func TestDetails(t *testing.T) {
	t.Run("404s and failures are reported, and other ids are read", func(t *testing.T) {
		cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/outlets/id3", "/v1/outlets/id1":
				w.WriteHeader(http.StatusNotFound)
			case "/v1/outlets/id7":
				w.WriteHeader(http.StatusBadRequest)
			default:
				io.WriteString(w, `{"id":"a"}`)
			}
		}))
		var got collector
		d, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(10), got.read)
		harness.Must(t, err)
		if d.RequestedIDs != 10 || d.Found != 7 || fmt.Sprint(d.Gone) != "[id1 id3]" || d.Failed != 1 {
			t.Errorf("got %+v, want 10 ids requested, 7 found, id1 and id3 gone, 1 failed", d)
		}
		if d.Reason != "1 of 10 ids failed" || d.TotalFirst != -1 || d.TotalLast != -1 || fmt.Sprint(d.Unproven) != "[id7]" || d.Distinct != 7 {
			t.Errorf("got %+v, want the reason \"1 of 10 ids failed\", no totals, id7 unproven and 7 records", d)
		}
		if d.Grade != stream.BestEffort || !isError[*fetch.StatusError](d.FirstFailure) || !strings.Contains(d.FirstFailure.Error(), "id7") {
			t.Errorf("got grade %q and the failure %v, want best_effort and a StatusError of id7", d.Grade, d.FirstFailure)
		}
	})
	t.Run("complete details are exact", func(t *testing.T) {
		var got collector
		d, err := newClient(t, testConfig(textBody(`{"id":"a"}`)), nil).Details(t.Context(), outletDetail, numberedIDs(6), got.read)
		if err != nil || d.Grade != stream.Exact || d.Reason != "every id was read completely" || d.Repeated != 0 || d.Found != 6 {
			t.Errorf("got %+v (%v), want exact with 6 ids found", d, err)
		}
		d, err = newClient(t, testConfig(nil), nil).Details(t.Context(), outletDetail, numberedIDs(0), got.read)
		if err != nil || d.Grade != stream.Exact || d.Reason != "there was no id to request" {
			t.Errorf("without ids: got %+v (%v), want exact", d, err)
		}
	})
	t.Run("deleted records are counted in the reason", func(t *testing.T) {
		var got collector
		service := newScript(respondWith(404, ""), textBody(`{"id":"a"}`))
		d, err := newClient(t, testConfig(service), nil).Details(t.Context(), outletDetail, numberedIDs(3), got.read)
		if err != nil || d.Grade != stream.Exact || d.Reason != "2 of 3 ids were read completely; 1 returned 404" {
			t.Errorf("got %+v (%v), want exact with one 404", d, err)
		}
	})
	t.Run("rejected records are counted", func(t *testing.T) {
		reject := func(context.Context, fetch.Response) (stream.PageFacts, error) {
			return stream.PageFacts{Records: 1, RejectedRecords: 1}, nil
		}
		d, err := newClient(t, testConfig(textBody("{}")), nil).Details(t.Context(), outletDetail, numberedIDs(3), reject)
		if err != nil || d.Grade != stream.BestEffort || d.Reason != "3 records of 3 responses rejected (meta.rejects)" || d.Rejected != 3 || len(d.Unproven) != 3 {
			t.Errorf("got %+v (%v), want best_effort with 3 rejected records", d, err)
		}
	})
	t.Run("the list of each id is walked, and the worst grade is the result", func(t *testing.T) {
		services := map[string]*listService{ // all lists begin with the same ids
			"/v1/campaigns/id0/articles": {n: 25, dated: true},
			"/v1/campaigns/id1/articles": {n: 25, totalError: 3},
			"/v1/campaigns/id2/articles": {n: 3},
		}
		var got collector
		cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { services[r.URL.Path].ServeHTTP(w, r) }))
		cfg.Concurrency = 1
		d, err := newClient(t, cfg, nil).Details(t.Context(), articleLists, numberedIDs(3), got.read)
		if err != nil || d.Found != 3 || d.Grade != stream.BestEffort || len(got.ids) != 25 || !strings.HasPrefix(d.Reason, `id "id1": `) {
			t.Errorf("got %+v, %d ids and %v, want best_effort because of id1 with 3 found, and 25 ids", d, len(got.ids), err)
		}
	})
}

// TestFailuresOfDetails checks which failures end the stream and which cost only their id.
func TestFailuresOfDetails(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		t.Run(fmt.Sprintf("failures that alternate with status %d do not end the stream", status), func(t *testing.T) {
			requests := 0
			cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				if requests%2 == 0 {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				respondWith(status, `{"id":"a"}`)(w, r)
			}))
			cfg.Concurrency = 1
			var got collector
			d, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(20), got.read)
			if err != nil || d.Found+len(d.Gone) != 10 || d.Failed != 10 {
				t.Fatalf("found %d ids, %d gone, %d failed (%v), want 10 found or gone and 10 failed", d.Found, len(d.Gone), d.Failed, err)
			}
			if !strings.Contains(d.FirstFailure.Error(), "/id1 ") {
				t.Errorf("the first failure is %v, want the one of id1", d.FirstFailure)
			}
		})
	}
	t.Run("a cancellation before the first id ends the stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ids := func(func(string) bool) { cancel() }
		var got collector
		d, err := newClient(t, testConfig(textBody(`{"id":"a"}`)), nil).Details(ctx, outletDetail, ids, got.read)
		if !errors.Is(err, context.Canceled) || d.Grade != stream.BestEffort {
			t.Errorf("got the grade %q and %v, want best_effort and context.Canceled", d.Grade, err)
		}
	})
	t.Run("ids that change the path fail without a request", func(t *testing.T) {
		service := newScript(statusWithToken(200))
		var got collector
		ids := slices.Values([]string{"", ".", "..", "", ".", ".."})
		d, err := newClient(t, testConfig(service), nil).Details(t.Context(), outletDetail, ids, got.read)
		if err != nil || d.Failed != 6 || service.n.Load() != 0 {
			t.Errorf("got %+v and %v after %d requests, want 6 failed ids and no request", d, err, service.n.Load())
		}
	})
	const workers = 8 // the default of Config.Concurrency
	t.Run("a missing scope ends the stream", func(t *testing.T) { checkDetailsFail(t, fetch.ErrScope, statusWithToken(403), workers) })
	t.Run("a rejected token ends a stream of three ids", func(t *testing.T) {
		var got collector
		d, err := newClient(t, testConfig(statusWithToken(401)), nil).Details(t.Context(), outletDetail, numberedIDs(3), got.read)
		if !errors.Is(err, fetch.ErrAuth) || d.Grade != stream.BestEffort {
			t.Errorf("got %+v and %v, want best_effort and ErrAuth", d, err)
		}
	})
	t.Run("a rejected token ends the stream", func(t *testing.T) { checkDetailsFail(t, fetch.ErrAuth, statusWithToken(401), workers) })
	t.Run("an endpoint that is down ends the stream after a few ids", func(t *testing.T) { checkDetailsFail(t, nil, statusWithToken(501), 20) })
	t.Run("an endpoint without responses ends the stream after a few ids", func(t *testing.T) {
		cfg := testConfig(nil)
		cfg.Transport = roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset") })
		var got collector
		d, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(1000), got.read)
		if !isError[*fetch.StatusError](err) || d.Failed > 20 {
			t.Errorf("got %v after %d failed ids, want an error after a few", err, d.Failed)
		}
		checkError(t, err, `read stream "outlets": stopped after 5 failed ids in a row, the last one: `)
	})
}

func TestDescribeResponses(t *testing.T) {
	for _, c := range []struct {
		d    fetch.Details
		all  int
		want string
	}{
		{fetch.Details{}, 0, "there was no id to request"},
		{fetch.Details{Found: 2}, 2, "every id was read completely"},
		{fetch.Details{Found: 2}, 3, "2 of 3 ids were read completely"},
		{fetch.Details{Found: 0, Gone: []string{"a"}}, 1, "0 of 1 id were read completely; 1 returned 404"},
	} {
		if got := c.d.DescribeResponses(c.all); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// checkDetailsFail checks that Details ends with a StatusError after at most maxRequests requests. If kind is
// not nil, the error must match it.
func checkDetailsFail(t *testing.T, kind error, respond http.HandlerFunc, maxRequests int64) {
	t.Helper()
	service := newScript(respond)
	var got collector
	d, err := newClient(t, testConfig(service), nil).Details(t.Context(), outletDetail, numberedIDs(1000), got.read)
	if !isError[*fetch.StatusError](err) || d.Grade != stream.BestEffort {
		t.Errorf("got %+v and the error %v, want best_effort and a StatusError", d, err)
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("got the error %v, want %v", err, kind)
	}
	if n := service.n.Load(); n > maxRequests {
		t.Errorf("made %d requests, want at most %d", n, maxRequests)
	}
}
