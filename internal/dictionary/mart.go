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
	// SQL is the text of the schema file: CREATE VIEW mart.<name> and the comments. It names tables
	// with their schema and without a database, so that a catalog can be attached under any name.
	SQL string
	// MainReads are the tables of the schema main that the view reads, directly or through their history views.
	MainReads []string
	// MartReads are the views of the schema mart that the view reads.
	MartReads []string
	// MetaReads are the tables of the schema meta that the view reads.
	MetaReads []string
	// Grain describes one row. About describes the view.
	Grain, About string
	// Columns are the columns of the view, in their order.
	Columns []stream.Column
}

// MartViews returns the views of the schema mart, each after the views that it reads.
func MartViews() ([]MartView, error) {
	files, err := fs.Glob(schema.FS, martGlob)
	if err != nil {
		return nil, fmt.Errorf("list the views of mart: %w", err)
	}
	views := map[string]MartView{}
	for _, file := range files {
		sql, err := schema.FS.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read schema %s: %w", file, err)
		}
		v := parseMartView(strings.TrimSuffix(path.Base(file), ".sql"), string(sql))
		views[v.Name] = v
	}
	return orderViews(views)
}

// martGlob matches the schema files with views. All others define tables.
const martGlob = "mart/*.sql"

// tableReference matches a table or view after FROM or JOIN. In the schema files, FROM and JOIN are in
// capitals, and one name follows. A name without a schema is a common table expression.
var tableReference = regexp.MustCompile(`\b(?:FROM|JOIN)\s+(\w+)\.(\w+)`)

func parseMartView(name, sql string) MartView {
	v := MartView{Name: name, SQL: sql}
	for _, m := range tableReference.FindAllStringSubmatch(sql, -1) {
		switch m[1] {
		case "mart":
			v.MartReads = append(v.MartReads, m[2])
		case "meta":
			v.MetaReads = append(v.MetaReads, m[2])
		case "main", "history":
			v.MainReads = append(v.MainReads, m[2])
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
	isAdded := map[string]bool{}
	// add adds a view after the views that it reads. readers is a chain of views: each reads the next, and
	// the last reads the added view.
	var add func(name string, readers []string) error
	add = func(name string, readers []string) error {
		v, ok := views[name]
		if !ok || slices.Contains(readers, name) {
			return fmt.Errorf("order the views of mart: %s: the last view does not exist, or the views read each other",
				strings.Join(append(readers, name), " reads "))
		}
		for _, dependency := range v.MartReads {
			if err := add(dependency, append(slices.Clone(readers), name)); err != nil {
				return err
			}
		}
		if !isAdded[name] {
			isAdded[name] = true
			ordered = append(ordered, v)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(views)) {
		if err := add(name, nil); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}
