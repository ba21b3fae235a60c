package query

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// exactReader converts HUGEINT columns, for example the sum of a BIGINT, to DECIMAL(38,0). Parquet
// has no HUGEINT, and DuckDB would write such a column as DOUBLE. HUGEINT and DECIMAL(38,0) both
// have 16 bytes in two's complement, so only the type of the column changes.
type exactReader struct {
	array.RecordReader
	schema   *arrow.Schema
	hugeints []int             // indexes of the HUGEINT columns
	current  arrow.RecordBatch // the converted batch, or nil
}

// newExactReader returns an exactReader for r. If plainJSON is true, JSON columns become text.
func newExactReader(r array.RecordReader, plainJSON bool) *exactReader {
	e := &exactReader{RecordReader: r}
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
		e.hugeints = append(e.hugeints, i)
	}
	e.schema = arrow.NewSchema(fields, nil)
	return e
}

// storageType unwraps an extension type, see storageOf.
func storageType(t arrow.DataType) arrow.DataType {
	if x, ok := t.(arrow.ExtensionType); ok {
		return x.StorageType()
	}
	return t
}

// Schema returns the converted schema.
func (e *exactReader) Schema() *arrow.Schema { return e.schema }

// Next implements array.RecordReader.
func (e *exactReader) Next() bool {
	e.releaseCurrent()
	return e.RecordReader.Next()
}

// RecordBatch returns the converted batch, which is valid until the next call of Next.
func (e *exactReader) RecordBatch() arrow.RecordBatch {
	record := e.RecordReader.RecordBatch()
	if len(e.hugeints) == 0 {
		return record
	}
	if e.current != nil {
		return e.current
	}
	columns := slices.Clone(record.Columns())
	for _, i := range e.hugeints {
		d := columns[i].Data()
		data := array.NewData(e.schema.Field(i).Type, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
		columns[i] = array.NewDecimal128Data(data)
		data.Release()
		defer columns[i].Release()
	}
	e.current = array.NewRecordBatch(e.schema, columns, record.NumRows())
	return e.current
}

// Record is the deprecated name of RecordBatch in array.RecordReader.
func (e *exactReader) Record() arrow.RecordBatch { return e.RecordBatch() }

// Release implements array.RecordReader.
func (e *exactReader) Release() {
	e.releaseCurrent()
	e.RecordReader.Release()
}

func (e *exactReader) releaseCurrent() {
	if e.current != nil {
		e.current.Release()
		e.current = nil
	}
}
