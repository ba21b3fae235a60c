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

// directLoad inserts the rows of a large list into its tables of main without staging
// them, which would write them twice. It is used when these tables are empty and no other
// stream fills or completes them. Until the merge such a table also has the column seq.
type directLoad struct {
	streamSet
	draft *warehouse.Draft
	// direct contains the tables that are filled directly.
	direct names
	// decided contains the streams of earlier calls of chooseDirect.
	decided names
}

// chooseDirect decides, by the size of the first batch of a stream, whether its tables are filled
// directly.
func (d *directLoad) chooseDirect(ctx context.Context, name string, rows int64) error {
	if d.decided.has(name) {
		return nil
	}
	d.decided.add(name)
	st, _ := stream.Find(d.streams, name)
	if rows < feedRows || !d.fillsAlone(st) {
		return nil
	}
	tables := tablesOf(st)
	for _, t := range tables {
		if filled, err := hasRows(ctx, d.draft, mainTable(t.Name)); err != nil || filled {
			return err
		}
	}
	statements := []sqlText{mergeSQL.Render("set_compression", nil)}
	for _, t := range tables {
		statements = append(statements, firstNightSQL.Render("begin_direct", values{"table": mainTable(t.Name), "staged": stagedTable(name, t.Name)}),
			d.createView(name, t.Name, stream.Seq))
		d.direct.add(t.Name)
	}
	return d.draft.Exec(ctx, statements...)
}

// createView returns SQL that creates a view of a directly filled table, with the name and columns
// of its staging table.
func (d *directLoad) createView(st, table string, seq sqlText) sqlText {
	return firstNightSQL.Render("direct_view", values{"staged": stagedTable(st, table), "columns": allColumns(d.defs[table]),
		"seq": seq, "table": catalogName + "." + mainTable(table)})
}

// tableOf returns the table into which the rows of a stream are inserted, and from which duplicates
// are deleted.
func (d *directLoad) tableOf(st, table string) sqlText {
	if d.direct.has(table) {
		return catalogName + "." + mainTable(table)
	}
	return stagedTable(st, table)
}

// batchSchema returns the schema of the batches that are inserted into a table. Batches of a
// directly filled table have the column valid_from before the last two, row_hash and seq.
func (d *directLoad) batchSchema(table string, schema *arrow.Schema) *arrow.Schema {
	if !d.direct.has(table) {
		return schema
	}
	validFrom := arrow.Field{Name: stream.ValidFrom, Type: arrow.FixedWidthTypes.Timestamp_us}
	return arrow.NewSchema(slices.Insert(slices.Clone(schema.Fields()), schema.NumFields()-2, validFrom), nil)
}

// addValidFrom adds the column valid_from to a batch for a directly filled table.
func (d *directLoad) addValidFrom(table string, rows arrow.RecordBatch) arrow.RecordBatch {
	if !d.direct.has(table) {
		rows.Retain()
		return rows
	}
	b := array.NewTimestampBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Timestamp_us.(*arrow.TimestampType))
	defer b.Release()
	at := arrow.Timestamp(d.draft.At.UnixMicro())
	b.Reserve(int(rows.NumRows()))
	for range rows.NumRows() {
		b.UnsafeAppend(at)
	}
	stamps := b.NewArray()
	defer stamps.Release()
	columns := slices.Insert(slices.Clone(rows.Columns()), int(rows.NumCols())-2, stamps)
	return array.NewRecordBatch(d.batchSchema(table, rows.Schema()), columns, rows.NumRows())
}

// endDirect removes the column seq, which makes the directly filled tables equal to merged tables.
func (d *directLoad) endDirect(ctx context.Context) error {
	var statements []sqlText
	for _, st := range d.streams {
		for _, t := range tablesOf(st) {
			if d.direct.has(t.Name) {
				statements = append(statements, firstNightSQL.Render("end_direct", values{"table": mainTable(t.Name)}),
					d.createView(st.Name, t.Name, "NULL::UBIGINT AS "+stream.Seq))
			}
		}
	}
	return d.draft.Exec(ctx, statements...)
}

func hasRows(ctx context.Context, d *warehouse.Draft, table sqlText) (some bool, err error) {
	err = queryRow(ctx, d, stageSQL.Render("has_rows", values{"table": table})).Scan(&some)
	return some, err
}
