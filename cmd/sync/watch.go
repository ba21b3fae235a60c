package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/query"
	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
)

func watchCommand(g *globals) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cfg, err := g.silent().loadConfig("watch", "notify")
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return propose(watchNames(cfg.Watch), typed)
		},
		Use:   "watch [NAME ...]",
		Short: "Run the watches of the configuration, and send new findings",
		Long: "Run the queries of the watches on the newest snapshot. Send new findings, and messages that could\n" +
			"not be sent before. The commands \"run\" and \"serve\" run all watches after each night. A finding is\n" +
			"sent once; a finding that ended and returns is new again. NAME selects watches.\n\n" +
			"--dry-run shows the messages. It sends and records nothing.\n\n" +
			cli.Meanings{Complete: "complete: all new findings were sent", Failed: "failed, no watch ran",
				Partial: "a watch failed, or a message could not be sent and was kept", Locked: "another process runs the watches"}.Table(),
		RunE: func(cmd *cobra.Command, args []string) error { return runWatch(cmd.Context(), g, args, dryRun) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the messages; send and record nothing")
	return cmd
}

func runWatch(ctx context.Context, g *globals, names []string, dryRun bool) error {
	cfg, err := g.loadConfig("watch", "notify", "queries", "warehouse", "retention", "statuses")
	if err == nil {
		cfg.Watch, err = chosenWatches(cfg.Watch, names, g.Config)
	}
	if err != nil {
		return err
	}
	entry, results, err := g.runConfiguredWatches(ctx, cfg, dryRun)
	showWatches(g.stdout, cfg.Watch, results, dryRun)
	// The ledger does not record a call with NAME.
	if !dryRun && len(names) == 0 && !errors.As(err, new(*warehouse.LockedError)) {
		err = errors.Join(err, g.recordFollowUp(ctx, cfg, entry))
	}
	if len(results) > 0 && err != nil && ctx.Err() == nil {
		return cli.EndWith(ledger.Partial, err)
	}
	return err
}

func watchNames(watches []config.Watch) []string {
	names := make([]string, len(watches))
	for i, w := range watches {
		names[i] = w.Name
	}
	return names
}

func chosenWatches(all []config.Watch, names []string, file string) ([]config.Watch, error) {
	if len(all) == 0 {
		return nil, cli.UsageErr("no watch is configured: add the section \"watch\" to %s, as in config.example.yaml", file)
	}
	known := watchNames(all)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, cli.UsageErr("no watch is named %q: use one of %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(w config.Watch) bool { return len(names) > 0 && !slices.Contains(names, w.Name) }), nil
}

func (g *globals) runWatchesAfterNight(ctx context.Context, cfg config.Config) (ledger.Run, error) {
	entry, results, err := g.runConfiguredWatches(ctx, cfg, false)
	log := g.newLogger()
	for _, r := range results {
		if r.Err == nil {
			log.Info("watch has run", "watch", r.Watch, "found", r.Found, "new", r.New, "not_read", len(r.Unread), "not_judged", r.Skipped, "sent", len(r.Messages))
		}
	}
	return entry, err
}

func (g *globals) runConfiguredWatches(ctx context.Context, cfg config.Config, dryRun bool) (entry ledger.Run, results []watch.Result, err error) {
	entry = ledger.BeginFollowUp(ledger.Watch, version, g.Now())
	results, err = g.runWatches(ctx, cfg, newWatches(cfg.Watch), watch.Config{Send: g.newSender(cfg), DryRun: dryRun})
	entry = entry.EndFollowUp(ctx, g.Now(), err)
	if len(results) > 0 {
		entry.Version = results[0].Snapshot.Run
		if entry.Outcome == ledger.Failed {
			entry.Outcome, entry.ExitCode = ledger.Partial, ledger.Partial.ExitCode()
		}
	}
	return entry, results, err
}

// watchTimeout limits the time of all watches, so that a slow receiver does not block the other
// follow-ups.
const watchTimeout = 15 * time.Minute

// runWatches runs watches with the queries and the snapshot of a configuration. It sets the fields of c
// other than Send and DryRun. The error contains the errors of all watches. The results are empty only
// if no watch could run.
func (g *globals) runWatches(ctx context.Context, cfg config.Config, watches []watch.Watch, c watch.Config) (results []watch.Result, err error) {
	wh := g.newWarehouse(cfg)
	if err := checkPublished(wh); err != nil {
		return nil, err
	}
	unlock, err := wh.Folder.LockJob(ledger.Watch)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	c.Queries, err = query.Load(cfg.Queries.Dir)
	if errors.As(err, new(*query.FilesError)) {
		g.newLogger().Warn("user-defined queries not loaded", "error", err)
	} else if err != nil {
		return nil, err
	}
	db, err := query.Open(ctx, wh.Folder.CatalogPath(), query.Options{
		MemoryLimit: cfg.Warehouse.MemoryLimit, Threads: cfg.Warehouse.Threads, Settings: cfg.QuerySettings(),
	})
	if err != nil {
		return nil, wh.ExplainErr(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	limitedCtx, stop := context.WithTimeoutCause(ctx, watchTimeout, fmt.Errorf("the watches were stopped after %s: the remaining watches run after the next night", watchTimeout))
	defer stop()
	c.Catalog, c.Folder, c.Program, c.Now = db, wh.Folder, version, g.Now
	results, err = watch.Run(limitedCtx, c, watches)
	problems := []error{err}
	for _, r := range results {
		problems = append(problems, r.Err)
	}
	return results, errors.Join(problems...)
}

func newWatches(all []config.Watch) (watches []watch.Watch) {
	for _, c := range all {
		w := watch.Watch{Name: c.Name, Query: c.Query, Params: c.Params, Key: c.Key, Show: c.Show, NewOnly: c.NewOnly, Advice: c.Advice, Channels: c.Send}
		if column, over, number := c.Condition(); column != "" {
			bound, _ := new(big.Rat).SetString(number) // Condition returns a decimal number
			w.When = watch.Condition{Column: column, Over: over, Bound: bound}
		}
		watches = append(watches, w)
	}
	return watches
}

func (g *globals) newSender(cfg config.Config) func(ctx context.Context, channel string, m watch.Message) error {
	notifier := cli.NewNotifier(cfg.Notify, version, g.newLogger())
	return func(ctx context.Context, channel string, m watch.Message) error {
		i := slices.IndexFunc(cfg.Notify.Channels, func(c config.Channel) bool { return c.Name == channel })
		c := cfg.Notify.Channels[i] // Validate checks that the channel exists
		password, err := c.SMTP.ReadPassword()
		if err != nil {
			return err
		}
		to := notify.Channel{Kind: c.Type, URL: c.URL.Reveal(), Mail: notify.Mail{
			Host: c.SMTP.Host, Port: c.SMTP.Port, TLS: c.SMTP.TLS, User: c.SMTP.User.Reveal(), Password: password.Reveal(), From: c.From, To: c.To,
		}}
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		err = notifier.Deliver(ctx, to, notify.Message{ID: m.ID, Subject: m.Subject, Text: m.Text, Body: body})
		if errors.As(err, new(*notify.RefusedError)) {
			return fmt.Errorf("%w: %w", watch.ErrRefused, err)
		}
		return err
	}
}

func showWatches(w io.Writer, watches []config.Watch, results []watch.Result, dryRun bool) {
	for i, r := range results {
		fmt.Fprintf(w, "%s: %s\n", r.Watch, query.EscapeLines(describeResult(r)))
		if r.NotProven != "" {
			fmt.Fprintf(w, "  possibly incomplete: %s\n", query.EscapeLines(r.NotProven))
		}
		if r.Skipped > 0 {
			fmt.Fprintf(w, "  skipped: %s without a number in the column of the condition\n", humanize.Count(r.Skipped, "row"))
		}
		for _, m := range r.Messages {
			action := "sent"
			if dryRun {
				action = "would send to " + strings.Join(watches[i].Send, ", ")
			}
			fmt.Fprintf(w, "  %s:\n    %s\n", action, strings.ReplaceAll(query.EscapeLines(m.Text), "\n", "\n    "))
		}
	}
}

func describeResult(r watch.Result) string {
	text := fmt.Sprintf("%d new, %d in all in %s", r.New, r.Found, r.Snapshot.Run)
	switch {
	case len(r.Unread) > 0:
		text = "not checked, because tables were not read: " + strings.Join(r.Unread, "; ")
	case r.WasEvaluated:
		text = r.Snapshot.Run + " was already checked"
	case r.Err != nil && r.Pending == 0:
		text = "failed"
	}
	if r.Pending > 0 {
		text += fmt.Sprintf("; waiting to be sent: %d", r.Pending)
	}
	return text
}

// warningsName is the name of the watch that finds warnings. Names in the configuration cannot
// begin with an underscore.
const warningsName = "_checks"

// warningsSQL omits failed checks of severity "hold": an operator accepted them to publish the night.
func warningsSQL() string {
	return string(sqltext.Fill(`SELECT "check", run FROM ({failed}) WHERE severity = 'warn' OR outcome = 'not run'`,
		sqltext.Values{"failed": sqltext.SQL(query.FailedChecksSQL())}))
}

// sendWarnings sends an alert about checks that warn now and did not warn before. An alert that cannot
// be sent is kept for the next night.
func (g *globals) sendWarnings(ctx context.Context, cfg config.Config) error {
	if cfg.Notify.FailureURL.Reveal() == "" {
		return nil
	}
	runs, err := g.newWarehouse(cfg).RunLog.Runs()
	if err != nil {
		return err
	}
	sender := cli.NewNotifier(cfg.Notify, version, g.newLogger())
	send := func(ctx context.Context, _ string, m watch.Message) error {
		night := ledger.Find(runs, m.Run)
		a := notify.Alert{Event: notify.Warned, Run: m.Run, StartedAt: night.StartedAt, EndedAt: night.EndedAt, ExitCode: night.ExitCode, Program: version}
		for _, f := range m.Findings {
			runChecks := ledger.Find(runs, *f.Values["run"]).Checks
			if i := slices.IndexFunc(runChecks, func(c ledger.CheckResult) bool { return c.Name == *f.Values["check"] }); i >= 0 {
				a.Checks = append(a.Checks, runChecks[i])
			}
		}
		a.Error = ledger.DescribeChecks(a.Checks)
		if !sender.Alert(ctx, a) {
			return errors.New("the receiver of notify.failure_url did not accept the alert; the next night sends it again")
		}
		return nil
	}
	warnings := watch.Watch{Name: warningsName, Query: warningsSQL(), Key: []string{"check"}, NewOnly: true, Channels: []string{"notify.failure_url"}}
	_, err = g.runWatches(ctx, cfg, []watch.Watch{warnings}, watch.Config{Send: send})
	return err
}
