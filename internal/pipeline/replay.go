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

// Replay builds the version of a landed run again, from the landed responses and the version on which the
// run was built. It publishes the version with a new run id and the snapshot time of the landed run.
// Replay is for unpublished runs, and for the newest run after an upgrade that improves decoding. It
// returns an error if later nights are built on the run. Streams without a landed response are carried.
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
	mode := runMode{kind: ledger.Replay, dryRun: cfg.DryRun, replayedRun: run}
	r, err := startRun(cfg, wh, mode, snapshotTime(cfg), at)
	if err != nil {
		return Result{}, err
	}
	if err = wh.LinkChecker.Check(); err == nil {
		r.night.mode.base, err = replayBase(wh, run)
	}
	if err != nil {
		return Result{}, errors.Join(err, r.lock.Release())
	}
	res, err := r.attempt(ctx)
	return r.finishRun(ctx, res, err)
}

// landedSnapshot returns the snapshot time of a run whose responses are kept. The ledger contains the time
// in full precision, the run id only in seconds.
func landedSnapshot(wh *warehouse.Warehouse, run string) (at time.Time, err error) {
	at, isRunID := warehouse.RunTime(run)
	runs, err := wh.Ledger.Runs()
	if err != nil {
		return at, err
	}
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.ID == run })
	_, statErr := os.Stat(wh.Folder.RawPath(run))
	isUnneeded, err := wh.Pruner.IsLandingUnneeded(run)
	switch {
	case err != nil:
		return at, err
	case isUnneeded || i >= 0 && (statErr != nil || !isRunID):
		return at, fmt.Errorf("replay %s: its responses are not kept: privacy.raw discards them when a night is published, "+
			"retention.raw_days when they are old; run placementsync rebuild to build from the Parquet snapshots", run)
	case statErr != nil || !isRunID:
		return at, &ledger.UnknownRunError{Message: fmt.Sprintf("replay %q: this run has no landed responses: run placementsync runs to list the runs", run)}
	case i < 0:
		return at, nil
	case !runs[i].IsNight():
		return at, fmt.Errorf("replay %s: this run is a refresh and has only a few responses: replay a night", run)
	}
	return runs[i].StartedAt, nil
}

// replayBase returns the version on which a replay of the run is built.
func replayBase(wh *warehouse.Warehouse, run string) (string, error) {
	versions, err := wh.Versions.List()
	if err != nil {
		return "", err
	}
	latest, _, err := wh.Versions.Latest()
	if err != nil {
		return "", err
	}
	isKept := slices.Contains(versions, run)
	switch {
	case !isKept && run > latest:
		return latest, nil
	case run != latest:
		return "", replayRefusal(wh, run, latest, versions)
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

// replayRefusal returns the error for a run that is not the newest run, with the command that makes the
// replay possible.
func replayRefusal(wh *warehouse.Warehouse, run, latest string, versions []string) error {
	const orRebuild = "or use placementsync rebuild; nothing was changed"
	lineage, _ := wh.Versions.Lineage(latest) // it ends at a damaged manifest
	isBase := slices.ContainsFunc(lineage, func(m warehouse.Manifest) bool { return m.RunID == run })
	at, isKept := slices.BinarySearch(versions, run)
	switch {
	case isBase:
		return fmt.Errorf("replay %s: later nights build on it: run placementsync rollback %[1]s first, %s", run, orRebuild)
	case isKept:
		return fmt.Errorf("replay %s: readers see %s, which does not build on this run: run placementsync rollback %[1]s first, %s", run, latest, orRebuild)
	case at > 0:
		return fmt.Errorf("replay %s: readers see %s, which is later: run placementsync rollback %s first, %s", run, latest, versions[at-1], orRebuild)
	}
	return fmt.Errorf("replay %s: readers see %s, which is later, and no version from before this run is kept: use placementsync rebuild; nothing was changed", run, latest)
}
