package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// Rebuilt is what Rebuild came to.
type Rebuilt struct {
	Snapshots int
	First     time.Time
	Last      time.Time
	Manifest  warehouse.Manifest
}

// Rebuild makes the catalogue anew from the retained Parquet series, history
// included, and publishes it. Its history is as fine as the series: one version
// a day. What meta knows is taken over from the newest catalogue, if it can be
// read. The grades stay those of the last night.
func Rebuild(ctx context.Context, cfg Config) (r Rebuilt, err error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return r, err
	}
	now := cfg.Now().UTC().Truncate(time.Microsecond)
	id, err := wh.NewRunID(now)
	if err != nil {
		return r, err
	}
	lock, err := wh.LockExisting(id, now)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	latest, _, err := wh.Latest()
	if err != nil {
		return r, err
	}
	d, err := wh.BeginFrom(ctx, id, now, "")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.Discard()) }()
	if err := r.replay(ctx, cfg, wh, d); err != nil {
		return r, err
	}
	if latest != "" {
		if err := load.AdoptMeta(ctx, d, wh.VersionCatalog(latest), wh.Meta()); err != nil {
			cfg.Log.Warn("meta not taken over", "run", latest, "cause", err)
		}
	}
	d.Run, d.At = id, r.Last
	files, err := load.WriteParquet(ctx, d, wh.Definitions(), wh.Tables(), nil)
	if err != nil {
		return r, err
	}
	gradeAs(files, wh, latest)
	r.Manifest, err = d.Publish(ctx, files)
	var after *warehouse.AfterSwitchError
	if errors.As(err, &after) {
		warnUnfinished(cfg.Log, id, err)
		err = nil
	}
	return r, err
}

func (r *Rebuilt) replay(ctx context.Context, cfg Config, wh *warehouse.Warehouse, d *warehouse.Draft) error {
	snapshots, err := d.Snapshots(ctx)
	if err != nil {
		return err
	}
	if len(snapshots) == 0 {
		return fmt.Errorf("rebuild: there is no Parquet series in %s: nothing was changed", wh.Dir())
	}
	stage, err := load.Open(ctx, d, wh.Definitions(), cfg.Streams)
	if err != nil {
		return err
	}
	for _, snap := range snapshots {
		if err := stage.Replay(ctx, snap); err != nil {
			return errors.Join(err, stage.Close(ctx))
		}
		cfg.Log.Info("snapshot replayed", "run", snap.Run, "tables", len(snap.Files))
	}
	r.Snapshots, r.First, r.Last = len(snapshots), snapshots[0].At, snapshots[len(snapshots)-1].At
	return stage.Close(ctx)
}

// gradeAs gives the tables the grades that an earlier version's have; a table
// that it lacks keeps none.
func gradeAs(files []warehouse.ManifestTable, wh *warehouse.Warehouse, run string) {
	m, err := wh.ReadManifest(run)
	if err != nil {
		return
	}
	for i := range files {
		for _, t := range m.Tables {
			if t.Name == files[i].Name {
				files[i].Grade = t.Grade
			}
		}
	}
}
