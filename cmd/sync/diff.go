package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"placementsync/internal/query"
)

type diffOptions struct {
	tables  []string
	outlet  string
	summary bool
	output  outputOptions
}

func diffCommand(g *globals) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [FROM] [TO]",
		Short: "Show what changed between two snapshots, change by change",
		Long: "Show what changed between two snapshots: records that are new, gone or changed. FROM and TO\n" +
			"are times, dates (the last snapshot of that day, UTC) or ids of runs. Without FROM and TO,\n" +
			"the last two snapshots are compared; without TO, FROM is compared with the newest snapshot.\n" +
			"Each change is a row with the names of the outlet and of the record, what changed, and the\n" +
			"old and new value. changed_at is the snapshot that last changed the record. Amounts have two\n" +
			"decimals. Items of lists are named by their content, such as the tier and currency of a\n" +
			"price; another position in the list is not a change. For scripts, json and jsonl have the\n" +
			"columns table, key, kind, field, old and new: a changed record has one row per field, a new\n" +
			"or gone record one row with the whole record, and values are JSON with all digits.",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), g, o, args) },
	}
	cmd.Flags().StringSliceVar(&o.tables, "table", nil, "compare only these `tables`, separated by commas; * matches any text")
	cmd.Flags().StringVar(&o.outlet, "outlet", "", "compare only the outlet with this `name` or id and its channels, listings, products and prices")
	cmd.Flags().BoolVar(&o.summary, "summary", false, "show only how many records and fields changed in each table")
	o.output.addFlags(cmd)
	addHeldFlag(cmd, g)
	cmd.ValidArgsFunction = g.completeRun(publishedRuns)
	completeFlag(cmd, "table", completeTable)
	return cmd
}

func runDiff(ctx context.Context, g *globals, o diffOptions, names []string) error {
	o.output.firstColumns = []string{"what", "new", "old", "name", "outlet", "kind", "table", "field", "key"}
	format, err := o.output.parseFormat()
	if err != nil {
		return err
	}
	db, err := openCatalog(ctx, g, query.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	all, err := db.Snapshots(ctx)
	if err != nil {
		return err
	}
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	for i, name := range names {
		if !slices.ContainsFunc(all, func(s query.Snapshot) bool { return s.Run == name }) {
			names[i] = snapshotOfRun(wh, name)
		}
	}
	d := query.Diff{Tables: o.tables}
	if o.outlet != "" {
		if d.Outlet, _, err = findRecord(ctx, g, db, "outlet", "outlets", o.outlet); err != nil {
			return explainDamage(g, err)
		}
	}
	if d.From, d.To, err = query.SnapshotsToCompare(all, names...); err != nil {
		return err
	}
	if !g.Quiet {
		fmt.Fprintln(g.stderr, query.WrapLines(fmt.Sprintf("from snapshot %s\nto snapshot %s", d.From, d.To), g.stderrWidth))
	}
	isTable := format == query.Table && o.output.file == ""
	if o.summary || isTable {
		counts, err := db.ChangeCounts(ctx, d)
		if err != nil {
			return explainDamage(g, err)
		}
		if _, err := o.output.writeResult(ctx, g, db, format, counts, nil); err != nil {
			return explainDamage(g, err)
		}
		if o.summary {
			return nil
		}
		fmt.Fprintln(g.stdout)
	}
	asJSON := format == query.JSON || format == query.JSONL
	q, err := db.Changes(ctx, d, asJSON)
	if err != nil {
		return err
	}
	_, err = o.output.writeResult(ctx, g, db, format, q, nil)
	return explainDamage(g, err)
}
