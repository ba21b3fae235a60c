package schema

import (
	"cmp"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// Relation means that the values of Column in the table From are values of ToColumn in the table To.
// From and To are names that Table.Name returns. A row of To may be missing, because the service can
// return ids of records that are in no list.
type Relation struct{ From, Column, To, ToColumn string }

// Relations returns the relations between the given tables, in the order of the tables and their columns.
func (all Tables) Relations() []Relation {
	var relations []Relation
	for _, t := range all {
		for _, c := range t.Columns {
			dot := strings.LastIndex(c.References, ".")
			if dot < 0 {
				continue
			}
			r := Relation{t.Name(), c.Name, c.References[:dot], c.References[dot+1:]}
			if slices.ContainsFunc(all, func(to Table) bool { return to.Name() == r.To }) {
				relations = append(relations, r)
			}
		}
	}
	return relations
}

// Subject returns the subject of a table. For a table of the schema main, it is "outlets", "products",
// "orders", "campaigns", "articles" or "profiles" if the name of the table begins with this word or its
// singular, and otherwise "shared". For any other table, it is the name of the schema.
func (t Table) Subject() string {
	word, _, _ := strings.Cut(t.Table, "_")
	word = strings.TrimSuffix(word, "s")
	switch {
	case t.Schema != "main":
		return t.Schema
	case slices.Contains([]string{"outlet", "product", "order", "campaign", "article", "profile"}, word):
		return word + "s"
	}
	return "shared"
}

// Diagram contains the tables of a subject, and the tables of other subjects that the tables of this
// subject reference.
type Diagram struct {
	Subject string
	Tables  Tables
	// Relations begin in a table of the subject.
	Relations []Relation
}

// Diagrams returns the diagrams of the subjects with relations, in the order of the tables. The diagrams
// "shared" and "meta" are the last.
func (all Tables) Diagrams() []Diagram {
	var diagrams []Diagram
	byName := map[string]Table{}
	indexOf := func(t Table) int {
		return slices.IndexFunc(diagrams, func(d Diagram) bool { return d.Subject == t.Subject() })
	}
	for _, t := range all {
		byName[t.Name()] = t
		if indexOf(t) < 0 {
			diagrams = append(diagrams, Diagram{Subject: t.Subject()})
		}
		d := &diagrams[indexOf(t)]
		d.Tables = append(d.Tables, t)
	}
	for _, r := range all.Relations() {
		d := &diagrams[indexOf(byName[r.From])]
		d.Relations = append(d.Relations, r)
		if !slices.ContainsFunc(d.Tables, func(t Table) bool { return t.Name() == r.To }) {
			d.Tables = append(d.Tables, byName[r.To])
		}
	}
	lastSubjects := []string{"shared", "meta"}
	slices.SortStableFunc(diagrams, func(a, b Diagram) int {
		return cmp.Compare(slices.Index(lastSubjects, a.Subject), slices.Index(lastSubjects, b.Subject))
	})
	return slices.DeleteFunc(diagrams, func(d Diagram) bool { return len(d.Relations) == 0 })
}

// Macro is a table macro of a catalog.
type Macro struct {
	Name      string
	Arguments []string // the names of the arguments, which are all times
	About     string
}

// Macros returns the macro "changes" and the macros of the tables of the schema main, sorted by name.
func (all Tables) Macros() []Macro {
	fromTo := []string{"from_time", "to_time"}
	macros := []Macro{{"changes", fromTo, "The changes of all tables between two times."}}
	for _, t := range all {
		if t.Schema == "main" {
			macros = append(macros, Macro{t.Table + AsOfSuffix, []string{"at_time"}, "The rows of " + t.Table + " at the given time."},
				Macro{t.Table + ChangesSuffix, fromTo, "The changes of " + t.Table + " between two times."})
		}
	}
	slices.SortFunc(macros, func(a, b Macro) int { return cmp.Compare(a.Name, b.Name) })
	return macros
}

// InPast returns the table of the schema past with the closed rows of a table of the schema main.
func (t Table) InPast() Table {
	t.Schema, t.About = "past", "Closed rows. "+t.About
	t.Columns = slices.Concat(t.Columns, describeColumns("", stream.ClosedColumns()))
	return t
}

// InHistory returns the view of the schema history with the current and closed rows of a table of
// the schema main.
func (t Table) InHistory() Table {
	t.Schema, t.About = "history", "Current and closed rows. "+t.About
	t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.Name == stream.RowHash })
	t.Columns = append(t.Columns, describeColumns("", stream.ClosedColumns()[:1])...)
	return t
}
