package main

import (
	"cmp"
	"context"
	"errors"

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
	if night.DryRun {
		return res, err
	}
	sender := command.NewNotifier(cfg.Notify, version, night.Log)
	// A night that finished its commit after a stop is reported too.
	ctx = context.WithoutCancel(ctx)
	if event := eventOf(res.Run, err); event != "" {
		sender.Alert(ctx, newAlert(event, res.Run, err))
	} else if res.Run.Outcome == ledger.Complete {
		sender.Heartbeat(ctx)
	}
	return res, err
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

func newAlert(event string, r ledger.Run, err error) notify.Alert {
	a := notify.Alert{Event: event, Run: r.ID, ExitCode: r.ExitCode, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Program: version}
	if err != nil {
		a.Error, a.ExitCode = err.Error(), cmp.Or(r.ExitCode, ledger.Failed.ExitCode())
	}
	for _, s := range r.Lacks() {
		a.Streams = append(a.Streams, notify.Stream{Stream: s.Stream, Grade: s.Grade, Standing: string(ledger.StandingOf(s.Grade)), Reason: s.Reason})
	}
	return a
}
