package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

func serveCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run nights by the schedule, with status page, metrics and health",
		Long: "Run nights by the schedule of the configuration, one at a time, until told to stop.\n\n" +
			"SIGTERM or an interrupt stops it in order: a night that commits is finished, one that\n" +
			"still reads is left to be resumed; the second signal ends it at once. SIGHUP reads the\n" +
			"configuration again; a bad one is refused, and the old one stays.",
		Args: cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), g) }),
	}
}

// service is what serve needs from start to end.
type service struct {
	g     *globals
	first config.Config // some of it cannot change while it runs
	log   *slog.Logger
	watch pipeline.Watch
	hooks *hooks
}

func serve(ctx context.Context, g *globals) error {
	cfg, err := g.load()
	if err != nil {
		return err
	}
	s := &service{g: g, first: cfg, log: g.logger()}
	wh, err := warehouse.Open(warehouseConfig(cfg))
	if err != nil {
		return err
	}
	if s.hooks, err = s.newHooks(wh); err != nil {
		return err
	}
	set, err := s.settings(cfg)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Serve.Listen)
	if err != nil {
		return fmt.Errorf("serve on %s (serve.listen): %w", cfg.Serve.Listen, err)
	}
	defer listener.Close() // of a serve that does not come to use it
	defer every(logsEvery, func() { logProgress(s.log, &s.watch) })()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if g.patient != nil {
		g.patient()
	}
	d := daemon.New(s.daemon(wh, hangups), set)
	err = s.hooks.around(ctx, func(ctx context.Context) error { return d.Run(ctx, listener) })
	if err == nil {
		s.log.Info("stopped", "reason", context.Cause(ctx))
	}
	return err
}

func (s *service) daemon(wh *warehouse.Warehouse, hangups <-chan os.Signal) daemon.Config {
	socket, _ := s.g.lookupEnv("NOTIFY_SOCKET")
	return daemon.Config{
		Ledger:   wh.Runs,
		Progress: s.watch.Progress,
		Report:   func() string { return reportFile(wh.Dir()) },
		Verified: func() (daemon.Verified, bool) { return lastVerified(wh) },
		Streams:  streamsOf(stream.Known()), HookResults: s.hooks.receiver.Counts,
		Reload: s.reload, Hangups: hangups,
		Notify: daemon.Notifier(socket), Watchdog: s.watchdog(),
		Version: version, Metrics: prometheus.NewRegistry(), Now: s.g.now, Log: s.log,
	}
}

// settings maps what may change while serve runs.
func (s *service) settings(cfg config.Config) (daemon.Settings, error) {
	zone, err := time.LoadLocation(cfg.Schedule.Timezone)
	if err != nil {
		return daemon.Settings{}, fmt.Errorf("read schedule.timezone: %w", err)
	}
	schedule, err := daemon.NewSchedule(cfg.Schedule.Cron, zone)
	if err != nil {
		return daemon.Settings{}, err
	}
	night, err := s.g.nightConfig(cfg)
	if err != nil {
		return daemon.Settings{}, err
	}
	night.Fetch.Allowance = fetch.NewAllowance(night.Fetch.RequestsPerSecond, night.Fetch.Burst)
	night.Log, night.FinishCommit = s.log, true
	if err := s.hooks.use(cfg, night); err != nil {
		return daemon.Settings{}, err
	}
	night.Watch = &s.watch
	var verifying daemon.Schedule
	if cfg.Verify.Cron != "" {
		if verifying, err = daemon.NewSchedule(cfg.Verify.Cron, zone); err != nil {
			return daemon.Settings{}, err
		}
	}
	return daemon.Settings{
		VerifySchedule: verifying, Verify: func(ctx context.Context) daemon.Verified { return s.verify(ctx, cfg, night) },
		Schedule: schedule, CatchUp: cfg.Schedule.CatchUp, AuthToken: cfg.Serve.AuthToken.Reveal(),
		Hooks: s.hooks.handler(cfg),
		Night: func(ctx context.Context) (ledger.Run, error) {
			var res pipeline.Result
			err := s.hooks.inTurn(ctx, func() (err error) {
				if res, err = s.g.nightly(ctx, cfg, night); err == nil {
					s.prune(cfg) // a refresh would hold the lock
				}
				return err
			})
			if err == nil {
				s.report(ctx, cfg)
			}
			return s.ended(res, err)
		},
	}, nil
}

// prune applies the retention after a night, since nobody else would: the folder
// may belong to a user who exists as long as serve runs.
func (s *service) prune(cfg config.Config) {
	var gone []warehouse.Pruned
	err := s.g.lockedFor(cfg, "prune", func(wh *warehouse.Warehouse) (err error) {
		gone, err = wh.Prune(retention(cfg), s.g.now(), false)
		return err
	})
	if err != nil {
		s.log.Warn("not pruned, the next night tries again", "error", err)
		return
	}
	var bytes int64
	for _, p := range gone {
		bytes += p.Bytes
	}
	s.log.Info("pruned", "removed", len(gone), "bytes", bytes)
}

// report makes the page that /report serves, unless serve is about to end.
func (s *service) report(ctx context.Context, cfg config.Config) {
	quietly := *s.g
	quietly.stdout = io.Discard
	file := reportFile(cfg.Warehouse.Dir)
	err := runReport(ctx, &quietly, file)
	if mode := cfg.Warehouse.Mode(); err == nil && mode != 0 {
		err = os.Chmod(file, mode)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.log.Warn("report not written, the last one stays", "error", err)
	default:
		s.log.Info("report written")
	}
}

// reportFile is where the report of the newest night lies.
func reportFile(dir string) string { return filepath.Join(dir, "report.html") }

// ended hands a night to the daemon, which only needs to know whether it began.
func (s *service) ended(res pipeline.Result, err error) (ledger.Run, error) {
	night := res.Run
	switch {
	case night.Outcome != "":
	case errors.Is(err, context.Canceled): // told to stop before its turn came
		night.Outcome = ledger.Interrupted
	default:
		night.Outcome = ledger.Failed
	}
	held, ok := errors.AsType[*warehouse.HeldError](err)
	switch {
	case ok:
		return night, fmt.Errorf("%w: %w", daemon.ErrHeld, held)
	case err == nil:
	case night.Outcome == ledger.Interrupted:
		s.log.Info("night interrupted, the next one takes it up", "run", night.ID, "error", err)
	default:
		s.log.Error("night failed", "run", night.ID, "outcome", night.Outcome, "error", err)
	}
	return night, err
}

// reload reads the configuration again and keeps what cannot change.
func (s *service) reload() (daemon.Settings, error) {
	cfg, err := s.g.load()
	if err != nil {
		return daemon.Settings{}, err
	}
	for _, fixed := range []struct {
		key       string
		old, want *string
	}{
		{"warehouse.dir", &s.first.Warehouse.Dir, &cfg.Warehouse.Dir},
		{"serve.listen", &s.first.Serve.Listen, &cfg.Serve.Listen},
	} {
		if *fixed.old != *fixed.want {
			s.log.Warn("not changed before a restart", "key", fixed.key, "stays", *fixed.old, "asked", *fixed.want)
			*fixed.want = *fixed.old
		}
	}
	// The address may be an open one that stays, with a token that is gone.
	if err := cfg.Validate(); err != nil {
		return daemon.Settings{}, err
	}
	return s.settings(cfg)
}

// watchdog is how often the service manager wants to hear of us.
func (s *service) watchdog() time.Duration {
	text, _ := s.g.lookupEnv("WATCHDOG_USEC")
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(micros) * time.Microsecond
}

func streamsOf(all []stream.Stream) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}
