package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/humanize"
	"placementsync/internal/warehouse"
)

func pruneCommand(g *globals) *cobra.Command {
	var dryRun bool
	var run string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove expired stored responses, Parquet days and versions",
		Long: "Remove stored responses, days of the Parquet series and versions that expired according to\n" +
			"retention and keep_versions in the configuration, and a held night that can no longer be\n" +
			"published. The newest stored responses, day and version are never removed.",
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return runPrune(g, dryRun, run) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list the files to remove; remove nothing")
	cmd.Flags().StringVar(&run, "version", "", "remove only the version of this `run`, for example a damaged version")
	completeFlag(cmd, "version", g.completeRun(keptVersions))
	return cmd
}

func runPrune(g *globals, dryRun bool, run string) error {
	wh, cfg, err := g.openWarehouse()
	if err != nil {
		return err
	}
	action := "removed"
	if dryRun {
		action = "would remove"
	}
	return g.withLock(wh, "prune", func() error {
		if run != "" {
			if err := wh.Versions.Drop(run, dryRun); err != nil {
				return err
			}
			_, err := fmt.Fprintln(g.stdout, action, "version", run)
			return err
		}
		removed, err := wh.Pruner.Prune(warehouse.Retention(cfg.Retention), g.Now(), dryRun)
		if err != nil {
			return err
		}
		if len(removed) == 0 {
			_, err := fmt.Fprintln(g.stdout, action, "nothing")
			return err
		}
		t := textTable{columns: []column{{name: action}, {name: "size", isNumber: true}}}
		var sum int64
		for _, p := range removed {
			t.addRow(p.Path, humanize.FormatBytes(p.Bytes))
			sum += p.Bytes
		}
		_, err = fmt.Fprintf(g.stdout, "%s\n\n%d in total, %s\n", t.render(g.width), len(removed), humanize.FormatBytes(sum))
		return err
	})
}

func (g *globals) pruneAfterNight(c config.Config, now time.Time) (removed []warehouse.Pruned, err error) {
	wh := g.newWarehouse(c)
	err = g.withLock(wh, "prune", func() (err error) {
		removed, err = wh.Pruner.Prune(warehouse.Retention(c.Retention), now, false) // no dry run
		return err
	})
	return removed, err
}
