package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// errRightsChanged means that the landed responses must not be mixed with new responses.
var errRightsChanged = errors.New("resume the run: the type, team or scopes of the token changed")

func (r *runner) runOrResume(ctx context.Context, now time.Time) (Result, error) {
	n := r.night
	if err := n.wh.Recover(); err != nil {
		return Result{}, err
	}
	if err := r.adoptLastRun(now); err != nil {
		return Result{}, err
	}
	res, err := r.attempt(ctx)
	if !errors.Is(err, errRightsChanged) {
		return res, err
	}
	n.cfg.Log.Warn("run not resumed", "run", n.run.ID, "error", err)
	if n.run.ID, err = nameRun(n.wh, r.lock, now, now); err != nil {
		return Result{}, err
	}
	n.mode.resumed, n.run.StartedAt, n.run.SnapshotAt = nil, now, now
	return r.attempt(ctx)
}

// adoptLastRun takes over the id and start time of the last run, so that attempt resumes it, if the last
// run was not published, is not too old and read from the same service. With Config.Fresh it does nothing.
func (r *runner) adoptLastRun(now time.Time) error {
	n := r.night
	if !n.mode.isResumable() {
		return nil
	}
	last, ok, err := n.wh.RunLog.ResumableRun()
	if err != nil {
		return err
	}
	// A start in the future means that the clock was wrong, so the age of the responses is unknown.
	age := now.Sub(last.StartedAt)
	if !ok || n.cfg.Fresh || last.Source != n.cfg.Fetch.BaseURL || age < 0 || age > n.cfg.ResumeMaxAge {
		return nil
	}
	n.mode.resumed = &last
	n.run.ID, n.run.StartedAt, n.run.SnapshotAt = last.Run, last.StartedAt, last.StartedAt
	n.cfg.Log.Info("run resumed", "run", last.Run, "started", last.StartedAt, "attempt", last.Attempt+1)
	return r.lock.WriteHolder(last.Run, now)
}

func (r *runner) attempt(ctx context.Context) (Result, error) {
	n := r.night
	if err := r.writeUnfinished(""); err != nil {
		return Result{}, err
	}
	res, err := r.execute(ctx)
	_, stopped := errors.AsType[*load.MassDeleteError](err)
	switch {
	case n.mode.isResumable() && (stopped || errors.As(err, new(*HoldError))):
		// A resumed run would use the same responses and stop again.
		return res, errors.Join(err, n.wh.RunLog.RemoveResumableRun())
	case err != nil || n.mode.dryRun:
		return res, err
	}
	return res, r.cleanUp()
}

// A replay writes no file: an existing file belongs to another run.
func (r *runner) writeUnfinished(rights string) error {
	n := r.night
	u := r.describeRun(rights)
	switch {
	case n.mode.isResumable():
		return n.wh.RunLog.WriteResumableRun(u)
	case n.mode.usesNetwork():
		u.Kind = n.run.Kind
		return n.wh.RunLog.WriteUnresumableRun(u)
	}
	return nil
}

// cleanUp runs after the publish. finishRun removes the unfinished-run file of a refresh.
func (r *runner) cleanUp() (err error) {
	n := r.night
	switch n.mode.kind {
	case ledger.Night:
		err = inOrder(n.wh.RunLog.RemoveResumableRun, n.landedEvents.EmptyInbox)
	case ledger.Refresh:
		err = n.landedEvents.EmptyInbox()
	case ledger.Replay:
		// The responses of the replayed run are now published, so the replayed run is not resumed.
		var unfinished warehouse.UnfinishedRun
		var ok bool
		if unfinished, ok, err = n.wh.RunLog.ResumableRun(); ok && unfinished.Run == n.mode.replayedRun {
			err = n.wh.RunLog.RemoveResumableRun()
		}
	}
	if err != nil {
		return err
	}
	return n.wh.Pruner.RemoveUnneededLandings()
}

func (r *runner) describeRun(rights string) warehouse.UnfinishedRun {
	n := r.night
	u := warehouse.UnfinishedRun{Run: n.run.ID, StartedAt: n.run.StartedAt, Source: n.cfg.Fetch.BaseURL,
		Rights: rights, Attempt: 1, Program: n.run.Program}
	if last := n.mode.resumed; last != nil {
		u.Attempt, u.Rights = last.Attempt+1, cmp.Or(rights, last.Rights)
	}
	return u
}

func (r *runner) checkRights(rights string) error {
	last := r.night.mode.resumed
	switch {
	case !r.night.mode.isResumable():
		return nil
	case last != nil && last.Rights != "" && last.Rights != rights:
		return fmt.Errorf("%w from %q to %q; a new run starts", errRightsChanged, last.Rights, rights)
	}
	return r.writeUnfinished(rights)
}
