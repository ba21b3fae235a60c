package cli

import (
	"context"
	"slices"

	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
)

// RecordFollowUp writes the ledger line of a follow-up, such as a backup. It sends an alert if the
// entry causes one of the given events. It does not wait for the warehouse lock, because a run may
// hold the lock for hours. A single write appends the entry, so no lock is needed.
func RecordFollowUp(ctx context.Context, wh *warehouse.Warehouse, sender *notify.Notifier, entry ledger.Run, events ...string) error {
	var previous ledger.FollowUp
	// If the ledger cannot be read, the write below returns the error.
	if entries, err := wh.RunLog.RunsAndFollowUps(); err == nil {
		for _, f := range ledger.FollowUps(entries) {
			if f.Last.Kind == entry.Kind {
				previous = f
			}
		}
	}
	event := ""
	switch {
	case entry.Outcome == ledger.Interrupted:
	case entry.Outcome != ledger.Complete:
		event = notify.Behind
	case previous.Failures > 0:
		event = notify.Recovered
	}
	err := wh.RunLog.Record(entry)
	if event == "" || !slices.Contains(events, event) {
		return err
	}
	// The alert names the newest version or, if it is unknown, the version that the follow-up processed.
	version := entry.Version
	if newest, ok, err := wh.Versions.Latest(); err == nil && ok {
		version = newest
	}
	a := notify.Alert{Event: event, Work: entry.Kind, Run: version, Error: entry.Error,
		StartedAt: entry.StartedAt, EndedAt: entry.EndedAt, Since: previous.Since, Program: entry.Program}
	if event == notify.Behind {
		a.ExitCode, a.Streak = ledger.Partial.ExitCode(), previous.Failures+1
	}
	sender.Alert(context.WithoutCancel(ctx), a)
	return err
}
