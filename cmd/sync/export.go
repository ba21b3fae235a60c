package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/durable"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

type exportOptions struct {
	to, out, query, format, partition, asOf string
	workbook, profile                       string
	params                                  []string
	raw                                     bool
}

func exportCommand(g *globals) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export {--to DIR|s3://BUCKET/PREFIX [TABLE ...] | -o FILE TABLE | --workbook FILE.xlsx [QUERY ...]}",
		Short: "Write tables or a query result as Parquet or CSV into a folder or a bucket, or to one file",
		Long: "Write tables, or the result of a query, as Parquet or CSV into a folder, with a manifest of\n" +
			"rows, sizes and checksums. The folder is written atomically: an earlier export there is\n" +
			"replaced in one step; any other folder that is not empty is refused. Without TABLE, all\n" +
			"tables of main are written; history.orders or 'mart.*' name tables of other schemas. In CSV,\n" +
			"texts that a spreadsheet would run as formulas get an apostrophe in front, unless --raw.\n\n" +
			"In a bucket, each export has a folder of its own. manifest.json at the prefix names the folder\n" +
			"and its files. It is written last, so its readers always find one whole export. The files of\n" +
			"the previous export are kept until the next export. Files of a failed export are removed.\n" +
			"Files of an interrupted export are removed by the first export that runs at least a day later.\n\n" +
			"With -o, one table or query is written to a file, whose extension chooses the format: .parquet,\n" +
			".csv, .xlsx, .json, .jsonl, .md or .txt.\n\n" +
			"With --workbook, an Excel workbook is written, with a cover and one sheet for each named QUERY, or for\n" +
			"each question of the report. With --profile, it has the questions of the report for this client, and\n" +
			"can be sent.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.workbook != "" || o.profile != "" {
				return runWorkbook(cmd.Context(), g, o, args)
			}
			return runExport(cmd.Context(), g, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "output `folder`, whose parent must exist, or s3://bucket/prefix")
	f.StringVarP(&o.out, "output", "o", "", "write one table or query to a `file` atomically")
	f.StringVar(&o.query, "query", "", "export the result of `SQL` or of a named query instead of tables")
	f.StringArrayVar(&o.params, "param", nil, "set a parameter of the query: `name=value`; may be repeated")
	f.StringVar(&o.format, "format", "", "parquet or csv; with -o any format of the command \"query\". Default: from the\n"+
		"extension of the -o file, else parquet")
	f.StringVar(&o.partition, "partition-by", "", "write one folder for each value of this `column` (parquet only)")
	f.StringVar(&o.workbook, "workbook", "", "write several results to an Excel `file` atomically")
	f.StringVar(&o.profile, "profile", "", "write the workbook for the client profile with this `name` or id")
	f.BoolVar(&o.raw, "raw", false, "do not change CSV texts that look like formulas")
	addAsOfFlag(cmd, g, &o.asOf)
	cmd.ValidArgsFunction = completeTable
	completeFlag(cmd, "query", g.completeQuery)
	completeFlag(cmd, "param", g.completeParam)
	completeFlag(cmd, "format", cobra.FixedCompletions([]string{"parquet", "csv"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runExport(ctx context.Context, g *globals, o exportOptions, tables []string) error {
	e, err := o.newExport(g, tables)
	if err != nil {
		return err
	}
	if err := durable.CheckTemp(); err != nil {
		return err
	}
	wh, _, err := g.openWarehouse()
	if err != nil {
		return err
	}
	// An export must not copy damaged data.
	latest, ok, err := wh.Versions.Latest()
	if err == nil && ok {
		err = wh.WithRemedy(wh.Versions.VerifyCatalog(latest), latest)
	}
	if err != nil {
		return err
	}
	db, err := openCatalog(ctx, g, query.Options{AsOf: o.asOf})
	if err != nil {
		return err
	}
	defer db.Close()
	if o.out != "" {
		rows, err := db.SaveExport(ctx, e, o.out)
		if err == nil && !g.Quiet {
			fmt.Fprintf(g.stderr, "%s written to %s\n", humanize.Count(rows, "row"), o.out)
		}
		return explainDamage(g, err)
	}
	var m query.ExportManifest
	if strings.HasPrefix(o.to, config.BucketScheme) {
		m, err = g.exportToBucket(ctx, db, o.to, e)
	} else {
		m, err = db.Export(ctx, o.to, e)
	}
	if err != nil {
		return explainDamage(g, err)
	}
	return showExport(g, o.to, m)
}

func (g *globals) exportToBucket(ctx context.Context, db *query.DB, address string, e query.Export) (query.ExportManifest, error) {
	cfg, err := g.loadConfig("warehouse", "retention", "s3", "statuses")
	if err != nil {
		return query.ExportManifest{}, err
	}
	b, err := openBucket(ctx, cfg, address)
	if err != nil {
		return query.ExportManifest{}, err
	}
	return db.ExportToBucket(ctx, b, e, g.Now(), g.newLogger())
}

func (o exportOptions) newExport(g *globals, tables []string) (query.Export, error) {
	e := query.Export{Tables: tables, Format: query.Format(o.format), PartitionBy: o.partition, Defuse: !o.raw, Program: version}
	if e.Format == "" {
		e.Format = query.Parquet
	}
	if o.out == "" && o.to == "" {
		return e, cli.UsageErr("export needs a folder or a file: name it with --to DIR or -o FILE")
	}
	if o.out != "" {
		var err error
		if e.Format, err = (outputOptions{format: o.format, file: o.out}).parseFormat(); err != nil {
			return e, err
		}
		if o.to != "" || o.partition != "" {
			return e, cli.UsageErr("-o cannot be combined with --to or --partition-by")
		}
		if o.query == "" && len(tables) == 0 {
			return e, cli.UsageErr("-o writes one table: name it, or a query with --query")
		}
	}
	if o.query == "" {
		if len(o.params) > 0 {
			return e, cli.UsageErr("--param needs --query")
		}
		return e, nil
	}
	if len(tables) > 0 {
		return e, cli.UsageErr("export takes either tables or --query, not both")
	}
	q, err := resolveQuery(o.query, g.loadQueries)
	if err != nil {
		return e, err
	}
	e.Query = &q
	e.Values, err = paramValues(o.params)
	return e, err
}

func showExport(g *globals, to string, m query.ExportManifest) error {
	t := textTable{columns: []column{{name: "source"}, {name: "rows", isNumber: true}, {name: "size", isNumber: true}}}
	var sourceBytes int64 // of the files of one source; these files are adjacent in the manifest
	for i, f := range m.Files {
		sourceBytes += f.Bytes
		isLastOfSource := i == len(m.Files)-1 || m.Files[i+1].Source != f.Source
		if isLastOfSource {
			// Rows is the total of all files of the source, unlike Bytes.
			t.addRow(f.Source, f.Rows, humanize.FormatBytes(sourceBytes))
			sourceBytes = 0
		}
	}
	_, err := fmt.Fprintf(g.stdout, "%s\n\nsnapshot %s in %s: %s and manifest.json\n", t.render(g.width), m.RunID, to, humanize.Count(len(m.Files), "file"))
	return err
}

// runWorkbook writes the results of the named queries, or the questions of the report, to one Excel file.
func runWorkbook(ctx context.Context, g *globals, o exportOptions, names []string) error {
	if err := o.checkWorkbook(names); err != nil {
		return err
	}
	db, err := openCatalog(ctx, g, query.Options{AsOf: o.asOf})
	if err != nil {
		return err
	}
	defer db.Close()
	book := query.Workbook{Title: "Report"}
	var client report.Client
	if o.profile != "" {
		if client, err = findClient(ctx, g, db, o.profile); err != nil {
			return err
		}
		book.Title, book.IsForClient = "Report for "+client.Name, true
	}
	if len(names) == 0 {
		book.Sheets, err = report.Sheets(client)
	} else {
		book.Sheets, err = g.sheetsOf(names)
	}
	if err != nil {
		return err
	}
	rows, err := db.SaveWorkbook(ctx, book, o.workbook)
	if err != nil {
		return explainDamage(g, err)
	}
	if !g.Quiet {
		fmt.Fprintf(g.stderr, "%s written to %s\n", humanize.Count(rows, "row"), o.workbook)
	}
	return nil
}

func (o exportOptions) checkWorkbook(names []string) error {
	switch {
	case o.workbook == "":
		return cli.UsageErr("--profile needs --workbook FILE.xlsx")
	case o.to != "" || o.out != "" || o.query != "" || o.format != "" || o.partition != "" || len(o.params) > 0 || o.raw:
		return cli.UsageErr("--workbook can only be combined with --profile, --as-of and names of queries")
	case o.profile != "" && len(names) > 0:
		return cli.UsageErr("the workbook of a client has the questions of its report: leave out %s, or --profile", strings.Join(names, ", "))
	case !strings.EqualFold(filepath.Ext(o.workbook), ".xlsx"):
		return cli.UsageErr("--workbook is %q: name a file that ends with .xlsx", o.workbook)
	}
	return checkOutputFolder(o.workbook)
}

// sheetsOf returns a sheet for each named query, with the default values of its parameters.
func (g *globals) sheetsOf(names []string) ([]query.Sheet, error) {
	var sheets []query.Sheet
	for _, name := range names {
		q, err := resolveQuery(name, g.loadQueries)
		if err != nil {
			return nil, err
		}
		sheets = append(sheets, query.NewSheet(q))
	}
	return sheets, nil
}
