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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

// harness runs a daemon with the jobs of a test. It can be used in a synctest bubble, whose
// clock starts at 2000-01-01 00:00 UTC.
type harness struct {
	t        *testing.T
	cfg      daemon.Config
	settings daemon.Settings
	d        *daemon.Daemon

	night       func(ctx context.Context) (ledger.Run, error)
	followUp    func(ctx context.Context)
	verify      func(ctx context.Context) (repair.VerifyRecord, error)
	inspect     func(ctx context.Context) daemon.Inspection
	runs        func() ([]ledger.Run, error)
	progress    func() (ledger.Progress, bool)
	hookResults func() map[string]uint64
	reload      func() (daemon.Settings, error)

	mu       sync.Mutex
	ledger   []ledger.Run
	starts   []string     // start times of nights
	alerts   atomic.Int64 // of transient failures that are not tried again
	notified []string     // messages to the service manager
	log      logBuffer

	stop context.CancelFunc
	done chan error
}

// logBuffer is a log that can be read while the daemon writes it.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newHarness returns a harness whose daemon starts a night each day at 02:00 UTC. If run is nil,
// each night takes ten minutes and is complete.
func newHarness(t *testing.T, run func(ctx context.Context) (ledger.Run, error)) *harness {
	t.Helper()
	h := &harness{t: t}
	if run == nil {
		run = nightOf(10 * time.Minute)
	}
	h.cfg = daemon.Config{
		Program: h,
		Streams: []string{"orders", "outlets"},
		Hooks:   http.NotFoundHandler(),
		Notify:  h.recordMessage,
		Version: "v1.2.3",
		Metrics: prometheus.NewRegistry(),
		Now:     time.Now,
		Log:     slog.New(slog.NewTextHandler(&h.log, nil)),
	}
	h.settings = daemon.Settings{Schedule: parseSchedule(t, "0 2 * * *", "UTC"), CatchUp: true, Jobs: h, FollowUpKinds: []string{ledger.Watch, ledger.Lake, ledger.Backup}}
	h.night, h.runs = h.recordNight(run), h.readLedger
	return h
}

// Night implements daemon.Jobs.
func (h *harness) Night(ctx context.Context, willRetry func() bool) (ledger.Run, error) {
	run, err := h.night(ctx)
	if errors.Is(err, errTransient) && !willRetry() {
		h.alerts.Add(1)
	}
	return run, err
}

// errTransient is the error of a night that may be started again.
var errTransient = errors.New("the service is down")

// FollowUp implements daemon.Jobs.
func (h *harness) FollowUp(ctx context.Context) {
	if h.followUp != nil {
		h.followUp(ctx)
	}
}

// Verify implements daemon.Jobs.
func (h *harness) Verify(ctx context.Context) (repair.VerifyRecord, error) {
	if h.verify == nil {
		return repair.VerifyRecord{}, nil
	}
	return h.verify(ctx)
}

// Inspect implements daemon.Jobs.
func (h *harness) Inspect(ctx context.Context) daemon.Inspection {
	if h.inspect == nil {
		return daemon.Inspection{}
	}
	return h.inspect(ctx)
}

// Runs implements daemon.Program.
func (h *harness) Runs() ([]ledger.Run, error) { return h.runs() }

// Progress implements daemon.Program.
func (h *harness) Progress() (ledger.Progress, bool) {
	if h.progress == nil {
		return ledger.Progress{}, false
	}
	return h.progress()
}

// HookResults implements daemon.Program.
func (h *harness) HookResults() map[string]uint64 {
	if h.hookResults == nil {
		return nil
	}
	return h.hookResults()
}

// Reload implements daemon.Program.
func (h *harness) Reload() (daemon.Settings, error) { return h.reload() }

// nightOf returns a complete night of the given duration. If its context ends earlier, the night
// is interrupted.
func nightOf(d time.Duration) func(ctx context.Context) (ledger.Run, error) {
	return func(ctx context.Context) (ledger.Run, error) {
		select {
		case <-time.After(d):
			return ledger.Run{Outcome: ledger.Complete}, nil
		case <-ctx.Done():
			return ledger.Run{Outcome: ledger.Interrupted}, ctx.Err()
		}
	}
}

// recordNight wraps a night. The returned function records the start time and, if the warehouse
// was not locked, a ledger line.
func (h *harness) recordNight(run func(ctx context.Context) (ledger.Run, error)) func(ctx context.Context) (ledger.Run, error) {
	return func(ctx context.Context) (ledger.Run, error) {
		began := time.Now().UTC()
		h.mu.Lock()
		h.starts = append(h.starts, began.Format("01-02 15:04"))
		h.mu.Unlock()
		entry, err := run(ctx)
		entry.ID, entry.StartedAt, entry.EndedAt = began.Format("20060102T150405Z"), began, time.Now().UTC()
		if entry.Outcome == ledger.Complete || entry.Outcome == ledger.Partial {
			entry.SnapshotAt = began
		}
		if !errors.As(err, new(*warehouse.LockedError)) {
			h.record(entry)
		}
		return entry, err
	}
}

func (h *harness) record(entry ledger.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ledger = append(h.ledger, entry)
}

func (h *harness) readLedger() ([]ledger.Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ledger), nil
}

func (h *harness) recordMessage(message string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notified = append(h.notified, message)
	return nil
}

// sharedDaemon returns the daemon of the harness, and creates it on the first call.
func (h *harness) sharedDaemon() *daemon.Daemon {
	if h.d == nil {
		h.d = daemon.New(h.cfg, h.settings)
	}
	return h.d
}

// start starts the daemon on a listener without clients.
func (h *harness) start() {
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	h.stop, h.done = stop, make(chan error, 1)
	d := h.sharedDaemon()
	go func() { h.done <- d.Run(ctx, newSilentListener()) }()
	synctest.Wait()
}

// shutDown stops the daemon and waits for it.
func (h *harness) shutDown() {
	h.t.Helper()
	h.stop()
	if err := <-h.done; err != nil {
		h.t.Errorf("the daemon ended with %v, want no error", err)
	}
}

func (h *harness) get(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.sharedDaemon().Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
	return w
}

// metric returns the value of an existing time series.
func (h *harness) metric(series string) string {
	h.t.Helper()
	value := h.metrics()[series]
	if value == "" {
		h.t.Errorf("the metric placementsync_%s is missing", series)
	}
	return value
}

// metrics returns the values of all time series of this program.
func (h *harness) metrics() map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(h.get("/metrics").Body.String()) {
		line, isOwn := strings.CutPrefix(strings.TrimSpace(line), "placementsync_")
		if at := strings.LastIndexByte(line, ' '); isOwn && at > 0 {
			values[line[:at]] = line[at+1:]
		}
	}
	return values
}

func (h *harness) nightStarts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.starts)
}

// silentListener is a listener without clients.
type silentListener struct {
	once   sync.Once
	closed chan struct{}
}

func newSilentListener() *silentListener { return &silentListener{closed: make(chan struct{})} }

func (l *silentListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *silentListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *silentListener) Addr() net.Addr { return &net.TCPAddr{} }
