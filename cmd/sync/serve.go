package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/durable"
	"placementsync/internal/fetch"
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
		Long: "Run nights by the schedule of the configuration, one at a time, until serve is stopped.\n\n" +
			"SIGTERM or an interrupt stops serve gracefully: a night that is publishing finishes first; a\n" +
			"night that is reading stops, and the next night resumes it. A second signal ends serve at once.\n" +
			"SIGHUP reads the configuration again. If the configuration has errors, the old settings remain\n" +
			"in use.",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("probe") {
				return probeDaemon(cmd.Context(), g, probe)
			}
			return runServe(cmd.Context(), g)
		},
	}
	cmd.Flags().StringVar(&probe, "probe", "", "probe the running daemon of this configuration for `health|ready` (/healthz or /readyz), and end with 0 or 1")
	completeFlag(cmd, "probe", cobra.FixedCompletions([]cobra.Completion{daemon.ProbeHealth, daemon.ProbeReady}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// serveProgram is the command "serve". It implements daemon.Program.
type serveProgram struct {
	g *globals
	// startConfig is the configuration at the start. Some of its keys cannot change later.
	startConfig config.Config
	wh          *warehouse.Warehouse
	log         *slog.Logger
	tracker     pipeline.ProgressTracker
	hooks       *hooks
}

var _ daemon.Program = (*serveProgram)(nil)

func newServeProgram(g *globals, cfg config.Config) (s *serveProgram, err error) {
	s = &serveProgram{g: g, startConfig: cfg, wh: g.newWarehouse(cfg), log: g.newLogger()}
	s.hooks, err = newHooks(s.wh, s.log, g.Now)
	return s, err
}

func runServe(ctx context.Context, g *globals) error {
	cfg, err := g.loadConfig()
	if err == nil {
		err = durable.CheckTemp() // reports and pages run queries
	}
	if err != nil {
		return err
	}
	s, err := newServeProgram(g, cfg)
	if err != nil {
		return err
	}
	settings, err := s.newSettings(cfg)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cfg.Serve.Listen)
	if err != nil {
		return fmt.Errorf("serve on %s (serve.listen): %w", cfg.Serve.Listen, err)
	}
	defer listener.Close() // for errors before the daemon owns the listener
	stopProgress := callEvery(g.progressInterval(false), func() { logProgress(s.log, &s.tracker) })
	defer stopProgress()
	stopWaits := logWaits(s.log, &s.tracker)
	defer stopWaits()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if g.removeStopTimeLimit != nil {
		g.removeStopTimeLimit()
	}
	pages, err := newExplorer(g, cfg, exploreWarehouse{wh: s.wh, config: func() config.Config { return s.hooks.current.Load().cfg }})
	if err != nil {
		return err
	}
	defer pages.Close()
	// systemd sets these variables if it expects messages.
	socket, _ := g.LookupEnv("NOTIFY_SOCKET")
	watchdog, _ := g.LookupEnv("WATCHDOG_USEC")
	microseconds, _ := strconv.ParseInt(watchdog, 10, 64) // 0 means no watchdog
	d := daemon.New(daemon.Config{
		Program: s, ReportFile: reportFile(cfg.Warehouse.Dir), Explore: pages.Handler(), Hooks: s.hooks.receiver,
		Held:    &daemon.HeldPage{Warehouse: s.wh, MemoryLimit: cfg.Warehouse.MemoryLimit, Threads: cfg.Warehouse.Threads, Log: s.log},
		Streams: stream.Names(stream.AllWithEvents()), Hangups: hangups,
		Notify: daemon.Notifier(socket), Watchdog: time.Duration(microseconds) * time.Microsecond, Version: version, Metrics: prometheus.NewRegistry(), Now: g.Now, Log: s.log,
	}, settings)
	err = s.hooks.runAround(ctx, func(ctx context.Context) error { return d.Run(ctx, listener) })
	if err == nil {
		s.log.Info("stopped", "reason", context.Cause(ctx))
	}
	return err
}

// newSettings returns the settings of the daemon that can change while "serve" runs. It applies the
// settings of webhooks itself, last, so that an error changes no setting.
func (s *serveProgram) newSettings(cfg config.Config) (daemon.Settings, error) {
	zone, err := time.LoadLocation(cfg.Schedule.Timezone)
	if err != nil {
		return daemon.Settings{}, fmt.Errorf("read schedule.timezone: %w", err)
	}
	schedule, err := daemon.NewSchedule(cfg.Schedule.Cron, zone)
	if err != nil {
		return daemon.Settings{}, err
	}
	var verifySchedule daemon.Schedule
	if cfg.Verify.Cron != "" {
		if verifySchedule, err = daemon.NewSchedule(cfg.Verify.Cron, zone); err != nil {
			return daemon.Settings{}, err
		}
	}
	night, err := s.g.nightConfig(cfg)
	if err != nil {
		return daemon.Settings{}, err
	}
	night.Fetch.Allowance = fetch.NewAllowance(night.Fetch.RequestsPerSecond, night.Fetch.Burst)
	night.Log, night.FinishCommit = s.log, true
	night.Progress = &s.tracker
	j := s.newJobs(cfg, night)
	if err := s.hooks.apply(j); err != nil {
		return daemon.Settings{}, err
	}
	var followUpKinds []string
	if len(cfg.Watch) > 0 {
		followUpKinds = append(followUpKinds, ledger.Watch)
	}
	if cfg.Lake.Catalog != "" {
		followUpKinds = append(followUpKinds, ledger.Lake)
	}
	if cfg.Backup != "" {
		followUpKinds = append(followUpKinds, ledger.Backup, ledger.Rehearsal)
	}
	return daemon.Settings{
		Jobs: j, Schedule: schedule, VerifySchedule: verifySchedule, CatchUp: cfg.Schedule.CatchUp, Retries: cfg.Schedule.Retries, FollowUpKinds: followUpKinds,
		AuthToken: cfg.Serve.AuthToken.Reveal(), Hosts: daemon.NewHostList(cfg.Serve.Listen, cfg.Serve.Hosts), HooksEnabled: len(cfg.Serve.WebhookSecrets) > 0,
	}, nil
}

func reportFile(dir string) string { return filepath.Join(dir, "report.html") }

func (s *serveProgram) Runs() ([]ledger.Run, error) { return readLedger(s.wh) }

func (s *serveProgram) Progress() (ledger.Progress, bool) { return s.tracker.Progress() }

func (s *serveProgram) HookResults() map[string]uint64 { return s.hooks.receiver.Counts() }

// Reload keeps the values of keys that cannot change.
func (s *serveProgram) Reload() (daemon.Settings, error) {
	cfg, err := s.g.loadConfig()
	if err != nil {
		return daemon.Settings{}, err
	}
	inUse := s.startConfig
	warnIfChanged := func(key string, inUse, configured any) {
		if inUse != configured {
			s.log.Warn("changed setting needs a restart", "setting", key, "in_use", inUse, "configured", configured)
		}
	}
	warnIfChanged("warehouse.dir", inUse.Warehouse.Dir, cfg.Warehouse.Dir)
	warnIfChanged("serve.listen", inUse.Serve.Listen, cfg.Serve.Listen)
	warnIfChanged("serve.sql", inUse.Serve.SQL, cfg.Serve.SQL)
	cfg.Warehouse.Dir, cfg.Serve.Listen = inUse.Warehouse.Dir, inUse.Serve.Listen
	// The address in use may be public. It then needs a token, which the new configuration may lack.
	if err := cfg.Validate(); err != nil {
		return daemon.Settings{}, err
	}
	return s.newSettings(cfg)
}

// probeDaemon is the health check of containers, because the image contains no other program.
func probeDaemon(ctx context.Context, g *globals, kind string) error {
	if known := []string{daemon.ProbeHealth, daemon.ProbeReady}; !slices.Contains(known, kind) {
		return cli.UsageErr("--probe is %q: use health or ready", kind)
	}
	listen, token, err := findDaemon(g, kind)
	if err != nil {
		return err
	}
	response, err := daemon.Probe(ctx, listen, kind, token)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(g.stdout, response)
	return err
}

// findDaemon returns a token only for a probe that needs one. A probe of health needs only serve.listen and
// ignores errors in other keys, because the daemon may be healthy with an earlier configuration.
func findDaemon(g *globals, kind string) (listen, token string, err error) {
	cfg, err := g.loadConfig("serve")
	if kind == daemon.ProbeReady {
		return cfg.Serve.Listen, cfg.Serve.AuthToken.Reveal(), err
	}
	if invalid, ok := errors.AsType[*config.Error](err); ok {
		for _, p := range invalid.Problems {
			if slices.Contains([]string{"", "serve", "serve.listen"}, p.Path) {
				return "", "", fmt.Errorf("find the address of the daemon: %s", invalid.Error())
			}
		}
		err = nil
	}
	return cfg.Serve.Listen, "", err
}
