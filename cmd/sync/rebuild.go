package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
)

func rebuildCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild",
		Short: "Build the catalog with its history again from the Parquet series",
		Long: "Build the catalog with its history again from the retained Parquet series, one version\n" +
			"a day, and publish it. For a catalog that was lost, or that another program version\n" +
			"wrote in a way that this one refuses.",
		Args: cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error { return rebuild(cmd.Context(), g) }),
	}
}

func rebuild(ctx context.Context, g *globals) error {
	cfg, err := g.loadWarehouse()
	if err != nil {
		return err
	}
	r, err := pipeline.Rebuild(ctx, pipeline.Config{Warehouse: warehouseConfig(cfg), Streams: stream.Known(), Now: g.now, Log: g.logger()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.stdout, "published %s from %d snapshots of %s to %s\n", r.Manifest.RunID, r.Snapshots,
		r.First.Format(time.DateOnly), r.Last.Format(time.DateOnly))
	return err
}
