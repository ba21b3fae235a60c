package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"placementsync/internal/daemon"
	"placementsync/internal/integrity"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// house is a daemon whose nights do what a test wants. Everything in it may be
// used in a bubble of synctest, whose clock begins at midnight of 2000-01-01 UTC.
type house struct {
	t   *testing.T
	cfg daemon.Config
	set daemon.Settings
	d   *daemon.Daemon

	night       func(ctx context.Context) (ledger.Run, error)
	follow      func(ctx context.Context)
	verify      func(ctx context.Context) (integrity.VerifyRecord, error)
	inspect     func(ctx context.Context) daemon.Inspection
	runs        func() ([]ledger.Run, error)
	progress    func() (ledger.Progress, bool)
	hookResults func() map[string]uint64
	reload      func() (daemon.Settings, error)

	mu     sync.Mutex
	ledger []ledger.Run
	begun  []string // when nights began
	told   []string // what the service manager was told
	log    lines

	stop context.CancelFunc
	done chan error
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newHouse is due at 02:00 UTC; each night takes ten minutes, unless run says
// otherwise, and is good.
func newHouse(t *testing.T, run func(ctx context.Context) (ledger.Run, error)) *house {
	t.Helper()
	h := &house{t: t}
	if run == nil {
		run = lasting(10 * time.Minute)
	}
	h.cfg = daemon.Config{
		Program: h,
		Streams: []string{"orders", "outlets"},
		Notify:  h.hear,
		Version: "v1.2.3",
		Metrics: prometheus.NewRegistry(),
		Now:     time.Now,
		Log:     slog.New(slog.NewTextHandler(&h.log, nil)),
	}
	h.set = daemon.Settings{Schedule: schedule(t, "0 2 * * *", "UTC"), CatchUp: true, Jobs: h, Follows: []string{ledger.Watch, ledger.Lake, ledger.Backup}}
	h.night, h.runs = h.recorded(run), h.readLedger
	return h
}

// Night implements daemon.Jobs.
func (h *house) Night(ctx context.Context) (ledger.Run, error) { return h.night(ctx) }

// Follow implements daemon.Jobs.
func (h *house) Follow(ctx context.Context) {
	if h.follow != nil {
		h.follow(ctx)
	}
}

// Verify implements daemon.Jobs.
func (h *house) Verify(ctx context.Context) (integrity.VerifyRecord, error) {
	if h.verify == nil {
		return integrity.VerifyRecord{}, nil
	}
	return h.verify(ctx)
}

// Inspect implements daemon.Jobs.
func (h *house) Inspect(ctx context.Context) daemon.Inspection {
	if h.inspect == nil {
		return daemon.Inspection{}
	}
	return h.inspect(ctx)
}

// Runs implements daemon.Program.
func (h *house) Runs() ([]ledger.Run, error) { return h.runs() }

// Progress implements daemon.Program.
func (h *house) Progress() (ledger.Progress, bool) {
	if h.progress == nil {
		return ledger.Progress{}, false
	}
	return h.progress()
}

// HookResults implements daemon.Program.
func (h *house) HookResults() map[string]uint64 {
	if h.hookResults == nil {
		return nil
	}
	return h.hookResults()
}

// Reload implements daemon.Program.
func (h *house) Reload() (daemon.Settings, error) { return h.reload() }

// lasting is a good night of a length; cut short it is interrupted.
func lasting(d time.Duration) func(ctx context.Context) (ledger.Run, error) {
	return func(ctx context.Context) (ledger.Run, error) {
		select {
		case <-time.After(d):
			return ledger.Run{Outcome: ledger.Complete}, nil
		case <-ctx.Done():
			return ledger.Run{Outcome: ledger.Interrupted}, ctx.Err()
		}
	}
}

// recorded gives a night its times and a line in the ledger, if it began.
func (h *house) recorded(run func(ctx context.Context) (ledger.Run, error)) func(ctx context.Context) (ledger.Run, error) {
	return func(ctx context.Context) (ledger.Run, error) {
		began := time.Now().UTC()
		h.mu.Lock()
		h.begun = append(h.begun, began.Format("01-02 15:04"))
		h.mu.Unlock()
		n, err := run(ctx)
		n.ID, n.StartedAt, n.EndedAt = began.Format("20060102T150405Z"), began, time.Now().UTC()
		if n.Outcome == ledger.Complete || n.Outcome == ledger.Partial {
			n.SnapshotAt = began
		}
		if !errors.As(err, new(*warehouse.HeldError)) {
			h.record(n)
		}
		return n, err
	}
}

func (h *house) record(n ledger.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ledger = append(h.ledger, n)
}

func (h *house) readLedger() ([]ledger.Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ledger), nil
}

func (h *house) hear(state string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, state)
	return nil
}

// open makes the daemon without running it.
func (h *house) open() *daemon.Daemon {
	if h.d == nil {
		h.d = daemon.New(h.cfg, h.set)
	}
	return h.d
}

// run starts the daemon on a listener that nobody can reach.
func (h *house) run() {
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	h.stop, h.done = stop, make(chan error, 1)
	d := h.open()
	go func() { h.done <- d.Run(ctx, newDeaf()) }()
	synctest.Wait()
}

// end stops the daemon and waits for it.
func (h *house) end() {
	h.t.Helper()
	h.stop()
	if err := <-h.done; err != nil {
		h.t.Errorf("the daemon ended with %v", err)
	}
}

func (h *house) get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.open().Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
	return w
}

// metric returns the value of a series.
func (h *house) metric(series string) string {
	h.t.Helper()
	value := h.findMetric(series)
	if value == "" {
		h.t.Errorf("there is no metric placementsync_%s", series)
	}
	return value
}

// findMetric returns the value of a series, or "" if there is none.
func (h *house) findMetric(series string) string {
	h.t.Helper()
	for line := range strings.Lines(h.get("/metrics").Body.String()) {
		if value, ok := strings.CutPrefix(line, "placementsync_"+series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (h *house) nights() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.begun)
}

// deaf is a listener without callers.
type deaf struct {
	once   sync.Once
	closed chan struct{}
}

func newDeaf() *deaf { return &deaf{closed: make(chan struct{})} }

func (l *deaf) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *deaf) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *deaf) Addr() net.Addr { return &net.TCPAddr{} }
