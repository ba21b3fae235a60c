package load

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// The rows of a large list are inserted into main without staging tables if the tables of the list are
// empty in main, and no other stream fills them or completes the list. With staging tables, all rows would
// be written twice. Until the end of the merge, a directly filled table has the additional column seq.

// chooseDirect decides whether the tables of a stream are filled directly. It decides at its first call for
// the stream, by the number of rows that are inserted first.
func (s *Stage) chooseDirect(ctx context.Context, streamName string, rowCount int64) error {
	if s.directDecided[streamName] {
		return nil
	}
	s.directDecided[streamName] = true
	st, _ := stream.Find(s.streams, streamName)
	if rowCount < largeBatchRows || !FillsAlone(s.streams, st) {
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
		statements = append(statements, firstNightSQL.Render("begin_direct", values{"table": mainTable(t.Name), "staged": stagedTable(streamName, t.Name)}),
			s.createViewSQL(streamName, t.Name, stream.Seq))
		s.direct.add(t.Name)
	}
	return s.draft.Exec(ctx, statements...)
}

// createViewSQL returns SQL that creates a view of a directly filled table, with the name and the columns of
// the staging table that it replaces.
func (s *Stage) createViewSQL(streamName, table string, seq sqlText) sqlText {
	return firstNightSQL.Render("direct_view", values{"staged": stagedTable(streamName, table), "columns": allColumns(s.draft.Schema.Definitions[table]),
		"seq": seq, "table": catalogName + "." + mainTable(table)})
}

// chooseCompression returns the compression methods for text columns whose values in the first rows are mostly
// different or mostly equal. DuckDB would try each method on each row group, which takes a tenth of the time to
// load a large table. If later values are of another kind, the column only takes more space.
func chooseCompression(first arrow.RecordBatch) map[string]string {
	methods := map[string]string{}
	for i, c := range first.Columns() {
		texts, ok := c.(*array.String)
		if !ok {
			continue
		}
		count, different := 0, map[string]bool{}
		for j := range texts.Len() {
			if texts.IsValid(j) {
				count++
				different[texts.Value(j)] = true
			}
		}
		switch {
		case count < 1_000:
		case 10*len(different) > 9*count:
			methods[first.ColumnName(i)] = "fsst"
		case 50*len(different) < count:
			methods[first.ColumnName(i)] = "dictionary"
		}
	}
	return methods
}

func (s *Stage) tableWithRows(streamName, table string) sqlText {
	if s.direct.has(table) {
		return catalogName + "." + mainTable(table)
	}
	return stagedTable(streamName, table)
}

func (s *Stage) insertBatchSQL(target streamTable, view string) sqlText {
	args := values{"table": s.tableWithRows(target.stream, target.table), "view": sqltext.Name(view)}
	if !s.direct.has(target.table) {
		return stageSQL.Render("insert_batch", args)
	}
	args["now"] = s.draft.At
	return firstNightSQL.Render("insert_direct", args)
}

func (s *Stage) endDirect(ctx context.Context) error {
	var statements []sqlText
	for _, st := range s.streams {
		for _, t := range tablesOf(st) {
			if s.direct.has(t.Name) {
				statements = append(statements, firstNightSQL.Render("end_direct", values{"table": mainTable(t.Name)}),
					s.createViewSQL(st.Name, t.Name, "NULL::UBIGINT AS "+stream.Seq))
			}
		}
	}
	return s.draft.Exec(ctx, statements...)
}

func hasRows(ctx context.Context, d *warehouse.Draft, table sqlText) (ok bool, err error) {
	err = queryRow(ctx, d, stageSQL.Render("has_rows", values{"table": table})).Scan(&ok)
	return ok, err
}
