package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// exact is an answer on its way to Parquet, which has no HUGEINT: DuckDB would
// write one, such as any sum of a BIGINT, as DOUBLE. Both HUGEINT and
// DECIMAL(38,0) are 16 bytes of two's complement, so the column is renamed and
// no byte is touched.
type exact struct {
	array.RecordReader
	schema  *arrow.Schema
	retyped []int
	current arrow.RecordBatch
}

func newExact(r array.RecordReader, plainJSON bool) *exact {
	e := &exact{RecordReader: r}
	fields := r.Schema().Fields()
	for i, f := range fields {
		switch name := extensionName(f); {
		case name == "json" && plainJSON:
			fields[i] = arrow.Field{Name: f.Name, Type: storageType(f.Type), Nullable: true}
			continue
		case name != "hugeint":
			continue
		}
		fields[i] = arrow.Field{Name: f.Name, Type: &arrow.Decimal128Type{Precision: 38}, Nullable: true}
		e.retyped = append(e.retyped, i)
	}
	e.schema = arrow.NewSchema(fields, nil)
	return e
}

// storageType unwraps the type of an extension, see storageOf.
func storageType(t arrow.DataType) arrow.DataType {
	if x, ok := t.(arrow.ExtensionType); ok {
		return x.StorageType()
	}
	return t
}

// Schema is that of the batches of RecordBatch.
func (e *exact) Schema() *arrow.Schema { return e.schema }

// Next moves to the next batch.
func (e *exact) Next() bool {
	e.releaseCurrent()
	return e.RecordReader.Next()
}

// RecordBatch is valid until Next.
func (e *exact) RecordBatch() arrow.RecordBatch {
	record := e.RecordReader.RecordBatch()
	if len(e.retyped) == 0 {
		return record
	}
	if e.current == nil {
		e.current = e.retypeBatch(record)
	}
	return e.current
}

// Record is RecordBatch under its former name, which the interface still has.
func (e *exact) Record() arrow.RecordBatch { return e.RecordBatch() }

// Release ends the reading.
func (e *exact) Release() {
	e.releaseCurrent()
	e.RecordReader.Release()
}

func (e *exact) releaseCurrent() {
	if e.current != nil {
		e.current.Release()
		e.current = nil
	}
}

func (e *exact) retypeBatch(record arrow.RecordBatch) arrow.RecordBatch {
	columns := append([]arrow.Array(nil), record.Columns()...)
	for _, i := range e.retyped {
		d := columns[i].Data()
		data := array.NewData(e.schema.Field(i).Type, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
		columns[i] = array.NewDecimal128Data(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(e.schema, columns, record.NumRows())
}
