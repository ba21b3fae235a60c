package pipeline

import (
	"context"
	"errors"

	"placementsync/internal/fetch"
	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// publish takes the staged rows through the gates into a version and makes it
// visible. With DryRun it stops behind the gates.
func (n *night) publish(ctx context.Context) (Result, error) {
	n.cfg.Watch.phase("merging")
	cover := n.coverage()
	changes, err := n.stage.Merge(ctx, cover, n.limits())
	if err != nil {
		return Result{}, err
	}
	for _, c := range changes {
		n.run.Rows += c.After
		n.run.New += c.New
		n.run.Changed += c.Changed
		n.run.Gone += c.Gone
	}
	if err := n.findAges(ctx); err != nil || n.cfg.DryRun {
		return Result{Changes: changes}, err
	}
	if err := n.step("merged"); err != nil {
		return Result{}, err
	}
	n.cfg.Watch.phase("publishing")
	if err := n.noteMeta(ctx, cover, changes); err != nil {
		return Result{}, err
	}
	if err := n.stage.Close(ctx); err != nil {
		return Result{}, err
	}
	files, err := load.WriteParquet(ctx, n.draft, n.wh.Definitions(), n.wh.Tables(), changes)
	if err == nil {
		err = load.WriteMeta(ctx, n.draft, n.wh.Meta())
	}
	if err != nil {
		return Result{}, err
	}
	if err := n.step("parquet written"); err != nil {
		return Result{}, err
	}
	for i := range files {
		grade, note := n.tableGrade(files[i].Name)
		files[i].Grade, files[i].Note = string(grade), note
	}
	if err := n.draft.Enclose(n.end(ctx, nil)); err != nil {
		return Result{}, err
	}
	m, err := n.draft.Publish(ctx, files)
	var after *warehouse.AfterSwitchError
	n.published = err == nil || errors.As(err, &after)
	return Result{Changes: changes, Manifest: m}, err
}

func (n *night) coverage() map[string]load.Coverage {
	cover := map[string]load.Coverage{}
	for _, r := range n.done {
		cover[r.stream.Name] = r.cover
	}
	return cover
}

// noteMeta writes what the night saw beside its rows. Runs of the ledger that
// are not in the catalogue yet, the failed ones, join it here.
func (n *night) noteMeta(ctx context.Context, cover map[string]load.Coverage, changes []load.Change) error {
	if _, err := n.stage.Findings.WriteRejects(ctx, cover); err != nil {
		return err
	}
	if err := n.stage.Events.Write(ctx); err != nil {
		return err
	}
	past, err := n.wh.Runs()
	if err != nil {
		return err
	}
	return n.stage.Findings.WriteNotes(ctx, load.Notes{Run: n.end(ctx, nil), Ledger: past, Changes: changes, Drift: n.drift.night})
}

// ledgerStream puts what a stream proved and what it cost side by side.
func (n *night) ledgerStream(r streamResult, t fetch.Telemetry) warehouse.RunStream {
	e := r.evidence
	return warehouse.RunStream{
		Stream: r.stream.Name, Grade: string(e.Grade), Reason: e.Reason, Pages: int64(e.Pages), Requests: t.Requests,
		Passes: int64(e.Passes), TotalFirst: e.TotalFirst, TotalLast: e.TotalLast, Distinct: int64(e.Distinct),
		Repeated: int64(e.Repeated), Rows: r.held.Rows, RowsOld: r.held.Old, Rejects: r.rejects, Fetched: r.asked - r.missed, Carried: r.kept,
		Rechecked: r.rechecked, Failed: r.missed, Unread: r.unread, AgeSince: r.held.Since,
		Bytes: t.Bytes, Retries: t.Retries, RateLimited: t.TooMany, Landed: t.Hits,
		LatencyP50: t.P50.Seconds() * 1e3, LatencyP95: t.P95.Seconds() * 1e3, LatencyMax: t.Max.Seconds() * 1e3,
		RateWaitSeconds: t.RateWait.Seconds(), RetryAfterSeconds: t.RetryWait.Seconds(),
		RateUsed: rateUsed(t, n.cfg.Fetch.RequestsPerSecond),
	}
}

// rateUsed is the share of the allowed rate that a stream spent while it was
// read; 0 when there is no limit or no span to divide by.
func rateUsed(t fetch.Telemetry, allowed float64) float64 {
	span := t.Last.Sub(t.First).Seconds()
	if allowed <= 0 || span <= 0 {
		return 0
	}
	// The first request of the span came from the burst.
	return float64(t.Requests-1) / (span * allowed)
}
