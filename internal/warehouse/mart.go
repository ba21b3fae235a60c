package warehouse

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// MartView is one analysis view of the schema mart.
type MartView struct {
	Name string
	// SQL is its file: CREATE VIEW mart.<name>, then its comments. It names every table
	// with its schema and without a database: so it works on any copy of these schemas,
	// and under any name by which a reader attaches the file.
	SQL string
	// Reads are the tables of main that it reads, itself or as history.
	Reads []string
	// On are the views of mart that it is built on.
	On []string
	// Meta are the tables of meta that it reads.
	Meta []string
	// Grain says what a row is, About what the view shows.
	Grain, About string
	// Columns are in the order of the view.
	Columns []stream.Column
}

// MartViews lists the views of mart, each after those that it is built on.
func MartViews() ([]MartView, error) {
	files, err := fs.Glob(schema.FS, martFiles)
	if err != nil {
		return nil, fmt.Errorf("list the views of mart: %w", err)
	}
	views := map[string]MartView{}
	for _, file := range files {
		sql, err := schema.FS.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read schema %s: %w", file, err)
		}
		v := parseMart(strings.TrimSuffix(path.Base(file), ".sql"), string(sql))
		views[v.Name] = v
	}
	return orderViews(views)
}

// martFiles are the schema files that hold views of mart instead of tables.
const martFiles = "mart/*.sql"

// source finds what a view reads: the files write FROM and JOIN in capitals, and one name
// after each. A name without a schema is a common table expression of the view.
var source = regexp.MustCompile(`\b(?:FROM|JOIN)\s+(\w+)\.(\w+)`)

// parseMart finds the sources of a view and its comments.
func parseMart(name, sql string) MartView {
	v := MartView{Name: name, SQL: sql}
	for _, m := range source.FindAllStringSubmatch(sql, -1) {
		switch m[1] {
		case "mart":
			v.On = append(v.On, m[2])
		case "meta":
			v.Meta = append(v.Meta, m[2])
		case "main", "history":
			v.Reads = append(v.Reads, m[2])
		}
	}
	// A test compares the comments with what DuckDB reads from the same file.
	if m := grainLine.FindStringSubmatch(sql); m != nil {
		v.Grain = m[1]
	}
	for _, m := range viewComment.FindAllStringSubmatch(sql, -1) {
		text := strings.ReplaceAll(m[2], "''", "'")
		if m[1] == "" {
			v.About = text
			continue
		}
		v.Columns = append(v.Columns, stream.Column{Name: m[1], Type: stream.Type(m[3]), Comment: text})
	}
	return v
}

var (
	grainLine   = regexp.MustCompile(`(?m)^-- grain: (.+)$`)
	viewComment = regexp.MustCompile(`(?m)^COMMENT ON (?:VIEW|COLUMN) mart\.\w+(?:\.(\w+))? IS '((?:[^']|'')*)';(?: -- (\S+))?$`)
)

// orderViews puts each view after those that it is built on.
func orderViews(views map[string]MartView) ([]MartView, error) {
	var ordered []MartView
	placed := map[string]bool{}
	var place func(name string, above []string) error
	place = func(name string, above []string) error {
		v, ok := views[name]
		if !ok || slices.Contains(above, name) {
			return fmt.Errorf("order the views of mart: %s does not lead to a view of its own",
				strings.Join(append(above, name), " on "))
		}
		for _, on := range v.On {
			if err := place(on, append(slices.Clone(above), name)); err != nil {
				return err
			}
		}
		if !placed[name] {
			placed[name] = true
			ordered = append(ordered, v)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		if err := place(name, nil); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// martStatements creates all views of mart again, since a view remembers the columns of
// those that it is built on. It returns none when nothing changed and no view is
// missing.
func (c *Catalog) martStatements(have map[string]map[string]stream.Column, changed bool) []string {
	var drops, creates []string
	wanted := map[string]bool{}
	// A warehouse that is configured with few tables goes without some views.
	isLacking := func(table string) bool {
		return !slices.ContainsFunc(c.tables, func(t stream.Table) bool { return t.Name == table })
	}
	for _, v := range c.mart {
		if slices.ContainsFunc(v.Reads, isLacking) || slices.ContainsFunc(v.On, func(name string) bool { return !wanted[name] }) {
			continue
		}
		wanted[v.Name] = true
		creates = append(creates, v.SQL)
		changed = changed || have["mart."+v.Name] == nil
	}
	for _, table := range slices.Sorted(maps.Keys(have)) {
		if name, ok := strings.CutPrefix(table, "mart."); ok {
			drops = append(drops, "DROP VIEW mart."+sqltext.Quote(name))
			changed = changed || !wanted[name]
		}
	}
	if !changed {
		return nil
	}
	return append(drops, creates...)
}
