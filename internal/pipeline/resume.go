package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/warehouse"
)

// errRightsChanged means that the stored responses must not be mixed with new responses.
var errRightsChanged = errors.New("resume the run: the type, team or scopes of the token changed")

// resumeOrExecute resumes the last run if it can be resumed, and otherwise executes a new run.
func (l *locked) resumeOrExecute(ctx context.Context, now time.Time) (Result, error) {
	if err := l.wh.Recover(); err != nil {
		return Result{}, err
	}
	if err := l.adoptLastRun(now); err != nil {
		return Result{}, err
	}
	res, err := l.execute(ctx)
	if !errors.Is(err, errRightsChanged) {
		return res, err
	}
	l.cfg.Log.Warn("run not resumed", "run", l.line.ID, "error", err)
	if l.line.ID, err = l.wh.NameRun(l.lock, now, now); err != nil {
		return Result{}, err
	}
	l.mode.resumed, l.line.StartedAt, l.line.SnapshotAt = nil, now, now
	return l.execute(ctx)
}

// adoptLastRun takes over the id and start time of the last run, so that execute resumes it, if the last
// run was not published, is not too old and read from the same service. With Config.Fresh it does nothing.
func (l *locked) adoptLastRun(now time.Time) error {
	if !l.mode.isResumable() {
		return nil
	}
	last, ok, err := l.wh.RunLog.ResumableRun()
	if err != nil {
		return err
	}
	// A start in the future means that the clock was wrong, so the age of the responses is unknown.
	age := now.Sub(last.StartedAt)
	if !ok || l.cfg.Fresh || last.Source != l.cfg.Fetch.BaseURL || age < 0 || age > l.cfg.ResumeMaxAge {
		return nil
	}
	l.mode.resumed = &last
	l.line.ID, l.line.StartedAt, l.line.SnapshotAt = last.Run, last.StartedAt, last.StartedAt
	l.cfg.Log.Info("run resumed", "run", last.Run, "started", last.StartedAt, "attempt", last.Attempt+1)
	return l.lock.WriteHolder(last.Run, now)
}

// writeUnfinished writes the unfinished-run file. A replay writes none: an existing file belongs to another run.
func (l *locked) writeUnfinished(rights string) error {
	u := l.describeRun(rights)
	switch {
	case l.mode.isResumable():
		return l.wh.RunLog.WriteResumableRun(u)
	case l.mode.usesNetwork():
		u.Kind = l.line.Kind
		return l.wh.RunLog.WriteUnresumableRun(u)
	}
	return nil
}

func (l *locked) describeRun(rights string) warehouse.UnfinishedRun {
	u := warehouse.UnfinishedRun{Run: l.line.ID, StartedAt: l.line.StartedAt, Source: l.cfg.Fetch.BaseURL,
		Rights: rights, Attempt: 1, Program: l.line.Program}
	if last := l.mode.resumed; last != nil {
		u.Attempt, u.Rights = last.Attempt+1, cmp.Or(rights, last.Rights)
	}
	return u
}

func (l *locked) checkRights(rights string) error {
	if !l.mode.isResumable() {
		return nil
	}
	last := l.mode.resumed
	if last != nil && last.Rights != "" && last.Rights != rights {
		return fmt.Errorf("%w from %q to %q; a new run starts", errRightsChanged, last.Rights, rights)
	}
	return l.writeUnfinished(rights)
}
