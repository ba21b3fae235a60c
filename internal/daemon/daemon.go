// Package daemon runs nights by a schedule and reports on them: status page,
// metrics, health. Reading order: Run in this file, then nights, board and server.
//
// It must not know what a night does, how the configuration is written or where
// the ledger is: it gets the night and the ledger as functions, progress as a
// value, and the webhook receiver as an http.Handler.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"placementsync/internal/hosts"
	"placementsync/internal/ledger"
)

// ErrHeld is wrapped by the error of a night that did not begin because another run
// holds the lock of the warehouse.
var ErrHeld = errors.New("another run holds the lock")

// Config is what does not change while the daemon runs.
type Config struct {
	// Ledger returns the entries so far, oldest first, also those of other processes
	// and of the work after nights. It is called at most twice a minute and after each
	// night.
	Ledger func() ([]ledger.Run, error)
	// Progress returns how far the running night is; false: none runs. It is safe
	// for concurrent use.
	Progress func() (ledger.Progress, bool)
	// Report returns the path of the newest report, or "" if there is none.
	Report func() string
	// Explore answers /explore and below it; nil: there are no such pages.
	Explore http.Handler
	// Streams are the names of all streams, for metrics that exist from the start.
	Streams []string
	// Reload reads the configuration again. An error leaves the old one.
	Reload func() (Settings, error)
	// Hangups asks for a Reload with each signal; nil: never.
	Hangups <-chan os.Signal
	// Notify sends a state such as READY=1 to the service manager; nil: there is
	// none. Watchdog is how often it expects WATCHDOG=1; 0: never.
	Notify   func(state string) error
	Watchdog time.Duration
	// HeldRetry is how long a night waits before it tries again if another run
	// holds the lock. Defaults to 5 minutes.
	HeldRetry time.Duration
	// HookResults returns the number of webhook deliveries by result since the
	// start, with all results from the start; nil: there is no receiver.
	HookResults func() map[string]uint64
	// Version is shown on the status page and in the metrics.
	Version string
	// Metrics is the registry that the daemon fills and serves.
	Metrics *prometheus.Registry
	Now     func() time.Time
	Log     *slog.Logger
}

// Settings is what a Reload may change.
type Settings struct {
	Schedule Schedule
	// CatchUp starts one night at once if slots were missed while the daemon was
	// down.
	CatchUp bool
	// Night runs one night to its end. The run that it returns counts also with an
	// error. When ctx ends it finishes publishing, or it stops and the next night
	// resumes it.
	Night func(ctx context.Context) (ledger.Run, error)
	// Follow runs what follows a published night; nil: nothing does. The next night
	// does not wait for it. When ctx ends it stops, and the next night continues it.
	Follow func(ctx context.Context)
	// Follows are the kinds of that work, for what is shown of the ledger; nil: all that it
	// has.
	Follows []string
	// VerifySchedule is when Verify checks for damage; a zero Schedule: never.
	VerifySchedule Schedule
	Verify         func(ctx context.Context) Verified
	// Inspect looks at the warehouse; nil: nobody does. It is called every minute and
	// after whatever changes the warehouse, never twice at once.
	Inspect func(ctx context.Context) Inspection
	// AuthToken is required by all endpoints but /hooks and /healthz; "": by none.
	AuthToken string
	// Hooks answers POST /hooks; nil: there is no such endpoint.
	Hooks http.Handler
	// Hosts are the hosts that requests may name, for all endpoints.
	Hosts hosts.List
}

// Daemon is one process of placementsync serve.
type Daemon struct {
	cfg     Config
	set     atomic.Pointer[Settings]
	board   *board
	metrics *metrics
	server  *http.Server
}

// New returns a daemon that does nothing until Run.
func New(cfg Config, set Settings) *Daemon {
	cfg.HeldRetry = cmp.Or(cfg.HeldRetry, 5*time.Minute)
	if cfg.Notify == nil {
		cfg.Notify = func(string) error { return nil }
	}
	d := &Daemon{cfg: cfg, board: &board{now: cfg.Now, ledger: cfg.Ledger, missed: map[string]int{}, tally: newTally(cfg.Streams)}}
	d.board.log = cfg.Log
	d.board.follows = func() []string { return d.settings().Follows }
	d.set.Store(&set)
	d.metrics = newMetrics(cfg, d)
	d.server = NewServer(d.Handler(), cfg.Log)
	return d
}

// Run serves on l and starts nights until ctx ends; it closes l. Then it waits for a
// night that publishes and stops a night that reads. The server answers until the
// end, so that no webhook is lost meanwhile.
func (d *Daemon) Run(ctx context.Context, l net.Listener) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	broken := make(chan error, 1)
	go func() {
		err := d.server.Serve(l)
		stop(err)
		broken <- err
	}()
	d.board.readSnapshot() // what ends from here on is counted
	d.notifyManager("READY=1")
	d.cfg.Log.Info("serving", "address", l.Addr().String(), "schedule", d.settings().Schedule.String())
	d.runNights(inner)
	d.notifyManager("STOPPING=1")
	err := StopServer(d.server, 10*time.Second)
	if served := <-broken; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", served))
	}
	return err
}

func (d *Daemon) settings() *Settings { return d.set.Load() }

// notifyManager sends a state to the service manager. A failure is no reason to stop.
func (d *Daemon) notifyManager(state string) {
	if err := d.cfg.Notify(state); err != nil {
		d.cfg.Log.Warn("service manager not notified", "state", state, "error", err)
	}
}

// reloadSettings applies new settings, or keeps the old ones if they are bad.
func (d *Daemon) reloadSettings() {
	set, err := d.cfg.Reload()
	if err != nil {
		d.metrics.reloads.WithLabelValues("refused").Inc()
		d.metrics.reloaded.Set(0)
		d.cfg.Log.Error("configuration refused, the old one stays", "error", err)
		return
	}
	d.set.Store(&set)
	d.metrics.reloads.WithLabelValues("applied").Inc()
	d.metrics.reloaded.Set(1)
	d.cfg.Log.Info("configuration reloaded", "schedule", set.Schedule.String())
}
