package pipeline

import (
	"context"
	"errors"
	"time"

	"placementsync/internal/warehouse"
)

// Targets are the records that a refresh reads again.
type Targets struct{ Articles, Campaigns []string }

// ErrPending says that a refresh did nothing, since a night has to come first:
// none has published yet, or one waits to be resumed.
var ErrPending = errors.New("refresh: a night has to come first; nothing was changed")

// Refresh reads again a few articles and campaigns, what belongs to them, and
// the events in the inbox, and publishes a version in which everything else is that
// of the last one, with its grades and ages. It does not count for the schedule,
// leaves the turns of the settled as they are, and is not resumed when it fails,
// since the next night asks for the same. Errors are those of Run, and ErrPending.
func Refresh(ctx context.Context, cfg Config, targets Targets) (Result, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Result{}, err
	}
	now := snapshotTime(cfg)
	r, err := startRun(cfg, wh, refreshMode(cfg, targets), now, now)
	if err != nil {
		return Result{}, err
	}
	if err := r.checkRefreshable(now); err != nil {
		return Result{}, errors.Join(err, r.lock.Release())
	}
	res, err := r.runAside(ctx)
	if err == nil {
		err = inOrder(r.night.inbox.Empty, wh.Pruner.DiscardSpent)
	}
	return r.finishRun(ctx, res, err)
}

// checkRefreshable refuses before the first night, and while a night waits to be
// resumed: its snapshot would be older than the one that it finds.
func (r *runner) checkRefreshable(now time.Time) error {
	wh := r.night.wh
	if err := wh.Recover(); err != nil {
		return err
	}
	last, waits, err := wh.Ledger.Unfinished()
	if err != nil {
		return err
	}
	_, published, err := wh.Versions.Latest()
	if err != nil {
		return err
	}
	if !published || waits && now.Sub(last.StartedAt) <= r.night.cfg.ResumeMaxAge {
		return ErrPending
	}
	return nil
}
