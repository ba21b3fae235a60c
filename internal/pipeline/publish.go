package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// read is a run whose streams are graded.
type read struct{ *reading }

// merge checks the limits for deletions, and merges the staged rows into the draft. If a gate stops the night, the
// error is a *load.MassDeleteError.
func (r *read) merge(ctx context.Context) (*merged, error) {
	r.cfg.Progress.setPhase("merging")
	limits := r.cfg.Limits
	limits.Confirmed = func(table string) bool {
		return r.cfg.AllowMassDelete && (!r.mode.usesNetwork() || r.wasReadTwice(table))
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

// setRowAges counts the rows of the streams in main, and sets when the oldest of them was last read.
func (r *read) setRowAges(ctx context.Context) error {
	ages, err := r.stage.CountRowAges(ctx, r.streams.coverage())
	if err != nil {
		return err
	}
	for i := range r.streams {
		s := &r.streams[i]
		s.stored, s.isMerged = ages[s.stream.Name], true
		hasOldRows := s.stored.Old > 0 || s.coverage == load.Carried
		if !hasOldRows || !s.stored.Since.IsZero() {
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

// A gate stops a night with an unusual number of deletions, because the service may have omitted records
// that still exist. Before a gate stops the night, the streams of the affected tables, and the lists that contain
// their ids, are requested a second time in the same run. Their first responses are not used. --allow-mass-delete
// accepts a loss only if the second reading confirms the loss.

// suspectsOf returns the streams to read a second time because of losses, lists before details. It returns none in a
// replay, and if the streams of a table with a loss were read twice, because this loss would remain.
func (r *read) suspectsOf(losses []ledger.Loss) (names []string) {
	if !r.mode.usesNetwork() {
		return nil
	}
	suspects := map[string]bool{}
	for _, l := range losses {
		if r.wasReadTwice(l.Table) {
			return nil
		}
		r.addSuspects(l.Table, suspects)
	}
	for _, s := range r.cfg.Streams {
		if suspects[s.Name] && r.wasReadOnce(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// addSuspects adds the streams that may have omitted rows of a table: the streams that fill the table, and the streams
// that contain the ids of its details.
func (r *read) addSuspects(table string, suspects map[string]bool) {
	for _, name := range stream.FilledBy(r.cfg.Streams, table) {
		if suspects[name] {
			continue
		}
		suspects[name] = true
		s, _ := stream.Find(r.cfg.Streams, name)
		for _, ref := range s.IDColumns {
			if ref.ShowsRecord() {
				r.addSuspects(ref.Table, suspects)
			}
		}
	}
}

// wasReadTwice reports whether all streams of a table that could be read were read a second time.
func (r *read) wasReadTwice(table string) bool {
	return !slices.ContainsFunc(stream.FilledBy(r.cfg.Streams, table), r.wasReadOnce)
}

func (r *read) wasReadOnce(name string) bool { return r.streams.wasRead(name) && !r.readTwice[name] }

// merged is a run whose draft contains the new rows.
type merged struct {
	*read
	changes []load.Change
}

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

// audit requires a closed stage. If a failed check holds the night, it returns a *HoldError.
func (m *merged) audit(ctx context.Context) error {
	if len(m.cfg.Checks.List()) == 0 {
		return nil
	}
	m.cfg.Progress.setPhase("checking")
	private, err := PrivateColumns(m.cfg.Privacy)
	if err != nil {
		return fmt.Errorf("audit run %s: %w", m.line.ID, err)
	}
	var results []ledger.CheckResult
	err = m.draft.ReadClosed(ctx, func(catalog string) (err error) {
		before := query.Before{Hidden: private}
		if m.draft.Previous != "" {
			before.Catalog = m.draft.VersionCatalog(m.draft.Previous)
		}
		db, err := query.Open(ctx, catalog, query.Options{MemoryLimit: m.cfg.Warehouse.MemoryLimit, Threads: m.cfg.Warehouse.Threads,
			Timeout: m.cfg.CheckTimeout, Settings: m.cfg.Settings, Before: &before})
		if err != nil && ctx.Err() == nil {
			results = m.cfg.Checks.NotRun(err)
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		results, err = m.cfg.Checks.Run(ctx, db)
		return err
	})
	if err == nil {
		err = load.WriteChecks(ctx, m.draft, results)
	}
	if err != nil {
		return fmt.Errorf("audit run %s: %w", m.line.ID, err)
	}
	m.line.Checks = slices.DeleteFunc(slices.Clone(results), func(c ledger.CheckResult) bool { return !c.NeedsAttention() })
	for _, c := range m.line.Checks {
		m.cfg.Log.Warn("check failed or did not run", "check", c.Name, "title", c.Title, "severity", c.Severity, "outcome", c.Outcome,
			"rows", c.Rows, "first_rows", strings.Join(c.SampleLines(), "; "), "reason", c.Reason)
	}
	holdingChecks := slices.DeleteFunc(results, func(c ledger.CheckResult) bool { return !c.HoldsNight() })
	if len(holdingChecks) > 0 {
		return &HoldError{m.line.ID, holdingChecks}
	}
	return nil
}

// HoldError means that checks failed whose severity is "hold". The run was not published. Its draft is
// kept as the held night.
type HoldError struct {
	Run string
	// Checks are the failed checks whose severity is "hold".
	Checks []ledger.CheckResult
}

func (e *HoldError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "audit run %s: %s failed; nothing was published; readers keep the last snapshot", e.Run, humanize.Count(len(e.Checks), "check"))
	var names []string
	for _, c := range e.Checks {
		names = append(names, c.Name)
		fmt.Fprintf(&b, "\n  %s (%s): %s", c.Name, c.Title, humanize.Count(c.Rows, "row"))
		for _, row := range c.SampleLines() {
			b.WriteString("\n    " + row)
		}
	}
	fmt.Fprintf(&b, "\nThe night is held. To inspect it: placementsync audit --held, then placementsync diff --held\n"+
		"To publish it: placementsync publish --accept %s\nTo discard it: placementsync discard", strings.Join(names, ","))
	return b.String()
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

// published is a run whose version readers see.
type published struct{ *merged }

// cleanUp removes the unfinished-run file, the events in the inbox, and the stored responses that are no longer needed.
// end removes the unfinished-run file of a refresh.
func (p *published) cleanUp() error {
	isFileOfRun := p.mode.kind == ledger.Night
	if p.mode.kind == ledger.Replay {
		// The responses of the replayed run are now published, so the replayed run is not resumed.
		unfinished, ok, err := p.wh.RunLog.ResumableRun()
		if err != nil {
			return err
		}
		isFileOfRun = ok && unfinished.Run == p.mode.replayedRun
	}
	if isFileOfRun {
		if err := p.wh.RunLog.RemoveResumableRun(); err != nil {
			return err
		}
	}
	if err := p.inbox.EmptyInbox(); err != nil {
		return err
	}
	return p.wh.Pruner.RemoveUnneededResponses()
}
