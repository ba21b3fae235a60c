package fetch

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Telemetry contains the numbers of one stream so far.
type Telemetry struct {
	Stream      string
	Requests    int64 // sent attempts, including retries
	Bytes       int64 // received bytes of bodies, before decompression
	Retries     int64 // repeated attempts
	RateLimited int64 // responses with status 429
	Hits        int64 // stored responses that were used
	// P50, P95 and Max are latencies of attempts, from sending to the last byte. The
	// percentiles are rounded up by at most a fifth.
	P50, P95, Max time.Duration
	// RateWait is the time spent waiting for the configured rate, and RetryWait the time before retries and
	// for Retry-After, both summed over all workers.
	RateWait, RetryWait time.Duration
	First, Last         time.Time // send times of the first and the last attempt
}

// Telemetry returns the current numbers of each stream, sorted by name.
func (c *Client) Telemetry() []Telemetry {
	meters := &c.sender.meters
	meters.mu.Lock()
	defer meters.mu.Unlock()
	all := make([]Telemetry, 0, len(meters.byStream))
	for _, name := range slices.Sorted(maps.Keys(meters.byStream)) {
		all = append(all, meters.byStream[name].snapshot(name))
	}
	return all
}

type meters struct {
	mu       sync.Mutex
	byStream map[string]*meter
}

func (m *meters) of(stream string) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byStream[stream] == nil {
		m.byStream[stream] = &meter{}
	}
	return m.byStream[stream]
}

type meter struct {
	mu     sync.Mutex
	counts Telemetry // without Stream, P50 and P95
	// latencies counts the attempts in buckets by latency. The first bucket ends at 16 µs. The end of every fourth
	// bucket after it is twice as high, up to an hour.
	latencies [112]int64
}

const (
	bucketFloor        = 16 * time.Microsecond
	bucketsPerDoubling = 4
)

func (m *meter) addAttempt(q *call) {
	bucket := 0
	if q.took > bucketFloor {
		bucket = int(math.Ceil(math.Log2(float64(q.took)/float64(bucketFloor)) * bucketsPerDoubling))
	}
	sent := q.sent.Round(0).UTC() // without the monotonic clock
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &m.counts
	t.Requests++
	t.Bytes += q.receivedBytes
	if q.Status == http.StatusTooManyRequests {
		t.RateLimited++
	}
	if t.First.IsZero() || sent.Before(t.First) {
		t.First = sent
	}
	if sent.After(t.Last) {
		t.Last = sent
	}
	t.Max = max(t.Max, q.took)
	m.latencies[min(bucket, len(m.latencies)-1)]++
}

// increase adds 1 to count, a field of m.counts.
func (m *meter) increase(count *int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*count++
}

// waitFor waits for d or the end of ctx, and adds the time waited to total, a field of m.counts.
func (m *meter) waitFor(ctx context.Context, d time.Duration, total *time.Duration) error {
	start := time.Now()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		*total += time.Since(start)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *meter) snapshot(stream string) Telemetry {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.counts
	t.Stream, t.P50, t.P95 = stream, m.quantile(0.50), m.quantile(0.95)
	return t
}

// quantile returns the upper bound of the bucket with the quantile, at most the maximum.
func (m *meter) quantile(p float64) time.Duration {
	rank := int64(math.Ceil(p * float64(m.counts.Requests)))
	for i, n := range m.latencies {
		rank -= n
		if n > 0 && rank <= 0 {
			end := float64(bucketFloor) * math.Exp2(float64(i)/bucketsPerDoubling)
			return min(time.Duration(end), m.counts.Max)
		}
	}
	return 0
}
