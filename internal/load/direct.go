package load

import (
	"context"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// The rows of a large list are inserted into its tables of main without staging them, which would
// write them twice, if these tables are empty and no other stream fills or completes them. Until the
// merge such a table also has the column seq.

// chooseDirect decides, by the size of the first batch of a stream, whether its tables are filled
// directly.
func (s *staging) chooseDirect(ctx context.Context, name string, rows int64) error {
	if s.decided[name] {
		return nil
	}
	s.decided[name] = true
	st, _ := stream.Find(s.streams, name)
	if rows < largeBatch || !FillsAlone(s.streams, st) {
		return nil
	}
	tables := tablesOf(st)
	for _, t := range tables {
		if filled, err := hasRows(ctx, s.draft, mainTable(t.Name)); err != nil || filled {
			return err
		}
	}
	statements := []sqlText{mergeSQL.Render("set_compression", nil)}
	for _, t := range tables {
		statements = append(statements, firstNightSQL.Render("begin_direct", values{"table": mainTable(t.Name), "staged": stagedTable(name, t.Name)}),
			s.createView(name, t.Name, stream.Seq))
		s.direct.add(t.Name)
	}
	return s.draft.Exec(ctx, statements...)
}

// createView returns SQL that creates a view of a directly filled table, with the name and columns
// of its staging table.
func (s *staging) createView(st, table string, seq sqlText) sqlText {
	return firstNightSQL.Render("direct_view", values{"staged": stagedTable(st, table), "columns": allColumns(s.defs[table]),
		"seq": seq, "table": catalogName + "." + mainTable(table)})
}

// tableOf returns the table into which the rows of a stream are inserted, and from which duplicates
// are deleted.
func (s *staging) tableOf(st, table string) sqlText {
	if s.direct.has(table) {
		return catalogName + "." + mainTable(table)
	}
	return stagedTable(st, table)
}

// insertBatch returns SQL that inserts the rows of a registered view into a table.
func (s *staging) insertBatch(to stagingTable, view string) sqlText {
	args := values{"table": s.tableOf(to.stream, to.table), "view": sqltext.Name(view)}
	if !s.direct.has(to.table) {
		return stageSQL.Render("insert_batch", args)
	}
	args["now"] = s.draft.At
	return firstNightSQL.Render("insert_direct", args)
}

// endDirect removes the column seq, which makes the directly filled tables equal to merged tables.
func (s *staging) endDirect(ctx context.Context) error {
	var statements []sqlText
	for _, st := range s.streams {
		for _, t := range tablesOf(st) {
			if s.direct.has(t.Name) {
				statements = append(statements, firstNightSQL.Render("end_direct", values{"table": mainTable(t.Name)}),
					s.createView(st.Name, t.Name, "NULL::UBIGINT AS "+stream.Seq))
			}
		}
	}
	return s.draft.Exec(ctx, statements...)
}

func hasRows(ctx context.Context, d *warehouse.Draft, table sqlText) (some bool, err error) {
	err = queryRow(ctx, d, stageSQL.Render("has_rows", values{"table": table})).Scan(&some)
	return some, err
}
