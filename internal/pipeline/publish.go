package pipeline

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// A gate stops a night with an unusual number of deletions, because the service may have omitted records
// that still exist. Before a gate stops the night, the streams of the affected tables, and the lists that contain
// their ids, are requested a second time in the same run. Their first responses are not used. --allow-mass-delete
// accepts a loss only if the second reading confirms the loss.

func (r *runner) publishWithRereads(ctx context.Context) (Result, error) {
	n := r.night
	for {
		res, err := r.readAndPublish(ctx)
		massDelete, stopped := errors.AsType[*load.MassDeleteError](err)
		if !stopped {
			return res, err
		}
		toReread := r.streamsToReread(massDelete.Losses)
		if len(toReread) == 0 || !n.mode.usesNetwork() {
			n.run.Losses, massDelete.Reread = massDelete.Losses, n.mode.usesNetwork()
			return res, err
		}
		n.cfg.Log.Warn("too many rows would be deleted: streams are read a second time", "streams", toReread, "error", ledger.DescribeLosses(massDelete.Losses))
		for _, name := range toReread {
			r.reread[name] = true
			r.reader.client.Refetch(name)
		}
		// The other streams are read again from the landing.
		r.reader.finished, n.drift, n.eventSinks = nil, newDriftCollector(), nil
	}
}

func (r *runner) streamsReadOnce(table string) []string {
	return slices.DeleteFunc(stream.FilledBy(r.night.cfg.Streams, table), func(name string) bool { return !r.wasReadOnce(name) })
}

func (r *runner) wasReadOnce(name string) bool {
	return r.reader.finished.wasRead(name) && !r.reread[name]
}

// streamsToReread returns the streams to read a second time because of losses, lists before details. It returns none
// if the streams of a table with a loss were read twice, because this loss would remain.
func (r *runner) streamsToReread(losses []ledger.Loss) (names []string) {
	suspects := map[string]bool{}
	for _, l := range losses {
		if len(r.streamsReadOnce(l.Table)) == 0 {
			return nil
		}
		r.addSuspects(l.Table, suspects)
	}
	for _, s := range r.night.cfg.Streams {
		if suspects[s.Name] && r.wasReadOnce(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// addSuspects adds the streams that may have omitted rows of a table: the streams that fill the table, and the streams
// that contain the ids of its details.
func (r *runner) addSuspects(table string, suspects map[string]bool) {
	for _, name := range stream.FilledBy(r.night.cfg.Streams, table) {
		if suspects[name] {
			continue
		}
		suspects[name] = true
		s, _ := stream.Find(r.night.cfg.Streams, name)
		for _, ref := range s.IDColumns {
			if ref.ShowsRecord() {
				r.addSuspects(ref.Table, suspects)
			}
		}
	}
}

// publish checks the limits, merges the staged rows into the draft and publishes it. A dry
// run ends after the merge. If a check holds the night, the draft becomes the held night.
func (r *runner) publish(ctx context.Context) (Result, error) {
	n, finished := r.night, r.reader.finished
	n.cfg.Progress.setPhase("merging")
	limits := n.cfg.Limits
	limits.Confirmed = func(table string) bool {
		return n.cfg.AllowMassDelete && (!n.mode.usesNetwork() || len(r.streamsReadOnce(table)) == 0)
	}
	if losses := finished.notFoundLosses(limits); len(losses) > 0 {
		return Result{}, &load.MassDeleteError{Losses: losses}
	}
	coverage := finished.coverage()
	changes, err := n.stage.Merge(ctx, coverage, limits)
	if err != nil {
		return Result{}, err
	}
	for _, c := range changes {
		n.run.Rows += c.After
		n.run.New += c.New
		n.run.Changed += c.Changed
		n.run.Gone += c.Gone
	}
	if err := finished.setRowAges(ctx, n); err != nil || n.mode.dryRun {
		return Result{Changes: changes}, err
	}
	err = inOrder(
		func() error { return r.writeEvidence(ctx, coverage, changes) },
		func() error { return n.closeStage(ctx) },
		func() error { return n.audit(ctx) },
	)
	holdErr, isHeld := errors.AsType[*HoldError](err)
	if isHeld {
		err = nil
	}
	if err != nil {
		return Result{Changes: changes}, err
	}
	n.cfg.Progress.setPhase("publishing")
	files, err := r.writeFiles(ctx, changes)
	if err != nil {
		return Result{}, err
	}
	finished.setGrades(files)
	if err := n.draft.WriteLedgerCopy(r.completeLedgerLine(ctx, nil)); err != nil {
		return Result{}, err
	}
	if isHeld {
		if _, err := n.draft.Hold(ctx, files); err != nil {
			return Result{Changes: changes}, err
		}
		n.run.Held = true
		return Result{Changes: changes}, holdErr
	}
	m, err := n.draft.Publish(ctx, files)
	r.published = err == nil || errors.As(err, new(*warehouse.AfterSwitchError))
	return Result{Changes: changes, Manifest: m, IsUnsynced: errors.As(err, new(*warehouse.UnsyncedSwitchError))}, err
}

func (r *runner) writeFiles(ctx context.Context, changes []load.Change) (files []warehouse.ManifestTable, err error) {
	n := r.night
	writing, ctx := errgroup.WithContext(ctx)
	writing.Go(func() error {
		return load.WriteMeta(ctx, n.draft, n.wh.Schema.MetaDefinitions, n.wh.Schema.Tables)
	})
	writing.Go(func() (err error) {
		files, err = load.WriteParquet(ctx, n.draft, n.wh.Schema.Tables, changes)
		return err
	})
	return files, writing.Wait()
}

// writeEvidence also copies failed runs before this night from the ledger to meta.
func (r *runner) writeEvidence(ctx context.Context, coverage map[string]load.Coverage, changes []load.Change) error {
	n := r.night
	if err := n.stage.WriteRejects(ctx, coverage); err != nil {
		return err
	}
	if err := n.stage.WriteEvents(ctx); err != nil {
		return err
	}
	runs, err := n.wh.RunLog.Runs()
	if err != nil {
		return err
	}
	return n.stage.WriteSummary(ctx, load.Summary{Run: r.completeLedgerLine(ctx, nil), Ledger: runs, Changes: changes, Drift: n.drift.drifts})
}

// allowed is the limit of the request rate, per second. 0 means no limit.
func (r streamResult) ledgerStream(t fetch.Telemetry, allowed float64) ledger.Stream {
	e := r.evidence
	s := ledger.Stream{
		Stream: r.stream.Name, Grade: e.Grade, Reason: e.Reason, Pages: int64(e.Pages), Requests: t.Requests,
		Passes: int64(e.Passes), TotalFirst: e.TotalFirst, TotalLast: e.TotalLast, Distinct: int64(e.Distinct),
		Repeated: int64(e.Repeated), Rows: r.stored.Rows, RowsOld: r.stored.Old, Rejects: r.rejects, Fetched: r.found, Carried: r.carried,
		Rechecked: r.rechecked, Failed: r.missed, Unread: r.unread, AgeSince: r.stored.Since, Incomplete: r.failure != nil, Events: r.stream.IsEvents(), Unsorted: e.Unsortable,
		Bytes: t.Bytes, Retries: t.Retries, RateLimited: t.RateLimited, Landed: t.Hits,
		LatencyP50: t.P50.Seconds() * 1e3, LatencyP95: t.P95.Seconds() * 1e3, LatencyMax: t.Max.Seconds() * 1e3,
		RateWaitSeconds: t.RateWait.Seconds(), RetryAfterSeconds: t.RetryWait.Seconds(),
	}
	if !r.merged {
		s.Rows = r.rows
	}
	// The first request is not counted, because it did not wait.
	if span := t.Last.Sub(t.First).Seconds(); allowed > 0 && span > 0 {
		s.RateUsed = float64(t.Requests-1) / (span * allowed)
	}
	return s
}
