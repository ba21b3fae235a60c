package load

import (
	"maps"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Coverage determines which missing rows of a stream were deleted by the service. A row is missing if
// it is in main and was not staged tonight.
type Coverage int

const (
	// Carried means that no row was deleted. The staged rows are dropped, and the rows in main
	// are kept.
	Carried Coverage = iota
	// Unproven means that no row is known to be deleted. The staged rows are merged (grade
	// best_effort).
	Unproven
	// ByID means that the missing rows of answered ids were deleted, and all rows of ids with
	// the outcome Gone.
	ByID
	// Whole means that all missing rows were deleted.
	Whole
)

// scope returns a condition on the rows m of a table in main. The service deleted the rows that meet
// the condition and were not staged.
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

// streamScope returns the part of the scope of a table for the rows of one of its streams.
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

// childScope returns the scope of a table of items. It consists of the items of records that were
// staged or deleted.
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

// rowsOfStream returns a condition on the rows m of a table that several streams fill. It selects
// the rows of the stream with this root table, by the columns in Table.Const.
func rowsOfStream(root stream.Table) sqlText {
	parts := []string{"TRUE"}
	for _, column := range slices.Sorted(maps.Keys(root.Const)) {
		parts = append(parts, "m."+sqltext.Quote(column)+" = "+sqltext.Literal(root.Const[column]))
	}
	return sqlText(strings.Join(parts, " AND "))
}
