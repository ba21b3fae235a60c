package schema

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// MartView is a view of the schema mart.
type MartView struct {
	Name string
	// SQL is the text of the schema file: CREATE VIEW mart.<name> and the comments. It names tables
	// with their schema and without a database, so that a catalog can be attached under any name.
	SQL string
	// Reads are the tables and views that the view reads, as in Table.Reads. A history view is listed under
	// the name of its table.
	Reads []string
	// Grain describes one row. About describes the view.
	Grain, About string
	Columns      []stream.Column
}

// MartViews returns the views of the schema mart, each after the views that it reads. It panics if views
// read each other.
func MartViews() []MartView {
	var views, ordered []MartView
	files, _ := fs.Glob(FS, martGlob) // an embedded file can always be read
	for _, file := range files {
		sql, _ := FS.ReadFile(file)
		views = append(views, parseMartView(strings.TrimSuffix(path.Base(file), ".sql"), string(sql)))
	}
	for len(views) > 0 {
		i := slices.IndexFunc(views, func(v MartView) bool {
			return !slices.ContainsFunc(views, func(other MartView) bool { return slices.Contains(v.Reads, "mart."+other.Name) })
		})
		ordered, views = append(ordered, views[i]), slices.Delete(views, i, i+1)
	}
	return ordered
}

// martGlob matches the schema files with views. The others define tables.
const martGlob = "mart/*.sql"

// tableReference matches a table or view after FROM or JOIN. In the schema files, FROM and JOIN are in
// capitals, and one name follows. A name without a schema is a common table expression.
var tableReference = regexp.MustCompile(`\b(?:FROM|JOIN)\s+(\w+)\.(\w+)`)

func parseMartView(name, sql string) MartView {
	v := MartView{Name: name, SQL: sql}
	for _, m := range tableReference.FindAllStringSubmatch(sql, -1) {
		switch m[1] {
		case "mart", "meta":
			v.Reads = append(v.Reads, m[1]+"."+m[2])
		case "main", "history":
			v.Reads = append(v.Reads, m[2])
		}
	}
	slices.Sort(v.Reads)
	v.Reads = slices.Compact(v.Reads)
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
