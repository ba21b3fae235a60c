package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

type queryOptions struct {
	file           string
	list, printSQL bool
	params         []string
	asOf           string
	unsafe         bool
	timeout        time.Duration
	output         outputOptions
}

func queryCommand(g *globals) *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query [SQL | NAME]",
		Short: "Query the newest snapshot with SQL text, a file, or a named query",
		Long: "Query the newest snapshot, read only. A single word is the name of a query (see --list),\n" +
			"built in or from queries.dir of the configuration. Any other text is one SQL statement. A\n" +
			"query reads the catalog only: no files and no network.",
		Args:              atMostOneQuery,
		ValidArgsFunction: g.completeQuery,
		RunE:              func(cmd *cobra.Command, args []string) error { return runQuery(cmd.Context(), g, o, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "read the SQL from a `file`; its header may declare parameters as in named queries")
	f.BoolVar(&o.list, "list", false, "list the named queries by subject (as table, csv or json), or only those that contain all given\nwords. With the name of a query, explain this query")
	f.BoolVar(&o.printSQL, "sql", false, "print the SQL of the named query")
	f.StringArrayVar(&o.params, "param", nil, "set a parameter: `name=value`; may be repeated")
	f.DurationVar(&o.timeout, "timeout", 0, "stop the query after this `duration`, such as 30s; 0 means never")
	o.output.addFlags(cmd)
	cmd.Flags().BoolVar(&o.output.withGrades, "with-grades", false, "with --format json: write one object with the snapshot, the rows, and the grade of every\n"+
		"source table with its reason")
	addAsOfFlag(cmd, g, &o.asOf)
	addHeldFlag(cmd, g)
	f.BoolVar(&o.unsafe, "unsafe", false, "let the SQL use files, the network, extensions and several statements; the warehouse stays read only")
	completeFlag(cmd, "param", g.completeParam)
	return cmd
}

func addAsOfFlag(cmd *cobra.Command, g *globals, asOf *string) {
	cmd.Flags().StringVar(asOf, "as-of", "", "read an earlier snapshot: a `time`, a date (the last snapshot of that day, UTC) or the id of a run")
	completeFlag(cmd, "as-of", g.completeRun(publishedRuns))
}

func runQuery(ctx context.Context, g *globals, o queryOptions, args []string) error {
	switch {
	case o.list && o.printSQL:
		return cli.UsageErr("--list and --sql exclude each other: explain a query, or print it")
	case o.list:
		return g.listQueries(cmp.Or(o.output.format, string(query.Table)), args)
	case o.printSQL:
		return g.printSQL(args)
	}
	sections := []string{"warehouse", "retention"}
	if len(args) == 1 && query.IsName(args[0]) {
		sections = append(sections, "queries")
	}
	cfg, err := g.loadConfig(sections...)
	if errors.Is(err, os.ErrNotExist) && len(args) == 1 { // a misspelled name is reported before the missing file
		_, nameErr := query.Resolve(args[0])
		err = cmp.Or(nameErr, err)
	}
	if err != nil {
		return err
	}
	q, err := o.readQuery(args, func() (query.Library, error) { return g.loadQueriesOf(cfg) })
	if err != nil {
		return err
	}
	if q.Replacement != "" && !g.Quiet {
		fmt.Fprintf(g.stderr, "placementsync: the next release has no query %s: use placementsync query %s\n", q.Name, q.Replacement)
	}
	values, err := paramValues(o.params)
	if err != nil {
		return err
	}
	format, err := o.output.parseFormat()
	if err != nil {
		return err
	}
	if o.timeout < 0 {
		return cli.UsageErr("--timeout is %s: use 0 or more", o.timeout)
	}
	db, err := openCatalogOf(ctx, g, cfg, query.Options{AsOf: o.asOf, Unsafe: o.unsafe, Timeout: o.timeout})
	if err != nil {
		return err
	}
	ctx, cancel := db.WithTimeout(ctx)
	defer cancel()
	values, notes, err := db.ResolveNames(ctx, q, values)
	if err != nil {
		return explainDamage(g, errors.Join(err, db.Close()))
	}
	if !g.Quiet {
		for _, note := range notes {
			fmt.Fprintln(g.stderr, query.EscapeLines(note))
		}
	}
	written := make(chan error, 1)
	go func() { written <- errors.Join(o.writeExplained(ctx, g, db, format, q, values), db.Close()) }()
	select {
	case err = <-written:
	case <-ctx.Done():
		const grace = 2 * time.Second // for an interrupted query to end
		select {
		case err = <-written:
		case <-time.After(grace): // DuckDB cannot interrupt the query, and the end of this process ends it
			return context.Cause(ctx)
		}
	}
	return explainDamage(g, err)
}

// writeExplained writes a result, and explains why it is cut or empty.
func (o queryOptions) writeExplained(
	ctx context.Context, g *globals, db *query.DB, format query.Format, q query.Query, values map[string]string,
) error {
	rows, err := o.output.writeGraded(ctx, g, db, format, q, values)
	if err != nil {
		return err
	}
	_, isChosen := values["top"]
	if cut := q.DescribeCut(values, rows); cut != "" && !isChosen && !g.Quiet {
		fmt.Fprintln(g.stderr, cut)
	}
	if rows > 0 {
		return nil
	}
	unknown, err := db.DescribeUnknownValues(ctx, q, values)
	if err != nil || len(unknown) == 0 {
		return err
	}
	return cli.UsageErr("no rows: %s", query.EscapeLines(strings.Join(unknown, "; ")))
}

// explainDamage returns the damage with its repair if a damaged catalog can be the cause of err.
func explainDamage(g *globals, err error) error {
	if !query.IsUnreadable(err) {
		return err
	}
	wh, _, openErr := g.openWarehouse()
	if openErr != nil {
		return err
	}
	if g.held {
		return wh.ExplainHeldErr(err)
	}
	return wh.ExplainErr(err)
}

// readQuery returns the query of an argument or of a file. load is called only for a name.
func (o queryOptions) readQuery(args []string, load func() (query.Library, error)) (query.Query, error) {
	switch {
	case o.file != "" && len(args) > 0:
		return query.Query{}, cli.UsageErr("query takes either SQL or --file, not both")
	case o.file != "":
		text, err := query.ReadText(o.file)
		if err != nil {
			return query.Query{}, cli.UsageErr("read the query: %s %v", o.file, err)
		}
		return query.ParseText(o.file, text)
	case len(args) == 0:
		return query.Query{}, cli.UsageErr("query needs SQL or the name of a query: see --list")
	}
	return resolveQuery(args[0], load)
}

// atMostOneQuery rejects SQL that the shell has split into words.
func atMostOneQuery(cmd *cobra.Command, args []string) error {
	if isList, _ := cmd.Flags().GetBool("list"); len(args) > 1 && !isList {
		return cli.UsageErr("query takes one argument and got %d: put SQL in quotes, and give values with --param", len(args))
	}
	return nil
}

func paramValues(params []string) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range params {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, cli.UsageErr("--param is %q: use name=value", p)
		}
		if _, isRepeated := values[name]; isRepeated {
			return nil, cli.UsageErr("--param sets %q twice: a parameter has one value", name)
		}
		values[name] = value
	}
	return values, nil
}

// openCatalog opens the newest version or, with --held, the held night.
func openCatalog(ctx context.Context, g *globals, opts query.Options) (*query.DB, error) {
	cfg, err := g.loadConfig("warehouse", "retention", "statuses")
	if err != nil {
		return nil, err
	}
	return openCatalogOf(ctx, g, cfg, opts)
}

func openCatalogOf(ctx context.Context, g *globals, cfg config.Config, opts query.Options) (*query.DB, error) {
	wh := g.newWarehouse(cfg)
	opts.MemoryLimit, opts.Threads, opts.Settings = cfg.Warehouse.MemoryLimit, cfg.Warehouse.Threads, cfg.QuerySettings()
	if g.held {
		h, err := findHeld(wh)
		if err != nil {
			return nil, err
		}
		db, err := query.Open(ctx, wh.Folder.HeldCatalog(h.Manifest.RunID), opts)
		if err != nil {
			return nil, wh.ExplainHeldErr(err)
		}
		if !g.Quiet {
			fmt.Fprintf(g.stderr, "held night %s of %s: not published\n", h.Manifest.RunID, h.Manifest.SnapshotAt.Format(time.RFC3339))
		}
		return db, nil
	}
	if err := checkPublished(wh); err != nil {
		return nil, err
	}
	db, err := query.Open(ctx, wh.Folder.CatalogPath(), opts)
	if errors.As(err, new(*query.UsageError)) && opts.AsOf != "" {
		if snapshotTime := snapshotOfRun(wh, opts.AsOf); snapshotTime != opts.AsOf {
			opts.AsOf = snapshotTime
			db, err = query.Open(ctx, wh.Folder.CatalogPath(), opts)
		}
	}
	if errors.As(err, new(*query.UsageError)) || errors.As(err, new(*durable.TempError)) {
		return nil, err
	}
	if err != nil {
		return nil, wh.ExplainErr(err)
	}
	if s := db.AsOf(); s != nil && !g.Quiet {
		fmt.Fprintf(g.stderr, "as of snapshot %s\n", s)
	}
	return db, nil
}

func checkPublished(wh *warehouse.Warehouse) error {
	_, published, err := wh.Versions.Latest()
	if err != nil {
		return err
	}
	if published {
		return wh.Versions.CheckFormat()
	}
	if err := wh.Folder.CheckExists(); err != nil {
		return err
	}
	if lost, ok := errors.AsType[*warehouse.LostError](wh.CheckLink()); ok {
		return lost
	}
	return fmt.Errorf("open %s: nothing is published yet: start a night with placementsync run", wh.Folder.CatalogPath())
}

// snapshotOfRun returns the time of the snapshot that readers saw after a run. A rollback, for example, has
// no snapshot of its own. If the ledger has no such run or snapshot, text is returned unchanged.
func snapshotOfRun(wh *warehouse.Warehouse, text string) string {
	runs, err := wh.RunLog.Runs()
	if err != nil {
		return text // some users have access to snapshots but not to the ledger
	}
	var current time.Time
	for _, r := range runs {
		if !r.SnapshotAt.IsZero() {
			current = r.SnapshotAt
		}
		if r.ID == text && !current.IsZero() {
			return current.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}

func (g *globals) loadQueries() (query.Library, error) {
	cfg, err := g.loadConfig("queries")
	if g.Config == cli.DefaultConfig && errors.Is(err, os.ErrNotExist) {
		cfg, err = config.Config{}, nil // the built-in queries need no configuration
	}
	if err != nil {
		return query.Library{}, err
	}
	return g.loadQueriesOf(cfg)
}

func (g *globals) loadQueriesOf(cfg config.Config) (query.Library, error) {
	all, err := query.Load(cfg.Queries.Dir)
	if faulty, ok := errors.AsType[*query.FilesError](err); ok {
		for _, problem := range faulty.Problems {
			fmt.Fprintln(g.stderr, "placementsync: user-defined query not loaded:", query.EscapeLines(problem))
		}
		err = nil
	}
	return all, err
}

func resolveQuery(text string, load func() (query.Library, error)) (query.Query, error) {
	if !query.IsName(text) {
		return query.Resolve(text)
	}
	all, err := load()
	if err != nil {
		return query.Query{}, err
	}
	return all.Resolve(text)
}

func (g *globals) printSQL(args []string) error {
	if len(args) == 0 || !query.IsName(args[0]) {
		return cli.UsageErr("--sql needs the name of a query: see --list")
	}
	q, err := resolveQuery(args[0], g.loadQueries)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(g.screen(), strings.TrimRight(q.SQL, "\n"))
	return err
}

// listQueries lists the queries that contain all words. If the only word is the name of a query,
// it lists only that query. The format "table" then also shows the description and the parameters.
func (g *globals) listQueries(format string, words []string) error {
	all, err := g.loadQueries()
	if err != nil {
		return err
	}
	matches := query.FilterByWords(all.List(), words)
	if len(words) == 1 {
		q, isName := all.Find(words[0])
		switch {
		case isName && query.Format(format) == query.Table:
			return query.Explain(g.screen(), q)
		case isName:
			matches = []query.Query{q}
		case len(matches) == 0 && query.IsName(words[0]):
			_, err := all.Resolve(words[0]) // the error suggests similar names
			return err
		}
	}
	if len(matches) == 0 {
		return cli.UsageErr("no query has all of the words %q in its name, title, description or subject: use fewer", strings.Join(words, " "))
	}
	return query.WriteList(g.screen(), query.Format(format), matches)
}
