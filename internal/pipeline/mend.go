package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// MendSeries brings the files of the Parquet series back that are damaged or gone:
// from copies where there are any, and else from the history in the catalog that
// readers see, which has to be whole. It returns what it brought back. What it cannot
// bring back is told by the error, and left as it is.
func MendSeries(ctx context.Context, cfg Config) (mended []string, err error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return nil, err
	}
	now := cfg.Now().UTC().Truncate(time.Microsecond)
	id, err := wh.Folder.NewRunID(now)
	if err != nil {
		return nil, err
	}
	lock, err := wh.LockExisting(id, now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	mended, left, err := wh.Mender.MendCopies()
	if err != nil || len(left) == 0 {
		return mended, err
	}
	latest, ok, err := wh.Versions.Latest()
	if err != nil || !ok {
		return mended, errors.Join(err, wh.Identity.Check())
	}
	d, err := wh.BeginFrom(ctx, id, now, latest)
	if err != nil {
		return mended, err
	}
	defer func() { err = errors.Join(err, d.Discard()) }()
	var problems []error
	for _, one := range left {
		if err := mendOne(ctx, wh, d, one); err != nil {
			problems = append(problems, err)
			continue
		}
		mended = append(mended, fmt.Sprintf("table %s of %s", one.Table.Name, one.Day.SnapshotAt.Format(time.DateOnly)))
	}
	return mended, errors.Join(problems...)
}

func mendOne(ctx context.Context, wh *warehouse.Warehouse, d *warehouse.Draft, one warehouse.Mending) error {
	i := slices.IndexFunc(wh.Catalog.Tables(), func(t stream.Table) bool { return t.Name == one.Table.Name })
	if i < 0 {
		return fmt.Errorf("mend table %s: this program does not know it", one.Table.Name)
	}
	if err := load.WriteDay(ctx, d, wh.Catalog.Tables()[i], one); err != nil {
		return err
	}
	return wh.Mender.Replace(one, filepath.Join(d.Dir, one.Table.File))
}
