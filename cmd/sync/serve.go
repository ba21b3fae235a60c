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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/durable"
	"placementsync/internal/fetch"
	"placementsync/internal/hosts"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

func serveCommand(g *globals) *cobra.Command {
	var probe string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run nights by the schedule, with status page, metrics and health",
		Long: "Run nights by the schedule of the configuration, one at a time, until it is stopped.\n\n" +
			"SIGTERM or an interrupt stops it in order: a night that is publishing finishes first; a\n" +
			"night that is still reading stops, and the next one resumes it. A second signal ends it at\n" +
			"once. SIGHUP reads the configuration again; if it has errors, the old one stays in force.",
		Args: cobra.NoArgs,
		RunE: command.MarkWork(func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("probe") {
				return probeDaemon(cmd.Context(), g, probe)
			}
			return runServe(cmd.Context(), g)
		}),
	}
	cmd.Flags().StringVar(&probe, "probe", "", "ask the daemon that runs with this configuration for its `health|ready` (what /healthz and /readyz say), and end with 0 or 1")
	completeFlag(cmd, "probe", cobra.FixedCompletions([]cobra.Completion{daemon.ProbeHealth, daemon.ProbeReady}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// service is what serve needs from start to end.
type service struct {
	g     *globals
	first config.Config // some of it cannot change while it runs
	log   *slog.Logger
	watch pipeline.Watch
	hooks *hooks
	// queries is queries.dir of the configuration in force.
	queries atomic.Pointer[string]
}

func runServe(ctx context.Context, g *globals) error {
	cfg, err := g.loadConfig()
	if err == nil {
		err = durable.CheckTemp() // the report of a night and the pages query it
	}
	if err != nil {
		return err
	}
	s := &service{g: g, first: cfg, log: g.newLogger()}
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err != nil {
		return err
	}
	if s.hooks, err = s.newHooks(wh); err != nil {
		return err
	}
	set, err := s.newSettings(cfg)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Serve.Listen)
	if err != nil {
		return fmt.Errorf("serve on %s (serve.listen): %w", cfg.Serve.Listen, err)
	}
	defer listener.Close() // when an error comes before the daemon takes it
	defer callEvery(g.progressPause(), func() { logProgress(s.log, &s.watch) })()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if g.patient != nil {
		g.patient()
	}
	pages, err := newExplorer(g, cfg, published{wh, &s.queries})
	if err != nil {
		return err
	}
	defer pages.Close()
	dc := s.daemonConfig(wh, hangups)
	dc.Explore = pages.Handler()
	d := daemon.New(dc, set)
	err = s.hooks.runAround(ctx, func(ctx context.Context) error { return d.Run(ctx, listener) })
	if err == nil {
		s.log.Info("stopped", "reason", context.Cause(ctx))
	}
	return err
}

func (s *service) daemonConfig(wh *warehouse.Warehouse, hangups <-chan os.Signal) daemon.Config {
	socket, _ := s.g.lookupEnv("NOTIFY_SOCKET")
	// How often systemd expects a sign of life; 0: never.
	text, _ := s.g.lookupEnv("WATCHDOG_USEC")
	watchdog, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		watchdog = 0
	}
	return daemon.Config{
		Ledger:   readEntries(wh),
		Progress: s.watch.Progress,
		Report:   func() string { return reportFile(wh.Folder.Dir()) },
		Streams:  streamsOf(stream.AllWithEvents()), HookResults: s.hooks.receiver.Counts,
		Reload: s.reloadConfig, Hangups: hangups,
		Notify: daemon.Notifier(socket), Watchdog: time.Duration(watchdog) * time.Microsecond,
		Version: version, Metrics: prometheus.NewRegistry(), Now: s.g.now, Log: s.log,
	}
}

// newSettings maps what may change while serve runs.
func (s *service) newSettings(cfg config.Config) (daemon.Settings, error) {
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
	if err := s.hooks.applyConfig(cfg, night); err != nil {
		return daemon.Settings{}, err
	}
	night.Watch = &s.watch
	var verifying daemon.Schedule
	if cfg.Verify.Cron != "" {
		if verifying, err = daemon.NewSchedule(cfg.Verify.Cron, zone); err != nil {
			return daemon.Settings{}, err
		}
	}
	s.queries.Store(&cfg.Queries.Dir)
	inspect, err := s.newInspector(cfg)
	if err != nil {
		return daemon.Settings{}, err
	}
	return daemon.Settings{
		Inspect: inspect, VerifySchedule: verifying, Verify: func(ctx context.Context) daemon.Verified { return s.verifyInTurn(ctx, cfg, night) },
		Schedule: schedule, CatchUp: cfg.Schedule.CatchUp, AuthToken: cfg.Serve.AuthToken.Reveal(),
		Hosts: hosts.New(cfg.Serve.Listen, cfg.Serve.Hosts),
		Hooks: s.hooks.httpHandler(cfg), Follow: s.followOfNight(cfg), Follows: followKinds(cfg),
		Night: func(ctx context.Context) (ledger.Run, error) {
			var res pipeline.Result
			err := s.hooks.inTurn(ctx, func() (err error) {
				if err = s.hooks.requireWarehouse(); err != nil {
					notifyOfNight(ctx, cfg, night, res.Run, s.g.now(), err)
					return err
				}
				if res, err = s.g.runAndNotify(ctx, cfg, night); err == nil {
					s.pruneNow(cfg) // a refresh would hold the lock
				}
				return err
			})
			if err == nil {
				s.writeReport(ctx, cfg)
			}
			return s.endNight(res, err)
		},
	}, nil
}

// pruneNow applies the retention after a night. Only serve can: its user may exist
// only while it runs.
func (s *service) pruneNow(cfg config.Config) {
	gone, err := s.g.pruneAfterNight(cfg, s.g.now())
	if err != nil {
		s.log.Warn("prune failed, the next night tries again", "error", err)
		return
	}
	var bytes int64
	for _, p := range gone {
		bytes += p.Bytes
	}
	s.log.Debug("pruned", "removed", len(gone), "bytes", bytes)
}

// writeReport makes the page that /report serves, unless serve is about to end.
func (s *service) writeReport(ctx context.Context, cfg config.Config) {
	quietly := *s.g
	quietly.stdout = io.Discard
	file := reportFile(cfg.Warehouse.Dir)
	err := runReport(ctx, &quietly, file, "/explore/questions/")
	if mode := cfg.Warehouse.Mode(); err == nil && mode != 0 {
		err = os.Chmod(file, mode)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.log.Warn("report not written, the last report stays", "error", err)
	default:
		s.log.Debug("report written")
	}
}

// reportFile is the path of the report of the newest night.
func reportFile(dir string) string { return filepath.Join(dir, "report.html") }

// endNight returns how a night ended as the daemon shows and logs it.
func (s *service) endNight(res pipeline.Result, err error) (ledger.Run, error) {
	night := res.Run
	switch {
	case night.Outcome != "":
	case errors.Is(err, context.Canceled): // told to stop before its turn came
		night.Outcome = ledger.Interrupted
	default:
		night.Outcome = ledger.Failed
	}
	if held, ok := errors.AsType[*warehouse.HeldError](err); ok {
		return night, fmt.Errorf("%w: %w", daemon.ErrHeld, held)
	}
	if err != nil {
		night.Error = err.Error()
	}
	return night, err
}

// reloadConfig reads the configuration again. Keys that cannot change keep their
// values.
func (s *service) reloadConfig() (daemon.Settings, error) {
	cfg, err := s.g.loadConfig()
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
			s.log.Warn("setting changes only after a restart", "setting", fixed.key, "in_use", *fixed.old, "configured", *fixed.want)
			*fixed.want = *fixed.old
		}
	}
	// The address may be an open one that stays, with a token that is gone.
	if err := cfg.Validate(); err != nil {
		return daemon.Settings{}, err
	}
	return s.newSettings(cfg)
}

// followKinds are the kinds of work after nights that the configuration asks for.
func followKinds(cfg config.Config) []string {
	kinds := []string{}
	for kind, isSet := range map[string]bool{ledger.Watch: len(cfg.Watch) > 0, ledger.Lake: cfg.Lake.Catalog != "", ledger.Backup: cfg.Backup != ""} {
		if isSet {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func streamsOf(all []stream.Stream) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}
