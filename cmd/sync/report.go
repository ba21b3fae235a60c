package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/durable"
	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/report"
	"placementsync/internal/warehouse"
)

func reportCommand(g *globals) *cobra.Command {
	file, asOf := "report.html", ""
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make one HTML page of a snapshot, with charts",
		Long: "Make one HTML page of the newest snapshot or, with --as-of, of an earlier snapshot: findings that\n" +
			"need attention, headline numbers and their changes, prices, commissions, articles and the quality of\n" +
			"the data. The page is a single file without external resources. Every number is shown with its\n" +
			"query.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), g, file, asOf, "") },
	}
	addAsOfFlag(cmd, g, &asOf)
	cmd.Flags().StringVarP(&file, "output", "o", file, "`file` to write atomically; - is stdout")
	addHeldFlag(cmd, g)
	return cmd
}

// runReport writes the page of the newest snapshot, of the earlier snapshot asOf or, with --held, of
// the held night. queryPages is the path of a server's pages for named queries. It is empty for a
// standalone file.
func runReport(ctx context.Context, g *globals, file, asOf, queryPages string) (err error) {
	// The page reads several snapshots. The terminal does not show the time of each.
	s := &reportSnapshots{g: g.silent(), asOf: asOf, dbs: map[time.Time]*query.DB{}}
	defer func() { err = explainDamage(g, errors.Join(err, s.close())) }()
	opts := report.Options{Program: g.programLine("query"), QueryPages: queryPages, Earlier: asOf != "", Held: g.held}
	if g.held {
		opts.Program += " --held"
	}
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	if opts.Notices, err = heldNotices(wh, g.held); err != nil {
		return err
	}
	if file == "-" {
		return report.Write(ctx, g.stdout, s.ask, opts)
	}
	if err := checkOutputFolder(file); err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return cli.UsageErr("%q is not a regular file: use -o - to write to the terminal or a pipe", file)
	}
	const fileMode = 0o644
	if err := (durable.Disk{}).WriteAtomically(file, fileMode, func(f *os.File) error { return report.Write(ctx, f, s.ask, opts) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.stdout, "wrote %s: open it in a browser\n", file)
	return err
}

// heldNotices returns the notice of a held night, if there is one. isShown means that the page shows that night.
func heldNotices(wh *warehouse.Warehouse, isShown bool) ([]report.Notice, error) {
	h, ok, err := wh.Held()
	if err != nil || !ok {
		return nil, err
	}
	n := report.Notice{Alarm: true, Title: "The night of " + html.Clock(h.Manifest.SnapshotAt) + " UTC is held and not published, because of these checks:"}
	if isShown {
		n.Title = "This snapshot is held and not published, because of these checks:"
	}
	for _, c := range h.Run.Checks {
		if c.HoldsNight() {
			n.Lines = append(n.Lines, ledger.DescribeChecks([]ledger.CheckResult{c}))
		}
	}
	n.Lines = append(n.Lines, "Run placementsync diff --held to compare it with the published snapshot. Then run placementsync publish --accept "+
		strings.Join(h.FailedChecks(), ",")+" to publish it, or placementsync discard to discard it.")
	return []report.Notice{n}, nil
}

// reportSnapshots contains the open snapshots of a report, by time. The snapshot of the report itself
// has the zero time.
type reportSnapshots struct {
	g    *globals
	asOf string
	dbs  map[time.Time]*query.DB
}

func (s *reportSnapshots) ask(ctx context.Context, q report.QuerySpec) (r query.Result, ok bool, err error) {
	db := s.dbs[q.AsOf]
	if db == nil {
		opts := query.Options{AsOf: s.asOf}
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

func (s *reportSnapshots) close() error {
	var errs []error
	for _, db := range s.dbs {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
