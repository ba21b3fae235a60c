package main

import (
	"context"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

func checkCommand(g *globals) *cobra.Command {
	return g.lakeCommand(&cobra.Command{
		Use:   "check",
		Short: "Check write access to the lake",
		Long: "Write a file and a table to the lake and remove both, to find a wrong address, key or\n" +
			"permission before a night.",
		Args: cli.NoArguments,
	}, func(ctx context.Context, _ *warehouse.Warehouse, l *lake.Lake, _ []string) (result, error) {
		if err := l.Check(ctx); err != nil {
			return result{}, err
		}
		return result{map[string]any{"writable": true}, "the lake can be written\n"}, nil
	})
}
