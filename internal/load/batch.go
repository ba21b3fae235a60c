package load

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"placementsync/internal/sqltext"
)

// stagingColumn is a column of a staging table that is filled from values of type R. It
// defines the column of the table and of the Arrow batches.
type stagingColumn[R any] struct {
	name, sqlType string
	arrowType     arrow.DataType
	write         func(to array.Builder, row R)
}

func textColumn[R any](name string, value func(R) string) stagingColumn[R] {
	return stagingColumn[R]{name, "VARCHAR", arrow.BinaryTypes.String,
		func(to array.Builder, row R) { to.(*array.StringBuilder).Append(value(row)) }}
}

func intColumn[R any](name string, value func(R) int64) stagingColumn[R] {
	return stagingColumn[R]{name, "BIGINT", arrow.PrimitiveTypes.Int64,
		func(to array.Builder, row R) { to.(*array.Int64Builder).Append(value(row)) }}
}

func uintColumn[R any](name string, value func(R) uint64) stagingColumn[R] {
	return stagingColumn[R]{name, "UBIGINT", arrow.PrimitiveTypes.Uint64,
		func(to array.Builder, row R) { to.(*array.Uint64Builder).Append(value(row)) }}
}

// orNull writes NULL for the rows for which empty returns true.
func orNull[R any](c stagingColumn[R], empty func(R) bool) stagingColumn[R] {
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

// textOrNull is a text column in which empty texts are NULL.
func textOrNull[R any](name string, value func(R) string) stagingColumn[R] {
	return orNull(textColumn(name, value), func(row R) bool { return value(row) == "" })
}

// intOrNull is an integer column in which zero is NULL.
func intOrNull[R any](name string, value func(R) int64) stagingColumn[R] {
	return orNull(intColumn(name, value), func(row R) bool { return value(row) == 0 })
}

func newBatch[R any](columns []stagingColumn[R], rows []R) arrow.RecordBatch {
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

func createTable[R any](table sqlText, columns []stagingColumn[R]) sqlText {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = sqltext.Quote(c.name) + " " + c.sqlType
	}
	return stageSQL.Render("create_table", values{"table": table, "columns": sqlText(strings.Join(parts, ", "))})
}

func insertRows[R any](ctx context.Context, s *staging, table sqlText, columns []stagingColumn[R], rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	batch := newBatch(columns, rows)
	defer batch.Release()
	if err := s.inserter.insert(ctx, table, batch); err != nil {
		return fmt.Errorf("stage %d rows of %s: %w", len(rows), table, err)
	}
	return nil
}
