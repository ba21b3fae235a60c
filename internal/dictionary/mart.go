package dictionary

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/schema"
)

// MartView is a view of the schema mart.
type MartView struct {
	Name string
	// SQL is CREATE VIEW mart.<name> and its comments. It names every table with its schema
	// and without a database, so that it works in any catalog, under any attached name.
	SQL string
	// Reads are the tables of the schema main that the view reads, directly or in the schema history.
	Reads []string
	// On are the views of the schema mart that the view reads.
	On []string
	// Meta are the tables of the schema meta that the view reads.
	Meta []string
	// Grain describes one row. About describes the view.
	Grain, About string
	// Columns are in the order of the view.
	Columns []stream.Column
}

// MartViews returns the views of the schema mart, each after the views that it reads.
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

// martFiles are the schema files with views. All others define tables.
const martFiles = "mart/*.sql"

// source matches a table or view after FROM or JOIN. In the files, FROM and JOIN are in capitals
// and followed by one name. A name without a schema is a common table expression.
var source = regexp.MustCompile(`\b(?:FROM|JOIN)\s+(\w+)\.(\w+)`)

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

// orderViews sorts the views so that each comes after the views that it reads.
func orderViews(views map[string]MartView) ([]MartView, error) {
	var ordered []MartView
	placed := map[string]bool{}
	var place func(name string, readers []string) error
	place = func(name string, readers []string) error {
		v, ok := views[name]
		if !ok || slices.Contains(readers, name) {
			return fmt.Errorf("order the views of mart: %s: there is no such view, or the views depend on each other",
				strings.Join(append(readers, name), " reads "))
		}
		for _, on := range v.On {
			if err := place(on, append(slices.Clone(readers), name)); err != nil {
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
