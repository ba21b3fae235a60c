package load

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// adoption lets a list that brings many rows fill the tables of main directly, where
// these are empty and no other stream fills or completes them: what is staged first is
// written twice. Until the merge such a table has the column seq besides its own.
type adoption struct {
	streamSet
	draft *warehouse.Draft
	// adopted are the adopted ones, remade those of them whose compression was chosen, and
	// decided the streams that were looked at.
	adopted, remade, decided names
}

// adopt decides about the tables of a stream by its first batch.
func (a *adoption) adopt(ctx context.Context, name string, rows int64) error {
	if a.decided.has(name) {
		return nil
	}
	a.decided.add(name)
	st, _ := stream.Find(a.streams, name)
	if rows < feedRows || !a.fillsAlone(st) {
		return nil
	}
	tables := tablesOf(st)
	for _, t := range tables {
		if filled, err := hasRows(ctx, a.draft, mainTable(t.Name)); err != nil || filled {
			return err
		}
	}
	statements := []sqlText{compressionFor(smallCatalog)}
	for _, t := range tables {
		statements = append(statements, firstNightSQL.Render("adopt_table", values{"table": mainTable(t.Name), "staged": stagedTable(name, t.Name)}),
			a.createView(name, t.Name, stream.Seq))
		a.adopted.add(t.Name)
	}
	return execute(ctx, a.draft, statements...)
}

// remakeAdopted chooses how an adopted table is compressed, by its first rows.
func (a *adoption) remakeAdopted(ctx context.Context, table string, rows arrow.RecordBatch) error {
	if !a.adopted.has(table) || a.remade.has(table) {
		return nil
	}
	a.remade.add(table)
	return a.draft.RemakeTable(ctx, table, stream.Column{Name: stream.Seq, Type: "UBIGINT"}, chooseMethods(rows))
}

// chooseMethods names the method of compression for each column of texts that are nearly
// all different, or nearly all the same: to try the other one as well, and to count the
// different values of a million ids for that, takes a tenth of the time to load a table.
// A few thousand rows of which nine in ten differ have more different values than a
// dictionary takes. What is named for a column that turns out otherwise takes more space,
// and is as right.
func chooseMethods(rows arrow.RecordBatch) map[string]string {
	const enough, few, nearly = 1_000, 50, 10
	methods := map[string]string{}
	for i, c := range rows.Columns() {
		texts, ok := c.(*array.String)
		if !ok {
			continue
		}
		values, different := 0, map[string]bool{}
		for j := range texts.Len() {
			if !texts.IsNull(j) {
				values++
				different[texts.Value(j)] = true
			}
		}
		switch {
		case values < enough:
		case nearly*len(different) > (nearly-1)*values:
			methods[rows.ColumnName(i)] = "fsst"
		case few*len(different) < values:
			methods[rows.ColumnName(i)] = "dictionary"
		}
	}
	return methods
}

// createView lets the rest of the stage read an adopted table as if it were staged.
func (a *adoption) createView(st, table string, seq sqlText) sqlText {
	return firstNightSQL.Render("adopted_view", values{"staged": stagedTable(st, table), "columns": allColumns(a.defs[table]),
		"seq": seq, "table": catalogName + "." + mainTable(table)})
}

// tableOf is where the rows of a staged table are, to insert or delete some.
func (a *adoption) tableOf(st, table string) sqlText {
	if a.adopted.has(table) {
		return catalogName + "." + mainTable(table)
	}
	return stagedTable(st, table)
}

// batchSchema is the schema that a table's batches have when they are inserted: that of
// an adopted table has valid_from before row_hash.
func (a *adoption) batchSchema(table string, have *arrow.Schema) *arrow.Schema {
	if !a.adopted.has(table) {
		return have
	}
	stamp := arrow.Field{Name: stream.ValidFrom, Type: arrow.FixedWidthTypes.Timestamp_us}
	return arrow.NewSchema(slices.Insert(slices.Clone(have.Fields()), have.NumFields()-2, stamp), nil)
}

// shapeBatch puts valid_from into a batch for an adopted table.
func (a *adoption) shapeBatch(table string, rows arrow.RecordBatch) arrow.RecordBatch {
	if !a.adopted.has(table) {
		rows.Retain()
		return rows
	}
	b := array.NewTimestampBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Timestamp_us.(*arrow.TimestampType))
	defer b.Release()
	at := arrow.Timestamp(a.draft.At.UnixMicro())
	b.Reserve(int(rows.NumRows()))
	for range rows.NumRows() {
		b.UnsafeAppend(at)
	}
	stamps := b.NewArray()
	defer stamps.Release()
	columns := slices.Insert(slices.Clone(rows.Columns()), int(rows.NumCols())-2, stamps)
	return array.NewRecordBatch(a.batchSchema(table, rows.Schema()), columns, rows.NumRows())
}

// releaseAdopted removes the column seq from the adopted tables; what is left is as if their
// rows had been merged.
func (a *adoption) releaseAdopted(ctx context.Context) error {
	var statements []sqlText
	for _, st := range a.streams {
		for _, t := range tablesOf(st) {
			if a.adopted.has(t.Name) {
				statements = append(statements, firstNightSQL.Render("release_table", values{"table": mainTable(t.Name)}),
					a.createView(st.Name, t.Name, "NULL::UBIGINT AS "+stream.Seq))
			}
		}
	}
	return execute(ctx, a.draft, statements...)
}

// hasRows reports whether a table has any.
func hasRows(ctx context.Context, d *warehouse.Draft, table sqlText) (some bool, err error) {
	err = queryRow(ctx, d, stageSQL.Render("has_rows", values{"table": table})).Scan(&some)
	return some, err
}
