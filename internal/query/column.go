package query

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Column is one column of a result.
type Column struct {
	Name string `json:"name"`
	// Type is the SQL type as DuckDB writes it: DECIMAL(18,6), VARCHAR[].
	Type string `json:"type"`
	// Numeric columns are aligned to the right.
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

// checkTypes returns a *UsageError if the type of a column has no codec.
func checkTypes(columns []Column) error {
	for _, c := range columns {
		if c.codec.text == nil {
			return &UsageError{Problem: fmt.Sprintf("column %q has the type %s, which no format supports: cast it, as in CAST(%[1]q AS VARCHAR)", c.Name, c.Type)}
		}
	}
	return nil
}

// storageOf unwraps an extension array. Arrow returns extension arrays for the types that are
// registered in the process, and plain arrays for others.
func storageOf(a arrow.Array) arrow.Array {
	if x, ok := a.(array.ExtensionArray); ok {
		return x.Storage()
	}
	return a
}

// Row is one row of a result. Record implements it. A row that Run passes to Writer.Row is valid
// only until Writer.Row returns.
type Row interface {
	Value(column int) Value
	// AppendJSON appends a value as JSON. NULL, NaN and infinities are null.
	AppendJSON(dst []byte, column int) []byte
}

// batchRow is a row of an Arrow batch.
type batchRow struct {
	columns []Column
	arrays  []arrow.Array // the columns of the batch, see storageOf
	at      int           // index of the row
	text    []byte        // reused by Value
}

func (r *batchRow) Value(column int) Value {
	if r.arrays[column].IsNull(r.at) {
		return Value{Null: true}
	}
	r.text = r.columns[column].codec.text(r.text[:0], r.arrays[column], r.at)
	return Value{Text: string(r.text)}
}

func (r *batchRow) AppendJSON(dst []byte, column int) []byte {
	return r.columns[column].codec.appendJSON(dst, r.arrays[column], r.at)
}

// extensionName returns DuckDB's type name of a field with an Arrow extension type, and an empty
// string for other fields. DuckDB returns extension types because the setting
// arrow_lossless_conversion is on.
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

// nestedName returns the SQL type of a nested Arrow type.
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
	members := make([]string, len(fields))
	for i, f := range fields {
		members[i] = f.Name + " " + codecOf(f).name
	}
	return strings.Join(members, ", ")
}
