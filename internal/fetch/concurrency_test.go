package fetch_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// countConcurrentReads requests n bodies and returns how many readers ran at the same time.
func countConcurrentReads(t *testing.T, store *fetch.ResponseStore, n, concurrency int) (most int32) {
	t.Helper()
	cfg := testConfig(textBody(`{"id":"a"}`))
	cfg.Concurrency = concurrency
	c := newClient(t, cfg, store)
	var started, finished atomic.Int32
	released := make(chan struct{})
	read := func(context.Context, fetch.Response) (stream.PageFacts, error) {
		started.Add(1)
		<-released
		finished.Add(1)
		return stream.PageFacts{}, nil
	}
	var requests sync.WaitGroup
	for i := range n {
		requests.Go(func() {
			if _, err := c.Get(t.Context(), fetch.Request{Stream: "list", Path: "/list", Page: i + 1}, read); err != nil {
				t.Error(err)
			}
		})
	}
	synctest.Wait()
	most = started.Load()
	close(released)
	requests.Wait()
	if int(finished.Load()) != n {
		t.Errorf("%d of %d bodies were read, want all", finished.Load(), n)
	}
	return most
}

func TestConcurrencyLimitsResponsesInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := testStore(t, t.TempDir())
		for _, source := range []string{"the service", "the store"} { // the first round stores the bodies
			if most := countConcurrentReads(t, store, 5, 2); most != 2 {
				t.Errorf("%d of 5 bodies from %s were read at the same time, want 2", most, source)
			}
		}
	})
}

// TestConnectionsAreReused sends 20 requests in waves of 4. The server answers a wave when all 4 requests have arrived,
// so each wave needs 4 connections. More connections would mean that a night opens a connection for most requests.
func TestConnectionsAreReused(t *testing.T) {
	const workers = 4
	var connections atomic.Int32
	var mu sync.Mutex // for arrived and wave
	arrived := 0
	wave := make(chan struct{}) // closed when all its requests have arrived
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ownWave := wave
		arrived++
		if arrived%workers == 0 {
			close(wave)
			wave = make(chan struct{})
		}
		mu.Unlock()
		<-ownWave
		textBody(`{"id":"a"}`)(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	cfg := testConfig(nil)
	cfg.BaseURL, cfg.Transport, cfg.Concurrency = server.URL, nil, workers
	c := newClient(t, cfg, nil)
	for range 5 {
		var requests sync.WaitGroup
		for range workers {
			requests.Go(func() { checkError(t, requestTokenInfo(t, c), "") })
		}
		requests.Wait()
	}
	if got := connections.Load(); got != workers {
		t.Errorf("%d connections were opened, want %d", got, workers)
	}
}

// TestHugeHeadersAreNotReceived responds with 2 MiB of headers, more than any proxy adds.
func TestHugeHeadersAreNotReceived(t *testing.T) {
	cfg := serverConfig(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Huge", strings.Repeat("x", 2<<20))
	}))
	cfg.Retry.MaxRetries = 0
	checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), "headers exceeded")
}

// TestRequestsUseTheProxy requests a host that only the proxy can reach.
func TestRequestsUseTheProxy(t *testing.T) {
	cfg := serverConfig(t, textBody(`{"id":"a"}`))
	proxy, err := url.Parse(cfg.BaseURL)
	harness.Must(t, err)
	cfg.BaseURL, cfg.Proxy = "http://service.invalid/v1", http.ProxyURL(proxy)
	checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), "")
}
