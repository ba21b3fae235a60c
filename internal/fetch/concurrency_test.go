package fetch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

// countConcurrentReads requests n bodies and returns how many readers ran at the same time.
func countConcurrentReads(t *testing.T, landing *fetch.Landing, n, concurrency int) (most int32) {
	t.Helper()
	cfg := testConfig(textBody(`{"id":"a"}`))
	cfg.Concurrency = concurrency
	c := newClient(t, cfg, landing)
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
		landing := testLanding(t, t.TempDir())
		for _, source := range []string{"the service", "the landing"} { // the first round stores the bodies
			if most := countConcurrentReads(t, landing, 5, 2); most != 2 {
				t.Errorf("%d of 5 bodies from %s were read at the same time, want 2", most, source)
			}
		}
	})
}
