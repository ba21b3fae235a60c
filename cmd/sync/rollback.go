package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/warehouse"
)

func rollbackCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "rollback [RUN]",
		Short: "Point readers at an earlier version, in one step",
		Long: "Point readers at an earlier version: the version of RUN, or the version on which the current\n" +
			"version was built. Days that later versions added to the Parquet series are removed from the\n" +
			"series. The later versions are kept until keep_versions drops them, so that the rollback can be\n" +
			"undone. The next night builds on the version that readers see.",
		Args:              atMostOneRun,
		ValidArgsFunction: g.completeRun(keptVersions),
		RunE:              func(_ *cobra.Command, args []string) error { return runRollback(g, args) },
	}
}

// atMostOneRun rejects an empty RUN, which may come from an unset variable of a script.
func atMostOneRun(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return cli.UsageErr("%s takes one RUN and got %d", cmd.Name(), len(args))
	case len(args) == 1 && args[0] == "":
		return cli.UsageErr("%s got an empty RUN: name a run, or omit RUN to go back by one version; nothing was changed", cmd.Name())
	}
	return nil
}

func runRollback(g *globals, args []string) error {
	run := "" // the version on which the current version was built
	if len(args) > 0 {
		run = args[0]
	}
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	err = g.withLock(wh, "rollback", func() error {
		m, err := wh.Rollback(run, g.Now())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(g.stdout, "readers see %s again, the snapshot of %s\n", m.RunID, m.SnapshotAt.Format(time.RFC3339))
		return err
	})
	return wh.Folder.DiskFullErr(err)
}

func (g *globals) withLock(wh *warehouse.Warehouse, holder string, work func() error) error {
	lock, err := wh.LockExisting(holder, g.Now())
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Release())
}
