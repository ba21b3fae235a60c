package query

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Column is one column of an answer.
type Column struct {
	Name string `json:"name"`
	// Type is the SQL type as DuckDB writes it: DECIMAL(18,6), VARCHAR[].
	Type string `json:"type"`
	// Numeric columns align to the right.
	Numeric bool `json:"-"`

	codec codec
}

func columnsOf(schema *arrow.Schema) []Column {
	columns := make([]Column, schema.NumFields())
	for i, f := range schema.Fields() {
		c := codecOf(f)
		columns[i] = Column{Name: f.Name, Type: c.name, Numeric: c.numeric, codec: c}
	}
	return columns
}

// unwrittenErr is a *UsageError for a column whose type has no codec.
func unwrittenErr(columns []Column) error {
	for _, c := range columns {
		if c.codec.text == nil {
			return &UsageError{Problem: fmt.Sprintf("column %q has the type %s, which is not written: cast it, as in CAST(%[1]q AS VARCHAR)", c.Name, c.Type)}
		}
	}
	return nil
}

// batch is some consecutive rows of an answer, with its arrays unwrapped.
type batch struct {
	columns []Column
	arrays  []arrow.Array
	len     int
}

func newBatch(columns []Column, record arrow.RecordBatch) *batch {
	b := &batch{columns: columns, len: int(record.NumRows())}
	for _, a := range record.Columns() {
		b.arrays = append(b.arrays, storageOf(a))
	}
	return b
}

// storageOf unwraps an extension array. DuckDB's come as such only if something
// in the program registered the extension with Arrow.
func storageOf(a arrow.Array) arrow.Array {
	if x, ok := a.(array.ExtensionArray); ok {
		return x.Storage()
	}
	return a
}

// Row is one row of an answer: of one that streams, valid until the writer's method
// returns, or a Record.
type Row interface {
	IsNull(column int) bool
	// Value copies a value.
	Value(column int) Value
	// AppendText appends a value as text: exact digits, RFC 3339 times, nested values as
	// JSON. NULL appends nothing.
	AppendText(dst []byte, column int) []byte
	// AppendJSON appends a value as JSON; NULL, NaN and the infinities are null.
	AppendJSON(dst []byte, column int) []byte
}

// batchRow is the row of a batch.
type batchRow struct {
	batch *batch
	at    int
}

func (r *batchRow) IsNull(column int) bool { return r.batch.arrays[column].IsNull(r.at) }

func (r *batchRow) Value(column int) Value {
	return Value{Text: string(r.AppendText(nil, column)), Null: r.IsNull(column)}
}

func (r *batchRow) AppendText(dst []byte, column int) []byte {
	if r.IsNull(column) {
		return dst
	}
	return r.batch.columns[column].codec.text(dst, r.batch.arrays[column], r.at)
}

func (r *batchRow) AppendJSON(dst []byte, column int) []byte {
	return r.batch.columns[column].codec.appendJSON(dst, r.batch.arrays[column], r.at)
}

// extensionName is DuckDB's name of the type of a field whose Arrow type does not
// say it. The names are those that arrow_lossless_conversion writes.
func extensionName(f arrow.Field) string {
	name, metadata := "", ""
	if x, ok := f.Type.(arrow.ExtensionType); ok {
		name, metadata = x.ExtensionName(), x.Serialize()
	} else {
		name, _ = f.Metadata.GetValue("ARROW:extension:name")
		metadata, _ = f.Metadata.GetValue("ARROW:extension:metadata")
	}
	if name != "arrow.opaque" {
		return strings.TrimPrefix(name, "arrow.")
	}
	var opaque struct {
		TypeName string `json:"type_name"`
	}
	if err := json.Unmarshal([]byte(metadata), &opaque); err != nil {
		return name
	}
	return opaque.TypeName
}

// nestedName writes the SQL type of a nested Arrow type.
func nestedName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("%s[%d]", codecOf(t.ElemField()).name, t.Len())
	case *arrow.MapType:
		return fmt.Sprintf("MAP(%s, %s)", codecOf(t.KeyField()).name, codecOf(t.ItemField()).name)
	case arrow.ListLikeType:
		return codecOf(t.ElemField()).name + "[]"
	case *arrow.StructType:
		return "STRUCT(" + memberTypes(t.Fields()) + ")"
	case arrow.UnionType:
		return "UNION(" + memberTypes(t.Fields()) + ")"
	}
	return strings.ToUpper(t.String())
}

func memberTypes(fields []arrow.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Name + " " + codecOf(f).name
	}
	return strings.Join(parts, ", ")
}
