package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"placementsync/internal/warehouse"
)

// Replay builds the tables of a landed run again, from its answers alone and on
// the version that the run built on, and publishes them under a run id of their
// own and the time of the old snapshot: for a run that did not publish, or the
// newest one after the program reads something better. A run that later nights
// build on is refused. What the run was not answered is carried.
func Replay(ctx context.Context, cfg Config, run string) (Result, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Result{}, err
	}
	n := &night{cfg: cfg, wh: wh, drift: newDrift(), landed: run}
	n.cfg.Fetch.Offline = true
	at, err := landedAt(wh, run)
	if err != nil {
		return Result{}, err
	}
	if at, err = n.snapshotOf(run, at); err != nil {
		return Result{}, err
	}
	id, err := wh.Folder.NewRunID(at)
	if err != nil {
		return Result{}, err
	}
	n.run = warehouse.Run{ID: id, Kind: warehouse.Replay, StartedAt: cfg.Now(), SnapshotAt: at, Program: cfg.Warehouse.Program}
	lock, err := wh.LockExisting(n.run.ID, cfg.Now())
	if err != nil {
		return Result{}, err
	}
	if err = wh.Identity.Check(); err == nil {
		n.base, err = replayBase(wh, run)
	}
	if err != nil {
		return Result{}, errors.Join(err, lock.Release())
	}
	res, err := n.execute(ctx)
	if err == nil {
		err = errors.Join(forget(wh, run), wh.Pruner.DiscardSpent())
	}
	err = n.afterPublish(err)
	res.Run = n.end(ctx, err)
	return res, errors.Join(err, n.afterPublish(wh.Ledger.Record(res.Run)), lock.Release())
}

// landedAt is when a run began whose answers are there to be read.
func landedAt(wh *warehouse.Warehouse, run string) (time.Time, error) {
	at, ok := warehouse.RunTime(run)
	known, err := wh.Ledger.Runs()
	if err != nil {
		return at, err
	}
	_, err = os.Stat(wh.Folder.RawPath(run))
	spent, spentErr := wh.Pruner.IsSpent(run)
	switch {
	case spentErr != nil:
		return at, spentErr
	case ok && err == nil && !spent:
		return at, nil
	case spent || slices.ContainsFunc(known, func(r warehouse.Run) bool { return r.ID == run }):
		return at, fmt.Errorf("replay %s: what it landed is not kept: privacy.raw discards it when a night is published, "+
			"retention.raw_days when it is old; placementsync rebuild builds from the Parquet snapshots", run)
	}
	return at, fmt.Errorf("replay %q: nothing has landed under this run: placementsync runs lists them", run)
}

// forget drops the note of a run that waits to be taken up: what it landed is
// published now.
func forget(wh *warehouse.Warehouse, run string) error {
	waiting, ok, err := wh.Ledger.Unfinished()
	if err != nil || !ok || waiting.Run != run {
		return err
	}
	return wh.Ledger.Finish()
}

// snapshotOf is the time of a run's snapshot: its id has the second, the ledger
// has it whole.
func (n *night) snapshotOf(run string, at time.Time) (time.Time, error) {
	runs, err := n.wh.Ledger.Runs()
	if err != nil {
		return at, err
	}
	if i := slices.IndexFunc(runs, func(r warehouse.Run) bool { return r.ID == run }); i >= 0 {
		if !runs[i].IsNight() {
			return at, fmt.Errorf("replay %s: it is a refresh, which asked for a few records only: replay a night", run)
		}
		return runs[i].StartedAt, nil
	}
	return at, nil
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
	switch {
	case !slices.Contains(versions, run) && run > latest:
		return latest, nil
	case run != latest:
		return "", fmt.Errorf("replay %s: later nights build on it: roll back to it first, or use placementsync rebuild", run)
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
