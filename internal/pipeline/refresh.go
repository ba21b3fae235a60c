package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Targets are the records that a refresh reads again.
type Targets struct{ Articles, Campaigns []string }

// of gives the ids that a refresh asks a stream for.
func (t Targets) of(s stream.Stream) []string {
	switch s.Life {
	case stream.AsArticle:
		return t.Articles
	case stream.AsCampaign:
		return t.Campaigns
	}
	return nil
}

// ErrPending says that a refresh did nothing, since a night has to come first:
// none has published yet, or one waits to be taken up.
var ErrPending = errors.New("refresh: a night has to come first; nothing was changed")

// Refresh reads again a few articles and campaigns, what belongs to them, and
// the events in the inbox, and publishes a version in which all else is that of
// the last one, with its grades and ages. It is a run of its own kind: it counts
// for no schedule, leaves the turns of the settled as they are, and is not taken
// up when it fails, since the next night asks for the same. Errors are those of
// Run, and ErrPending.
func Refresh(ctx context.Context, cfg Config, targets Targets) (Result, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Result{}, err
	}
	now := cfg.Now().UTC().Truncate(time.Microsecond)
	id, err := wh.NewRunID(now)
	if err != nil {
		return Result{}, err
	}
	n := &night{cfg: cfg, wh: wh, drift: newDrift(), only: &targets}
	n.run = warehouse.Run{ID: id, Kind: warehouse.Refresh, StartedAt: now, SnapshotAt: now, Program: cfg.Warehouse.Program}
	lock, err := wh.Lock(n.run.ID, now)
	if err != nil {
		return Result{}, wh.Full(err)
	}
	if err := n.mayRefresh(now); err != nil {
		return Result{}, errors.Join(err, lock.Release())
	}
	res, err := n.aside(ctx)
	if err == nil {
		err = errors.Join(n.inbox.Empty(), wh.DiscardSpent())
	}
	return n.settle(ctx, lock, res, err)
}

// mayRefresh refuses before the first night, and while a night waits to be taken
// up: its snapshot would be older than the one that it finds.
func (n *night) mayRefresh(now time.Time) error {
	if err := n.wh.Recover(); err != nil {
		return err
	}
	last, waits, err := n.wh.Unfinished()
	if err != nil {
		return err
	}
	_, published, err := n.wh.Latest()
	if err != nil {
		return err
	}
	if !published || waits && now.Sub(last.StartedAt) <= n.cfg.ResumeMaxAge {
		return ErrPending
	}
	return nil
}

// leave keeps a stream as the last snapshot has it: rows, grade, reason and age.
func (n *night) leave(ctx context.Context, r *streamResult) error {
	if err := n.carry(ctx, r); err != nil {
		return err
	}
	last, ok, err := n.draft.LastJudged(ctx, r.stream.Name)
	if err != nil || !ok {
		return err
	}
	r.evidence.Grade, r.evidence.Reason, r.since = fetch.Grade(last.Grade), last.Reason, last.AgeSince
	return nil
}

// planRefresh asks for the targets of a stream alone.
func (n *night) planRefresh(ctx context.Context, s stream.Stream) (load.Plan, error) {
	plan, err := n.stage.Details.PlanOnly(ctx, s, n.only.of(s))
	if err != nil {
		return plan, fmt.Errorf("%w: %w", errStage, err)
	}
	return plan, nil
}

// lessen grades a stream of which a refresh read a part: no better than it was,
// and as old as its other rows.
func (n *night) lessen(ctx context.Context, r *streamResult) error {
	last, ok, err := n.draft.LastJudged(ctx, r.stream.Name)
	if err != nil {
		return err
	}
	if !ok {
		last.Grade, last.Reason = string(fetch.BestEffort), "only what events named was read"
	}
	if was := fetch.Grade(last.Grade); was != fetch.Skipped && r.failed == nil && r.evidence.Grade.Worse(was) == was {
		r.evidence.Grade, r.evidence.Reason = was, last.Reason
	}
	r.since = last.AgeSince
	return nil
}
