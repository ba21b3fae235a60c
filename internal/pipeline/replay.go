package pipeline

import (
	"context"
	"errors"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
)

// Replay builds the version of a run again, from its stored responses and the version on which the
// run was built. It publishes the version with a new run id and the snapshot time of that run.
// Replay is for unpublished runs, and for the newest run after an upgrade that improves decoding. It
// returns an error if later nights are built on the run, or if stored responses are lost and Config.AcceptLoss is not set.
// Streams without a stored response are carried.
func Replay(ctx context.Context, cfg Config, run string) (Result, error) {
	at, err := repair.ReplayTime(warehouse.New(cfg.Warehouse), run)
	if err != nil {
		return Result{}, err
	}
	mode := runMode{kind: ledger.Replay, dryRun: cfg.DryRun, replayedRun: run}
	l, err := begin(cfg, mode, snapshotTime(cfg), at)
	if err != nil {
		return Result{}, err
	}
	if l.mode.base, err = repair.PrepareReplay(l.wh, run, cfg.AcceptLoss); err != nil {
		return Result{}, errors.Join(err, l.lock.Release())
	}
	res, err := l.execute(ctx)
	return l.end(ctx, res, err)
}
