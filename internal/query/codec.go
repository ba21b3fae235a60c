package query

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/go-json-experiment/json/jsontext"
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

func (c Column) valueAt(a arrow.Array, row int) Value {
	if a.IsNull(row) {
		return Value{Null: true}
	}
	return Value{Text: string(c.codec.text(nil, a, row))}
}

// AppendJSON appends a value of the column as JSON. NULL, NaN and infinities are null.
func (c Column) AppendJSON(dst []byte, v Value) []byte {
	if v.Null {
		return append(dst, "null"...)
	}
	return c.Form.append(dst, []byte(v.Text))
}

// appender appends the value at index i of an array to dst. The value is not NULL.
type appender func(dst []byte, a arrow.Array, i int) []byte

// codec writes the values of one SQL type. The types of all tables and the result types of common
// functions have a codec. Values of other types, such as BIT, TIMETZ, BIGNUM and UNION, must be
// cast by the user.
type codec struct {
	name    string // the SQL type
	numeric bool
	anyText bool     // whether values can be any text, unlike numbers and dates
	text    appender // nil for unsupported types
	form    jsonForm
}

// jsonForm is the way in which the text of a value is converted to JSON.
type jsonForm int

const (
	quotedText   jsonForm = iota // becomes a JSON string
	validJSON                    // is copied, such as an integer or a list
	floatText                    // is copied, or becomes null if it is NaN or an infinity
	documentText                 // is a value of the SQL type JSON
)

func (c codec) appendJSON(dst []byte, a arrow.Array, i int) []byte {
	switch {
	case a.IsNull(i):
		return append(dst, "null"...)
	case c.form == validJSON:
		return c.text(dst, a, i)
	}
	return c.form.append(dst, c.text(nil, a, i))
}

func (f jsonForm) append(dst, text []byte) []byte {
	switch f {
	case quotedText:
		return appendQuoted(dst, text)
	case floatText:
		if bytes.ContainsAny(text, "NI") { // NaN, Infinity
			return append(dst, "null"...)
		}
	case documentText:
		return appendDocument(dst, text)
	}
	return append(dst, text...)
}

func appendQuoted(dst, text []byte) []byte {
	// The only possible error is invalid UTF-8, which AppendQuote replaces.
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

func newNumberCodec(name string, text appender) codec {
	return codec{name: name, numeric: true, text: text, form: validJSON}
}

// extensionCodecs are the codecs of Arrow extension types, by the result of extensionName.
var extensionCodecs = map[string]codec{
	"bool8":   {name: "BOOLEAN", text: appendBool8, form: validJSON},
	"json":    {name: "JSON", anyText: true, text: appendText, form: documentText},
	"uuid":    {name: "UUID", text: appendUUID},
	"hugeint": newNumberCodec("HUGEINT", appendHugeint),
}

var plainCodecs = map[arrow.Type]codec{
	arrow.INT8:                    newNumberCodec("TINYINT", appendText),
	arrow.INT16:                   newNumberCodec("SMALLINT", appendText),
	arrow.INT32:                   newNumberCodec("INTEGER", appendText),
	arrow.INT64:                   newNumberCodec("BIGINT", appendText),
	arrow.UINT8:                   newNumberCodec("UTINYINT", appendText),
	arrow.UINT16:                  newNumberCodec("USMALLINT", appendText),
	arrow.UINT32:                  newNumberCodec("UINTEGER", appendText),
	arrow.UINT64:                  newNumberCodec("UBIGINT", appendText),
	arrow.FLOAT32:                 {name: "FLOAT", numeric: true, text: appendFloat[float32], form: floatText},
	arrow.FLOAT64:                 {name: "DOUBLE", numeric: true, text: appendFloat[float64], form: floatText},
	arrow.DATE32:                  {name: "DATE", text: appendDate},
	arrow.INTERVAL_MONTH_DAY_NANO: {name: "INTERVAL", text: appendInterval},
	arrow.STRING:                  {name: "VARCHAR", anyText: true, text: appendText},
	arrow.BINARY:                  {name: "BLOB", text: appendText},
	arrow.DICTIONARY:              {name: "ENUM", anyText: true, text: appendText},
}

func codecOf(f arrow.Field) codec {
	if name := extensionName(f); name != "" {
		if c, ok := extensionCodecs[name]; ok {
			return c
		}
		return codec{name: strings.ToUpper(strings.ReplaceAll(name, "_", ""))}
	}
	if c, ok := plainCodecs[f.Type.ID()]; ok {
		return c
	}
	switch t := f.Type.(type) {
	case *arrow.Decimal128Type:
		return newNumberCodec(fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale), func(dst []byte, a arrow.Array, i int) []byte {
			return append(dst, valueAt[decimal128.Num](a, i).ToString(t.Scale)...)
		})
	case *arrow.Time64Type:
		return codec{name: "TIME", text: func(dst []byte, a arrow.Array, i int) []byte {
			return appendClock(dst, time.Duration(valueAt[arrow.Time64](a, i))*t.Unit.Multiplier())
		}}
	case *arrow.TimestampType:
		return timestampCodec(t)
	case *arrow.FixedSizeListType:
		item := codecOf(t.ElemField())
		return nestedCodec(fmt.Sprintf("%s[%d]", item.name, t.Len()), listAppender(item), item)
	case *arrow.MapType:
		key, item := codecOf(t.KeyField()), codecOf(t.ItemField())
		return nestedCodec(fmt.Sprintf("MAP(%s, %s)", key.name, item.name), mapAppender(key, item), key, item)
	case arrow.ListLikeType:
		item := codecOf(t.ElemField())
		return nestedCodec(item.name+"[]", listAppender(item), item)
	case *arrow.StructType:
		types, members := describeMembers(t.Fields())
		return nestedCodec("STRUCT("+types+")", structAppender(t.Fields(), members), members...)
	case arrow.UnionType:
		types, _ := describeMembers(t.Fields())
		return codec{name: "UNION(" + types + ")"}
	}
	return codec{name: strings.ToUpper(f.Type.String())}
}

func describeMembers(fields []arrow.Field) (types string, members []codec) {
	var texts []string
	for _, f := range fields {
		member := codecOf(f)
		members = append(members, member)
		texts = append(texts, f.Name+" "+member.name)
	}
	return strings.Join(texts, ", "), members
}

// nestedCodec returns the codec of a type whose texts are JSON. If the type of a member is not supported,
// the nested type is not supported either.
func nestedCodec(name string, text appender, members ...codec) codec {
	if slices.ContainsFunc(members, func(member codec) bool { return member.text == nil }) {
		text = nil
	}
	return codec{name: name, text: text, form: validJSON}
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

func listAppender(item codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		list := a.(array.ListLike)
		items := list.ListValues()
		start, end := list.ValueOffsets(i)
		dst = append(dst, '[')
		for k := start; k < end; k++ {
			if k > start {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst, items, int(k))
		}
		return append(dst, ']')
	}
}

// mapAppender writes a map as an object. The Arrow library loses the extension types of keys and items. A
// BOOLEAN item is therefore written as 0 or 1, and a JSON item as a string, unless the user casts them.
func mapAppender(key, item codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		m := a.(*array.Map)
		keys, items := m.Keys(), m.Items()
		start, end := m.ValueOffsets(i)
		dst = append(dst, '{')
		for k := start; k < end; k++ {
			if k > start {
				dst = append(dst, ',')
			}
			dst = appendQuoted(dst, key.text(nil, keys, int(k)))
			dst = item.appendJSON(append(dst, ':'), items, int(k))
		}
		return append(dst, '}')
	}
}

func structAppender(fields []arrow.Field, codecs []codec) appender {
	return func(dst []byte, a arrow.Array, i int) []byte {
		s := a.(*array.Struct)
		dst = append(dst, '{')
		for k, f := range fields {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, []byte(f.Name)), ':')
			dst = codecs[k].appendJSON(dst, s.Field(k), i)
		}
		return append(dst, '}')
	}
}

type valuer[T any] interface{ Value(i int) T }

func valueAt[T any](a arrow.Array, i int) T { return a.(valuer[T]).Value(i) }

// appendText appends the text that the Arrow library returns for a value: all digits of an integer, and
// Base64 for bytes.
func appendText(dst []byte, a arrow.Array, i int) []byte { return append(dst, a.ValueStr(i)...) }

// appendFloat appends the shortest digits that parse to the same number. Like encoding/json, it
// uses an exponent only for very small and very large numbers.
func appendFloat[T float32 | float64](dst []byte, a arrow.Array, i int) []byte {
	v := float64(valueAt[T](a, i))
	if math.IsInf(v, 0) {
		if v < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	}
	bits, format := 64, byte('f')
	if _, isSingle := any(T(0)).(float32); isSingle {
		bits = 32
	}
	const minPlain, maxPlain = 1e-6, 1e21
	isPlain := minPlain <= math.Abs(v) && math.Abs(v) < maxPlain
	if v != 0 && !isPlain {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

func bytesAt(a arrow.Array, i int) []byte { return valueAt[[]byte](a, i) }

// appendHugeint appends the decimal digits of a 16-byte little-endian integer in two's complement.
func appendHugeint(dst []byte, a arrow.Array, i int) []byte {
	b := bytesAt(a, i)
	n := decimal128.New(int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b))
	return n.BigInt().Append(dst, 10)
}

func appendBool8(dst []byte, a arrow.Array, i int) []byte {
	return strconv.AppendBool(dst, valueAt[int8](a, i) != 0)
}

func appendUUID(dst []byte, a arrow.Array, i int) []byte {
	b := bytesAt(a, i)
	return fmt.Appendf(dst, "%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// appendDocument appends a JSON value on one line and keeps the digits of numbers. Invalid JSON,
// which DuckDB allows in a column of type JSON, becomes a JSON string.
func appendDocument(dst, text []byte) []byte {
	out, err := jsontext.AppendFormat(dst, text, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return appendQuoted(dst, text)
	}
	return out
}

// secondLayout is RFC 3339 without fractions and time zone. Only a TIMESTAMPTZ ends with a Z.
const secondLayout = "2006-01-02T15:04:05"

func timestampCodec(t *arrow.TimestampType) codec {
	name, zone := "TIMESTAMP", ""
	switch {
	case t.TimeZone != "":
		name, zone = "TIMESTAMPTZ", "Z"
	case t.Unit == arrow.Second:
		name = "TIMESTAMP_S"
	case t.Unit == arrow.Millisecond:
		name = "TIMESTAMP_MS"
	case t.Unit == arrow.Nanosecond:
		name = "TIMESTAMP_NS"
	}
	return codec{name: name, text: func(dst []byte, a arrow.Array, i int) []byte {
		v := int64(valueAt[arrow.Timestamp](a, i))
		if text := infinityName(v, math.MaxInt64); text != "" {
			return append(dst, text...)
		}
		// Timestamp.ToTime overflows outside the years 1678 to 2262.
		perSecond := int64(time.Second / t.Unit.Multiplier())
		nanos := v % perSecond * int64(t.Unit.Multiplier())
		at := time.Unix(v/perSecond, nanos).UTC()
		dst = at.AppendFormat(dst, secondLayout)
		return append(appendFraction(dst, at.Nanosecond()), zone...)
	}}
}

// infinityName returns the text of an infinite date or time, which DuckDB stores as largest or
// -largest. For other values, infinityName returns an empty string.
func infinityName(v, largest int64) string {
	switch v {
	case largest:
		return "infinity"
	case -largest:
		return "-infinity"
	}
	return ""
}

// appendFraction appends a fraction of a second with six or, if needed, nine digits. A fraction of 0 is left out.
func appendFraction(dst []byte, nanos int) []byte {
	switch {
	case nanos == 0:
		return dst
	case nanos%1000 == 0:
		return fmt.Appendf(dst, ".%06d", nanos/1000)
	}
	return fmt.Appendf(dst, ".%09d", nanos)
}

func appendDate(dst []byte, a arrow.Array, i int) []byte {
	days := int64(valueAt[arrow.Date32](a, i))
	if text := infinityName(days, math.MaxInt32); text != "" {
		return append(dst, text...)
	}
	return time.Unix(days*24*60*60, 0).UTC().AppendFormat(dst, time.DateOnly)
}

// appendInterval appends an interval in DuckDB's text form: 1 year 2 months 3 days 04:05:06.
func appendInterval(dst []byte, a arrow.Array, i int) []byte {
	v := valueAt[arrow.MonthDayNanoInterval](a, i)
	var parts []string
	units := []string{"year", "month", "day"}
	for k, n := range []int32{v.Months / 12, v.Months % 12, v.Days} {
		if n == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", n, units[k])
		if n != 1 && n != -1 {
			part += "s"
		}
		parts = append(parts, part)
	}
	if v.Nanoseconds != 0 || len(parts) == 0 {
		parts = append(parts, string(appendClock(nil, time.Duration(v.Nanoseconds))))
	}
	return append(dst, strings.Join(parts, " ")...)
}

// appendClock appends a duration or a time of day as hh:mm:ss. The hours of a duration may exceed
// 24. A time of day can be 24:00:00.
func appendClock(dst []byte, d time.Duration) []byte {
	if d < 0 {
		dst, d = append(dst, '-'), -d
	}
	dst = fmt.Appendf(dst, "%02d:%02d:%02d", int64(d/time.Hour), int64(d/time.Minute)%60, int64(d/time.Second)%60)
	return appendFraction(dst, int(d%time.Second))
}
