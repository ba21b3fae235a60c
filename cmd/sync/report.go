package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

func reportCommand(g *globals) *cobra.Command {
	out := "report.html"
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make one HTML page of the newest snapshot, with charts",
		Long: "Make one HTML page of the newest snapshot: headline numbers and how they moved,\n" +
			"prices, commissions, articles and how good the data is. The page is a single file that\n" +
			"loads nothing from anywhere; below every number stands the query that gives it.",
		Args: cobra.NoArgs,
		RunE: command.MarkWork(func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), g, out, "") }),
	}
	cmd.Flags().StringVarP(&out, "output", "o", out, "`file` to write atomically; - is stdout")
	return cmd
}

// runReport writes the page; questions is the address below which a server has a page for
// each named query, empty for a file that stands alone.
func runReport(ctx context.Context, g *globals, out, questions string) (err error) {
	// The page reads earlier snapshots; the user need not know of each.
	silent := *g
	silent.Quiet = true
	a := &analyst{g: &silent, handles: map[time.Time]*query.DB{}}
	defer func() { err = suspectDamage(&silent, errors.Join(err, a.close())) }()
	opts := report.Options{Program: "placementsync query", Questions: questions}
	if g.Config != command.DefaultConfig {
		opts.Program += " --config " + config.QuoteWord(g.Config)
	}
	if out == "-" {
		return report.Write(ctx, g.stdout, a.askQuestion, opts)
	}
	if err := refuseMissingFolder(out); err != nil {
		return err
	}
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() {
		return command.UsageErr("%q is not a regular file: use -o - to write to the terminal or a pipe", out)
	}
	const public = 0o644
	if err := (durable.Disk{}).WriteAtomically(out, public, func(f *os.File) error { return report.Write(ctx, f, a.askQuestion, opts) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.stdout, "wrote %s: open it in a browser\n", out)
	return err
}

// analyst answers the questions of a report, with one handle for each snapshot.
type analyst struct {
	g       *globals
	handles map[time.Time]*query.DB
}

func (a *analyst) askQuestion(ctx context.Context, q report.Question) (r query.Result, ok bool, err error) {
	db, err := a.handleAt(ctx, q.AsOf)
	if err != nil {
		return r, false, err
	}
	return report.AskDB(ctx, db, q)
}

func (a *analyst) handleAt(ctx context.Context, at time.Time) (*query.DB, error) {
	if db := a.handles[at]; db != nil {
		return db, nil
	}
	var opts query.Options
	if !at.IsZero() {
		opts.AsOf = at.UTC().Format(time.RFC3339Nano)
	}
	db, err := openCatalog(ctx, a.g, opts)
	if err != nil {
		return nil, err
	}
	a.handles[at] = db
	return db, nil
}

func (a *analyst) close() error {
	var problems []error
	for _, db := range a.handles {
		problems = append(problems, db.Close())
	}
	return errors.Join(problems...)
}
