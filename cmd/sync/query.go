package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// queryOptions are the flags of query.
type queryOptions struct {
	file   string
	list   bool
	params []string
	asOf   string
	unsafe bool
	// timeout is how long the query may take; 0: as long as it wants.
	timeout time.Duration
	answer  answerOptions
}

func queryCommand(g *globals) *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query [SQL | NAME]",
		Short: "Ask the newest snapshot: SQL text, a file, or a named query",
		Long: "Ask the newest snapshot, read only. A single word is the name of a query (see --list),\n" +
			"anything else is SQL of one statement. A query sees the catalog and nothing else: no file,\n" +
			"no network.",
		Args: cobra.MaximumNArgs(1),
		RunE: command.MarkWork(func(cmd *cobra.Command, args []string) error { return runQuery(cmd.Context(), g, o, args) }),
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "read the SQL from a `file`")
	f.BoolVar(&o.list, "list", false, "list the named queries with their parameters")
	f.StringArrayVar(&o.params, "param", nil, "set a parameter: `name=value`; may be repeated")
	f.DurationVar(&o.timeout, "timeout", 0, "stop the query after this `duration`, such as 30s; 0: never")
	o.answer.addFlags(cmd)
	o.answer.gradesFlag(cmd)
	asOfFlag(cmd, &o.asOf)
	f.BoolVar(&o.unsafe, "unsafe", false, "let the SQL use files, the network, extensions and several statements; the warehouse stays read only")
	return cmd
}

func asOfFlag(cmd *cobra.Command, asOf *string) {
	cmd.Flags().StringVar(asOf, "as-of", "", "answer from an earlier snapshot: a `time`, a date (the last snapshot of that day, UTC) or the id of a run")
}

func runQuery(ctx context.Context, g *globals, o queryOptions, args []string) error {
	if o.list {
		return listQueries(g.stdout)
	}
	q, err := o.readQuery(args)
	if err != nil {
		return err
	}
	values, err := paramValues(o.params)
	if err != nil {
		return err
	}
	if _, err := query.ParseFormat(o.answer.format); err != nil {
		return err
	}
	if o.timeout < 0 {
		return command.UsageErr("--timeout is %s: use 0 or more", o.timeout)
	}
	db, err := openCatalog(ctx, g, query.Options{AsOf: o.asOf, Unsafe: o.unsafe, Timeout: o.timeout})
	if err != nil {
		return err
	}
	defer db.Close()
	return suspectDamage(g, o.answer.writeGraded(ctx, g, db, q, values))
}

// suspectDamage looks, after an error that a damaged catalog explains, whether it is one.
func suspectDamage(g *globals, err error) error {
	if !query.IsUnreadable(err) {
		return err
	}
	wh, _, openErr := g.openWarehouse()
	if openErr != nil {
		return err
	}
	return wh.Examiner.ExplainErr(err)
}

func (o queryOptions) readQuery(args []string) (query.Query, error) {
	switch {
	case o.file != "" && len(args) > 0:
		return query.Query{}, command.UsageErr("query takes either SQL or --file, not both")
	case o.file != "":
		text, err := os.ReadFile(o.file)
		if err != nil {
			return query.Query{}, command.UsageErr("read the query: %v", err)
		}
		return query.Text(string(text)), nil
	case len(args) == 0:
		return query.Query{}, command.UsageErr("query needs SQL or the name of a query: see --list")
	}
	return query.Resolve(args[0])
}

// paramValues reads the values of --param.
func paramValues(params []string) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range params {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, command.UsageErr("--param is %q: use name=value", p)
		}
		values[name] = value
	}
	return values, nil
}

// openCatalog opens the newest version for reading, within the limits of the
// configuration.
func openCatalog(ctx context.Context, g *globals, opts query.Options) (*query.DB, error) {
	wh, cfg, err := g.openWarehouse()
	if err != nil {
		return nil, err
	}
	if err := checkPublished(wh); err != nil {
		return nil, err
	}
	opts.MemoryLimit, opts.Threads = cfg.Warehouse.MemoryLimit, cfg.Warehouse.Threads
	db, err := query.Open(ctx, wh.Folder.CatalogPath(), opts)
	if misuse := (*query.UsageError)(nil); errors.As(err, &misuse) && opts.AsOf != "" {
		// The id may be one of the ledger's that no snapshot has.
		if at := seenAs(wh, opts.AsOf); at != opts.AsOf {
			opts.AsOf = at
			db, err = query.Open(ctx, wh.Folder.CatalogPath(), opts)
		}
	}
	if errors.As(err, new(*query.UsageError)) {
		return nil, err
	}
	if err != nil {
		return nil, wh.Examiner.ExplainErr(err)
	}
	if s, ok := db.AsOf(); ok && !g.Quiet {
		fmt.Fprintf(g.stderr, "as of snapshot %s\n", s)
	}
	return db, nil
}

// checkPublished returns an error where readers have nothing to open, with what to do.
func checkPublished(wh *warehouse.Warehouse) error {
	_, published, err := wh.Versions.Latest()
	if err != nil || published {
		return err
	}
	if lost := (*warehouse.LostError)(nil); errors.As(wh.Identity.Check(), &lost) {
		return lost
	}
	return fmt.Errorf("open %s: nothing is published yet: start a night with placementsync run", wh.Folder.CatalogPath())
}

func listQueries(w io.Writer) error {
	all, err := query.List()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, q := range all {
		fmt.Fprintf(&b, "%s\n  %s\n  one row per %s\n  %s\n", q.Name, q.Title, strings.TrimPrefix(q.Grain, "one row per "), q.About)
		for _, p := range q.Params {
			fmt.Fprintf(&b, "  --param %s\n", p)
		}
		b.WriteString("\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}
