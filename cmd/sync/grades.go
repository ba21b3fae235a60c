package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/durable"
	"placementsync/internal/query"
)

func (o *outputOptions) addGradesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.withGrades, "with-grades", false, "with --format json: write one object with the snapshot, the rows, and the grade of every\n"+
		"source table with its reason")
}

// writeGraded runs a query and writes its result. It then prints to stderr the source tables
// that are unread, carried or unproven, because these can be the reason for an empty result.
func (o outputOptions) writeGraded(ctx context.Context, g *globals, db *query.DB, q query.Query, values map[string]string) (rows int64, err error) {
	format, err := o.parseFormat()
	if err != nil {
		return 0, err
	}
	if o.withGrades && format != query.JSON {
		return 0, command.UsageErr("--with-grades needs --format json")
	}
	if g.Quiet && !o.withGrades {
		return o.writeResult(ctx, g, db, q, values)
	}
	sources, sourcesErr := db.Sources(ctx, q, values)
	switch {
	case !o.withGrades:
		rows, err = o.writeResult(ctx, g, db, q, values)
	case sourcesErr != nil:
		err = sourcesErr
	default:
		rows, err = o.writeGradedJSON(ctx, g, db, q, values, sources)
	}
	if err != nil {
		return rows, err
	}
	if line := query.DescribeSources(sources); line != "" && !g.Quiet {
		fmt.Fprintln(g.stderr, query.OnScreen("source tables: "+line))
	}
	if sourcesErr != nil && !g.Quiet {
		fmt.Fprintln(g.stderr, query.OnScreen("cannot read the grades of the source tables: "+sourcesErr.Error()))
	}
	return rows, nil
}

func (o outputOptions) writeGradedJSON(ctx context.Context, g *globals, db *query.DB, q query.Query, values map[string]string, sources []query.Source) (rows int64, err error) {
	at, err := db.ReadSnapshot(ctx)
	if err != nil {
		return 0, err
	}
	write := func(to io.Writer, screen query.Screen) error {
		w, err := query.NewGradedJSON(to, screen, at, sources)
		if err != nil {
			return err
		}
		rows, err = db.Run(ctx, q, values, w)
		return err
	}
	if o.out == "" {
		err = write(g.stdout, query.Screen{Terminal: g.width > 0})
		return rows, err
	}
	if info, err := os.Stat(o.out); err == nil && !info.Mode().IsRegular() {
		return 0, command.UsageErr("%q is not a regular file; omit -o to write to the terminal or a pipe", o.out)
	}
	const public = 0o644
	err = durable.Disk{}.WriteAtomically(o.out, public, func(f *os.File) error { return write(f, query.Screen{}) })
	return rows, err
}
