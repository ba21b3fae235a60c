package fetch

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStatedTimes parses times in seconds and milliseconds since 1970.
func TestStatedTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1800000005", "1800000005000"} {
		if got, ok := parseWait(text, time.Unix(1_800_000_000, 0)); got != 5*time.Second || !ok {
			t.Errorf("%s is a wait of %v (%v), want 5s", text, got, ok)
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
