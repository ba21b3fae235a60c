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
	Name string
	// Type is the SQL type as DuckDB writes it: DECIMAL(18,6), VARCHAR[].
	Type string
	// Numeric columns align to the right.
	Numeric bool

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

// Row is one row of an answer. It is valid until the writer's method returns.
type Row struct {
	batch *batch
	at    int
}

// IsNull reports whether the value of a column is NULL.
func (r Row) IsNull(column int) bool { return isNull(r.batch.arrays[column], r.at) }

// AppendText appends a value as text: exact digits, RFC 3339 times, nested
// values as JSON. NULL appends nothing.
func (r Row) AppendText(dst []byte, column int) []byte {
	if r.IsNull(column) {
		return dst
	}
	return r.batch.columns[column].codec.text(dst, r.batch.arrays[column], r.at)
}

// AppendJSON appends a value as JSON; NULL, NaN and the infinities are null.
func (r Row) AppendJSON(dst []byte, column int) []byte {
	return r.batch.columns[column].codec.appendJSON(dst, r.batch.arrays[column], r.at)
}

// extensionName says what DuckDB calls the type of a field whose Arrow type does
// not tell. The names are those that arrow_lossless_conversion writes.
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
