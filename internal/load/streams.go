package load

import (
	"slices"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// sources returns the streams that fill a table. detail is the detail stream that completes a list of the
// table, or the zero value. streams are all others: lists, events, and details that complete no list.
func (s *Stage) sources(table string) (streams []stream.Stream, detail stream.Stream) {
	for _, name := range stream.FilledBy(s.streams, table) {
		st, _ := stream.Find(s.streams, name)
		if st.Completes != "" {
			detail = st
		} else {
			streams = append(streams, st)
		}
	}
	return streams, detail
}

// knownRows returns SQL that selects columns of the staged and stored rows of a table. A table that
// no stream fills has no rows.
func (s *Stage) knownRows(table string, columnNames ...string) sqlText {
	streams := stream.FilledBy(s.streams, table)
	if len(streams) == 0 {
		var nulls []sqlText
		for _, name := range columnNames {
			c, _ := s.draft.Schema.Definitions[table].Column(name)
			nulls = append(nulls, liveSQL.Render("null_column", values{"type": sqlText(c.Type), "column": sqltext.Name(name)}))
		}
		return liveSQL.Render("no_rows", values{"columns": sqltext.JoinSQL(nulls, ", ")})
	}
	columns := sqltext.Names(columnNames)
	parts := []sqlText{liveSQL.Render("known_rows", values{"columns": columns, "table": mainTable(table)})}
	for _, name := range streams {
		parts = append(parts, liveSQL.Render("known_rows", values{"columns": columns, "table": stagedTable(name, table)}))
	}
	return unionAll(parts)
}

func recordKey(st stream.Stream, t stream.Table) sqltext.Name {
	if t.Name == st.Root().Name {
		return sqltext.Name(t.Key[0])
	}
	return sqltext.Name(t.Parents[0])
}

// FillsAlone reports whether a stream is a list, and no other stream fills or completes its tables.
func FillsAlone(streams []stream.Stream, st stream.Stream) bool {
	isCompleted := slices.ContainsFunc(streams, func(o stream.Stream) bool { return o.Completes == st.Name })
	isShared := slices.ContainsFunc(tablesOf(st), func(t stream.Table) bool { return len(stream.FilledBy(streams, t.Name)) > 1 })
	return !isCompleted && !isShared && st.Completes == "" && !st.IsDetail()
}
