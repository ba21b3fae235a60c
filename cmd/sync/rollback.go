package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/config"
	"placementsync/internal/warehouse"
)

func rollbackCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "rollback [RUN]",
		Short: "Point readers at an earlier version, in one step",
		Long: "Point readers at an earlier version: the one before the newest, or the one named.\n" +
			"What later versions added to the Parquet series is removed from it. The later versions\n" +
			"stay until keep_versions drops them, so that another rollback can undo this one. The\n" +
			"next night builds on the version that readers see then.",
		Args: cobra.MaximumNArgs(1),
		RunE: markWork(func(_ *cobra.Command, args []string) error {
			run := ""
			if len(args) > 0 {
				run = args[0]
			}
			return g.withLock("rollback", func(w *warehouse.Warehouse, _ config.Config) error {
				m, err := w.Rollback(run, g.now())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(g.stdout, "readers see %s again, the snapshot of %s\n", m.RunID, m.SnapshotAt.Format(time.RFC3339))
				return err
			})
		}),
	}
}

// withLock lets work change the warehouse while no run can.
func (g *globals) withLock(name string, work func(*warehouse.Warehouse, config.Config) error) error {
	cfg, err := g.loadWarehouse()
	if err != nil {
		return err
	}
	return g.withLockFor(cfg, name, func(wh *warehouse.Warehouse) error { return work(wh, cfg) })
}

// withLockFor is locked for a configuration that is known already.
func (g *globals) withLockFor(cfg config.Config, name string, work func(*warehouse.Warehouse) error) error {
	wh, err := warehouse.Open(warehouseConfig(cfg))
	if err != nil {
		return err
	}
	lock, err := wh.LockExisting(name, g.now())
	if err != nil {
		return err
	}
	return errors.Join(work(wh), lock.Release())
}
