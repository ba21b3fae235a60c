package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/plural"
	"placementsync/internal/warehouse"
)

// verifyInTurn checks for damage when no night runs, stores the result, and sends an
// alert when there is any, or when it could not look.
func (s *service) verifyInTurn(ctx context.Context, cfg config.Config, night pipeline.Config) daemon.Verified {
	found := warehouse.Verified{At: s.g.now().UTC(), ReadData: true}
	err := s.hooks.inTurn(ctx, func() error {
		v, err := pipeline.Verify(ctx, night, true)
		addResult(&found, v)
		return err
	})
	if ctx.Err() != nil {
		return daemon.Verified{Full: true, At: found.At, Result: string(ledger.Interrupted)}
	}
	place := command.WarehouseConfig(cfg, version)
	switch {
	case errors.As(err, new(*warehouse.HeldError)):
		return daemon.Verified{Full: true, At: found.At, Result: string(ledger.Held), Error: err.Error()}
	case err != nil:
		return s.recordFailure(ctx, cfg, place, found, err)
	}
	if err := saveVerified(place, found); err != nil {
		s.log.Warn("result of verify not stored", "error", err)
	}
	if found.Result != warehouse.Whole {
		command.NewNotifier(cfg.Notify, version, s.log).Alert(context.WithoutCancel(ctx), damageAlert(found))
	}
	return shownVerified(found)
}

// recordFailure stores that a verify failed, and tells of it. What an earlier one found
// stays true.
func (s *service) recordFailure(ctx context.Context, cfg config.Config, place warehouse.Config, found warehouse.Verified, cause error) daemon.Verified {
	kept := warehouse.Verified{ReadData: true, FailedAt: found.At, Error: cause.Error()}
	wh, err := warehouse.Open(place)
	if err == nil {
		kept, err = wh.Checker.SaveFailure(true, found.At, cause)
	}
	if err != nil {
		s.log.Warn("result of verify not stored", "error", err)
	}
	a := notify.Alert{Event: notify.Unverified, ExitCode: ledger.Failed.ExitCode(), Error: ledger.ShortenError(cause.Error()),
		StartedAt: found.At, EndedAt: s.g.now().UTC(), Program: version}
	if len(found.Damaged) > 0 { // it came that far
		found.Error = cause.Error()
		a = damageAlert(found)
	}
	command.NewNotifier(cfg.Notify, version, s.log).Alert(context.WithoutCancel(ctx), a)
	return shownVerified(kept)
}

// saveVerified records the result of a verify in the warehouse.
func saveVerified(place warehouse.Config, found warehouse.Verified) error {
	wh, err := warehouse.Open(place)
	if err != nil {
		return err
	}
	return wh.Checker.SaveVerified(found)
}

// addResult fills the record of a verify.
func addResult(to *warehouse.Verified, v pipeline.Verified) {
	to.Seconds, to.Result = v.Took.Seconds(), v.Result()
	for _, d := range v.Damage {
		to.Damaged = append(to.Damaged, d.File)
	}
}

func damageAlert(found warehouse.Verified) notify.Alert {
	a := notify.Alert{Event: notify.Damaged, ExitCode: ledger.Failed.ExitCode(), Error: found.Error, StartedAt: found.At,
		EndedAt: found.At.Add(time.Duration(found.Seconds * float64(time.Second))), Program: version}
	if found.Result == warehouse.Rebuildable {
		a.ExitCode = ledger.Partial.ExitCode()
	}
	if n := len(found.Damaged); n > 0 {
		a.Error = strings.TrimPrefix(a.Error+"; "+plural.Count(n, "file")+": "+strings.Join(found.Damaged, ", "), "; ")
	}
	return a
}

// shownVerified is what the daemon shows: how the last verify ended, and what the last one
// found that looked.
func shownVerified(v warehouse.Verified) daemon.Verified {
	shown := daemon.Verified{Full: v.ReadData, At: v.At, Took: time.Duration(v.Seconds * float64(time.Second)), Result: v.Result, Damaged: v.Damaged, Error: v.Error, FailedAt: v.FailedAt}
	if v.Met != nil {
		shown.Met, shown.MetBy, shown.MetAt = v.Met.Files, v.Met.Run, v.Met.At
	}
	if !v.FailedAt.IsZero() {
		shown.Found, shown.Result = v.Result, string(ledger.Failed)
	}
	return shown
}
