package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// end writes the ledger line of a run and releases the lock. err is the error of the run. An error after the publish is
// only logged: readers see the snapshot, and the next run completes the remaining steps.
func (l *locked) end(ctx context.Context, res Result, err error) (Result, error) {
	var afterSwitch *warehouse.AfterSwitchError
	if l.isPublished {
		errors.As(err, &afterSwitch)
	}
	err = l.wh.Folder.DiskFullErr(l.logIfPublished(err))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = &stoppedError{cause, err, l.mode.stopConsequence()}
	}
	l.completeLine(ctx, err)
	if afterSwitch != nil {
		l.line.Outcome, l.line.Error = ledger.Partial, ledger.Summarize(afterSwitch)
		l.line.ExitCode = ledger.Partial.ExitCode()
	}
	recordErr := l.wh.RunLog.Record(l.line)
	if recordErr == nil && l.mode.kind != ledger.Replay {
		// A replay writes no unfinished-run file: an existing file belongs to another run.
		recordErr = l.wh.RunLog.RemoveUnresumableRun()
	}
	res.Run = l.line
	return res, l.wh.Folder.DiskFullErr(errors.Join(err, l.logIfPublished(recordErr), l.lock.Release()))
}

func (l *locked) logIfPublished(err error) error {
	if err == nil || !l.isPublished {
		return err
	}
	l.cfg.Log.Warn("published, but a later step failed; the next run completes it", "run", l.line.ID, "error", err)
	return nil
}

// completeLine completes the ledger line of a run that ends now. err is its error.
func (l *locked) completeLine(ctx context.Context, err error) {
	line := &l.line
	line.EndedAt = line.StartedAt.Add(max(0, l.cfg.Now().Sub(line.StartedAt)))
	line.Outcome = ledger.Complete
	if slices.ContainsFunc(line.Streams, func(s ledger.Stream) bool { return s.Incomplete }) {
		line.Outcome = ledger.Partial
	}
	if err != nil {
		line.Outcome, line.Error = ledger.Failed, ledger.Summarize(err)
		if ctx.Err() != nil {
			line.Outcome = ledger.Interrupted
		}
	}
	if err != nil || l.mode.dryRun {
		line.SnapshotAt = time.Time{}
	}
	line.ExitCode = line.Outcome.ExitCode()
}

// stoppedError contains the cause and the consequence of a stop of a run. The message omits the errors
// that the stop caused, and contains all other errors.
type stoppedError struct {
	cause, err  error
	consequence string
}

func (e *stoppedError) Error() string {
	text := e.cause.Error()
	if e.cause == context.Canceled {
		text = "the run was stopped before it was complete"
	}
	if others := errorsBesideStop(e.err, e.cause); len(others) > 0 {
		text += ": " + strings.Join(others, "; ")
	}
	return text + "; " + e.consequence
}

func errorsBesideStop(err, cause error) (others []string) {
	if err == errStage {
		return nil // it only marks where the joined error occurred
	}
	if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		if warehouse.IsInterrupted(err) {
			return nil
		}
		return []string{err.Error()}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return errorsBesideStop(e.Unwrap(), cause)
	case interface{ Unwrap() []error }:
		if !strings.Contains(err.Error(), "\n") {
			return nil // one error that wraps two; joined errors are on separate lines
		}
		for _, joined := range e.Unwrap() {
			others = append(others, errorsBesideStop(joined, cause)...)
		}
	}
	return others
}

func (e *stoppedError) Unwrap() []error { return []error{e.cause, e.err} }
