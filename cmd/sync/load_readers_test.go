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

// readings are what came of all requests of the readers.
type readings struct {
	Pages, Metrics int
	// Bad were not answered with 200 and what belongs there.
	Bad      int
	Problems []string
	P50, P99 time.Duration
	Longest  time.Duration
}

// readers ask for pages at their own pace.
type readers struct {
	url    string
	client *http.Client

	mu    sync.Mutex
	times []time.Duration
	seen  readings
}

// readAll has n readers ask once a second each, spread over it, until ctx ends;
// the function that it returns waits for the last answer.
func readAll(ctx context.Context, url string, n int) func() readings {
	r := &readers{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}}}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			select {
			case <-time.After(time.Duration(i) * time.Second / time.Duration(n)):
			case <-ctx.Done():
			}
			turn := i
			eachTime(ctx, time.Second, func() { r.read(turn); turn++ })
		})
	}
	return func() readings {
		all.Wait()
		r.client.CloseIdleConnections()
		r.seen.P50, r.seen.P99, r.seen.Longest = shares(r.times)
		return r.seen
	}
}

// read asks for the page or the metrics in turn.
func (r *readers) read(turn int) {
	path, mark := "/", []byte("Last nights")
	if turn%2 == 1 {
		path, mark = "/metrics", []byte("placementsync_webhook_results_total")
	}
	start := time.Now()
	err := r.ask(path, mark)
	took := time.Since(start)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, took)
	if path == "/" {
		r.seen.Pages++
	} else {
		r.seen.Metrics++
	}
	if err != nil {
		r.seen.Bad++
		r.seen.Problems = problem(r.seen.Problems, err.Error())
	}
}

func (r *readers) ask(path string, mark []byte) error {
	response, err := r.client.Get(r.url + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(text, mark)) {
		err = fmt.Errorf("%s was answered %s: %.80q", path, response.Status, text)
	}
	return err
}

// growth is the resident memory of serve in the first and the last third of a
// trial, in bytes: the lowest tenth of the samples, which is what stays between
// nights, and the most, which is what a night takes.
type growth struct {
	FirstLow, LastLow, FirstMost, LastMost float64
}

func (g growth) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("between nights %.0f MiB in the first third, %.0f MiB in the last; at most %.0f and %.0f MiB",
		g.FirstLow/mib, g.LastLow/mib, g.FirstMost/mib, g.LastMost/mib)
}

// sampleMemory looks at the resident memory of a process until ctx ends.
func sampleMemory(ctx context.Context, pid int) func() growth {
	var samples []float64
	wait := during(ctx, func(ctx context.Context) {
		eachTime(ctx, 100*time.Millisecond, func() {
			if n := resident(pid); n > 0 {
				samples = append(samples, n)
			}
		})
	})
	return func() growth {
		wait()
		third := len(samples) / 3
		if third == 0 {
			return growth{} // a system that does not tell
		}
		first, last := samples[:third], samples[len(samples)-third:]
		slices.Sort(first)
		slices.Sort(last)
		return growth{first[third/10], last[third/10], first[third-1], last[third-1]}
	}
}

// resident is the memory that the system says a process has; 0: it does not say.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`).FindSubmatch(text)
	if found == nil {
		return 0
	}
	kib, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return 0
	}
	return kib * 1024
}

// String tells the figures of a trial as lines for people.
func (f figures) String() string {
	d, p := f.Deliveries, f.Pages
	return fmt.Sprintf(`%d deliveries at %.0f a second: %d accepted, %d refused as they deserve, %d answered otherwise (%d with 5xx), %d not at all
answer to a delivery: p50 %v, p99 %v, at most %v
%d pages and %d metrics by %d readers: %d not served; p50 %v, p99 %v, at most %v
beside %d nights and %d stalled senders
%d events acknowledged: %d lost, %d twice, %d that must not be there
memory: %v`, d.Sent, d.Rate, d.Accepted, d.Refused, d.Wrong, d.Fives, d.Broken, round(d.P50), round(d.P99), round(d.Longest),
		p.Pages, p.Metrics, f.Readers, p.Bad, round(p.P50), round(p.P99), round(p.Longest), f.Nights, f.Stallers,
		f.Events, f.Lost, f.Twice, f.Strange, f.Memory)
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
