package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// rebuildOptions are the flags of rebuild.
type rebuildOptions struct {
	skipDamaged bool
	series      bool
}

func rebuildCommand(g *globals) *cobra.Command {
	var o rebuildOptions
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Build the catalog with its history again from the Parquet series",
		Long: "Build the catalog with its history again from the retained Parquet series and from what is\n" +
			"kept beside it, and publish it: current and closed rows, and meta. For a catalog that was\n" +
			"lost, or that another program version wrote in a way that this one refuses. Every file is\n" +
			"compared with its checksum; one that is damaged or missing ends the command, and is passed\n" +
			"over with --skip-damaged, which sets it aside under damaged/ and notes it in meta.runs.\n\n" +
			"With --series it is the other way round: files of the series that are damaged or gone are\n" +
			"written again, from copies or from the history in the catalog that readers see.\n\n" + exitCodes(),
		Args: cobra.NoArgs,
		RunE: markWork(func(cmd *cobra.Command, _ []string) error { return runRebuild(cmd.Context(), g, o) }),
	}
	cmd.Flags().BoolVar(&o.skipDamaged, "skip-damaged", false, "build from what is whole, and tell what is not")
	cmd.Flags().BoolVar(&o.series, "series", false, "write damaged files of the Parquet series again from the catalog, and publish nothing")
	cmd.MarkFlagsMutuallyExclusive("skip-damaged", "series")
	return cmd
}

// mendSeries brings back what the series lost.
func mendSeries(ctx context.Context, g *globals, cfg pipeline.Config) error {
	mended, err := pipeline.MendSeries(ctx, cfg)
	for _, one := range mended {
		fmt.Fprintln(g.stdout, "brought back", one)
	}
	if err == nil && len(mended) == 0 {
		fmt.Fprintln(g.stdout, "nothing of the series is damaged")
	}
	return err
}

func runRebuild(ctx context.Context, g *globals, o rebuildOptions) error {
	cfg, err := g.loadWarehouse()
	if err != nil {
		return err
	}
	night := pipeline.Config{Warehouse: warehouseConfig(cfg), Streams: stream.Known(), Now: g.now, Log: g.newLogger()}
	if o.series {
		return mendSeries(ctx, g, night)
	}
	r, err := pipeline.Rebuild(ctx, night, o.skipDamaged)
	if err != nil {
		return err
	}
	if err := showRebuilt(g, r); err != nil {
		return err
	}
	if len(r.Passed) > 0 {
		return &outcomeError{warehouse.Partial, nil}
	}
	return nil
}

// showRebuilt says what was built, and what cannot be as it was.
func showRebuilt(g *globals, r pipeline.Rebuilt) error {
	fmt.Fprintf(g.stdout, "published %s from %d snapshots of %s to %s\n", r.Manifest.RunID, r.Snapshots,
		r.First.Format(time.DateOnly), r.Last.Format(time.DateOnly))
	if r.Between > 0 {
		fmt.Fprintf(g.stdout, "%d snapshots between them have no day of their own in the series: what began and ended between two days is not in history\n", r.Between)
	}
	if !r.Meta {
		fmt.Fprintln(g.stdout, "meta is empty: the series is of a program that did not keep it")
	}
	for _, d := range r.Passed {
		fmt.Fprintf(g.stdout, "passed over %s: %s; with it went %s\n", query.OnScreen(d.File), query.OnScreen(d.Problem), d.Cost)
	}
	if len(r.Passed) > 0 {
		_, err := fmt.Fprintf(g.stdout, "what was damaged lies in damaged/%s of the warehouse\n", r.Manifest.RunID)
		return err
	}
	return nil
}
