package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/warehouse"
	"placementsync/lake/internal/lake"
)

func expireCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "expire",
		Short: "Remove old nights and unreferenced files from the lake",
		Long: "Remove the tags and snapshots of old nights in one commit, then the files that only these\n" +
			"snapshots referred to. The number of kept nights is lake.keep_nights. Each publish does this\n" +
			"for the tables of the night. Other unreferenced files, such as files of a killed publish,\n" +
			"are removed when they are three days old. Tables of other programs and the files of these\n" +
			"tables are not changed.",
		Args: cli.NoArguments,
	}
	dryRun := cmd.Flags().Bool("dry-run", false, "list what would be removed; remove nothing")
	return g.lakeCommand(cmd, func(ctx context.Context, _ *warehouse.Warehouse, l *lake.Lake, _ []string) (result, error) {
		e, err := l.Expire(ctx, *dryRun)
		if err != nil {
			return result{}, err
		}
		return result{e, describeExpired(e)}, nil
	})
}

func describeExpired(e lake.Expired) string {
	var b strings.Builder
	for _, name := range e.Shared {
		fmt.Fprintf(&b, "%s: unneeded files are kept, because its folder also contains another table\n", name)
	}
	verb := "removed"
	if e.DryRun {
		verb = "would remove"
	}
	fmt.Fprintf(&b, "%s %s with %s, and %s (%s); %d of these files were already unreferenced\n",
		verb, humanize.Count(len(e.Nights), "night"), humanize.Count(e.Snapshots, "snapshot"), humanize.Count(e.Files, "file"), humanize.Count(e.Bytes, "byte"), e.Orphans)
	return b.String()
}
