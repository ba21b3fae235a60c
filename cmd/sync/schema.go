package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/nearest"
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
	Streams []string `json:"streams"`
	Reads   []string `json:"reads,omitempty"`
	// Columns are left out of a list of tables.
	Columns []dictionaryColumn `json:"columns,omitempty"`
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

// schemaOptions are the flags of schema.
type schemaOptions struct {
	all    bool
	format string
}

func schemaCommand(g *globals) *cobra.Command {
	var o schemaOptions
	cmd := &cobra.Command{
		Use:   "schema [TABLE ...]",
		Short: "Print the data dictionary: tables, columns, types, keys, meaning, source",
		Long: "Print the data dictionary: the tables of main and meta and the views of mart. Without a name it\n" +
			"lists them; with names or --all it has their columns, types, keys, meaning, and source in the\n" +
			"specification of the service. Names may contain *; those of meta and mart start with meta. or\n" +
			"mart.",
		RunE: command.MarkWork(func(_ *cobra.Command, args []string) error { return runSchema(g, o, args) }),
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "print all tables with their columns")
	command.AddFormat(cmd, &o.format, "text", "markdown", "json")
	cmd.ValidArgsFunction = completeTable
	return cmd
}

func runSchema(g *globals, o schemaOptions, names []string) error {
	if o.all && len(names) > 0 {
		return command.UsageErr("--all is for no table: name some, or print all")
	}
	tables, err := readDictionary(names)
	if err != nil {
		return err
	}
	list := len(names) == 0 && !o.all
	if list {
		for i := range tables {
			tables[i].Columns = nil
		}
	}
	switch {
	case o.format == "json":
		return writeJSON(g.stdout, tables)
	case o.format == "markdown" && list:
		return listMarkdown(g.stdout, tables)
	case o.format == "markdown":
		return schemaMarkdown(g.stdout, tables)
	case o.format == "text" && list:
		return listTables(g.stdout, tables, g.width)
	case o.format == "text":
		return schemaText(g.stdout, tables)
	}
	return command.UsageErr("--format is %q: use text, markdown or json", o.format)
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
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = strings.ToLower(name) // as SQL does
	}
	for _, name := range names {
		if !slices.ContainsFunc(tables, func(d dictionaryTable) bool { return fitsPattern(d.sqlName(), []string{name}) }) {
			return nil, unknownTableErr(tables, name)
		}
	}
	return slices.DeleteFunc(tables, func(d dictionaryTable) bool { return len(names) > 0 && !fitsPattern(d.sqlName(), names) }), nil
}

// unknownTableErr says that there is no such table, and which may be meant: one in another
// schema, or one that is spelt alike.
func unknownTableErr(tables []dictionaryTable, name string) error {
	var known, meant []string
	for _, d := range tables {
		if whole := name + ".*"; d.Schema == name && fitsPattern(d.sqlName(), []string{whole}) {
			return command.UsageErr("no table is called %s: did you mean '%s'? placementsync schema lists all", name, whole)
		}
		known = append(known, d.sqlName())
		if d.Table == name[strings.LastIndex(name, ".")+1:] {
			meant = append(meant, d.sqlName())
		}
	}
	if len(meant) == 0 {
		meant = nearest.FindMeant(known, name)
	}
	if len(meant) == 0 {
		return command.UsageErr("no table is called %s: placementsync schema lists all", name)
	}
	return command.UsageErr("no table is called %s: did you mean %s? placementsync schema lists all", name, strings.Join(meant, " or "))
}

func describeTable(t stream.Table, def stream.Definition, all []stream.Stream) dictionaryTable {
	d := dictionaryTable{Schema: "main", Table: t.Name, About: def.Comment, Key: t.Key,
		Columns: describeColumns(slices.Concat(def.Columns, stream.SystemColumns()))}
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

// summary is the first sentence of what a table is about.
func (d dictionaryTable) summary() string {
	first, _, _ := strings.Cut(d.About, ". ")
	return strings.TrimSuffix(first, ".")
}

// listTables writes one line a table, which fits a terminal of this width; 0: it is none.
func listTables(w io.Writer, tables []dictionaryTable, width int) error {
	var b strings.Builder
	longest := 0
	for _, d := range tables {
		longest = max(longest, len(d.sqlName()))
	}
	for _, d := range tables {
		line := fmt.Sprintf("%-*s  %s", longest, d.sqlName(), d.summary())
		if letters := []rune(line); width > 0 && len(letters) > width {
			line = string(letters[:width-1]) + "…"
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\nschema TABLE explains one with its columns, schema --all explains all\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func listMarkdown(w io.Writer, tables []dictionaryTable) error {
	var b strings.Builder
	b.WriteString("| table | about |\n|---|---|\n")
	for _, d := range tables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.sqlName(), strings.ReplaceAll(d.summary(), "|", `\|`))
	}
	_, err := io.WriteString(w, b.String())
	return err
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
		"`past` has the columns of `main` and `valid_to`, the time of the snapshot that no longer showed this version\n" +
		"of the row (exclusive), and `run_id`, the run that closed it; `history` unites both.\n" +
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
