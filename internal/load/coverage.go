package load

import (
	"maps"
	"slices"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// Coverage determines which missing rows of a stream count as deleted by the service. A row is missing
// if it is in main and was not staged tonight.
type Coverage int

const (
	// Carried means that the stream was not read completely. No row counts as deleted. The staged
	// rows are dropped, and the rows in main are kept.
	Carried Coverage = iota
	// Unproven means that rows may be missing by mistake (grade best_effort). No row counts as
	// deleted. The staged rows are merged.
	Unproven
	// ByID is the coverage of details. The missing rows of answered ids, and all rows of ids with
	// the outcome NotFound, count as deleted.
	ByID
	// Whole means that all missing rows count as deleted.
	Whole
)

// scope returns a condition that selects rows of a table in main, which has the alias m. These rows count as
// deleted if they were not staged.
func (m *merge) scope(t stream.Table) sqlText {
	streams, detail := m.sources(t.Name)
	if len(streams) == 0 {
		streams, detail = []stream.Stream{detail}, stream.Stream{}
	}
	var parts []sqlText
	for _, st := range streams {
		parts = append(parts, m.streamScope(t, st, detail))
	}
	return "(" + sqltext.JoinSQL(parts, " OR ") + ")"
}

// streamScope returns the scope of the rows of st in t. detail is the stream that completes st, or the zero value.
func (m *merge) streamScope(t stream.Table, st, detail stream.Stream) sqlText {
	coverage := m.coverage[st.Name]
	switch {
	case t.Name != st.Root().Name:
		return m.childScope(t, st, detail)
	case coverage == Whole && !st.IsDetail() && detail.Name != "":
		return compareSQL.Render("scope_of_not_kept", values{"param": sqltext.Name(detail.Param), "kept": keptDetails(detail)})
	case coverage == Whole && !st.IsDetail():
		return streamCondition(st.Root())
	case st.IsDetail() && coverage == ByID:
		return compareSQL.Render("scope_of_ids", values{"param": sqltext.Name(st.Param), "requested": requestedTable(st.Name),
			"outcomes": []string{string(Answered), string(NotFound)}})
	case detail.Name != "" && m.coverage[detail.Name] == ByID: // the list proves no deletion, but a 404 does
		return compareSQL.Render("scope_of_ids", values{"param": sqltext.Name(detail.Param), "requested": requestedTable(detail.Name),
			"outcomes": []string{string(NotFound)}})
	}
	return "FALSE"
}

// childScope returns the scope of a child table, whose rows are parts of records. It selects the rows whose
// record was staged or deleted. For a completely read list without a detail stream, these are all rows. If a
// detail stream completes the list, a list row without child rows does not prove that they were deleted.
func (m *merge) childScope(t stream.Table, st, detail stream.Stream) sqlText {
	parent, rootName := st.Tables[st.EnclosingTable(t)], st.Root().Name
	parentColumns, key := prefixed("m.", t.Parents), sqltext.Names(parent.Key)
	switch {
	case m.coverage[st.Name] == Whole && !st.IsDetail() && detail.Name == "":
		return "TRUE"
	case detail.Name != "" && parent.Name == rootName:
		return compareSQL.Render("scope_of_joined_child_rows", values{"parents": parentColumns, "key": sqltext.Names(detail.Root().Key),
			"detail": stagedTable(detail.Name, detail.Root().Name), "list_rows": listRows(detail),
			"list_child_rows": stagedTable(detail.Completes, t.Name), "changed_keys": changedKeysTable(detail.Root().Name)})
	case parent.Name != rootName:
		return compareSQL.Render("scope_of_inner_child_rows", values{"parents": parentColumns, "key": prefixed("m.", parent.Key),
			"main": mainTable(parent.Name), "scope": m.scope(parent)})
	}
	return compareSQL.Render("scope_of_child_rows", values{"parents": parentColumns, "key": key,
		"desired": desiredTable(parent.Name), "changed_keys": changedKeysTable(parent.Name)})
}

// streamCondition returns a condition that selects the rows of one stream from a table that several streams
// fill. The table has the alias m. root is the root table of the stream. The condition compares the columns in root.Const.
func streamCondition(root stream.Table) sqlText {
	parts := []sqlText{"TRUE"}
	for _, column := range slices.Sorted(maps.Keys(root.Const)) {
		parts = append(parts, sqltext.Fill("m.{column} = {value}", values{"column": sqltext.Name(column), "value": root.Const[column]}))
	}
	return sqltext.JoinSQL(parts, " AND ")
}
