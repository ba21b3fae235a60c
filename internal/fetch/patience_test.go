package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/testing/harness"
)

// patientConfig returns a configuration with the default retries, pace and patience.
func patientConfig(h http.Handler) fetch.Config {
	d := config.Default()
	cfg := testConfig(h)
	cfg.Retry, cfg.Patience = fetch.Retry(d.API.Retry), d.Run.Patience
	cfg.RequestsPerSecond, cfg.Burst, cfg.Concurrency = d.API.RequestsPerSecond, d.API.Burst, d.API.Concurrency
	return cfg
}

// outage is a service that succeeds unless refuse returns true. Then refuse has written the response.
type outage struct {
	refuse func(w http.ResponseWriter, r *http.Request) bool

	mu   sync.Mutex
	sent []time.Time
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.sent = append(o.sent, time.Now())
	o.mu.Unlock()
	<-time.After(20 * time.Millisecond) // the time is virtual (synctest)
	if !o.refuse(w, r) {
		io.WriteString(w, `{"id":"a"}`)
	}
}

// refuseFor refuses all requests for a time, with a status and headers.
func refuseFor(d time.Duration, status int, headers ...string) *outage {
	started := time.Now()
	return &outage{refuse: func(w http.ResponseWriter, _ *http.Request) bool {
		if time.Since(started) >= d {
			return false
		}
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		return true
	}}
}

// TestOutagesAreWaitedFor reads the token info and 300 details of a service that is unavailable for a time.
// All are read, with few requests, and the client does not wait much longer than the outage.
func TestOutagesAreWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		outage      func() *outage
		lasts       time.Duration
		maxOverrun  time.Duration
		maxRequests int // during the outage
	}{
		"429 with Retry-After 40 at the first request": {func() *outage { return refuseFor(40*time.Second, 429, "Retry-After", "40") }, 40 * time.Second, time.Second, 1},
		"429 with X-RateLimit-Reset as seconds":        {func() *outage { return refuseFor(time.Minute, 429, "X-RateLimit-Reset", "60") }, time.Minute, time.Second, 1},
		"429 with X-RateLimit-Reset as a time": {func() *outage {
			return refuseFor(time.Minute, 429, "X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10))
		}, time.Minute, time.Second, 1},
		"429 with RateLimit-Reset": {func() *outage { return refuseFor(time.Minute, 429, "RateLimit-Reset", "60") }, time.Minute, time.Second, 1},
		"429 without a time":       {func() *outage { return refuseFor(4*time.Minute, 429) }, 4 * time.Minute, 5 * time.Minute, 11},
		"429 with Retry-After 0":   {func() *outage { return refuseFor(time.Minute, 429, "Retry-After", "0") }, time.Minute, 2 * time.Minute, 12},
		"503 with Retry-After 600": {func() *outage { return refuseFor(10*time.Minute, 503, "Retry-After", "600") }, 10 * time.Minute, time.Second, 1},
		"503 with a date": {func() *outage {
			return refuseFor(10*time.Minute, 503, "Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
		}, 10 * time.Minute, time.Second, 1},
		"503 with Retry-After 300 each time": {func() *outage { return refuseFor(40*time.Minute, 503, "Retry-After", "300") }, 40 * time.Minute, time.Second, 9},
		"502 for half an hour":               {func() *outage { return refuseFor(30*time.Minute, 502) }, 30 * time.Minute, 6 * time.Minute, 40},
		"521 for half an hour":               {func() *outage { return refuseFor(30*time.Minute, 521) }, 30 * time.Minute, 6 * time.Minute, 40},
		"403 with HTML for ten minutes": {func() *outage {
			return refuseFor(10*time.Minute, 403, "Content-Type", "text/html", "Retry-After", "600")
		}, 10 * time.Minute, time.Second, 1},
		"a Retry-After that is longer than the patience": {func() *outage { return refuseFor(time.Hour, 503, "Retry-After", "86400") }, time.Hour, time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := tc.outage()
				start := time.Now()
				c := newClient(t, patientConfig(service), nil)
				harness.Must(t, requestTokenInfo(t, c))
				if waited := time.Since(start); waited < tc.lasts || waited > tc.lasts+tc.maxOverrun {
					t.Errorf("waited %v, want %v to %v", waited, tc.lasts, tc.lasts+tc.maxOverrun)
				}
				if n := countBetween(service.sent, start, start.Add(tc.lasts)); n > tc.maxRequests {
					t.Errorf("sent %d requests during the outage, want at most %d", n, tc.maxRequests)
				}
				fetchIDs(t, c, 300)
			})
		})
	}
}

// TestWorkersShareAWait rejects the requests of all workers for a minute, in the middle of the details. All workers
// wait for the same minute. The waits do not add up.
func TestWorkersShareAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		service := &outage{refuse: func(w http.ResponseWriter, _ *http.Request) bool {
			<-time.After(time.Second) // virtual time (synctest), in which each worker sends its request
			sinceOutage := time.Since(start) - 10*time.Second
			if sinceOutage < 0 || sinceOutage >= time.Minute {
				return false
			}
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}}
		fetchIDs(t, newClient(t, patientConfig(service), nil), 300)
		// 300 requests of 8 workers, of a second each, take 40 seconds, and the wait takes 60.
		if took := time.Since(start); took < 95*time.Second || took > 110*time.Second {
			t.Errorf("took %v, want 95 to 110 s: one wait of a minute", took)
		}
	})
}

// TestRefusedConnectionsAreWaitedFor refuses all connections for 20 minutes, at the first request and in the middle
// of the details.
func TestRefusedConnectionsAreWaitedFor(t *testing.T) {
	for name, begins := range map[string]time.Duration{"at the start": 0, "in the middle": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				requests := 0
				var mu sync.Mutex
				good := handlerTransport{&outage{refuse: func(http.ResponseWriter, *http.Request) bool { return false }}}
				cfg := patientConfig(nil)
				cfg.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					sinceOutage := time.Since(start) - begins
					if sinceOutage >= 0 && sinceOutage < 20*time.Minute {
						mu.Lock()
						requests++
						mu.Unlock()
						return nil, syscall.ECONNREFUSED
					}
					return good.RoundTrip(r)
				})
				c := newClient(t, cfg, nil)
				harness.Must(t, requestTokenInfo(t, c))
				fetchIDs(t, c, 300)
				if took := time.Since(start); took < 20*time.Minute || took > 27*time.Minute {
					t.Errorf("took %v, want 20m to 27m", took)
				}
				// 8 workers repeat their request 5 times before they wait together.
				if requests > 150 {
					t.Errorf("sent %d requests during the outage, want at most 150", requests)
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestEachOutageIsLogged reads two details. The service rejects each of them once.
func TestEachOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := map[string]bool{}
		service := &outage{refuse: func(w http.ResponseWriter, r *http.Request) bool {
			if refused[r.URL.Path] {
				return false
			}
			refused[r.URL.Path] = true
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}}
		cfg := patientConfig(service)
		cfg.Concurrency = 1
		var log bytes.Buffer
		c, err := fetch.New(cfg, nil, slog.New(slog.NewTextHandler(&log, nil)))
		harness.Must(t, err)
		defer c.Close()
		fetchIDs(t, c, 2)
		for _, message := range []string{"waiting for the service", "the service answers again"} {
			if n := strings.Count(log.String(), message); n != 2 {
				t.Errorf("the log has %q %d times, want 2:\n%s", message, n, &log)
			}
		}
	})
}

// TestPatienceIsLimited uses up the patience.
func TestPatienceIsLimited(t *testing.T) {
	for name, tc := range map[string]struct {
		patience, min, max time.Duration
		status             int
		want               string
	}{
		"patience 0 fails at once":      {0, 7 * time.Second, 9 * time.Second, 503, "answered 503 Service Unavailable after 6 attempts"},
		"patience 0 and 429":            {0, 7 * time.Second, 9 * time.Second, 429, "answered 429 Too Many Requests after 6 attempts"},
		"a minute":                      {time.Minute, time.Minute, 80 * time.Second, 503, "; run.patience is used up"},
		"an hour":                       {config.Default().Run.Patience, time.Hour, 62 * time.Minute, 502, "; run.patience is used up"},
		"an hour and 429":               {time.Hour, time.Hour, 62 * time.Minute, 429, "; run.patience is used up"},
		"501 is final":                  {time.Hour, 0, time.Second, 501, "answered 501 Not Implemented"},
		"403 of the service is final":   {time.Hour, 0, time.Second, 403, "refuses this endpoint"},
		"a rejected token at the start": {time.Hour, 0, time.Second, 401, "put a valid token"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := patientConfig(refuseFor(24*time.Hour, tc.status))
				cfg.Patience, cfg.TokenCanChange = tc.patience, true
				start := time.Now()
				err := requestTokenInfo(t, newClient(t, cfg, nil))
				checkError(t, err, tc.want)
				if tc.patience == 0 && err != nil && strings.Contains(err.Error(), "patience") {
					t.Errorf("got error %q, want no mention of a patience that is not configured", err)
				}
				if took := time.Since(start); took < tc.min || took > tc.max {
					t.Errorf("took %v, want %v to %v", took, tc.min, tc.max)
				}
			})
		})
	}
}

// TestOutageIsNoRefusalOfTheOrder requests a list in an order while the service is unavailable. The client must not
// take the failure for a refusal of the order. Otherwise later nights would need two passes over this list.
func TestOutageIsNoRefusalOfTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var unsorted atomic.Int64
		cfg := patientConfig(&outage{refuse: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v1/sorted" && !r.URL.Query().Has("sort_by") {
				unsorted.Add(1)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}})
		cfg.Patience = time.Minute
		var got collector
		_, err := newClient(t, cfg, nil).Walk(t.Context(), sortedStream, "", got.read)
		checkError(t, err, "run.patience is used up")
		if n := unsorted.Load(); n > 0 {
			t.Errorf("sent %d requests without an order, want none", n)
		}
	})
}

// TestSingleFailureIsNotWaitedFor makes one id and one list fail for good while all other requests succeed. The other
// ids, and for the list the token info, show that the service answers, so the client does not wait.
func TestSingleFailureIsNotWaitedFor(t *testing.T) {
	for status, tokenStatus := range map[int]int{500: 200, 408: 200, 502: 400} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := patientConfig(&outage{refuse: func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path == "/v1/auth/token" && tokenStatus != 200 {
						w.WriteHeader(tokenStatus)
						return true
					}
					if r.URL.Path != "/v1/outlets/id7" && r.URL.Path != "/v1/orders" {
						return false
					}
					w.WriteHeader(status)
					return true
				}})
				cfg.TokenCanChange = true // only a 401 is a reason to wait for another token
				c, start := newClient(t, cfg, nil), time.Now()
				var got collector
				d, err := c.Details(t.Context(), outletDetail, numberedIDs(40), got.read)
				if err != nil || d.Failed != 1 || d.Found != 39 {
					t.Errorf("got %+v and %v, want one failed id", d, err)
				}
				_, err = c.Walk(t.Context(), ordersStream, "", got.read)
				checkError(t, err, "after 6 attempts")
				if took := time.Since(start); took > time.Minute || err != nil && strings.Contains(err.Error(), "patience") {
					t.Errorf("took %v with the error %v, want at most a minute without a mention of the patience", took, err)
				}
			})
		})
	}
}

// TestFailuresTogetherNeedOneProbe makes the ids of all workers fail. The last attempts are in progress at the same time,
// so the answer to the first probe holds for all of them.
func TestFailuresTogetherNeedOneProbe(t *testing.T) {
	const workers = 4
	var probes atomic.Int32
	var attempts sync.Map
	var last sync.WaitGroup
	last.Add(workers)
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/auth/token" {
			probes.Add(1)
			io.WriteString(w, `{"id":"a"}`)
			return
		}
		n, _ := attempts.LoadOrStore(r.URL.Path, new(atomic.Int32))
		if n.(*atomic.Int32).Add(1) == 3 {
			last.Done()
			last.Wait()
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	cfg.Patience = time.Hour
	var got collector
	d, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(workers), got.read)
	if err != nil || d.Failed != workers || probes.Load() != 1 {
		t.Errorf("got %+v and %v after %d probes, want %d failed ids after one", d, err, probes.Load(), workers)
	}
}

// TestOneWorkerProbes makes the requests of eight workers fail together. Only one worker at a time may request the
// token info to ask whether the service answers.
func TestOneWorkerProbes(t *testing.T) {
	var probes, asking atomic.Int32
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/auth/token" {
			if n := asking.Add(1); n > 1 {
				t.Errorf("%d workers ask at the same time, want one", n)
			}
			for range 1000 {
				runtime.Gosched() // to the other workers
			}
			probes.Add(1)
			asking.Add(-1)
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	cfg.Patience = 10 * time.Millisecond
	var got collector
	_, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(8), got.read)
	checkError(t, err, "run.patience is used up")
	if probes.Load() == 0 {
		t.Error("no worker asked whether the service answers")
	}
}

// TestSlowAnswerDoesNotHideALaterOne makes one request fail for good while two other requests succeed. The slow request
// is sent first and answered last. The fast request shows that the service answers, so the token info is not requested.
func TestSlowAnswerDoesNotHideALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probes := newScript(textBody(`{"id":"a"}`))
		mux := http.NewServeMux()
		after := func(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				<-time.After(d) // the time is virtual (synctest)
				h(w, r)
			}
		}
		mux.Handle("/v1/auth/token", probes)
		mux.Handle("/v1/slow", after(25*time.Second, textBody(`{"id":"a"}`)))
		mux.Handle("/v1/fast", textBody(`{"id":"a"}`))
		mux.Handle("/v1/failing", after(10*time.Second, respondWith(503, "broken")))
		cfg := testConfig(mux)
		cfg.Patience, cfg.Retry.MaxRetries = time.Hour, 2
		c := newClient(t, cfg, nil)
		get := func(path string) error {
			var got collector
			_, err := c.Get(t.Context(), fetch.Request{Stream: "list", Path: path}, got.read)
			return err
		}
		var requests sync.WaitGroup
		requests.Go(func() { checkError(t, get("/slow"), "") })
		requests.Go(func() { checkError(t, get("/failing"), "after 3 attempts") }) // fails at 10s, 20s and 30s
		<-time.After(22 * time.Second)
		checkError(t, get("/fast"), "")
		requests.Wait()
		if n := probes.n.Load(); n > 0 {
			t.Errorf("%d requests for the token info, want none", n)
		}
	})
}

// TestWaitIsReported reads the current wait in the middle of an outage and after it.
func TestWaitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, patientConfig(refuseFor(10*time.Minute, 503, "Retry-After", "600")), nil)
		if w, ok := c.Waiting(); ok {
			t.Errorf("before the first request the client waits: %+v", w)
		}
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- requestTokenInfo(t, c) }()
		<-time.After(5 * time.Minute) // the time is virtual (synctest)
		w, ok := c.Waiting()
		if !ok || w.Reason != "the service answered 503 Service Unavailable" || w.Since.Sub(start) > time.Second || w.Until.Sub(start) < 10*time.Minute {
			t.Errorf("the client reports the wait %+v (%v), want one for the 503, from the start for ten minutes", w, ok)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if w, ok := c.Waiting(); ok {
			t.Errorf("after the outage the client waits: %+v", w)
		}
	})
}

// TestEach429IsAWait rejects a request without stating a time. The operator must see the wait for a 429 at once. Other
// failures are repeated first, without a wait of all workers.
func TestEach429IsAWait(t *testing.T) {
	for status, isWait := range map[int]bool{http.StatusTooManyRequests: true, http.StatusServiceUnavailable: false} {
		synctest.Test(t, func(t *testing.T) {
			cfg := patientConfig(refuseFor(5*time.Second, status))
			cfg.Retry.Base, cfg.Retry.Max = 10*time.Second, 20*time.Second
			c := newClient(t, cfg, nil)
			done := make(chan error, 1)
			go func() { done <- requestTokenInfo(t, c) }()
			<-time.After(5 * time.Second) // the time is virtual (synctest)
			if w, ok := c.Waiting(); ok != isWait || ok && w.Reason != "the service answered 429 Too Many Requests" {
				t.Errorf("after a %d the client reports the wait %+v (%v), want one only for a 429", status, w, ok)
			}
			harness.Must(t, <-done)
		})
	}
}

// TestLimitOfOneEndpoint rejects one list with 429 while the service answers others. Alone, it is waited for. While
// others are answered, it is given up, because otherwise it would use up the patience of the night.
func TestLimitOfOneEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := newClient(t, patientConfig(&outage{refuse: func(w http.ResponseWriter, r *http.Request) bool {
			isLimited := r.URL.Path == "/v1/orders" && time.Since(start) < 4*time.Minute
			if !isLimited && r.URL.Path != "/v1/outlets/id7" {
				return false
			}
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}}), nil)
		harness.Must(t, requestTokenInfo(t, c))
		var got collector
		if _, err := c.Walk(t.Context(), ordersStream, "", got.read); err != nil {
			t.Errorf("got %v, want the list after four minutes", err)
		}
		begin := time.Now()
		d, err := c.Details(t.Context(), outletDetail, numberedIDs(300), got.read)
		if took := time.Since(begin); err != nil || d.Failed != 1 || d.Found != 299 || took > 15*time.Minute {
			t.Errorf("got %+v and %v after %v, want one failed id within minutes", d, err, took)
		}
	})
}

// TestWaitEndsWithItsContext cancels a wait for the service, and one for a new token.
func TestWaitEndsWithItsContext(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusUnauthorized} {
		synctest.Test(t, func(t *testing.T) {
			isDown := false
			cfg := patientConfig(&outage{refuse: func(w http.ResponseWriter, _ *http.Request) bool {
				if isDown {
					w.WriteHeader(status)
				}
				return isDown
			}})
			cfg.TokenCanChange = true
			c, stop := newClient(t, cfg, nil), errors.New("stopped by the user")
			harness.Must(t, requestTokenInfo(t, c)) // a token that the service accepted before can be replaced
			isDown = true
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Minute, func() { cancel(stop) })
			start := time.Now()
			var got collector
			_, err := c.Get(ctx, fetch.Request{Stream: "orders", Path: "/orders"}, got.read)
			if !errors.Is(err, stop) || errors.Is(err, fetch.ErrAuth) || time.Since(start) != 3*time.Minute {
				t.Errorf("after a %d: ended after %v with %v, want 3m and the cause", status, time.Since(start), err)
			}
		})
	}
}

// TestProbesKeepTheRate makes a request fail for good, and compares the send times of its last attempt and of the
// request for the token info that follows.
func TestProbesKeepTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &outage{refuse: func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/v1/auth/token" {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}}
		cfg := testConfig(service)
		cfg.Patience, cfg.RequestsPerSecond, cfg.Retry.MaxRetries = time.Hour, 1, 1
		var got collector
		_, err := newClient(t, cfg, nil).Get(t.Context(), fetch.Request{Stream: "orders", Path: "/orders"}, got.read)
		checkError(t, err, "after 2 attempts")
		if len(service.sent) != 3 {
			t.Fatalf("sent %d requests, want two attempts and a request for the token info", len(service.sent))
		}
		for i, at := range service.sent[1:] {
			if gap := at.Sub(service.sent[i]); gap < time.Second {
				t.Errorf("request %d was sent %v after the one before, want at least 1s", i+2, gap)
			}
		}
	})
}

// TestNewTokenIsWaitedFor rejects the old token after 10 seconds. The file contains the new token after 20 minutes.
func TestNewTokenIsWaitedFor(t *testing.T) {
	for name, canChange := range map[string]bool{"from a file": true, "from a variable": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				isRotated := func() bool { return time.Since(start) > 10*time.Second }
				cfg := patientConfig(&outage{refuse: func(w http.ResponseWriter, r *http.Request) bool {
					valid := "Bearer pc_oldtoken"
					if isRotated() {
						valid = "Bearer pc_newtoken"
					}
					if r.Header.Get("Authorization") == valid {
						return false
					}
					w.WriteHeader(http.StatusUnauthorized)
					return true
				}})
				cfg.TokenCanChange = canChange
				cfg.Token = func(context.Context) (string, error) {
					if time.Since(start) > 20*time.Minute {
						return "pc_newtoken", nil
					}
					return "pc_oldtoken", nil
				}
				var got collector
				d, err := newClient(t, cfg, nil).Details(t.Context(), outletDetail, numberedIDs(300), got.read)
				took := time.Since(start)
				switch {
				case canChange && (err != nil || d.Found != 300 || took > 22*time.Minute):
					t.Errorf("found %d ids in %v: %v, want 300 in at most 22m", d.Found, took, err)
				case !canChange && (!errors.Is(err, fetch.ErrAuth) || took > time.Minute):
					t.Errorf("ended after %v with %v, want ErrAuth at once", took, err)
				}
			})
		})
	}
}
