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
		Long: "Make one HTML page of the newest snapshot: headline numbers and their changes, prices,\n" +
			"commissions, articles and the quality of the data. The page is a single file without\n" +
			"external resources. Every number is shown with its query.",
		Args: cobra.NoArgs,
		RunE: command.MarkWork(func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), g, out, "") }),
	}
	cmd.Flags().StringVarP(&out, "output", "o", out, "`file` to write atomically; - is stdout")
	heldFlag(cmd, g)
	return cmd
}

// runReport writes the page. questions is the path below which a server has a page for each
// named query. It is empty for a standalone file.
func runReport(ctx context.Context, g *globals, out, questions string) (err error) {
	// The page reads several snapshots. Their times are not printed.
	silent := *g
	silent.Quiet = true
	s := &openSnapshots{g: &silent, dbs: map[time.Time]*query.DB{}}
	defer func() { err = explainDamage(&silent, errors.Join(err, s.close())) }()
	opts := report.Options{Program: "placementsync query", Questions: questions}
	if g.Config != command.DefaultConfig {
		opts.Program += " --config " + config.QuoteWord(g.Config)
	}
	if out == "-" {
		return report.Write(ctx, g.stdout, s.ask, opts)
	}
	if err := checkOutputFolder(out); err != nil {
		return err
	}
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() {
		return command.UsageErr("%q is not a regular file: use -o - to write to the terminal or a pipe", out)
	}
	const public = 0o644
	if err := (durable.Disk{}).WriteAtomically(out, public, func(f *os.File) error { return report.Write(ctx, f, s.ask, opts) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.stdout, "wrote %s: open it in a browser\n", out)
	return err
}

// openSnapshots are the snapshots that a report reads, by time. The zero time is the newest
// snapshot.
type openSnapshots struct {
	g   *globals
	dbs map[time.Time]*query.DB
}

// ask is a report.Ask.
func (s *openSnapshots) ask(ctx context.Context, q report.Question) (r query.Result, ok bool, err error) {
	db := s.dbs[q.AsOf]
	if db == nil {
		var opts query.Options
		if !q.AsOf.IsZero() {
			opts.AsOf = q.AsOf.UTC().Format(time.RFC3339Nano)
		}
		if db, err = openCatalog(ctx, s.g, opts); err != nil {
			return r, false, err
		}
		s.dbs[q.AsOf] = db
	}
	return report.AskDB(ctx, db, q)
}

func (s *openSnapshots) close() error {
	var errs []error
	for _, db := range s.dbs {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
