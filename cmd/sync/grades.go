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

// gradesFlag is the flag of commands whose answer can carry the grades behind it.
func (o *answerOptions) gradesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.withGrades, "with-grades", false, "with --format json: answer with an object of snapshot, grades and rows, where grades are\n"+
		"the tables behind the rows, how sure each is and why")
}

// writeGraded runs a query like writeAnswer. Then it says on stderr which tables behind the
// answer were not read, are carried or not proven: an empty answer may mean any of it.
func (o answerOptions) writeGraded(ctx context.Context, g *globals, db *query.DB, q query.Query, values map[string]string) (rows int64, err error) {
	format, err := o.parseFormat()
	if err != nil {
		return 0, err
	}
	if o.withGrades && format != query.JSON {
		return 0, command.UsageErr("--with-grades needs --format json")
	}
	if g.Quiet && !o.withGrades {
		return o.writeAnswer(ctx, g, db, q, values)
	}
	sources, unknown := db.Sources(ctx, q, values)
	switch {
	case !o.withGrades:
		rows, err = o.writeAnswer(ctx, g, db, q, values)
	case unknown != nil:
		err = unknown
	default:
		rows, err = o.writeGradedJSON(ctx, g, db, q, values, sources)
	}
	if err != nil {
		return rows, err
	}
	if line := query.DescribeSources(sources); line != "" && !g.Quiet {
		fmt.Fprintln(g.stderr, query.OnScreen("behind this answer: "+line))
	}
	if unknown != nil && !g.Quiet {
		fmt.Fprintln(g.stderr, query.OnScreen("not known how sure this answer is: "+unknown.Error()))
	}
	return rows, nil
}

func (o answerOptions) writeGradedJSON(ctx context.Context, g *globals, db *query.DB, q query.Query, values map[string]string, sources []query.Source) (rows int64, err error) {
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
