package load

import (
	"maps"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Coverage is the extent to which the absence of a row proves its deletion.
type Coverage int

const (
	// Carried streams prove no absence. Their staged rows are dropped, and their rows in
	// main are kept.
	Carried Coverage = iota
	// Unproven streams have rows but prove no absence (grade best_effort).
	Unproven
	// ByID streams prove absence for the requested ids.
	ByID
	// Whole streams prove every absence.
	Whole
)

// scope returns a condition on rows "m" of a table in main. A row that meets it and is not
// staged was deleted.
func (m *merge) scope(t stream.Table) sqlText {
	lists, detail := m.staging.sources(t.Name)
	if len(lists) == 0 {
		return "(" + m.streamScope(t, detail, stream.Stream{}) + ")"
	}
	var parts []sqlText
	for _, list := range lists {
		parts = append(parts, m.streamScope(t, list, detail))
	}
	return "(" + sqltext.JoinSQL(parts, " OR ") + ")"
}

// streamScope is the part of a table's scope that one stream proves.
func (m *merge) streamScope(t stream.Table, st, detail stream.Stream) sqlText {
	cover := m.cover[st.Name]
	switch {
	case t.Name != st.Root().Name:
		return m.childScope(t, st, detail)
	case cover == Whole && !st.IsDetail() && detail.Name != "":
		return compareSQL.Render("scope_without_kept", values{"param": sqltext.Name(detail.Param), "kept": keptDetails(detail)})
	case cover == Whole && !st.IsDetail():
		return rowsOfStream(st.Root())
	case st.IsDetail() && cover == ByID:
		return compareSQL.Render("scope_of_ids", values{"param": sqltext.Name(st.Param), "asked": askedTable(st.Name),
			"outcomes": []string{string(Answered), string(Gone)}})
	case detail.Name != "" && m.cover[detail.Name] == ByID:
		return compareSQL.Render("scope_of_ids", values{"param": sqltext.Name(detail.Param), "asked": askedTable(detail.Name),
			"outcomes": []string{string(Gone)}})
	}
	return "FALSE"
}

// childScope is the scope of the rows of records that were staged or deleted.
func (m *merge) childScope(t stream.Table, st, detail stream.Stream) sqlText {
	parent, root := enclosingTable(st, t), st.Root().Name
	parents, key := prefixed("m.", t.Parents), sqltext.Names(parent.Key)
	switch {
	case m.cover[st.Name] == Whole && !st.IsDetail() && detail.Name == "":
		return "TRUE"
	case detail.Name != "" && parent.Name == root:
		return compareSQL.Render("scope_of_joined_items", values{"parents": parents, "key": sqltext.Names(detail.Root().Key),
			"detail": stagedTable(detail.Name, detail.Root().Name), "list_rows": listRows(detail),
			"list_items": stagedTable(detail.Completes, t.Name), "changed_keys": changedKeysTable(detail.Root().Name)})
	case parent.Name != root:
		return compareSQL.Render("scope_of_inner_items", values{"parents": parents, "key": prefixed("m.", parent.Key),
			"main": mainTable(parent.Name), "scope": m.scope(parent)})
	}
	return compareSQL.Render("scope_of_items", values{"parents": parents, "key": key,
		"desired": desiredTable(parent.Name), "changed_keys": changedKeysTable(parent.Name)})
}

// rowsOfStream is a condition on rows "m" of a table that several streams fill. It selects the rows
// of the stream with this root table, by the columns in Table.Const.
func rowsOfStream(root stream.Table) sqlText {
	parts := []string{"TRUE"}
	for _, column := range slices.Sorted(maps.Keys(root.Const)) {
		parts = append(parts, "m."+sqltext.Quote(column)+" = "+sqltext.Literal(root.Const[column]))
	}
	return sqlText(strings.Join(parts, " AND "))
}
