package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// readerResults are the results of all requests of the readers.
type readerResults struct {
	// Pages and Metrics count the requests for the status page and for the metrics.
	Pages, Metrics int
	// Failures counts the requests without a response, or with an unexpected status or content.
	Failures int
	Problems []string
	P50, P99 time.Duration
	Longest  time.Duration
}

// readers request the status page and the metrics.
type readers struct {
	url    string
	client *http.Client

	mu        sync.Mutex
	latencies []time.Duration
	results   readerResults
}

// startReaders starts n readers, which end with ctx. Each reader sends one request a second. The readers
// start one after the other, evenly spread over a second. The returned function waits until all readers
// have ended and returns the results.
func startReaders(ctx context.Context, url string, n int) func() readerResults {
	r := &readers{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}}
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			select {
			case <-time.After(time.Duration(i) * time.Second / time.Duration(n)):
			case <-ctx.Done():
			}
			turn := i
			repeat(ctx, time.Second, func() { r.read(turn); turn++ })
		})
	}
	return func() readerResults {
		running.Wait()
		r.client.CloseIdleConnections()
		r.results.P50, r.results.P99, r.results.Longest = latencyPercentiles(r.latencies)
		return r.results
	}
}

// read requests the status page if turn is even, and the metrics if it is odd.
func (r *readers) read(turn int) {
	path, mark := "/", []byte("Last nights")
	if turn%2 == 1 {
		path, mark = "/metrics", []byte("placementsync_webhook_results_total")
	}
	start := time.Now()
	err := r.request(path, mark)
	took := time.Since(start)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, took)
	if path == "/" {
		r.results.Pages++
	} else {
		r.results.Metrics++
	}
	if err != nil {
		r.results.Failures++
		r.results.Problems = appendProblem(r.results.Problems, err.Error())
	}
}

func (r *readers) request(path string, mark []byte) error {
	response, err := r.client.Get(r.url + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(text, mark)) {
		err = fmt.Errorf("GET %s returned %s: %.80q", path, response.Status, text)
	}
	return err
}

// memorySampler contains samples of the resident memory of a process.
type memorySampler struct {
	mu      sync.Mutex
	samples []float64
}

// startMemorySampler samples the memory of a process until ctx ends.
func startMemorySampler(ctx context.Context, pid int) *memorySampler {
	m := &memorySampler{}
	runUntilDone(ctx, func(ctx context.Context) {
		repeat(ctx, 100*time.Millisecond, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.samples = append(m.samples, residentMemory(pid))
		})
	})
	return m
}

// memoryRange is the lowest and the highest resident memory of a period, in bytes. The lowest occurs
// between nights, the highest during a night.
type memoryRange struct{ Low, High float64 }

// endPhase ends the current phase and returns its memory.
func (m *memorySampler) endPhase() (phase memoryRange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.samples) > 0 {
		phase = memoryRange{slices.Min(m.samples), slices.Max(m.samples)}
	}
	m.samples = nil
	return phase
}

// memoryPhases is the memory before, during and after the load.
type memoryPhases struct{ Before, During, After memoryRange }

func (m memoryPhases) String() string {
	return fmt.Sprintf("%v before, %v during and %v after the load", m.Before, m.During, m.After)
}

func (m memoryRange) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("%.0f to %.0f MiB", m.Low/mib, m.High/mib)
}

// residentMemory returns the resident memory of a process in bytes, or 0 if it is unknown.
func residentMemory(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	match := regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`).FindSubmatch(text)
	if match == nil {
		return 0
	}
	kib, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		return 0
	}
	return kib * 1024
}

func (r loadResults) String() string {
	d, p := r.Deliveries, r.Requests
	return fmt.Sprintf(`%d deliveries at %.0f a second: %d accepted, %d rejected as expected, %d with another status (%d with 5xx), %d without a response
response to a delivery: p50 %v, p99 %v, at most %v
%d pages and %d metrics by %d readers: %d failed; p50 %v, p99 %v, at most %v
during %d nights and with %d stalled senders
%d events acknowledged: %d lost, %d twice, %d unexpected
memory: %v`, d.Sent, d.Rate, d.Accepted, d.Rejected, d.WrongStatuses, d.ServerErrors, d.BrokenConnections, roundDuration(d.P50), roundDuration(d.P99), roundDuration(d.Longest),
		p.Pages, p.Metrics, r.Readers, p.Failures, roundDuration(p.P50), roundDuration(p.P99), roundDuration(p.Longest), r.Nights, r.StalledSenders,
		r.Events, r.Lost, r.Duplicates, r.Unexpected, r.Memory)
}

func roundDuration(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
