package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Replay builds the tables of a landed run again, from its answers alone and on
// the version that the run built on, and publishes them under a run id of their
// own and the time of the old snapshot: for a run that did not publish, or the
// newest one after the program learned to read something better. A run that later
// nights build on is refused. What the run was not answered is carried.
func Replay(ctx context.Context, cfg Config, run string) (Result, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Result{}, err
	}
	at, err := landedSnapshot(wh, run)
	if err != nil {
		return Result{}, err
	}
	if err := wh.Folder.Exists(); err != nil {
		return Result{}, err
	}
	mode := runMode{kind: ledger.Replay, details: cfg.Details, dryRun: cfg.DryRun, source: run}
	r, err := startRun(cfg, wh, mode, snapshotTime(cfg), at)
	if err != nil {
		return Result{}, err
	}
	if err = wh.Identity.Check(); err == nil {
		r.night.mode.base, err = replayBase(wh, run)
	}
	if err != nil {
		return Result{}, errors.Join(err, r.lock.Release())
	}
	res, err := r.execute(ctx)
	if err != nil {
		return r.finishRun(ctx, res, err)
	}
	// What a run that waits to be resumed has landed is published now.
	waiting, ok, err := wh.Ledger.Unfinished()
	if err == nil && ok && waiting.Run == run {
		err = wh.Ledger.Finish()
	}
	if err == nil {
		err = wh.Pruner.DiscardSpent()
	}
	return r.finishRun(ctx, res, err)
}

// landedSnapshot is the time of the snapshot of a run whose answers are there to be
// read: its id has the second, the ledger has it whole.
func landedSnapshot(wh *warehouse.Warehouse, run string) (at time.Time, err error) {
	at, ok := warehouse.RunTime(run)
	runs, err := wh.Ledger.Runs()
	if err != nil {
		return at, err
	}
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.ID == run })
	_, missing := os.Stat(wh.Folder.RawPath(run))
	spent, err := wh.Pruner.IsSpent(run)
	switch {
	case err != nil:
		return at, err
	case spent || i >= 0 && (missing != nil || !ok):
		return at, fmt.Errorf("replay %s: what it landed is not kept: privacy.raw discards it when a night is published, "+
			"retention.raw_days when it is old; placementsync rebuild builds from the Parquet snapshots", run)
	case missing != nil || !ok:
		return at, &ledger.UnknownRunError{Problem: fmt.Sprintf("replay %q: nothing has landed under this run: placementsync runs lists them", run)}
	case i < 0:
		return at, nil
	case !runs[i].IsNight():
		return at, fmt.Errorf("replay %s: it is a refresh, which asked for a few records only: replay a night", run)
	}
	return runs[i].StartedAt, nil
}

// replayBase is the version that a run built on or would have.
func replayBase(wh *warehouse.Warehouse, run string) (string, error) {
	versions, err := wh.Versions.List()
	if err != nil {
		return "", err
	}
	latest, _, err := wh.Versions.Latest()
	if err != nil {
		return "", err
	}
	kept := slices.Contains(versions, run)
	switch {
	case !kept && run > latest:
		return latest, nil
	case run != latest:
		return "", refuseReplay(wh, run, latest, versions)
	}
	m, err := wh.Versions.ReadManifest(run)
	if err != nil {
		return "", err
	}
	if m.Previous != "" && !slices.Contains(versions, m.Previous) {
		return "", fmt.Errorf("replay %s: the version %s that it built on is no longer kept: use placementsync rebuild", run, m.Previous)
	}
	return m.Previous, nil
}

// refuseReplay says why a run that readers do not see is not replayed, and what to do first.
func refuseReplay(wh *warehouse.Warehouse, run, latest string, versions []string) error {
	const orRebuild = "or use placementsync rebuild; nothing was changed"
	line, _ := wh.Versions.Lineage(latest) // a damaged one ends it
	builtOn := slices.ContainsFunc(line, func(m warehouse.Manifest) bool { return m.RunID == run })
	at, kept := slices.BinarySearch(versions, run)
	switch {
	case builtOn:
		return fmt.Errorf("replay %s: later nights build on it: run placementsync rollback %[1]s first, %s", run, orRebuild)
	case kept:
		return fmt.Errorf("replay %s: readers see %s, which does not build on it: run placementsync rollback %[1]s first, %s", run, latest, orRebuild)
	case at > 0:
		return fmt.Errorf("replay %s: readers see %s, which is later: run placementsync rollback %s first, %s", run, latest, versions[at-1], orRebuild)
	}
	return fmt.Errorf("replay %s: readers see %s, which is later, and no version from before this run is kept: use placementsync rebuild; nothing was changed", run, latest)
}
