package pipeline

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/fetch"
	"placementsync/internal/integrity"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// A gate stops what looks like a mass deletion, since a service that answers with
// half of its records shows the same. Before it decides, whatever shows the loss
// is read a second time in the same run: answers that landed before are not
// believed again, neither now nor by --allow-mass-delete.

// readUntilBelieved reads and publishes, and reads again what a gate doubts.
func (r *runner) readUntilBelieved(ctx context.Context) (Result, error) {
	n := r.night
	for {
		res, err := r.readAndPublish(ctx)
		loss, stopped := errors.AsType[*load.MassDeleteError](err)
		if !stopped {
			return res, err
		}
		var again []string
		for _, l := range loss.Losses {
			doubted := r.streamsReadOnce(l.Table)
			if l.NotFound && len(doubted) > 0 {
				doubted = append(doubted, r.listsOf(l.Table)...)
			}
			if len(doubted) == 0 { // reading others would not change the verdict on this table
				again = nil
				break
			}
			again = append(again, doubted...)
		}
		if len(again) == 0 || !n.mode.asksService() {
			n.run.Losses, loss.Reread = loss.Losses, n.mode.asksService()
			return res, err
		}
		n.cfg.Log.Warn("lists are read again before a gate decides", "streams", again, "error", loss)
		for _, name := range again {
			r.reread[name] = true
			r.reader.client.Refetch(name)
		}
		// Streams that no gate doubts are answered from the landing.
		r.reader.done, n.drift, n.eventSinks = nil, newDrift(), nil
	}
}

// streamsReadOnce lists the streams of a table that were read in this run and not a
// second time.
func (r *runner) streamsReadOnce(table string) []string {
	return slices.DeleteFunc(stream.FilledBy(r.night.cfg.Streams, table), func(name string) bool {
		return !r.reader.done.wasRead(name) || r.reread[name]
	})
}

// listsOf are the streams that were read in this run and name ids for the details of a
// table.
func (r *runner) listsOf(table string) (names []string) {
	for _, name := range stream.FilledBy(r.night.cfg.Streams, table) {
		s, _ := stream.Find(r.night.cfg.Streams, name)
		for _, ref := range s.Parents {
			if ref.Lists() && ref.Table != table {
				names = append(names, r.streamsReadOnce(ref.Table)...)
			}
		}
	}
	return names
}

// publish takes the staged rows through the gates into a version and makes it
// visible. A dry run stops behind the gates.
func (r *runner) publish(ctx context.Context) (Result, error) {
	n, done := r.night, r.reader.done
	n.cfg.Watch.setPhase("merging")
	limits := n.cfg.Limits
	limits.Confirmed = func(table string) bool {
		return n.cfg.AllowMassDelete && (!n.mode.asksService() || len(r.streamsReadOnce(table)) == 0)
	}
	if losses := done.lossesByNotFound(limits); len(losses) > 0 {
		return Result{}, &load.MassDeleteError{Losses: losses}
	}
	cover := done.coverage()
	changes, err := n.stage.Merge(ctx, cover, limits)
	if err != nil {
		return Result{}, err
	}
	for _, c := range changes {
		n.run.Rows += c.After
		n.run.New += c.New
		n.run.Changed += c.Changed
		n.run.Gone += c.Gone
	}
	if err := done.findAges(ctx, n); err != nil || n.mode.dryRun {
		return Result{Changes: changes}, err
	}
	if err := n.faultPoint("merged"); err != nil {
		return Result{}, err
	}
	err = inOrder(
		func() error { return r.writeEvidence(ctx, cover, changes) },
		func() error { return n.stage.Close(ctx) },
		func() error { return n.audit(ctx) },
	)
	hold, isHeld := errors.AsType[*HoldError](err)
	if isHeld {
		err = nil
	}
	if err = errors.Join(err, n.faultPoint("audited")); err != nil {
		return Result{Changes: changes}, err
	}
	n.cfg.Watch.setPhase("publishing")
	files, err := r.writeFiles(ctx, changes)
	if err != nil {
		return Result{}, err
	}
	if err := n.faultPoint("parquet written"); err != nil {
		return Result{}, err
	}
	n.reportDamage()
	for i := range files {
		grade, note := done.tableGrade(files[i].Name)
		files[i].Grade, files[i].Note = string(grade), note
	}
	if err := n.draft.WriteEntry(r.closeEntry(ctx, nil)); err != nil {
		return Result{}, err
	}
	if isHeld {
		if _, err := n.draft.Hold(ctx, files); err != nil {
			return Result{Changes: changes}, err
		}
		n.run.Held = true
		return Result{Changes: changes}, errors.Join(hold, n.faultPoint("held"))
	}
	n.carryEntries(cover)
	m, err := n.draft.Publish(ctx, files)
	r.published = err == nil || errors.As(err, new(*warehouse.AfterSwitchError))
	return Result{Changes: changes, Manifest: m}, err
}

// writeFiles writes the tables of main and the changes of meta at the same time.
func (r *runner) writeFiles(ctx context.Context, changes []load.Change) (files []warehouse.ManifestTable, err error) {
	n := r.night
	writing, ctx := errgroup.WithContext(ctx)
	writing.Go(func() error {
		return load.WriteMeta(ctx, n.draft, n.wh.Catalog.MetaDefinitions(), n.wh.Catalog.Tables())
	})
	writing.Go(func() (err error) {
		files, err = load.WriteParquet(ctx, n.draft, n.wh.Catalog.Definitions(), n.wh.Catalog.Tables(), changes)
		return err
	})
	return files, writing.Wait()
}

// reportDamage logs and records the damaged files of the version before, in whose place the
// draft has new ones.
func (n *night) reportDamage() {
	found := n.draft.DamagedFiles()
	if len(found) == 0 {
		return
	}
	var files []string
	for _, d := range found {
		files = append(files, d.File)
		n.cfg.Log.Warn("a published file is damaged; this run writes it anew, and placementsync verify --read-data finds what else is", "files", d.File, "error", d.Problem)
	}
	if err := integrity.SaveNightDamage(n.wh.Folder, n.run.ID, n.cfg.Now(), files); err != nil {
		n.cfg.Log.Warn("result of verify not stored", "error", err)
	}
}

// writeEvidence writes into meta what the night saw besides its rows. Runs that are in
// the ledger alone, the failed ones, are added to the catalog here.
func (r *runner) writeEvidence(ctx context.Context, cover map[string]load.Coverage, changes []load.Change) error {
	n := r.night
	if _, err := n.stage.Findings.WriteRejects(ctx, cover); err != nil {
		return err
	}
	if err := n.stage.Events.Write(ctx); err != nil {
		return err
	}
	past, err := n.wh.Ledger.Runs()
	if err != nil {
		return err
	}
	return n.stage.Findings.WriteSummary(ctx, load.Summary{Run: r.closeEntry(ctx, nil), Ledger: past, Changes: changes, Drift: n.drift.night})
}

// ledgerRow puts what a stream proved and what it cost side by side; allowed is the
// rate of requests a second that it may use, 0: no limit.
func (r streamResult) ledgerRow(t fetch.Telemetry, allowed float64) ledger.Stream {
	e := r.evidence
	row := ledger.Stream{
		Stream: r.stream.Name, Grade: string(e.Grade), Reason: e.Reason, Pages: int64(e.Pages), Requests: t.Requests,
		Passes: int64(e.Passes), TotalFirst: e.TotalFirst, TotalLast: e.TotalLast, Distinct: int64(e.Distinct),
		Repeated: int64(e.Repeated), Rows: r.held.Rows, RowsOld: r.held.Old, Rejects: r.rejects, Fetched: r.found, Carried: r.carried,
		Rechecked: r.rechecked, Failed: r.missed, Unread: r.unread, AgeSince: r.held.Since, Lacking: r.failed != nil, Events: r.stream.IsEvents(),
		Bytes: t.Bytes, Retries: t.Retries, RateLimited: t.TooMany, Landed: t.Hits,
		LatencyP50: t.P50.Seconds() * 1e3, LatencyP95: t.P95.Seconds() * 1e3, LatencyMax: t.Max.Seconds() * 1e3,
		RateWaitSeconds: t.RateWait.Seconds(), RetryAfterSeconds: t.RetryWait.Seconds(),
	}
	if !r.merged {
		row.Rows = r.rows
	}
	// The first request of the span came from the burst.
	if span := t.Last.Sub(t.First).Seconds(); allowed > 0 && span > 0 {
		row.RateUsed = float64(t.Requests-1) / (span * allowed)
	}
	return row
}
