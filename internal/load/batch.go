package load

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/warehouse"
)

// column is one column of a table that the stage fills from values of type R. It
// makes both the column of the table and that of the Arrow batches.
type column[R any] struct {
	name, sqlType string
	arrowType     arrow.DataType
	write         func(to array.Builder, row R)
}

// textColumn is a column of texts; see [orNull].
func textColumn[R any](name string, value func(R) string) column[R] {
	return column[R]{name, "VARCHAR", arrow.BinaryTypes.String,
		func(to array.Builder, row R) { to.(*array.StringBuilder).Append(value(row)) }}
}

func intColumn[R any](name string, value func(R) int64) column[R] {
	return column[R]{name, "BIGINT", arrow.PrimitiveTypes.Int64,
		func(to array.Builder, row R) { to.(*array.Int64Builder).Append(value(row)) }}
}

func uintColumn[R any](name string, value func(R) uint64) column[R] {
	return column[R]{name, "UBIGINT", arrow.PrimitiveTypes.Uint64,
		func(to array.Builder, row R) { to.(*array.Uint64Builder).Append(value(row)) }}
}

// orNull makes NULL of the rows for which empty holds.
func orNull[R any](c column[R], empty func(R) bool) column[R] {
	write := c.write
	c.write = func(to array.Builder, row R) {
		if empty(row) {
			to.AppendNull()
		} else {
			write(to, row)
		}
	}
	return c
}

// textOrNull is a column of texts in which an empty one is NULL.
func textOrNull[R any](name string, value func(R) string) column[R] {
	return orNull(textColumn(name, value), func(row R) bool { return value(row) == "" })
}

// intOrNull is a column of numbers in which zero is NULL.
func intOrNull[R any](name string, value func(R) int64) column[R] {
	return orNull(intColumn(name, value), func(row R) bool { return value(row) == 0 })
}

// newBatch makes one Arrow batch of rows.
func newBatch[R any](columns []column[R], rows []R) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: c.arrowType, Nullable: true}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i, c := range columns {
		to := b.Field(i)
		to.Reserve(len(rows))
		for _, row := range rows {
			c.write(to, row)
		}
	}
	return b.NewRecordBatch()
}

// createTable is the statement that makes a table of these columns.
func createTable[R any](table sqlText, columns []column[R]) sqlText {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = warehouse.Quote(c.name) + " " + c.sqlType
	}
	return stageSQL.Render("create_table", values{"table": table, "columns": sqlText(strings.Join(parts, ", "))})
}

// insertRows stages rows of a table that the stage fills itself.
func insertRows[R any](ctx context.Context, s *staging, table sqlText, columns []column[R], rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	batch := newBatch(columns, rows)
	defer batch.Release()
	if err := s.insert(ctx, table, batch); err != nil {
		return fmt.Errorf("stage %d rows of %s: %w", len(rows), table, err)
	}
	return nil
}
