package main

import (
	"io"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/schema"
)

func schemaCommand(g *globals) *cobra.Command {
	var all bool
	var format string
	cmd := &cobra.Command{
		Use:   "schema [TABLE ...]",
		Short: "Print the data dictionary: tables, columns, types, keys, meaning, source",
		Long: "Print the data dictionary: the tables of main and meta and the views of mart. Without a name,\n" +
			"schema lists them. With names or --all it also prints their columns, types, keys, meaning, and\n" +
			"source in the specification of the service; markdown has only the key and one line for each column.\n" +
			"Names may contain *. Names of meta and mart have a prefix, as in meta.runs and mart.payables.",
		RunE: func(_ *cobra.Command, args []string) error { return runSchema(g, all, format, args) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "print all tables with their columns")
	cli.AddFormat(cmd, &format, "text", "markdown", "json")
	cmd.ValidArgsFunction = completeTable
	return cmd
}

func runSchema(g *globals, all bool, format string, names []string) error {
	if all && len(names) > 0 {
		return cli.UsageErr("--all prints all tables: leave out the names or --all")
	}
	tables, err := schema.Select(names)
	if err != nil {
		return err
	}
	isList := len(names) == 0 && !all
	if isList {
		for i := range tables {
			tables[i].Columns = nil
		}
	}
	var text string
	switch {
	case format == "json":
		return cli.WriteJSON(g.stdout, tables)
	case format == "markdown" && isList:
		text = tables.MarkdownList()
	case format == "markdown":
		text = tables.Markdown()
	case isList:
		text = tables.List(g.width)
	default:
		text = tables.Text()
	}
	_, err = io.WriteString(g.stdout, text)
	return err
}
