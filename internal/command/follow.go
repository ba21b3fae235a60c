package command

import (
	"context"
	"slices"

	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
)

// RecordFollow writes the entry of work that followed a publish into the ledger, and sends
// the alert that it needs if that is one of these events. It does not wait for the lock,
// which a night may hold for hours: a line is one write.
func RecordFollow(ctx context.Context, wh *warehouse.Warehouse, sender *notify.Notifier, entry ledger.Run, events ...string) error {
	var before ledger.Follow
	for _, f := range LastFollows(wh) {
		if f.Last.Kind == entry.Kind {
			before = f
		}
	}
	event := eventOfFollow(entry, before)
	err := wh.Ledger.Record(entry)
	if event == "" || !slices.Contains(events, event) {
		return err
	}
	a := notify.Alert{Event: event, Work: entry.Kind, Run: entry.Version, Error: ledger.ShortenError(entry.Error),
		StartedAt: entry.StartedAt, EndedAt: entry.EndedAt, Since: before.Since, Program: entry.Program}
	if event == notify.Behind {
		a.ExitCode, a.Times = ledger.Partial.ExitCode(), before.Failures+1
	}
	if night, ok, err := wh.Versions.Latest(); err == nil && ok {
		a.Run = night // the one that readers see
	}
	sender.Alert(context.WithoutCancel(ctx), a)
	return err
}

// eventOfFollow is the kind of alert that an entry needs; empty: none.
func eventOfFollow(entry ledger.Run, before ledger.Follow) string {
	switch {
	case entry.Outcome == ledger.Interrupted:
	case entry.Outcome != ledger.Complete:
		return notify.Behind
	case before.Failures > 0:
		return notify.Recovered
	}
	return ""
}

// LastFollows sums up what followed publishes. An unreadable ledger is reported where it
// is written; until then nothing has recovered.
func LastFollows(wh *warehouse.Warehouse) []ledger.Follow {
	entries, err := wh.Ledger.Entries()
	if err != nil {
		return nil
	}
	return ledger.Follows(entries)
}
