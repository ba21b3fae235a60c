package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func expireCommand(g *globals) *cobra.Command {
	var dryRun bool
	var format string
	cmd := &cobra.Command{
		Use:   "expire",
		Short: "Remove old nights from the lake, and files that nothing refers to",
		Long: "Remove the tags and snapshots of all but the newest lake.keep_nights nights in one commit,\n" +
			"then the files that only they referred to. Files that nothing refers to, as a publisher\n" +
			"leaves them that was killed, are removed when they are three days old. Tables that no\n" +
			"publish made are left alone, with all files that they refer to.",
		Args: cobra.NoArgs,
		RunE: markWork(func(cmd *cobra.Command, _ []string) error { return runExpire(cmd.Context(), g, format, dryRun) }),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	cmd.Flags().StringVar(&format, "format", "table", "table or json")
	return cmd
}

func runExpire(ctx context.Context, g *globals, format string, dryRun bool) (err error) {
	if err := checkFormat(format); err != nil {
		return err
	}
	_, l, err := g.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	e, err := l.Expire(ctx, g.keepNights, dryRun)
	if err != nil {
		return err
	}
	if format == "json" {
		return writeJSON(g.stdout, e)
	}
	verb := "removed"
	if dryRun {
		verb = "would remove"
	}
	for _, name := range e.Shared {
		fmt.Fprintf(g.stdout, "%s: its files stay, since another table has its folder too\n", name)
	}
	_, err = fmt.Fprintf(g.stdout, "%s %d nights with %d snapshots, and %d files (%d bytes), %d of them orphans\n",
		verb, len(e.Nights), e.Snapshots, e.Files, e.Bytes, e.Orphans)
	return err
}
