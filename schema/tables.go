package schema

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"placementsync/internal/nearest"
	"placementsync/internal/stream"
)

// Tables are tables of the schemas main and meta, and views of the schema mart.
type Tables []Table

// Table is one table or view.
type Table struct {
	// Schema is main, meta or mart. It is past in a result of [Table.InPast], and history in a result of
	// [Table.InHistory]. mart and history contain only views.
	Schema string `json:"schema"`
	Table  string `json:"table"`
	About  string `json:"about"`
	// Key lists the columns that identify a row of a table. Grain describes a row of a view.
	Key   []string `json:"key"`
	Grain string   `json:"grain,omitempty"`
	// Streams are the endpoints and the topics of webhook events that fill a table of the schema main.
	// Reads are the tables and views that a view of the schema mart reads.
	Streams []string `json:"streams"`
	Reads   []string `json:"reads,omitempty"`
	// Columns is empty in a list of tables.
	Columns []Column `json:"columns,omitempty"`
}

// Column is one column of a table or view.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	About    string `json:"about"`
	// Source is the section of docs/service.md that describes the column. It is empty for a column
	// that the program computes.
	Source string `json:"source,omitempty"`
	// References is another column whose values this column contains, such as outlets.id or
	// meta.runs.run_id. Empty means no reference.
	References string `json:"references,omitempty"`
}

// UnknownTableError reports an unknown table. Similar contains the names that the user may have meant, joined
// by "or". Empty means none.
type UnknownTableError struct{ Table, Similar string }

func (e *UnknownTableError) Error() string {
	if e.Similar == "" {
		return fmt.Sprintf("no table is named %s: \"placementsync schema\" lists all tables", e.Table)
	}
	return fmt.Sprintf("no table is named %s: did you mean %s? \"placementsync schema\" lists all tables", e.Table, e.Similar)
}

// All describes all tables and views.
func All() Tables {
	mainDefs, metaDefs := Definitions()
	views := MartViews()
	slices.SortFunc(views, func(a, b MartView) int { return strings.Compare(a.Name, b.Name) })
	var all Tables
	for _, t := range stream.Tables(stream.AllWithEvents()) {
		all = append(all, describeTable(t, mainDefs[t.Name]))
	}
	for _, v := range views {
		all = append(all, Table{Schema: "mart", Table: v.Name, About: v.About, Grain: v.Grain, Reads: v.Reads, Columns: describeColumns("", v.Columns)})
	}
	for _, def := range metaDefs {
		all = append(all, Table{Schema: "meta", Table: def.Name, About: def.Comment, Key: def.Key, Columns: describeColumns("meta.", def.Columns)})
	}
	return all
}

// Select returns the tables whose names match one of the patterns. Without a pattern it returns all
// tables. Patterns such as mart.* have the syntax of [path.Match]. Select converts them to lower case and
// compares them with [Table.Name]. For a pattern without a match, Select returns an *UnknownTableError.
func Select(patterns []string) (Tables, error) {
	all := All()
	if len(patterns) == 0 {
		return all, nil
	}
	matches := func(t Table, pattern string) bool {
		ok, err := path.Match(strings.ToLower(pattern), t.Name())
		return ok && err == nil
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(all, func(t Table) bool { return matches(t, p) }) {
			return nil, all.unknownTableErr(strings.ToLower(p))
		}
	}
	return slices.DeleteFunc(all, func(t Table) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool { return matches(t, p) })
	}), nil
}

// unknownTableErr suggests all tables of a schema, a table of the same name in another schema, or a name that
// differs in a few letters.
func (all Tables) unknownTableErr(name string) error {
	var known, similar []string
	for _, t := range all {
		if t.Schema == name && t.Schema != "main" {
			return &UnknownTableError{name, "'" + name + ".*'"}
		}
		known = append(known, t.Name())
		if t.Table == name[strings.LastIndex(name, ".")+1:] {
			similar = append(similar, t.Name())
		}
	}
	if len(similar) == 0 {
		similar = nearest.FindSuggestions(known, name)
	}
	return &UnknownTableError{name, strings.Join(similar, " or ")}
}

func describeTable(t stream.Table, def stream.Definition) Table {
	d := Table{Schema: "main", Table: t.Name, About: def.Comment, Key: t.Key,
		Columns: describeColumns("", slices.Concat(def.Columns, stream.SystemColumns()))}
	all := stream.AllWithEvents()
	for _, name := range stream.FilledBy(all, t.Name) {
		s, _ := stream.Find(all, name)
		if s.IsEvents() {
			d.Streams = append(d.Streams, s.Topics...)
		} else {
			d.Streams = append(d.Streams, "GET "+s.Path)
		}
	}
	return d
}

// describeColumns splits a comment such as "Price of one placement. Spec 2.1." into the meaning and the section
// of docs/service.md. prefix is the schema of referenced tables.
func describeColumns(prefix string, all []stream.Column) []Column {
	columns := make([]Column, len(all))
	for i, c := range all {
		d := Column{Name: c.Name, Type: string(c.Type), Nullable: !c.NotNull, About: c.Comment}
		if at := strings.LastIndex(c.Comment, " Spec "); at >= 0 {
			d.About, d.Source = c.Comment[:at], strings.TrimSuffix(c.Comment[at+1:], ".")
		}
		if len(c.OtherNames) > 0 {
			d.About += " Also sent as " + strings.Join(c.OtherNames, " or ") + "."
		}
		if to := c.References; to.Table != "" {
			d.References = prefix + to.Table + "." + to.Column
		}
		columns[i] = d
	}
	return columns
}

// Name returns the name of the table in SQL, such as orders or mart.payables.
func (t Table) Name() string {
	if t.Schema == "main" {
		return t.Table
	}
	return t.Schema + "." + t.Table
}

// RowIdentity describes what identifies a row. For a table it returns "key" and the key columns, each
// enclosed in quote. For a view it returns "grain" and the grain.
func (t Table) RowIdentity(quote string) (label, text string) {
	if t.Grain != "" {
		return "grain", t.Grain
	}
	return "key", quote + strings.Join(t.Key, quote+", "+quote) + quote
}

// Sources returns the endpoints and topics that fill a table, or the tables and views that a view reads.
// Tables of the schema meta have no sources, because the program itself writes their rows.
func (t Table) Sources() []string { return slices.Concat(t.Streams, t.Reads) }

func (t Table) sourcesText() string {
	sources := t.Sources()
	if len(sources) == 0 {
		return "the program itself"
	}
	return strings.Join(sources, ", ")
}

// firstSentence returns the first sentence of a text, without its full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

func (c Column) aboutWithSource() string {
	if c.Source == "" {
		return c.About
	}
	return c.About + " " + c.Source + "."
}

// List returns one line for each table, cut to width characters. A width of 0 means no limit.
func (all Tables) List(width int) string {
	var b strings.Builder
	longest := 0
	for _, t := range all {
		longest = max(longest, len(t.Name()))
	}
	for _, t := range all {
		line := fmt.Sprintf("%-*s  %s", longest, t.Name(), firstSentence(t.About))
		if runes := []rune(line); width > 0 && len(runes) > width {
			line = string(runes[:width-1]) + "…"
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\n\"placementsync schema TABLE\" explains one table with its columns, \"placementsync schema --all\" explains all tables\n")
	return b.String()
}

// MarkdownList returns a Markdown table with one row per table.
func (all Tables) MarkdownList() string {
	var b strings.Builder
	b.WriteString("| table | about |\n|---|---|\n")
	for _, t := range all {
		fmt.Fprintf(&b, "| `%s` | %s |\n", t.Name(), strings.ReplaceAll(firstSentence(t.About), "|", `\|`))
	}
	return b.String()
}

// Text returns the tables with their columns.
func (all Tables) Text() string {
	var b strings.Builder
	for _, t := range all {
		nameWidth, typeWidth := 0, 0
		for _, c := range t.Columns {
			nameWidth, typeWidth = max(nameWidth, len(c.Name)), max(typeWidth, len(c.Type))
		}
		label, text := t.RowIdentity("")
		fmt.Fprintf(&b, "%s\n  %s\n  %s: %s\n  from: %s\n", t.Name(), t.About, label, text, t.sourcesText())
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "    %-*s  %-*s  %s\n", nameWidth, c.Name, typeWidth, c.Type, c.aboutWithSource())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Markdown returns the page docs/tables.md: the tables with their keys, and one line for each column. The page names
// the columns of every table of main once, at its beginning.
func (all Tables) Markdown() string {
	const head = "# Tables\n\nFor readers who write SQL: every table of `main` and `meta` and every view of `mart`. `make docs` generates this page.\n" +
		"`placementsync schema TABLE` prints more: the whole meaning of each column, and the section of the\n" +
		"description of the service from which it comes.\n\n" +
		"Every table of `main` also has these columns:\n\n"
	const pastAndHistory = "\n`past` contains closed versions of rows. Its tables have the columns of `main`, and also:\n\n"
	var b strings.Builder
	b.WriteString(head)
	writeMarkdownColumns(&b, describeColumns("", stream.SystemColumns()))
	b.WriteString(pastAndHistory)
	writeMarkdownColumns(&b, describeColumns("", stream.ClosedColumns()))
	b.WriteString("\n`history` contains the rows of `main` and `past`.\n")
	for _, t := range all {
		label, text := t.RowIdentity("`")
		fmt.Fprintf(&b, "\n## %s\n\n%s. %s: %s.\n\n", t.Name(), firstSentence(t.About), strings.ToUpper(label[:1])+label[1:], text)
		writeMarkdownColumns(&b, slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
			return t.Schema == "main" && slices.ContainsFunc(stream.SystemColumns(), func(system stream.Column) bool { return system.Name == c.Name })
		}))
	}
	return b.String()
}

func writeMarkdownColumns(b *strings.Builder, columns []Column) {
	b.WriteString("| column | type | meaning |\n|---|---|---|\n")
	for _, c := range columns {
		about := firstSentence(c.About)
		if c.References != "" && !strings.Contains(about, c.References) {
			about += ": " + c.References
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", c.Name, c.Type, strings.ReplaceAll(about, "|", `\|`))
	}
}
