package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Coverage says what the absence of a row from a stream proves.
type Coverage int

const (
	// Carried streams say nothing: their staged rows are dropped and main
	// keeps what it has.
	Carried Coverage = iota
	// Unproven streams bring rows but prove no absence (grade best_effort).
	Unproven
	// ByID streams prove what is absent under the ids that were asked for.
	ByID
	// Whole streams prove every absence.
	Whole
)

// Outcome of asking for one id.
type Outcome string

// Answered ids are covered by what was staged for them; Gone ids answered 404.
// Missed ids failed, were refused or answered without a proof: what was staged for
// them is used, and their other rows stay.
const (
	Answered Outcome = "answered"
	Gone     Outcome = "404"
	Missed   Outcome = "missed"
)

// askedID is an id that a stream of details was asked for.
type askedID struct {
	id      string
	outcome Outcome
}

// askedColumns are those of the list of a stream's asked ids.
var askedColumns = []column[askedID]{
	textColumn("id", func(a askedID) string { return a.id }),
	textColumn("outcome", func(a askedID) string { return string(a.outcome) }),
}

// Asked notes what became of ids that a stream of details was asked for.
func (s *Stage) Asked(ctx context.Context, st string, ids []string, outcome Outcome) error {
	rows := make([]askedID, len(ids))
	for i, id := range ids {
		rows[i] = askedID{id, outcome}
	}
	return insertRows(ctx, s, asked(st), askedColumns, rows)
}

// scope is the SQL condition on rows "m" of a table in main that says: if this
// row is not staged, it is gone.
func (s *Stage) scope(t stream.Table, cover map[string]Coverage) string {
	lists, detail := s.sources(t.Name)
	var parts []string
	for _, list := range lists {
		parts = append(parts, s.streamScope(t, list, detail, cover))
	}
	if len(lists) == 0 {
		parts = append(parts, s.streamScope(t, detail, stream.Stream{}, cover))
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// streamScope is the part of a table's scope that one stream answers for.
func (s *Stage) streamScope(t stream.Table, st, detail stream.Stream, cover map[string]Coverage) string {
	switch {
	case t.Name != st.Root().Name:
		return s.childScope(t, st, detail, cover)
	case cover[st.Name] == Whole && !st.IsDetail() && detail.Name != "":
		return "m." + warehouse.Quote(detail.Param) + " NOT IN " + kept(detail)
	case cover[st.Name] == Whole && !st.IsDetail():
		return fixed(st.Root())
	case st.IsDetail() && cover[st.Name] == ByID:
		return "m." + warehouse.Quote(st.Param) + " IN " + answered(st.Name)
	case detail.Name != "" && cover[detail.Name] == ByID:
		return "m." + warehouse.Quote(detail.Param) + " IN (SELECT id FROM " + asked(detail.Name) + " WHERE outcome = '404')"
	}
	return "FALSE"
}

// fixed tells the rows of one stream from those of others that fill the same
// table, by the columns that its literal fixes.
func fixed(root stream.Table) string {
	parts := []string{"TRUE"}
	for _, column := range slices.Sorted(maps.Keys(root.Const)) {
		parts = append(parts, fmt.Sprintf("m.%s = %s", warehouse.Quote(column), warehouse.Literal(root.Const[column])))
	}
	return strings.Join(parts, " AND ")
}

func answered(st string) string {
	return "(SELECT id FROM " + asked(st) + " WHERE outcome IN ('answered', '404'))"
}

// childScope covers the rows under records that were staged or are gone.
func (s *Stage) childScope(t stream.Table, st, detail stream.Stream, cover map[string]Coverage) string {
	if cover[st.Name] == Whole && !st.IsDetail() && detail.Name == "" {
		return "TRUE"
	}
	parent := enclosing(st, t)
	if detail.Name != "" && parent.Name == st.Root().Name {
		return fmt.Sprintf("(%s) IN (%s)", columns("m.", t.Parents), told(t, detail))
	}
	if parent.Name != st.Root().Name {
		return fmt.Sprintf("(%s) IN (SELECT %s FROM main.%s m WHERE %s)", columns("m.", t.Parents),
			columns("m.", parent.Key), warehouse.Quote(parent.Name), s.scope(parent, cover))
	}
	return fmt.Sprintf("(%s) IN (SELECT %s FROM %s UNION ALL SELECT %s FROM %s WHERE gone)", columns("m.", t.Parents),
		columns("", parent.Key), fresh(parent.Name), columns("", parent.Key), closing(parent.Name))
}

// told are the records of a united stream of which something is known of the
// rows inside them: their detail was read, their list row has such rows, or
// they are gone. A list that leaves these rows out says nothing of them.
func told(t stream.Table, detail stream.Stream) string {
	root := detail.Root()
	key := columns("", root.Key)
	return fmt.Sprintf(`SELECT %[1]s FROM %[2]s UNION ALL SELECT %[1]s FROM (%[3]s) WHERE seq IN (SELECT seq FROM %[4]s)
		UNION ALL SELECT %[1]s FROM %[5]s WHERE gone`, key, staged(detail.Name, root.Name), notKept(detail),
		staged(detail.Over, t.Name), closing(root.Name))
}

// enclosing is the table whose rows hold the rows of t.
func enclosing(st stream.Stream, t stream.Table) stream.Table {
	best := st.Root()
	for _, o := range st.Tables {
		if o.At != "" && len(o.At) > len(best.At) && len(t.At) > len(o.At) && t.At[:len(o.At)+1] == o.At+"." {
			best = o
		}
	}
	return best
}

// sources are the streams that fill a table: those that list its rows and,
// where there is one, the stream of details laid over a list.
func (s *Stage) sources(table string) (lists []stream.Stream, detail stream.Stream) {
	for _, name := range stream.Feeding(s.streams, table) {
		st, _ := stream.Find(s.streams, name)
		if st.Over != "" {
			detail = st
		} else {
			lists = append(lists, st)
		}
	}
	return lists, detail
}
