package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/warehouse"
)

func notifyOfNight(ctx context.Context, cfg config.Config, night pipeline.Config, r ledger.Run, now time.Time, err error) {
	sender := cli.NewNotifier(cfg.Notify, version, night.Log)
	// The result is sent even while the program is being stopped.
	ctx = context.WithoutCancel(ctx)
	if event := alertEvent(r, err); event != "" {
		runs, runsErr := readLedger(warehouse.New(night.Warehouse)) // optional details of the alert
		a := newAlert(event, r, err, runs, now)
		a.SnapshotUnknown = runsErr != nil
		sender.Alert(ctx, a)
	} else if r.Outcome == ledger.Complete {
		sender.Heartbeat(ctx)
	}
}

// isTransient returns false for a night that would fail in the same way until an operator acts.
func isTransient(r ledger.Run, err error) bool {
	isFailure := err != nil && alertEvent(r, err) == notify.Failed
	needsOperator := errors.Is(err, fetch.ErrAuth) || cli.OutcomeOf(context.Background(), err) == ledger.Misused
	return isFailure && !needsOperator
}

// alertEvent returns "" for a night that needs no alert.
func alertEvent(r ledger.Run, err error) string {
	switch {
	case errors.As(err, new(*warehouse.LockedError)) || r.Outcome == ledger.Interrupted:
		return ""
	case errors.As(err, new(*pipeline.HoldError)):
		return notify.Held
	case errors.As(err, new(*load.MassDeleteError)) || errors.As(err, new(*warehouse.VerifyError)):
		return notify.Gate
	case err != nil || r.Outcome == ledger.Failed:
		return notify.Failed
	case r.Outcome == ledger.Partial:
		return notify.Partial
	}
	return ""
}

func newAlert(event string, r ledger.Run, err error, runs []ledger.Run, now time.Time) notify.Alert {
	a := notify.Alert{Event: event, Run: r.ID, ExitCode: r.ExitCode, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Program: version,
		SnapshotAt: ledger.NewestSnapshotTime(runs)}
	if r.ID == "" { // the night could not start
		r.Outcome, r.StartedAt, a.StartedAt, a.EndedAt = ledger.Failed, now, now, now
	}
	a.Streak, a.Since = r.Streak(runs)
	if err != nil {
		a.Error = ledger.Summarize(err)
		a.ExitCode = cmp.Or(r.ExitCode, cli.OutcomeOf(context.Background(), err).ExitCode())
	}
	if hold, ok := errors.AsType[*pipeline.HoldError](err); ok {
		a.Error, a.Checks = ledger.DescribeChecks(hold.Checks), hold.Checks
	}
	if event == notify.Partial {
		a.Error = r.Error
	}
	if errors.As(err, new(*warehouse.VerifyError)) {
		a.Advice = "check the disk, then run placementsync replay " + r.ID + ": it builds the version again from the stored responses."
	}
	if full, ok := errors.AsType[*warehouse.DiskFullError](err); ok {
		a.Advice = "free some space on the disk of " + full.Dir + ", or run placementsync prune; then run placementsync run, or wait for the next night."
	}
	if status, ok := errors.AsType[*fetch.StatusError](err); ok && status.IsHTML {
		a.Advice = "a proxy or a sign-in page answered in place of the service: run placementsync check, and correct api.base_url or the proxy."
	}
	for _, s := range r.IncompleteStreams() {
		standing := string(ledger.StandingOf(s.Grade))
		a.Streams = append(a.Streams, notify.Stream{Stream: s.Stream, Grade: s.Grade, Standing: standing, Reason: s.Reason})
	}
	return a
}

// runFollowUps runs the watches, publishes to the lake and makes a backup after a published night. These follow-ups
// neither take the lock of the warehouse nor change snapshots. A failure is reported, and the next night tries again.
func (g *globals) runFollowUps(ctx context.Context, cfg config.Config) error {
	if err := g.sendWarnings(ctx, cfg); err != nil {
		g.newLogger().Warn("warnings of checks not sent; the next night tries again", "error", err)
	}
	var followUps []func() (ledger.Run, error) // each returns its ledger line even with an error
	if len(cfg.Watch) > 0 {                    // first, so that the backup contains the state of the watches
		followUps = append(followUps, func() (ledger.Run, error) { return g.runWatchesAfterNight(ctx, cfg) })
	}
	if cfg.Lake.Catalog != "" {
		followUps = append(followUps, func() (ledger.Run, error) { return g.publishToLake(ctx) })
	}
	if cfg.Backup != "" {
		followUps = append(followUps, func() (ledger.Run, error) { return g.backUp(ctx, cfg, nil) })
	}
	wh := g.newWarehouse(cfg)
	log := g.newLogger()
	notifier := cli.NewNotifier(cfg.Notify, version, log)
	var problems []error
	for _, run := range followUps {
		entry, err := run()
		if errors.As(err, new(*warehouse.LockedError)) {
			log.Info("follow-up runs in another process", "work", entry.Kind)
			continue
		}
		problems = append(problems, err)
		switch {
		case entry.Outcome == ledger.Interrupted:
			log.Info("follow-up interrupted; the next night continues it", "work", entry.Kind, "error", err)
		case err != nil:
			log.Error("follow-up failed; the next night tries again", "work", entry.Kind, "error", err)
		default:
			log.Info("follow-up done", "work", entry.Kind, "run", entry.Version, "bytes", entry.Bytes, "took", entry.Took())
		}
		if err := cli.RecordFollowUp(ctx, wh, notifier, entry, notify.Behind, notify.Recovered); err != nil {
			log.Warn("ledger line not written", "work", entry.Kind, "error", err)
		}
	}
	return errors.Join(problems...)
}

// recordFollowUp writes the ledger line of a follow-up that an operator started. The operator sees a
// failure on the terminal, so an alert is sent only for a recovery from an earlier failure.
func (g *globals) recordFollowUp(ctx context.Context, cfg config.Config, entry ledger.Run) error {
	return cli.RecordFollowUp(ctx, g.newWarehouse(cfg), cli.NewNotifier(cfg.Notify, version, g.newLogger()), entry, notify.Recovered)
}

// joinFollowUpError changes the outcome of a complete night to partial if a follow-up failed.
func joinFollowUpError(ctx context.Context, nightErr, followUpErr error) error {
	if followUpErr == nil {
		return nightErr
	}
	followUpErr = fmt.Errorf("%w; readers of the warehouse see the night; the next night repeats this step", followUpErr)
	if nightErr == nil || cli.OutcomeOf(ctx, nightErr) == ledger.Partial {
		return cli.EndWith(ledger.Partial, errors.Join(nightErr, followUpErr))
	}
	return errors.Join(nightErr, followUpErr)
}
