package main

import (
	"context"
	"errors"
	"slices"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
)

// warningsName is the name of the watch that finds warnings. Names in the configuration cannot
// begin with an underscore.
const warningsName = "_checks"

// warningsSQL omits failed checks of severity "hold": an operator accepted them to publish the night.
const warningsSQL = `SELECT "check", run FROM (` + query.FailedChecksSQL + `) WHERE severity = 'warn' OR outcome = 'not run'`

// sendWarnings sends an alert about checks that warn now and did not warn before. An alert that cannot
// be sent is kept for the next night.
func (g *globals) sendWarnings(ctx context.Context, cfg config.Config) error {
	if cfg.Notify.FailureURL.Reveal() == "" {
		return nil
	}
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err != nil {
		return err
	}
	runs, err := wh.Ledger.Runs()
	if err != nil {
		return err
	}
	sender := command.NewNotifier(cfg.Notify, version, g.newLogger())
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
	warnings := watch.Watch{Name: warningsName, Query: warningsSQL, Key: []string{"check"}, NewOnly: true, Channels: []string{"notify.failure_url"}}
	_, err = g.runWatchList(ctx, cfg, []watch.Watch{warnings}, watch.Config{Send: send})
	return err
}
