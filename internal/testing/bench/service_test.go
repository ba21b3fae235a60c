package bench_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/sim"
)

// world describes the data and behaviour of a demo service. The zero value has as many records as
// the command "demo".
type world struct {
	Listings int
	// CatalogOnly leaves out orders, campaigns and files.
	CatalogOnly bool
	// Change is the share of listings that change in a day. Defaults to 0.01.
	Change float64
	// Tiny reduces the world to some records of every kind, and fewer than half of the demo's rows.
	Tiny bool
	// Rate is the number of requests per second that the service allows. 0 means no limit. Burst
	// is the number of requests that it allows at once.
	Rate  float64
	Burst int
	// Coding is gzip or zstd. Clients that accept it get compressed responses.
	Coding string
	// Unordered returns lists without an order. One pass cannot show that such a list is complete.
	Unordered bool
	// Dump is a folder. If it is set, the process writes the listings to it and ends.
	Dump string
}

func (w world) options() sim.Options {
	o := sim.Options{Seed: 7, Listings: w.Listings, ListingChange: cmp.Or(w.Change, 0.01), ListingTurnover: 0.001, RateLimit: w.Rate, RateBurst: w.Burst}
	if w.CatalogOnly {
		o.HistoryDays, o.Orders, o.Campaigns, o.Files, o.Folders = 1, -1, -1, -1, -1
		o.Outlets = max(50, w.Listings/200)
	}
	if w.Coding != "" {
		o.Encodings = []string{w.Coding}
	}
	o.Unordered = w.Unordered
	if w.Tiny {
		o.Outlets, o.Listings, o.Campaigns, o.Orders = 60, 200, 17, 90
	}
	return o
}

// requestStats contains the statistics of the service since the last call of takeStats.
type requestStats struct {
	// Limited counts the responses with status 429. Bytes is the size of all bodies as sent.
	Requests, Limited int
	Bytes             int64
	// First is the time of the first request, and Last the time of the last response. Busy is the
	// number of seconds with at least one request in progress.
	First, Last time.Time
	Busy        float64
}

// meter counts the requests and responses of a handler.
type meter struct {
	next http.Handler

	mu         sync.Mutex
	inProgress int       // requests
	busySince  time.Time // when inProgress became greater than 0
	stats      requestStats
}

func (m *meter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	m.enter()
	counted := &counter{ResponseWriter: rw}
	m.next.ServeHTTP(counted, r)
	m.exit(counted)
}

func (m *meter) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.stats.Requests++; m.stats.Requests == 1 {
		m.stats.First = now
	}
	if m.inProgress++; m.inProgress == 1 {
		m.busySince = now
	}
}

func (m *meter) exit(c *counter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Last = time.Now()
	m.stats.Bytes += c.bytes
	if c.status == http.StatusTooManyRequests {
		m.stats.Limited++
	}
	if m.inProgress--; m.inProgress == 0 {
		m.stats.Busy += m.stats.Last.Sub(m.busySince).Seconds()
	}
}

func (m *meter) takeStats() requestStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := m.stats
	m.stats = requestStats{}
	return stats
}

// counter records the status and length of a response.
type counter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (c *counter) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}

// run runs the demo service and prints its address. Each input line is a number of days. The
// service advances by these days and prints the requestStats as JSON.
func (w world) run(ctx context.Context) error {
	service := sim.New(w.options())
	if w.Dump != "" {
		return dump(service, w.Dump)
	}
	m := &meter{next: service}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	fmt.Println("http://" + listener.Addr().String())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		days, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		service.Advance(days)
		if err := json.NewEncoder(os.Stdout).Encode(m.takeStats()); err != nil {
			return err
		}
	}
	return server.Close()
}

// dumpFiles is the number of files with listings. With several files, all threads of DuckDB read.
const dumpFiles = 8

// dump writes the listings of the first day, with the same bytes as in responses.
func dump(service *sim.Service, dir string) error {
	records := service.Records("/products/listings")
	for i := range dumpFiles {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("listings-%d.ndjson", i)))
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(f, 1<<20)
		for _, r := range records[len(records)*i/dumpFiles : len(records)*(i+1)/dumpFiles] {
			_, _ = out.Write(r) // Flush reports the first error
			_ = out.WriteByte('\n')
		}
		if err := errors.Join(out.Flush(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// service is a demo service in a child process.
type service struct {
	url    string
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Scanner
}

func serve(t *testing.T, w world) *service {
	t.Helper()
	s := &service{cmd: childCommand(t, "service", w)}
	var err error
	s.input, err = s.cmd.StdinPipe()
	must(t, err)
	out, err := s.cmd.StdoutPipe()
	must(t, err)
	s.cmd.Stderr = os.Stderr
	must(t, s.cmd.Start())
	s.output = bufio.NewScanner(out)
	for s.output.Scan() {
		if url := s.output.Text(); strings.HasPrefix(url, "http://") {
			s.url = url
			return s
		}
	}
	t.Fatalf("the demo service did not start: %v", s.cmd.Wait())
	return nil
}

// advance advances the service by days and returns the statistics since the last call of advance or
// stats.
func (s *service) advance(t *testing.T, days int) requestStats {
	t.Helper()
	_, err := fmt.Fprintln(s.input, days)
	must(t, err)
	if !s.output.Scan() {
		t.Fatalf("the demo service ended: %v", s.cmd.Wait())
	}
	var stats requestStats
	must(t, json.Unmarshal(s.output.Bytes(), &stats))
	return stats
}

// stats returns the statistics since the last call of advance or stats.
func (s *service) stats(t *testing.T) requestStats { return s.advance(t, 0) }

func (s *service) stop(t *testing.T) {
	t.Helper()
	must(t, s.input.Close())
	for s.output.Scan() { // reads the rest of the output
	}
	must(t, s.cmd.Wait())
}

// requestAllPages requests all pages of the listings, so that the first measured run does not also
// warm up the service.
func requestAllPages(t *testing.T, s *service, listings int) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for page := range (listings + 99) / 100 {
		group.Go(func() error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/products/listings?limit=100&page=%d", s.url, page+1), nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer pc_demo")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				return fmt.Errorf("page %d: got status %s, want 200", page+1, res.Status)
			}
			_, err = io.Copy(io.Discard, res.Body)
			return err
		})
	}
	must(t, group.Wait())
}
