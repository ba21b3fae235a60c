package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"placementsync/internal/backup"
	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/integrity"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/plural"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// runRehearsal restores the newest backup beside the warehouse and records the result in the
// ledger. It takes no lock of the warehouse, so nights can run at the same time.
func runRehearsal(ctx context.Context, g *globals, cfg config.Config) error {
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err == nil {
		err = wh.Folder.Exists()
	}
	if err != nil {
		return err
	}
	entry := ledger.BeginFollowUp(ledger.Rehearsal, version, g.Now())
	res, err := g.rehearse(ctx, cfg, wh)
	if err != nil {
		err = fmt.Errorf("rehearse the restore: %w", err)
	}
	entry.Version, entry.Bytes = res.Run, res.Bytes
	entry = entry.EndFollowUp(ctx, g.Now(), err)
	if err == nil {
		fmt.Fprintf(g.stdout, "%s of %s can be restored: %s, %s, every row equal\n", query.EscapeLines(res.Run), res.At.Format(time.DateTime),
			plural.Count(len(res.Files), "file"), plural.FormatBytes(res.Bytes))
	}
	return errors.Join(err, g.recordFollowUp(ctx, cfg, entry))
}

// rehearse restores the newest backup into a folder beside the warehouse, builds the catalog and
// compares it with the same version of the warehouse. The folder is always removed. The
// next rehearsal removes the folder of a killed rehearsal.
func (g *globals) rehearse(ctx context.Context, cfg config.Config, wh *warehouse.Warehouse) (res backup.Restored, err error) {
	dir, err := filepath.Abs(cfg.Warehouse.Dir)
	if err != nil {
		return res, err
	}
	scratch, err := durable.MakeScratch(filepath.Dir(dir), "."+filepath.Base(dir)+".rehearsal.")
	if err != nil {
		return res, fmt.Errorf("make a folder beside the warehouse: %w", err)
	}
	defer func() { err = errors.Join(err, scratch.Remove()) }()
	cfg.Warehouse.Dir = filepath.Join(scratch.Dir, "warehouse")
	c, err := g.backupConfig(ctx, cfg, cfg.Backup)
	if err != nil {
		return res, err
	}
	if res, err = backup.Restore(ctx, c); err != nil {
		return res, err
	}
	if len(res.LeftOut) > 0 {
		return res, fmt.Errorf("the backup lacks %s, such as %s (%s): run placementsync verify --read-data, which prints the repair",
			plural.Count(len(res.LeftOut), "file"), res.LeftOut[0].File, res.LeftOut[0].Problem)
	}
	rebuilt, err := pipeline.Rebuild(ctx, pipeline.Config{Warehouse: command.WarehouseConfig(cfg, version), Streams: stream.AllWithEvents(),
		Now: g.Now, Log: g.newLogger()}, false) // no damaged file is skipped
	if damaged, ok := errors.AsType[*pipeline.SeriesError](err); ok {
		// The advice of this error is for a warehouse, not for the restored copy.
		return res, fmt.Errorf("rebuild the restored copy: %s of the Parquet series are damaged in the backup, such as %s (%s); the warehouse was not changed: "+
			"run placementsync backup --verify --read-data", plural.Count(len(damaged.Damage), "file"), damaged.Damage[0].File, damaged.Damage[0].Problem)
	}
	if err != nil {
		return res, fmt.Errorf("rebuild the restored copy: %w", err)
	}
	differences, err := integrity.CompareVersions(ctx, c.Warehouse, rebuilt.Manifest.RunID, wh, res.Run)
	if err != nil {
		return res, fmt.Errorf("compare with version %s: %w; if a later night replaced this version, run placementsync backup, then repeat the rehearsal", res.Run, err)
	}
	if len(differences) > 0 {
		return res, fmt.Errorf("the restored warehouse differs from version %s: %s; the restored copy was removed: keep the backup and the warehouse as they are, and run placementsync verify --read-data",
			res.Run, strings.Join(differences, "; "))
	}
	return res, nil
}
