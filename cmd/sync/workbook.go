package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
	"placementsync/internal/report"
)

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
