package fetch

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

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
}

// TestStatedTimes parses times in seconds and milliseconds since 1970.
func TestStatedTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1800000005", "1800000005000"} {
		if got, ok := parseWait(text, time.Unix(1_800_000_000, 0)); got != 5*time.Second || !ok {
			t.Errorf("%s is a wait of %v (%v), want 5s", text, got, ok)
		}
	}
	for _, text := range []string{"99999999999999", "9999999999999999999"} {
		if got, ok := parseWait(text, time.Unix(1_800_000_000, 0)); got != longestStated || !ok {
			t.Errorf("%s is a wait of %v (%v), want %v", text, got, ok, longestStated)
		}
	}
}

// TestRequestsRejectedTogetherLowerTheRateOnce rejects two requests that were sent together, the second one three
// seconds later than the first. A slow 429 must not slow the night again.
func TestRequestsRejectedTogetherLowerTheRateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAllowance(100, 1)
		sent := time.Now()
		a.throttle(time.Second, sent)
		lowered := a.bucket.Limit()
		<-time.After(3 * time.Second)
		a.throttle(time.Second, sent)
		if got := a.bucket.Limit(); got != lowered {
			t.Errorf("the rate is %v after the second 429, want %v as after the first", got, lowered)
		}
	})
}

// TestWaitOfAllWorkers extends a wait until the patience is used up. An answer to an earlier request does not end it.
func TestWaitOfAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := newPatience(time.Hour, slog.New(slog.DiscardHandler)), time.Now()
		<-time.After(time.Second)
		p.spend(time.Minute, "")
		<-time.After(time.Second)
		p.spend(2*time.Hour, "")
		p.noteAnswer(start)
		if w, ok := p.current(); !ok || w.Since.Sub(start) != time.Second || p.isExhausted() {
			t.Errorf("the wait is %+v (%v), exhausted %v, want one since the first failure that is not over", w, ok, p.isExhausted())
		}
	})
}

// TestPageSizesOfSeveralLists learns the shortest page. An array does not show the size of a page.
func TestPageSizesOfSeveralLists(t *testing.T) {
	t.Parallel()
	var sizes pageSizes
	sizes.addFirstPage(stream.PageFacts{Records: 60})
	if got := sizes.shortest(); got != defaultPageSize {
		t.Errorf("after an array the shortest page is %d, want %d: a longer list would be cut", got, defaultPageSize)
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

// TestRateRecovers rejects two requests at different times. Each 429 lowers the rate to 70 %. The rate regains 10 % of
// the full rate per second, and never exceeds it.
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
