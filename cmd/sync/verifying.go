package main

import (
	"context"
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
// alert when there is any.
func (s *service) verifyInTurn(ctx context.Context, cfg config.Config, night pipeline.Config) daemon.Verified {
	found := warehouse.Verified{At: s.g.now().UTC()}
	err := s.hooks.inTurn(ctx, func() error {
		v, err := pipeline.Verify(ctx, night, true)
		found.Seconds, found.Result = v.Took.Seconds(), v.Result()
		for _, d := range v.Damage {
			found.Damaged = append(found.Damaged, d.File)
		}
		return err
	})
	if ctx.Err() != nil {
		return daemon.Verified{At: found.At, Result: string(ledger.Interrupted)}
	}
	if err != nil {
		found.Result, found.Error = string(ledger.Failed), err.Error()
	}
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err == nil {
		err = wh.Examiner.SaveVerified(found)
	}
	if err != nil {
		s.log.Warn("result of verify not stored", "error", err)
	}
	if found.Result != pipeline.Whole {
		command.NewNotifier(cfg.Notify, version, s.log).Alert(context.WithoutCancel(ctx), damageAlert(found))
	}
	return shownVerified(found)
}

func damageAlert(found warehouse.Verified) notify.Alert {
	a := notify.Alert{Event: notify.Damaged, ExitCode: ledger.Failed.ExitCode(), Error: found.Error, StartedAt: found.At,
		EndedAt: found.At.Add(time.Duration(found.Seconds * float64(time.Second))), Program: version}
	if found.Result == pipeline.Rebuildable {
		a.ExitCode = ledger.Partial.ExitCode()
	}
	if n := len(found.Damaged); n > 0 {
		a.Error = strings.TrimPrefix(a.Error+"; "+plural.Count(n, "file")+": "+strings.Join(found.Damaged, ", "), "; ")
	}
	return a
}

// lastVerified is the result of the last verify, of this process or an earlier one.
func lastVerified(wh *warehouse.Warehouse) (daemon.Verified, bool) {
	v, ok, err := wh.Examiner.LastVerified()
	return shownVerified(v), ok && err == nil
}

func shownVerified(v warehouse.Verified) daemon.Verified {
	return daemon.Verified{At: v.At, Took: time.Duration(v.Seconds * float64(time.Second)), Result: v.Result, Damaged: v.Damaged, Error: v.Error}
}
