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

type reportOptions struct {
	file    string // "-" means stdout
	asOf    string // empty means the newest snapshot
	profile string // a client, for whom the page is; empty means the page of the partner
	// queryPages is the path of a server's pages for named queries. It is empty for a standalone file.
	queryPages string
}

func reportCommand(g *globals) *cobra.Command {
	o := reportOptions{file: "report.html"}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make one HTML page of a snapshot, with charts",
		Long: "Make one HTML page of the newest snapshot or, with --as-of, of an earlier snapshot: findings that\n" +
			"need attention, headline numbers and their changes, prices, commissions, articles and the quality of\n" +
			"the data. The page is a single file without external resources. Every number is shown with its\n" +
			"query.\n\n" +
			"With --profile, the page is for one client, and can be sent: the campaigns, spending and articles of this\n" +
			"client, without costs, margins, commissions and commands.",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.profile != "" && g.held {
				return cli.UsageErr("--profile and --held exclude each other: a held night is not published")
			}
			return runReport(cmd.Context(), g, o)
		},
	}
	addAsOfFlag(cmd, g, &o.asOf)
	cmd.Flags().StringVar(&o.profile, "profile", "", "make the page for the client profile with this `name` or id")
	cmd.Flags().StringVarP(&o.file, "output", "o", o.file, "`file` to write atomically; - is stdout")
	addHeldFlag(cmd, g)
	return cmd
}

func runReport(ctx context.Context, g *globals, o reportOptions) (err error) {
	// The page reads several snapshots. The terminal does not show the time of each.
	s := &reportSnapshots{g: g.silent(), asOf: o.asOf, dbs: map[time.Time]*query.DB{}}
	defer func() { err = explainDamage(g, errors.Join(err, s.close())) }()
	opts, err := newReportOptions(g, o)
	if err != nil {
		return err
	}
	if o.profile != "" {
		db, err := s.open(ctx, time.Time{})
		if err != nil {
			return err
		}
		if opts.Client, err = findClient(ctx, g, db, o.profile); err != nil {
			return err
		}
	}
	if o.file == "-" {
		return report.Write(ctx, g.stdout, s.ask, opts)
	}
	if err := checkOutputFolder(o.file); err != nil {
		return err
	}
	if info, err := os.Stat(o.file); err == nil && !info.Mode().IsRegular() {
		return cli.UsageErr("%q is not a regular file: use -o - to write to the terminal or a pipe", o.file)
	}
	const fileMode = 0o644
	if err := (durable.Disk{}).WriteAtomically(o.file, fileMode, func(f *os.File) error { return report.Write(ctx, f, s.ask, opts) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.stdout, "wrote %s: open it in a browser\n", o.file)
	return err
}

// newReportOptions returns the options of a page without its client.
func newReportOptions(g *globals, o reportOptions) (report.Options, error) {
	opts := report.Options{Program: g.programLine("query"), QueryPages: o.queryPages, Earlier: o.asOf != "", Held: g.held}
	if g.held {
		opts.Program += " --held"
	}
	wh, cfg, err := g.openWarehouse()
	if err != nil {
		return report.Options{}, err
	}
	opts.Timezone = cfg.Schedule.Timezone
	opts.Notices, err = heldNotices(wh, g.held)
	return opts, err
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
	db, err := s.open(ctx, q.AsOf)
	if err != nil {
		return r, false, err
	}
	return report.AskDB(ctx, db, q)
}

// open returns the snapshot of a time, which is zero for the snapshot of the report.
func (s *reportSnapshots) open(ctx context.Context, at time.Time) (*query.DB, error) {
	if db := s.dbs[at]; db != nil {
		return db, nil
	}
	opts := query.Options{AsOf: s.asOf}
	if !at.IsZero() {
		opts.AsOf = at.UTC().Format(time.RFC3339Nano)
	}
	db, err := openCatalog(ctx, s.g, opts)
	if err == nil {
		s.dbs[at] = db
	}
	return db, err
}

// findClient returns the client profile with a name or id.
func findClient(ctx context.Context, g *globals, db *query.DB, nameOrID string) (report.Client, error) {
	id, name, err := findRecord(ctx, g, db, "client profile", "profiles", nameOrID)
	return report.Client{ID: id, Name: name}, err
}

// findRecord returns the record of a table with a name or id, or with the only name that contains all words of the
// text. For an unknown name, and for a name of several records, it returns a usage error. noun is the kind of the record.
func findRecord(ctx context.Context, g *globals, db *query.DB, noun, table, nameOrID string) (id, name string, err error) {
	q := query.Text("SELECT id, arg_max(name, valid_from) AS name FROM history." + table + " WHERE $record = id OR $record = name AND valid_to IS NULL GROUP BY id ORDER BY id")
	q.Params = []query.Param{{Name: "record", Type: "VARCHAR", Values: "SELECT name FROM " + table}}
	values, notes, err := db.ResolveNames(ctx, q, map[string]string{"record": nameOrID})
	if err != nil {
		return "", "", err
	}
	const limit = 2 // a second row means that the name is ambiguous
	r, err := db.Collect(ctx, q, values, limit)
	if err != nil {
		return "", "", err
	}
	switch len(r.Rows) {
	case 0:
		problems, err := db.DescribeUnknownValues(ctx, q, values)
		if err != nil {
			return "", "", err
		}
		known := strings.TrimPrefix(strings.Join(problems, " "), fmt.Sprintf(`parameter "record": the data has no value %q`, nameOrID))
		return "", "", cli.UsageErr("no %s is named %q%s", noun, nameOrID, query.EscapeLines(strings.Replace(known, "; it has ", ": the data has ", 1)))
	case 1:
		for _, note := range notes {
			if !g.Quiet {
				fmt.Fprintln(g.stderr, query.EscapeLines(note))
			}
		}
		id = r.Rows[0].Get("id").Text
		return id, r.Rows[0].Get("name").Or(id), nil
	}
	return "", "", cli.UsageErr("%d %ss are named %q: give the id of one of them", r.Total, noun, nameOrID)
}

func (s *reportSnapshots) close() error {
	var errs []error
	for _, db := range s.dbs {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
