package main

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"placementsync/internal/config"
	"placementsync/internal/warehouse"
)

func pruneCommand(g *globals) *cobra.Command {
	var dryRun bool
	var version string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove what the configured retention no longer keeps",
		Long: "Remove landed answers, days of the Parquet series and versions that the configuration's\n" +
			"retention and keep_versions no longer keep. The newest of everything stays.",
		Args: cobra.NoArgs,
		RunE: markWork(func(*cobra.Command, []string) error {
			if version != "" {
				return g.withLock("prune", func(w *warehouse.Warehouse, _ config.Config) error { return dropVersion(g, w, version, dryRun) })
			}
			return g.withLock("prune", func(w *warehouse.Warehouse, c config.Config) error { return runPrune(g, w, c, dryRun) })
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be removed, and remove nothing")
	cmd.Flags().StringVar(&version, "version", "", "remove only this version, for example a damaged one: the id of its `run`")
	return cmd
}

func dropVersion(g *globals, w *warehouse.Warehouse, run string, dryRun bool) error {
	if dryRun {
		_, err := fmt.Fprintln(g.stdout, "would remove version", run)
		return err
	}
	if err := w.Versions.Drop(run); err != nil {
		return err
	}
	_, err := fmt.Fprintln(g.stdout, "removed version", run)
	return err
}

func runPrune(g *globals, w *warehouse.Warehouse, c config.Config, dryRun bool) error {
	gone, err := w.Pruner.Prune(retentionOf(c), g.now(), dryRun)
	if err != nil {
		return err
	}
	did := "removed"
	if dryRun {
		did = "would remove"
	}
	if len(gone) == 0 {
		_, err := fmt.Fprintln(g.stdout, did, "nothing")
		return err
	}
	t := newTable(did, "size")
	var sum int64
	for _, p := range gone {
		t.AppendRow(table.Row{p.Path, sizeText(p.Bytes)})
		sum += p.Bytes
	}
	alignRight(t, 2)
	_, err = fmt.Fprintf(g.stdout, "%s\n\n%d in total, %s\n", t.Render(), len(gone), sizeText(sum))
	return err
}

func retentionOf(c config.Config) warehouse.Retention {
	r := c.Retention
	return warehouse.Retention{RawDays: r.RawDays, Daily: r.Daily, Weekly: r.Weekly, Monthly: r.Monthly}
}
