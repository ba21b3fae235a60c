package fetch

import (
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Telemetry are the numbers of one stream so far.
type Telemetry struct {
	Stream string
	// Requests counts attempts sent.
	Requests int64
	// Bytes counts the bytes of bodies received, before decompression.
	Bytes int64
	// Retries counts repeated attempts.
	Retries int64
	// TooMany counts responses with status 429.
	TooMany int64
	// Hits counts answers from the landing.
	Hits int64
	// P50, P95 and Max are latencies of attempts, from sending to the last byte. The
	// percentiles are rounded up by at most a fifth.
	P50, P95, Max time.Duration
	// RateWait is the time spent waiting for the configured rate, summed over all workers.
	RateWait time.Duration
	// RetryWait is the time spent waiting before retries and for Retry-After, summed over
	// all workers.
	RetryWait time.Duration
	// First and Last are the send times of the first and the last attempt.
	First, Last time.Time
}

// meters contains the meters of all streams. The zero value is ready to use.
type meters struct {
	mu       sync.Mutex
	byStream map[string]*meter
}

func (m *meters) snapshot() []Telemetry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Telemetry, 0, len(m.byStream))
	for _, name := range slices.Sorted(maps.Keys(m.byStream)) {
		all = append(all, m.byStream[name].snapshot(name))
	}
	return all
}

func (m *meters) meterOf(stream string) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byStream == nil {
		m.byStream = map[string]*meter{}
	}
	if m.byStream[stream] == nil {
		m.byStream[stream] = &meter{}
	}
	return m.byStream[stream]
}

// meter counts for one stream. Durations are in nanoseconds.
type meter struct {
	requests, bytes, retries, tooMany, hits atomic.Int64
	rateWait, pauseWait, backoff            atomic.Int64
	first, last                             atomic.Int64
	latency                                 histogram
}

func (m *meter) addAttempt(q *call) {
	m.requests.Add(1)
	m.bytes.Add(q.received)
	if q.status == http.StatusTooManyRequests {
		m.tooMany.Add(1)
	}
	at := q.sent.UnixNano()
	m.first.CompareAndSwap(0, at)
	raiseTo(&m.last, at)
	m.latency.add(q.took)
}

func (m *meter) snapshot(stream string) Telemetry {
	t := Telemetry{
		Stream: stream, Requests: m.requests.Load(), Bytes: m.bytes.Load(),
		Retries: m.retries.Load(), TooMany: m.tooMany.Load(), Hits: m.hits.Load(),
		P50: m.latency.quantile(0.50), P95: m.latency.quantile(0.95), Max: time.Duration(m.latency.max.Load()),
		RateWait:  time.Duration(m.rateWait.Load()),
		RetryWait: time.Duration(m.pauseWait.Load() + m.backoff.Load()),
	}
	if first := m.first.Load(); first != 0 {
		t.First, t.Last = time.Unix(0, first).UTC(), time.Unix(0, m.last.Load()).UTC()
	}
	return t
}

// histogram counts durations in buckets of a quarter octave, from 16 µs to more than an
// hour.
type histogram struct {
	buckets [112]atomic.Int64
	max     atomic.Int64
}

const (
	bucketFloor   = 16 * time.Microsecond
	bucketsOctave = 4
)

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > bucketFloor {
		i = int(math.Ceil(math.Log2(float64(d)/float64(bucketFloor)) * bucketsOctave))
	}
	h.buckets[min(i, len(h.buckets)-1)].Add(1)
	raiseTo(&h.max, int64(d))
}

// quantile returns the upper bound of the bucket with the quantile, at most the maximum.
func (h *histogram) quantile(p float64) time.Duration {
	var counts [len(h.buckets)]int64
	var total int64
	for i := range counts {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	rank := int64(math.Ceil(p * float64(total)))
	for i, n := range counts {
		if rank -= n; n > 0 && rank <= 0 {
			end := float64(bucketFloor) * math.Exp2(float64(i)/bucketsOctave)
			return min(time.Duration(end), time.Duration(h.max.Load()))
		}
	}
	return 0
}

// raiseTo sets v to at least n.
func raiseTo(v *atomic.Int64, n int64) {
	for old := v.Load(); n > old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}
