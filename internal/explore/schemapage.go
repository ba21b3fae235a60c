package explore

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/schema"
)

type subjectTables struct {
	Subject, Title string
	Tables         []schemaTable
	Diagram        *relationDiagram // nil without relations
}

type schemaTable struct {
	schema.Table
	Link       string // opens the table in the SQL editor, if there is one
	GrainOrKey string // the key if the grain is not described
	Rows       string // the number of rows, if the snapshot counts them
	Standing   ledger.Standing
	Reason     string // of the standing
}

func showSchema(v *visit) (reply, error) {
	tables := schema.All()
	const countsSQL = "SELECT table_name, rows FROM meta.tables WHERE run_id = (SELECT run_id FROM mart.snapshot)"
	counts, err := v.run(query.Query{Name: "rows of tables", SQL: countsSQL}, nil)
	if err != nil {
		return nil, err
	}
	rows := map[string]string{}
	for _, r := range counts.Rows {
		rows[r.Get("table_name").Text] = r.Get("rows").Text
	}
	sources, err := v.db.AllSources(v.Context())
	if err != nil {
		return nil, err
	}
	var subjects []subjectTables
	diagrams := tables.Diagrams()
	for _, t := range tables {
		i := slices.IndexFunc(subjects, func(s subjectTables) bool { return s.Subject == t.Subject() })
		if i < 0 {
			i = len(subjects)
			subjects = append(subjects, subjectTables{Subject: t.Subject(), Title: query.LabelOf(t.Subject())})
			if index := slices.IndexFunc(diagrams, func(d schema.Diagram) bool { return d.Subject == t.Subject() }); index >= 0 {
				subjects[i].Diagram = drawDiagram(diagrams[index])
				for n := range subjects[i].Diagram.Boxes {
					box := &subjects[i].Diagram.Boxes[n]
					box.Link = v.editorLink(box.Name)
				}
			}
		}
		grainOrKey := cmp.Or(t.Grain, strings.Join(t.Key, ", "))
		shown := schemaTable{Table: t, Link: v.editorLink(t.Name()), GrainOrKey: grainOrKey}
		if t.Schema == "main" {
			shown.Rows = rows[t.Table]
			if index := slices.IndexFunc(sources, func(s query.Source) bool { return s.Table == t.Table }); index >= 0 {
				shown.Standing, shown.Reason = sources[index].Standing, sentenceOf(sources[index].Reason)
			}
		}
		subjects[i].Tables = append(subjects[i].Tables, shown)
	}
	lastSubjects := []string{"shared", "mart", "meta"} // slices.Index returns -1 for the others, so they are first
	slices.SortStableFunc(subjects, func(a, b subjectTables) int {
		return cmp.Compare(slices.Index(lastSubjects, a.Subject), slices.Index(lastSubjects, b.Subject))
	})
	return newPage("Schema", "schema", map[string]any{"Subjects": subjects, "Count": humanize.Number(len(tables))}), nil
}

// editorLink returns an empty text if there is no SQL editor.
func (v *visit) editorLink(table string) string {
	if v.explorer.cfg.Child == nil {
		return ""
	}
	return sqlPath + "?" + url.Values{sqlKey: {"FROM " + table + " LIMIT 100"}}.Encode()
}

// relationDiagram draws tables as boxes, and their relations as lines from the right to the left. All lengths are in
// pixels.
type relationDiagram struct {
	Width, Height       int
	BoxWidth, BoxHeight int

	Boxes []diagramBox
	Lines []diagramLine
}

type diagramBox struct {
	Name, Link     string
	X, Y           int
	IsOtherSubject bool
}

type diagramLine struct{ Path, Title string }

const (
	boxWidth, boxHeight = 224, 26
	columnGap, rowGap   = 64, 10
	diagramMargin       = 14
)

// drawDiagram puts each table to the right of the tables that it references. Tables without relations are left out.
func drawDiagram(source schema.Diagram) *relationDiagram {
	columns := map[string]int{} // columns of the diagram, by table
	var place func(table string) int
	place = func(table string) int {
		if column, ok := columns[table]; ok {
			return column
		}
		columns[table] = -1 // while the tables that it references are placed, to end a cycle
		column := 0
		for _, r := range source.Relations {
			if r.From == table {
				column = max(column, 1+place(r.To))
			}
		}
		columns[table] = column
		return column
	}
	d := &relationDiagram{BoxWidth: boxWidth, BoxHeight: boxHeight}
	boxes := map[string]diagramBox{}
	boxCounts := map[int]int{} // by column
	for _, t := range source.Tables {
		if !slices.ContainsFunc(source.Relations, func(r schema.Relation) bool { return r.From == t.Name() || r.To == t.Name() }) {
			continue
		}
		column := place(t.Name())
		b := diagramBox{
			Name: t.Name(), IsOtherSubject: t.Subject() != source.Subject,
			X: diagramMargin + column*(boxWidth+columnGap),
			Y: diagramMargin + boxCounts[column]*(boxHeight+rowGap),
		}
		boxCounts[column]++
		boxes[b.Name] = b
		d.Boxes = append(d.Boxes, b)
		d.Width, d.Height = max(d.Width, b.X+boxWidth+diagramMargin), max(d.Height, b.Y+boxHeight+diagramMargin)
	}
	for _, r := range source.Relations {
		linePath := pathBetween(boxes[r.From], boxes[r.To])
		if r.From == r.To {
			linePath = loopPath(boxes[r.From])
		}
		d.Lines = append(d.Lines, diagramLine{linePath, fmt.Sprintf("%s.%s references %s.%s", r.From, r.Column, r.To, r.ToColumn)})
	}
	return d
}

// pathBetween returns a curve from the left edge of a box to the right edge of another.
func pathBetween(from, to diagramBox) string {
	const bend = columnGap / 2
	x, y := from.X, from.Y+boxHeight/2
	toX, toY := to.X+boxWidth, to.Y+boxHeight/2
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x, y, x-bend, y, toX+bend, toY, toX, toY)
}

// loopPath returns a curve from the upper half of the right edge of a box to the lower half.
func loopPath(b diagramBox) string {
	x, middle := b.X+boxWidth, b.Y+boxHeight/2
	y, toY := middle-boxHeight/4, middle+boxHeight/4
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x, y, x+diagramMargin, y, x+diagramMargin, toY, x, toY)
}
