package load

import (
	"maps"
	"slices"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Coverage says what the absence of a row from a stream proves.
type Coverage int

const (
	// Carried streams prove nothing: their staged rows are dropped and main keeps what it
	// has.
	Carried Coverage = iota
	// Unproven streams bring rows but prove no absence (grade best_effort).
	Unproven
	// ByID streams prove what is absent under the ids that were asked for.
	ByID
	// Whole streams prove every absence.
	Whole
)

// scope is the condition on rows "m" of a table in main that says: if this row is not
// staged, it is gone.
func (m *merge) scope(t stream.Table) sqlText {
	lists, detail := m.staging.sources(t.Name)
	if len(lists) == 0 {
		return "(" + m.streamScope(t, detail, stream.Stream{}) + ")"
	}
	var parts []sqlText
	for _, list := range lists {
		parts = append(parts, m.streamScope(t, list, detail))
	}
	return "(" + joinSQL(parts, " OR ") + ")"
}

// streamScope is the part of a table's scope that one stream proves.
func (m *merge) streamScope(t stream.Table, st, detail stream.Stream) sqlText {
	cover := m.cover[st.Name]
	switch {
	case t.Name != st.Root().Name:
		return m.childScope(t, st, detail)
	case cover == Whole && !st.IsDetail() && detail.Name != "":
		return compareSQL.Render("scope_without_kept", values{"param": warehouse.Name(detail.Param), "kept": keptDetails(detail)})
	case cover == Whole && !st.IsDetail():
		return rowsOfStream(st.Root())
	case st.IsDetail() && cover == ByID:
		return compareSQL.Render("scope_of_ids", values{"param": warehouse.Name(st.Param), "asked": askedTable(st.Name),
			"outcomes": []string{string(Answered), string(Gone)}})
	case detail.Name != "" && m.cover[detail.Name] == ByID:
		return compareSQL.Render("scope_of_ids", values{"param": warehouse.Name(detail.Param), "asked": askedTable(detail.Name),
			"outcomes": []string{string(Gone)}})
	}
	return "FALSE"
}

// childScope covers the rows under records that were staged or are gone.
func (m *merge) childScope(t stream.Table, st, detail stream.Stream) sqlText {
	parent, root := enclosingTable(st, t), st.Root().Name
	parents, key := columnList("m.", t.Parents), columnList("", parent.Key)
	switch {
	case m.cover[st.Name] == Whole && !st.IsDetail() && detail.Name == "":
		return "TRUE"
	case detail.Name != "" && parent.Name == root:
		return compareSQL.Render("scope_of_united_items", values{"parents": parents, "key": columnList("", detail.Root().Key),
			"detail": stagedTable(detail.Name, detail.Root().Name), "list_rows": listRows(detail),
			"list_items": stagedTable(detail.Over, t.Name), "closing": closingTable(detail.Root().Name)})
	case parent.Name != root:
		return compareSQL.Render("scope_of_inner_items", values{"parents": parents, "key": columnList("m.", parent.Key),
			"main": mainTable(parent.Name), "scope": m.scope(parent)})
	}
	return compareSQL.Render("scope_of_items", values{"parents": parents, "key": key,
		"fresh": freshTable(parent.Name), "closing": closingTable(parent.Name)})
}

// rowsOfStream tells the rows "m" of one stream from those of others that fill the same
// table, by the columns that its literal fixes.
func rowsOfStream(root stream.Table) sqlText {
	parts := []string{"TRUE"}
	for _, column := range slices.Sorted(maps.Keys(root.Const)) {
		parts = append(parts, "m."+warehouse.Quote(column)+" = "+warehouse.Literal(root.Const[column]))
	}
	return sqlText(strings.Join(parts, " AND "))
}
