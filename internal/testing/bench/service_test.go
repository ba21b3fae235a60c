package bench_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// world describes the data and behaviour of a demo service.
type world struct {
	Listings int
	// Unordered returns lists without an order. One pass cannot show that such a list is complete.
	Unordered bool
	// Remembered repeats the first response to each request. The service then needs nearly no CPU time, as if it
	// were another machine.
	Remembered bool
}

// options describes a service with listings, and without orders, campaigns and files. 1 % of the listings
// change in a day.
func (w world) options() sim.Options {
	return sim.Options{
		Seed: 7, Listings: w.Listings, ListingChange: 0.01, ListingTurnover: 0.001, Unordered: w.Unordered,
		Outlets: max(50, w.Listings/200), HistoryDays: 1, Orders: -1, Campaigns: -1, Files: -1, Folders: -1,
	}
}

// requestStats contains the number of requests since the last call of takeStats, the time of the first
// request, and the time of the last response.
type requestStats struct {
	Requests    int
	First, Last time.Time
}

// meter counts the requests of a handler.
type meter struct {
	next http.Handler

	mu    sync.Mutex
	stats requestStats
}

func (m *meter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	if m.stats.Requests == 0 {
		m.stats.First = time.Now()
	}
	m.stats.Requests++
	m.mu.Unlock()
	m.next.ServeHTTP(rw, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Last = time.Now()
}

// memory repeats the first response of a handler to each request.
type memory struct {
	next http.Handler

	mu        sync.Mutex
	responses map[string]*httptest.ResponseRecorder // by address and accepted encodings
}

func (m *memory) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + r.URL.String() + " " + r.Header.Get("Accept-Encoding")
	m.mu.Lock()
	response := m.responses[key]
	m.mu.Unlock()
	if response == nil {
		response = httptest.NewRecorder()
		m.next.ServeHTTP(response, r)
		m.mu.Lock()
		m.responses[key] = response
		m.mu.Unlock()
	}
	maps.Copy(rw.Header(), response.Header())
	rw.WriteHeader(response.Code)
	_, _ = rw.Write(response.Body.Bytes()) // a client that is gone needs no response
}

func (m *meter) takeStats() requestStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	stats := m.stats
	m.stats = requestStats{}
	return stats
}

// worldVar is an environment variable. If it contains a world as JSON, this test program runs a demo
// service instead of the tests.
const worldVar = "PLACEMENTSYNC_BENCH_WORLD"

func TestMain(m *testing.M) {
	text := os.Getenv(worldVar)
	if text == "" {
		m.Run()
		return
	}
	var w world
	err := json.Unmarshal([]byte(text), &w)
	if err == nil {
		err = w.serve(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs the demo service and prints its address. Each input line is a number of days. The service
// advances by these days and prints the requestStats as JSON.
func (w world) serve(ctx context.Context) error {
	service := sim.New(w.options())
	m := &meter{next: service}
	if w.Remembered {
		m.next = &memory{next: service, responses: map[string]*httptest.ResponseRecorder{}}
	}
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

// service is a demo service in a child process.
type service struct {
	url    string
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Scanner
}

func serve(t *testing.T, w world) *service {
	t.Helper()
	self, err := os.Executable()
	harness.Must(t, err)
	text, err := json.Marshal(w)
	harness.Must(t, err)
	s := &service{cmd: exec.CommandContext(t.Context(), self)}
	s.cmd.Env = append(os.Environ(), worldVar+"="+string(text))
	s.input, err = s.cmd.StdinPipe()
	harness.Must(t, err)
	out, err := s.cmd.StdoutPipe()
	harness.Must(t, err)
	s.cmd.Stderr = os.Stderr
	harness.Must(t, s.cmd.Start())
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

// advance advances the service by days, and returns the statistics since the last call.
func (s *service) advance(t *testing.T, days int) (stats requestStats) {
	t.Helper()
	_, err := fmt.Fprintln(s.input, days)
	harness.Must(t, err)
	if !s.output.Scan() {
		t.Fatalf("the demo service ended: %v", s.cmd.Wait())
	}
	harness.Must(t, json.Unmarshal(s.output.Bytes(), &stats))
	return stats
}

func (s *service) stop(t *testing.T) {
	t.Helper()
	harness.Must(t, s.input.Close())
	for s.output.Scan() { // reads the rest of the output
	}
	harness.Must(t, s.cmd.Wait())
}
