package query

import (
	"encoding/json"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Column is one column of a result.
type Column struct {
	Name string `json:"name"`
	// Type is the SQL type as DuckDB writes it: DECIMAL(18,6), VARCHAR[].
	Type string `json:"type"`
	// Numeric columns are aligned to the right.
	Numeric bool `json:"-"`
	// Form is the form of the values in JSON, see AppendJSON.
	Form jsonForm `json:"-"`

	codec codec
}

func columnsOf(schema *arrow.Schema) []Column {
	columns := make([]Column, schema.NumFields())
	for i, f := range schema.Fields() {
		c := codecOf(f)
		columns[i] = Column{Name: f.Name, Type: c.name, Numeric: c.numeric, Form: c.form, codec: c}
	}
	return columns
}

// AppendJSON appends a value of the column as JSON. NULL, NaN and infinities are null.
func (c Column) AppendJSON(dst []byte, v Value) []byte {
	if v.Null {
		return append(dst, "null"...)
	}
	return c.Form.append(dst, []byte(v.Text))
}

func (c Column) valueAt(a arrow.Array, row int) Value {
	if a.IsNull(row) {
		return Value{Null: true}
	}
	return Value{Text: string(c.codec.text(nil, a, row))}
}

// extensionName returns the name of a field's Arrow extension type, or DuckDB's type name if the
// extension type is opaque. It returns an empty string for other fields. DuckDB names extension types in
// the metadata because the setting arrow_lossless_conversion is on.
func extensionName(f arrow.Field) string {
	name, _ := f.Metadata.GetValue("ARROW:extension:name")
	if name != "arrow.opaque" {
		return strings.TrimPrefix(name, "arrow.")
	}
	metadata, _ := f.Metadata.GetValue("ARROW:extension:metadata")
	var opaque struct {
		TypeName string `json:"type_name"`
	}
	if err := json.Unmarshal([]byte(metadata), &opaque); err != nil {
		return name
	}
	return opaque.TypeName
}
