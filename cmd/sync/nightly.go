package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/warehouse"
)

// runAndNotify runs one night and tells how it ended; run and serve do the same thing.
func (g *globals) runAndNotify(ctx context.Context, cfg config.Config, night pipeline.Config) (pipeline.Result, error) {
	res, err := pipeline.Run(ctx, night)
	if night.DryRun {
		return res, err
	}
	tell := notify.New(notify.Config{FailureURL: cfg.Notify.FailureURL.Reveal(), HeartbeatURL: cfg.Notify.HeartbeatURL.Reveal(),
		UserAgent: "placementsync/" + version}, night.Log)
	// A night that finished its commit although it was told to stop is told of too.
	ctx = context.WithoutCancel(ctx)
	if event := eventOf(res.Run, err); event != "" {
		tell.Alert(ctx, newAlert(event, res.Run, err))
	} else if res.Run.Outcome == warehouse.Complete {
		tell.Heartbeat(ctx)
	}
	return res, err
}

// eventOf is what an alert says of a night; "": there is none to send. That another
// run was at work or an operator stopped this one is no alarm.
func eventOf(r warehouse.Run, err error) string {
	var held *warehouse.HeldError
	var gone *load.MassDeleteError
	var unlike *warehouse.VerifyError
	switch {
	case errors.As(err, &held) || r.Outcome == warehouse.Interrupted:
		return ""
	case errors.As(err, &gone) || errors.As(err, &unlike):
		return notify.Gate
	case err != nil || r.Outcome == warehouse.Failed:
		return notify.Failed
	case r.Outcome == warehouse.Partial:
		return notify.Partial
	}
	return ""
}

func newAlert(event string, r warehouse.Run, err error) notify.Alert {
	a := notify.Alert{Event: event, Run: r.ID, ExitCode: r.ExitCode, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Program: version}
	if err != nil {
		a.Error, a.ExitCode = err.Error(), cmp.Or(r.ExitCode, warehouse.Failed.ExitCode())
	}
	for _, s := range r.Streams {
		if gradeWorry(s.Grade) > 0 {
			a.Streams = append(a.Streams, notify.Stream{Stream: s.Stream, Grade: s.Grade, Reason: s.Reason})
		}
	}
	slices.SortStableFunc(a.Streams, func(x, y notify.Stream) int { return gradeWorry(y.Grade) - gradeWorry(x.Grade) })
	return a
}

// gradeWorry orders the grades of an alert: a stream that was skipped may always be, for
// want of a scope.
func gradeWorry(grade string) int {
	return slices.Index([]string{"", string(fetch.Skipped), string(fetch.BestEffort), string(fetch.CarriedForward)}, grade)
}
