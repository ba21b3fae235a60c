package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/dialect"
	"placementsync/internal/ledger"
	"placementsync/lake/internal/lake"
	"placementsync/schema"
)

type viewsOptions struct {
	dialect, catalog string
}

func viewsCommand(g *globals) *cobra.Command {
	var o viewsOptions
	cmd := &cobra.Command{
		Use:   "views",
		Short: "Print the views of mart in the SQL of an engine",
		Long: "Print the statements that install the views of mart in an engine, in the namespace\n" +
			"<namespace>_mart beside the tables. The command executes no SQL.",
		Example: "  placementsync-lake views --dialect trino --catalog lake > views.sql",
		Args:    cli.NoArguments,
		RunE:    func(*cobra.Command, []string) error { return runViews(g, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dialect, "dialect", "spark", "spark or trino")
	flags.StringVar(&o.catalog, "catalog", "", "`name` of the catalog in the engine (default: the engine's current catalog)")
	return cmd
}

func runViews(g *globals, o viewsOptions) error {
	engine, err := dialect.Find(o.dialect)
	if err != nil {
		return cli.UsageErr("--dialect: %w", err)
	}
	if err := g.loadConfig(); err != nil {
		return err
	}
	names := dialect.LakeNames{Catalog: o.catalog, Prefix: g.cfg.Lake.Namespace}
	_, err = fmt.Fprintln(g.stdout, strings.Join(engine.ViewStatements(names), ";\n\n")+";")
	return err
}

// installViews installs the views of the schema mart in the catalog, each with the SQL of every engine.
// Spark resolves tables in the catalog of the view. Trino needs the name of the catalog in the SQL,
// so Trino must know the catalog by the name that the key lake.name sets.
func installViews(ctx context.Context, g *globals, l *lake.Lake) error {
	var views []lake.View
	for _, v := range schema.MartViews() {
		views = append(views, lake.View{Name: v.Name, About: v.About, Columns: v.Columns, SQL: map[string]string{}})
	}
	for _, e := range dialect.Engines() {
		names := dialect.LakeNames{Prefix: g.cfg.Lake.Namespace}
		if e.Name == dialect.Trino {
			names.Catalog = g.cfg.Lake.Name
		}
		for i, v := range e.Views(names) { // in the order of schema.MartViews
			views[i].SQL[e.Name] = v.Select
		}
	}
	written, err := l.InstallViews(ctx, dialect.Mart, views)
	if errors.Is(err, lake.ErrNoViews) {
		return cli.EndWith(ledger.Partial, fmt.Errorf("the night is in the lake, but its views are not: %w; \"placementsync-lake views\" prints them for your engine", err))
	}
	if err == nil {
		fmt.Fprintf(g.stderr, "views of mart: %d written, %d unchanged\n", written, len(views)-written)
	}
	return err
}
