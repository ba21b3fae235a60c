package pipeline

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// merged is a run whose draft contains the new rows.
type merged struct {
	*read
	changes []load.Change
}

// merge checks the limits for deletions, and merges the staged rows into the draft. If a gate stops the night, the
// error is a *load.MassDeleteError.
func (r *read) merge(ctx context.Context) (*merged, error) {
	r.cfg.Progress.setPhase("merging")
	limits := r.cfg.Limits
	limits.Confirmed = func(table string) bool {
		return r.cfg.AllowMassDelete && (!r.mode.usesNetwork() || len(r.streamsReadOnce(table)) == 0)
	}
	if losses := r.streams.notFoundLosses(limits); len(losses) > 0 {
		return nil, &load.MassDeleteError{Losses: losses}
	}
	changes, err := r.stage.Merge(ctx, r.streams.coverage(), limits)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		r.line.Rows += c.After
		r.line.New += c.New
		r.line.Changed += c.Changed
		r.line.Gone += c.Gone
	}
	return &merged{r, changes}, r.setRowAges(ctx)
}

// setRowAges counts the rows of the streams in main.
func (r *read) setRowAges(ctx context.Context) error {
	ages, err := r.stage.CountRowAges(ctx, r.streams.coverage())
	if err != nil {
		return err
	}
	for i := range r.streams {
		s := &r.streams[i]
		s.stored, s.isMerged = ages[s.stream.Name], true
		if s.stored.Old == 0 && s.coverage != load.Carried || !s.stored.Since.IsZero() {
			continue
		}
		s.stored.Since = s.since
		if s.since.IsZero() {
			if s.stored.Since, _, err = r.draft.RowsReadSince(ctx, s.stream.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// published is a run whose version readers see.
type published struct{ *merged }

// publish completes the draft and publishes it. If a check holds the night, the draft becomes the held night, and
// the error is a *HoldError.
func (m *merged) publish(ctx context.Context) (*published, Result, error) {
	res := Result{Changes: m.changes}
	if err := m.writeEvidence(ctx); err != nil {
		return nil, res, err
	}
	if err := m.closeStage(); err != nil {
		return nil, res, err
	}
	err := m.audit(ctx)
	hold, isHeld := errors.AsType[*HoldError](err)
	if err != nil && !isHeld {
		return nil, res, err
	}
	m.cfg.Progress.setPhase("publishing")
	files, err := m.writeFiles(ctx)
	if err != nil {
		return nil, res, err
	}
	m.streams.gradeTables(files)
	m.completeLine(ctx, nil)
	if err := m.draft.WriteLedgerCopy(m.line); err != nil {
		return nil, res, err
	}
	if isHeld {
		if _, err := m.draft.Hold(ctx, files); err != nil {
			return nil, res, err
		}
		m.line.Held = true
		return nil, res, hold
	}
	res.Manifest, err = m.draft.Publish(ctx, files)
	m.isPublished = err == nil || errors.As(err, new(*warehouse.AfterSwitchError))
	res.IsUnsynced = errors.As(err, new(*warehouse.UnsyncedSwitchError))
	return &published{m}, res, err
}

// writeEvidence also copies failed runs before this night from the ledger to meta.
func (m *merged) writeEvidence(ctx context.Context) error {
	if err := m.stage.WriteRejects(ctx, m.streams.coverage()); err != nil {
		return err
	}
	if err := m.stage.WriteEvents(ctx); err != nil {
		return err
	}
	runs, err := m.wh.RunLog.Runs()
	if err != nil {
		return err
	}
	m.describeStreams()
	m.completeLine(ctx, nil)
	return m.stage.WriteSummary(ctx, load.Summary{Run: m.line, Ledger: runs, Changes: m.changes, Drift: m.drift.drifts})
}

func (m *merged) writeFiles(ctx context.Context) (files []warehouse.ManifestTable, err error) {
	writing, ctx := errgroup.WithContext(ctx)
	writing.Go(func() error {
		return load.WriteMeta(ctx, m.draft, m.wh.Schema.MetaDefinitions, m.wh.Schema.Tables)
	})
	writing.Go(func() (err error) {
		files, err = load.WriteParquet(ctx, m.draft, m.wh.Schema.Tables, m.changes)
		return err
	})
	return files, writing.Wait()
}

// cleanUp removes what is no longer needed: the unfinished-run file, the events in the inbox, and stored responses. end
// removes the unfinished-run file of a refresh.
func (p *published) cleanUp() error {
	isUnfinishedRun := p.mode.kind == ledger.Night
	if p.mode.kind == ledger.Replay {
		// The responses of the replayed run are now published, so the replayed run is not resumed.
		unfinished, ok, err := p.wh.RunLog.ResumableRun()
		if err != nil {
			return err
		}
		isUnfinishedRun = ok && unfinished.Run == p.mode.replayedRun
	}
	if isUnfinishedRun {
		if err := p.wh.RunLog.RemoveResumableRun(); err != nil {
			return err
		}
	}
	if err := p.inbox.EmptyInbox(); err != nil {
		return err
	}
	return p.wh.Pruner.RemoveUnneededResponses()
}
