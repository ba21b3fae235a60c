package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/warehouse"
)

// runAndNotify runs one night and sends its alert or heartbeat, for run and serve.
func (g *globals) runAndNotify(ctx context.Context, cfg config.Config, night pipeline.Config) (pipeline.Result, error) {
	res, err := pipeline.Run(ctx, night)
	if !night.DryRun {
		notifyOfNight(ctx, cfg, night, res.Run, g.now(), err)
	}
	return res, err
}

// notifyOfNight sends the alert or the heartbeat of a night that has ended.
func notifyOfNight(ctx context.Context, cfg config.Config, night pipeline.Config, r ledger.Run, now time.Time, err error) {
	sender := command.NewNotifier(cfg.Notify, version, night.Log)
	// A night that finished its commit after a stop is reported too.
	ctx = context.WithoutCancel(ctx)
	if event := eventOf(r, err); event != "" {
		past, unknown := pastRuns(night.Warehouse) // without them the alert says less
		a := newAlert(event, r, err, past, now)
		a.SnapshotUnknown = unknown != nil
		sender.Alert(ctx, a)
	} else if r.Outcome == ledger.Complete {
		sender.Heartbeat(ctx)
	}
}

// pastRuns reads the ledger of a warehouse that is there.
func pastRuns(place warehouse.Config) ([]ledger.Run, error) {
	wh, err := warehouse.Open(place)
	if err == nil {
		err = wh.Folder.Exists()
	}
	if err != nil {
		return nil, err
	}
	return wh.Ledger.Runs()
}

// eventOf is the kind of alert that a night needs; "": none. A held lock and a stop
// by the operator need none.
func eventOf(r ledger.Run, err error) string {
	switch {
	case errors.As(err, new(*warehouse.HeldError)) || r.Outcome == ledger.Interrupted:
		return ""
	case errors.As(err, new(*load.MassDeleteError)) || errors.As(err, new(*warehouse.VerifyError)):
		return notify.Gate
	case err != nil || r.Outcome == ledger.Failed:
		return notify.Failed
	case r.Outcome == ledger.Partial:
		return notify.Partial
	}
	return ""
}

// newAlert fills an alert: with the cause in a few words, since when nights end like this
// one, and what readers have. The log and the ledger have the whole cause.
func newAlert(event string, r ledger.Run, err error, past []ledger.Run, now time.Time) notify.Alert {
	a := notify.Alert{Event: event, Run: r.ID, ExitCode: r.ExitCode, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Program: version,
		SnapshotAt: ledger.SnapshotOf(past)}
	if r.ID == "" { // it could not start
		r.Outcome, r.StartedAt, a.StartedAt, a.EndedAt = ledger.Failed, now, now, now
	}
	a.Times, a.Since = r.Streak(past)
	if err != nil {
		a.Error, a.ExitCode = ledger.ShortenError(err.Error()), cmp.Or(r.ExitCode, ledger.Failed.ExitCode())
	}
	if event == notify.Partial {
		a.Error = ledger.ShortenError(r.Error)
	}
	if errors.As(err, new(*warehouse.VerifyError)) {
		a.Advice = "check the disk, then run placementsync replay " + r.ID + ", which builds the version again from the stored answers."
	}
	for _, s := range r.Lacks() {
		a.Streams = append(a.Streams, notify.Stream{Stream: s.Stream, Grade: s.Grade, Standing: string(ledger.StandingOf(s.Grade)), Reason: ledger.ShortenError(s.Reason)})
	}
	return a
}
