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

// otherAccessError says that the token of a run that was taken up reads other
// things now, so that its answers must not be mixed with new ones.
type otherAccessError struct{ before, now string }

func (e *otherAccessError) Error() string {
	return fmt.Sprintf("take up the run: its token could read %q, this one %q", e.before, e.now)
}

// begin takes up the last run if it did not publish and is young enough, or
// starts a new one.
func (n *night) begin(ctx context.Context, now time.Time, lock *warehouse.Lock) (Result, error) {
	if err := n.wh.Recover(); err != nil {
		return Result{}, err
	}
	if n.cfg.DryRun {
		return n.aside(ctx)
	}
	if err := n.takeUp(now, lock); err != nil {
		return Result{}, err
	}
	res, err := n.attempt(ctx)
	var other *otherAccessError
	if errors.As(err, &other) {
		n.cfg.Log.Warn("run not resumed", "run", n.run.ID, "cause", other)
		if err := n.beginAnew(now, lock); err != nil {
			return Result{}, err
		}
		res, err = n.attempt(ctx)
	}
	return res, err
}

// beginAnew gives up the run that was taken up, and takes an id of its own.
func (n *night) beginAnew(now time.Time, lock *warehouse.Lock) (err error) {
	if n.run.ID, err = n.wh.Folder.NewRunID(now); err != nil {
		return err
	}
	n.resumed, n.run.StartedAt, n.run.SnapshotAt = nil, now, now
	return lock.Name(n.run.ID, now)
}

// aside executes a run that nobody takes up. Its note goes when the ledger has it.
func (n *night) aside(ctx context.Context) (Result, error) {
	err := n.wh.Ledger.StartAside(warehouse.Unfinished{Run: n.run.ID, Kind: n.run.Kind, StartedAt: n.run.StartedAt,
		Source: n.cfg.Fetch.BaseURL, Attempt: 1, Program: n.run.Program})
	if err != nil {
		return Result{}, err
	}
	return n.execute(ctx)
}

func (n *night) takeUp(now time.Time, lock *warehouse.Lock) error {
	last, ok, err := n.wh.Ledger.Unfinished()
	if err != nil {
		return err
	}
	if !ok || n.cfg.Fresh || last.Source != n.cfg.Fetch.BaseURL || now.Sub(last.StartedAt) > n.cfg.ResumeMaxAge {
		return nil
	}
	n.resumed = &last
	n.run.ID, n.run.StartedAt, n.run.SnapshotAt = last.Run, last.StartedAt, last.StartedAt
	n.cfg.Log.Info("run resumed", "run", last.Run, "started", last.StartedAt, "attempt", last.Attempt+1)
	return lock.Name(last.Run, now)
}

// attempt notes that the run is at work, and that it ended well.
func (n *night) attempt(ctx context.Context) (Result, error) {
	if err := n.note(""); err != nil {
		return Result{}, err
	}
	res, err := n.execute(ctx)
	if _, stopped := errors.AsType[*load.MassDeleteError](err); stopped {
		// Taken up, its answers would bring the next run to the same gate.
		return res, errors.Join(err, n.wh.Ledger.Finish())
	}
	if err != nil {
		return res, err
	}
	return res, errors.Join(n.step("published"), n.wh.Ledger.Finish(), n.inbox.Empty(), n.wh.Pruner.DiscardSpent())
}

func (n *night) note(access string) error {
	u := warehouse.Unfinished{Run: n.run.ID, StartedAt: n.run.StartedAt, Source: n.cfg.Fetch.BaseURL,
		Access: access, Attempt: 1, Program: n.run.Program}
	if last := n.resumed; last != nil {
		u.Attempt, u.Access = last.Attempt+1, cmp.Or(access, last.Access)
	}
	return n.wh.Ledger.Start(u)
}

// admit compares what the token reads with what it read when the run began,
// and notes it.
func (n *night) admit() error {
	access := n.token.access()
	switch {
	case n.cfg.DryRun || n.cfg.Fetch.Offline || n.only != nil:
		return nil
	case n.resumed != nil && n.resumed.Access != "" && n.resumed.Access != access:
		return &otherAccessError{n.resumed.Access, access}
	}
	return n.note(access)
}
