package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// dictionaryTable is one table or view of the data dictionary.
type dictionaryTable struct {
	// Schema is main, meta or mart; mart has only views.
	Schema string `json:"schema"`
	Table  string `json:"table"`
	About  string `json:"about"`
	// Key are the columns that identify a row; for a view, Grain says what a row is.
	Key   []string `json:"key"`
	Grain string   `json:"grain,omitempty"`
	// Streams fill a table of main; Reads are the tables behind a view.
	Streams []string           `json:"streams"`
	Reads   []string           `json:"reads,omitempty"`
	Columns []dictionaryColumn `json:"columns"`
}

type dictionaryColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	About    string `json:"about"`
	// Source is the place in the specification of the service; empty: the program
	// makes the column.
	Source string `json:"source,omitempty"`
}

func schemaCommand(g *globals) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "schema [TABLE ...]",
		Short: "Print the data dictionary: tables, columns, types, keys, meaning, source",
		Long: "Print the data dictionary: the tables of main and meta and the views of mart with their\n" +
			"columns, types, keys, meaning, and source in the specification of the service. Names may\n" +
			"contain *; those of meta and mart start with meta. or mart.",
		RunE: command.MarkWork(func(_ *cobra.Command, args []string) error { return runSchema(g, format, args) }),
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown or json")
	cmd.ValidArgsFunction = completeTable
	return cmd
}

func runSchema(g *globals, format string, names []string) error {
	tables, err := readDictionary(names)
	if err != nil {
		return err
	}
	switch format {
	case "text":
		return schemaText(g.stdout, tables)
	case "markdown":
		return schemaMarkdown(g.stdout, tables)
	case "json":
		return writeJSON(g.stdout, tables)
	}
	return command.UsageErr("--format is %q: use text, markdown or json", format)
}

// readDictionary joins what schema/ says of columns with what the stream literals
// say of keys and sources.
func readDictionary(names []string) ([]dictionaryTable, error) {
	defs, metas, err := warehouse.Definitions()
	if err != nil {
		return nil, err
	}
	views, err := warehouse.MartViews()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(views, func(a, b warehouse.MartView) int { return strings.Compare(a.Name, b.Name) })
	all := stream.Known()
	var tables []dictionaryTable
	for _, t := range stream.Tables(all) {
		tables = append(tables, describeTable(t, defs[t.Name], all))
	}
	for _, v := range views {
		tables = append(tables, describeView(v))
	}
	for _, def := range metas {
		tables = append(tables, dictionaryTable{Schema: "meta", Table: def.Name, About: def.Comment, Key: def.Key, Columns: describeColumns(def.Columns)})
	}
	tables = slices.DeleteFunc(tables, func(d dictionaryTable) bool { return len(names) > 0 && !fitsPattern(d.sqlName(), names) })
	if len(tables) == 0 {
		return nil, command.UsageErr("no table is called %s: placementsync schema lists all", strings.Join(names, " or "))
	}
	return tables, nil
}

func describeTable(t stream.Table, def stream.Definition, all []stream.Stream) dictionaryTable {
	d := dictionaryTable{Schema: "main", Table: t.Name, About: def.Comment, Key: t.Key, Columns: describeColumns(def.Columns)}
	for _, name := range stream.Feeding(all, t.Name) {
		s, _ := stream.Find(all, name)
		if s.IsEvents() {
			d.Streams = append(d.Streams, s.Topics...)
		} else {
			d.Streams = append(d.Streams, "GET "+s.Path)
		}
	}
	return d
}

func describeView(v warehouse.MartView) dictionaryTable {
	d := dictionaryTable{Schema: "mart", Table: v.Name, About: v.About, Grain: v.Grain, Reads: slices.Clone(v.Reads), Columns: describeColumns(v.Columns)}
	for _, name := range v.On {
		d.Reads = append(d.Reads, "mart."+name)
	}
	for _, name := range v.Meta {
		d.Reads = append(d.Reads, "meta."+name)
	}
	slices.Sort(d.Reads)
	d.Reads = slices.Compact(d.Reads)
	return d
}

// describeColumns splits what a comment says into meaning and source: it ends
// with the place in the specification, where there is one.
func describeColumns(all []stream.Column) []dictionaryColumn {
	columns := make([]dictionaryColumn, len(all))
	for i, c := range all {
		d := dictionaryColumn{Name: c.Name, Type: string(c.Type), Nullable: !c.NotNull, About: c.Comment}
		if at := strings.LastIndex(c.Comment, " Spec "); at >= 0 {
			d.About, d.Source = c.Comment[:at], strings.TrimSuffix(c.Comment[at+1:], ".")
		}
		columns[i] = d
	}
	return columns
}

// sqlName is the name by which SQL finds the table.
func (d dictionaryTable) sqlName() string {
	if d.Schema == "main" {
		return d.Table
	}
	return d.Schema + "." + d.Table
}

// sourcesText says who fills the table, or what the view is made of.
func (d dictionaryTable) sourcesText(quote string) string {
	sources := slices.Concat(d.Streams, d.Reads)
	if len(sources) == 0 {
		return "every night"
	}
	return quote + strings.Join(sources, quote+", "+quote) + quote
}

// grainText says what identifies a row.
func (d dictionaryTable) grainText(quote string) (label, text string) {
	if d.Grain != "" {
		return "grain", d.Grain
	}
	return "key", quote + strings.Join(d.Key, quote+", "+quote) + quote
}

// fullMeaning is what a table shows of a column, on one line.
func (c dictionaryColumn) fullMeaning() string {
	if c.Source == "" {
		return c.About
	}
	return c.About + " " + c.Source + "."
}

func schemaText(w io.Writer, tables []dictionaryTable) error {
	var b strings.Builder
	for _, d := range tables {
		name, kind := 0, 0
		for _, c := range d.Columns {
			name, kind = max(name, len(c.Name)), max(kind, len(c.Type))
		}
		label, rows := d.grainText("")
		fmt.Fprintf(&b, "%s\n  %s\n  %s: %s\n  from: %s\n", d.sqlName(), d.About, label, rows, d.sourcesText(""))
		for _, c := range d.Columns {
			fmt.Fprintf(&b, "    %-*s  %-*s  %s\n", name, c.Name, kind, c.Type, c.fullMeaning())
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func schemaMarkdown(w io.Writer, tables []dictionaryTable) error {
	const head = "# Tables\n\nEvery table of `main` and `meta` and every view of `mart`, generated by `make docs` from `schema/` and `internal/stream`.\n" +
		"`main` adds `valid_from` (time of the snapshot that first showed this version of the row) and\n" +
		"`row_hash` (its fingerprint); `past` adds `valid_to` and `run_id`; `history` unites both.\n" +
		"`Spec 2.1` is a section of the description of the service, docs/service.md.\n"
	var b strings.Builder
	b.WriteString(head)
	for _, d := range tables {
		label, rows := d.grainText("`")
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s: %s. From %s.\n\n| column | type | meaning |\n|---|---|---|\n",
			d.sqlName(), d.About, strings.ToUpper(label[:1])+label[1:], rows, d.sourcesText("`"))
		for _, c := range d.Columns {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, c.Type, strings.ReplaceAll(c.fullMeaning(), "|", `\|`))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
