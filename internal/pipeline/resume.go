package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// otherAccessError says that the token of a resumed run reads other things now, so
// that its answers must not be mixed with new ones.
type otherAccessError struct{ before, now string }

func (e *otherAccessError) Error() string {
	return fmt.Sprintf("resume the run: its token could read %q, this one %q", e.before, e.now)
}

// runOrResume resumes the last run if it did not publish and is young enough, or
// starts a new one.
func (r *runner) runOrResume(ctx context.Context, now time.Time) (Result, error) {
	if err := r.night.wh.Recover(); err != nil {
		return Result{}, err
	}
	if !r.night.mode.isResumable() {
		return r.runAside(ctx)
	}
	if err := r.resumeLast(now); err != nil {
		return Result{}, err
	}
	res, err := r.attempt(ctx)
	var other *otherAccessError
	if !errors.As(err, &other) {
		return res, err
	}
	n := r.night
	n.cfg.Log.Warn("run not resumed", "run", n.run.ID, "error", other)
	if n.run.ID, err = n.wh.Ledger.NewRunID(now); err != nil {
		return Result{}, err
	}
	n.mode.resumed, n.run.StartedAt, n.run.SnapshotAt = nil, now, now
	if err := r.lock.Name(n.run.ID, now); err != nil {
		return Result{}, err
	}
	return r.attempt(ctx)
}

// runAside executes a run that no later one resumes. Its note is removed when the
// ledger has it.
func (r *runner) runAside(ctx context.Context) (Result, error) {
	u := r.unfinished("")
	u.Kind = r.night.run.Kind
	if err := r.night.wh.Ledger.StartAside(u); err != nil {
		return Result{}, err
	}
	return r.execute(ctx)
}

func (r *runner) resumeLast(now time.Time) error {
	n := r.night
	last, ok, err := n.wh.Ledger.Unfinished()
	if err != nil {
		return err
	}
	if !ok || n.cfg.Fresh || last.Source != n.cfg.Fetch.BaseURL || now.Sub(last.StartedAt) > n.cfg.ResumeMaxAge {
		return nil
	}
	n.mode.resumed = &last
	n.run.ID, n.run.StartedAt, n.run.SnapshotAt = last.Run, last.StartedAt, last.StartedAt
	n.cfg.Log.Info("run resumed", "run", last.Run, "started", last.StartedAt, "attempt", last.Attempt+1)
	return r.lock.Name(last.Run, now)
}

// attempt executes the run between the note that it is at work and the removal of
// that note.
func (r *runner) attempt(ctx context.Context) (Result, error) {
	n := r.night
	if err := n.wh.Ledger.Start(r.unfinished("")); err != nil {
		return Result{}, err
	}
	res, err := r.execute(ctx)
	_, stopped := errors.AsType[*load.MassDeleteError](err)
	if stopped || errors.As(err, new(*HoldError)) {
		// Resumed, its answers would bring the next run to the same end.
		return res, errors.Join(err, n.wh.Ledger.Finish())
	}
	if err != nil {
		return res, err
	}
	return res, inOrder(func() error { return n.faultPoint("published") }, n.wh.Ledger.Finish, n.inbox.Empty, n.wh.Pruner.DiscardSpent)
}

// unfinished is the note of a run at work, whose token has this access.
func (r *runner) unfinished(access string) warehouse.Unfinished {
	n := r.night
	u := warehouse.Unfinished{Run: n.run.ID, StartedAt: n.run.StartedAt, Source: n.cfg.Fetch.BaseURL,
		Access: access, Attempt: 1, Program: n.run.Program}
	if last := n.mode.resumed; last != nil {
		u.Attempt, u.Access = last.Attempt+1, cmp.Or(access, last.Access)
	}
	return u
}

// admitToken compares what the token reads with what it read when the run began, and
// adds it to the note of the run.
func (r *runner) admitToken(access string) error {
	last := r.night.mode.resumed
	switch {
	case !r.night.mode.isResumable():
		return nil
	case last != nil && last.Access != "" && last.Access != access:
		return &otherAccessError{last.Access, access}
	}
	return r.night.wh.Ledger.Start(r.unfinished(access))
}
