// Package daemon starts the nightly runs, called nights, at the times of a schedule, called slots.
// It reports on them in a status page, metrics and health checks. Reading order: Run in this file,
// then nights.go, state.go and server.go.
//
// Metrics are read from the ledger, and from the warehouse once a minute. So they survive a restart and include
// the runs of other processes, and a scrape does not wait for a slow disk. If a read hangs, the last values
// expire after a quarter of an hour.
//
// The package must not know how a night works, nor the format of the configuration. It
// runs nights and reads the configuration through interfaces.
package daemon

import (
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
	"github.com/prometheus/client_golang/prometheus/collectors"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
)

// Config contains the options that cannot change while the daemon runs.
type Config struct {
	Program    Program
	ReportFile string // path of the newest report, which need not exist
	// Explore serves /explore and all paths below it, Held serves /held, and Hooks serves /hooks without AuthToken. The
	// paths of a nil handler do not exist.
	Explore, Held, Hooks http.Handler
	// Streams are the names of all streams, so that their metrics exist from the start.
	Streams []string
	Hangups <-chan os.Signal // a signal for each requested Reload
	// Notify sends a message such as READY=1 to the service manager. Nil means that there is
	// no service manager.
	Notify   func(message string) error
	Watchdog time.Duration // the interval in which the service manager expects WATCHDOG=1, or zero
	Version  string
	Metrics  *prometheus.Registry // filled and served by the daemon
	Now      func() time.Time
	Log      *slog.Logger
}

// Program is the part of the command "serve" that the daemon calls. Its methods are called from
// several goroutines.
type Program interface {
	// Runs returns all runs in the ledger, oldest first, including runs of other processes and
	// follow-ups.
	Runs() ([]ledger.Run, error)
	// Progress returns the progress of the running night, or false if no night runs.
	Progress() (ledger.Progress, bool)
	// HookResults returns webhook.Receiver.Counts.
	HookResults() map[string]uint64
	// Reload reads the configuration again.
	Reload() (Settings, error)
}

// Settings are the options that a Reload can change.
type Settings struct {
	Schedule Schedule
	// CatchUp starts one night at the start of the daemon if a slot has passed since the last published
	// night. It also does so if the last night was interrupted or killed.
	CatchUp bool
	// Retries are the pauses before a failed night is started again, as long as the next slot is later.
	Retries []time.Duration
	Jobs    Jobs
	// FollowUpKinds are the kinds of the configured follow-ups. Other follow-ups are not shown.
	FollowUpKinds  []string
	VerifySchedule Schedule // the zero Schedule means never
	// AuthToken is required by all endpoints but /hooks and /healthz. Empty means that no
	// endpoint requires a token.
	AuthToken    string
	HooksEnabled bool     // shown on the status page
	Hosts        HostList // for all endpoints
}

// Jobs is the work of the daemon. Two calls of the same method never overlap.
type Jobs interface {
	// Night runs one night. The returned run is valid even with an error. After ctx ends, a
	// night that is publishing finishes. A night that is reading stops, and the next night
	// resumes it. A *warehouse.LockedError means that the night did not start.
	//
	// After a failure that another attempt can overcome, Night calls willRetry. If willRetry returns true, the
	// daemon starts the night again, so this failure needs no alert.
	Night(ctx context.Context, willRetry func() bool) (ledger.Run, error)
	// FollowUp runs the follow-ups of a published night, such as a backup. The next night does
	// not wait for them. When ctx ends, they stop. The call after the next night continues them.
	FollowUp(ctx context.Context)
	// Verify checks every byte of the warehouse and records the result. It returns only a
	// *warehouse.LockedError or the error of ctx. Other errors are part of the result.
	Verify(ctx context.Context) (repair.VerifyRecord, error)
	Inspect(ctx context.Context) Inspection
}

// Daemon runs the schedule and the HTTP server.
type Daemon struct {
	cfg             Config
	currentSettings atomic.Pointer[Settings]
	state           *state
	server          *http.Server
}

// New returns a daemon that does nothing until Run is called.
func New(cfg Config, settings Settings) *Daemon {
	if cfg.Notify == nil {
		cfg.Notify = func(string) error { return nil }
	}
	d := &Daemon{cfg: cfg}
	d.currentSettings.Store(&settings)
	d.state = &state{d: d, status: status{Missed: map[string]int{}, counts: newCounts(cfg.Streams)}}
	cfg.Metrics.MustRegister(newCollector(d), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.server = NewServer(d.Handler(), cfg.Log)
	return d
}

// Run serves on l and starts nights until ctx ends. It closes l. Before it returns, it
// waits for a night that is publishing and stops a night that is reading. Meanwhile the
// server still accepts webhooks.
func (d *Daemon) Run(ctx context.Context, l net.Listener) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	served := make(chan error, 1)
	go func() {
		err := d.server.Serve(l)
		stop(err)
		served <- err
	}()
	d.notifyManager("READY=1")
	d.cfg.Log.Info("serving", "address", l.Addr().String(), "schedule", d.settings().Schedule.String())
	d.runNights(inner)
	d.notifyManager("STOPPING=1")
	err := StopServer(d.server, 10*time.Second)
	if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve: %w", serveErr))
	}
	return err
}

func (d *Daemon) settings() *Settings { return d.currentSettings.Load() }

func (d *Daemon) notifyManager(message string) {
	if err := d.cfg.Notify(message); err != nil {
		d.cfg.Log.Warn("service manager not notified", "state", message, "error", err)
	}
}

func (d *Daemon) reloadSettings() {
	settings, err := d.cfg.Program.Reload()
	result := "applied"
	if err != nil {
		result = "refused"
	}
	d.state.update(func(st *state) {
		st.LastReloadRefused = err != nil
		st.counts.add(reloadsTotal, result, 1)
	})
	if err != nil {
		d.cfg.Log.Error("configuration not applied; the old settings remain in use", "error", err)
		return
	}
	d.currentSettings.Store(&settings)
	d.cfg.Log.Info("configuration reloaded", "schedule", settings.Schedule.String())
}

// Notifier returns a function that sends messages to the service manager, see sd_notify(3). It returns nil if
// socket is empty.
func Notifier(socket string) func(message string) error {
	if socket == "" {
		return nil
	}
	return func(message string) error {
		conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			return fmt.Errorf("reach the service manager: %w", err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(message)); err != nil {
			return fmt.Errorf("notify the service manager: %w", err)
		}
		return nil
	}
}
