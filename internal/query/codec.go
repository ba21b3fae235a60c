package query

import (
	"bytes"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-json-experiment/json/jsontext"
)

// appender appends the value at i of an array that holds no NULL there.
type appender func(dst []byte, a arrow.Array, i int) []byte

// codec writes the values of one SQL type. There is one for each type that a table has, or
// that a function of everyday SQL returns. Values of the others, such as BIT, TIMETZ, BIGNUM
// and UNION, are written after the user has cast them.
type codec struct {
	// name is that of the type. Without a codec, text is nil.
	name    string
	numeric bool
	// free texts can begin with anything; dates and numbers cannot.
	free bool
	text appender
	form jsonForm
}

// jsonForm is how the text of a value becomes JSON.
type jsonForm int

const (
	quotedText jsonForm = iota
	// bareText is JSON already, as a whole number or a list is.
	bareText
	// finiteText is a number, NaN or infinite; JSON has numbers alone.
	finiteText
	// documentText is a JSON document.
	documentText
)

func (c codec) appendJSON(dst []byte, a arrow.Array, i int) []byte {
	switch {
	case a.IsNull(i):
		return append(dst, "null"...)
	case c.form == bareText:
		return c.text(dst, a, i)
	}
	return c.form.append(dst, c.text(nil, a, i))
}

func (f jsonForm) append(dst, text []byte) []byte {
	switch f {
	case quotedText:
		return appendQuoted(dst, text)
	case finiteText:
		if bytes.ContainsAny(text, "NI") {
			return append(dst, "null"...)
		}
	case documentText:
		return appendDocument(dst, text)
	}
	return append(dst, text...)
}

func appendQuoted(dst, text []byte) []byte {
	// The only error is invalid UTF-8, which is replaced and worth no stop.
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// newNumberCodec is a codec whose text is a JSON number.
func newNumberCodec(name string, text appender) codec {
	return codec{name: name, numeric: true, text: text, form: bareText}
}

// extensionCodecs are the codecs by what DuckDB calls the type.
var extensionCodecs = map[string]codec{
	"bool8":   {name: "BOOLEAN", text: appendBool8, form: bareText},
	"json":    {name: "JSON", free: true, text: appendString, form: documentText},
	"uuid":    {name: "UUID", text: appendUUID},
	"hugeint": newNumberCodec("HUGEINT", appendHugeint),
}

// plainCodecs are the codecs of the Arrow types that have no parameters.
var plainCodecs = map[arrow.Type]codec{
	arrow.INT8:                    newNumberCodec("TINYINT", appendInt[int8]),
	arrow.INT16:                   newNumberCodec("SMALLINT", appendInt[int16]),
	arrow.INT32:                   newNumberCodec("INTEGER", appendInt[int32]),
	arrow.INT64:                   newNumberCodec("BIGINT", appendInt[int64]),
	arrow.UINT8:                   newNumberCodec("UTINYINT", appendUint[uint8]),
	arrow.UINT16:                  newNumberCodec("USMALLINT", appendUint[uint16]),
	arrow.UINT32:                  newNumberCodec("UINTEGER", appendUint[uint32]),
	arrow.UINT64:                  newNumberCodec("UBIGINT", appendUint[uint64]),
	arrow.FLOAT32:                 {name: "FLOAT", numeric: true, text: appendFloat[float32], form: finiteText},
	arrow.FLOAT64:                 {name: "DOUBLE", numeric: true, text: appendFloat[float64], form: finiteText},
	arrow.DATE32:                  {name: "DATE", text: appendDate},
	arrow.INTERVAL_MONTH_DAY_NANO: {name: "INTERVAL", text: appendInterval},
	arrow.STRING:                  {name: "VARCHAR", free: true, text: appendString},
	arrow.LARGE_STRING:            {name: "VARCHAR", free: true, text: appendString},
	arrow.STRING_VIEW:             {name: "VARCHAR", free: true, text: appendString},
	arrow.BINARY:                  {name: "BLOB", text: appendBase64},
	arrow.LARGE_BINARY:            {name: "BLOB", text: appendBase64},
	arrow.BINARY_VIEW:             {name: "BLOB", text: appendBase64},
	arrow.BOOL:                    {name: "BOOLEAN", text: appendBool, form: bareText},
	arrow.DICTIONARY:              {name: "ENUM", free: true, text: appendEnum},
}

// codecOf finds the codec of a field: by what DuckDB calls the type where it
// says so, else by the Arrow type.
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
	c := codec{name: nestedName(f.Type), form: bareText} // the text of a nested value is JSON
	switch t := f.Type.(type) {
	case *arrow.Decimal128Type:
		return decimalCodec(t)
	case *arrow.Time64Type:
		return codec{name: "TIME", text: timeOfDay(t.Unit)}
	case *arrow.TimestampType:
		return timestampCodec(t)
	case *arrow.MapType:
		if parts := codecsOf([]arrow.Field{t.KeyField(), t.ItemField()}); parts != nil {
			c.text = appendMap(parts[0], parts[1])
		}
	case arrow.ListLikeType:
		if parts := codecsOf([]arrow.Field{t.ElemField()}); parts != nil {
			c.text = appendList(parts[0])
		}
	case *arrow.StructType:
		if parts := codecsOf(t.Fields()); parts != nil {
			c.text = appendStruct(t.Fields(), parts)
		}
	}
	return c
}

// codecsOf are the codecs of the parts of a nested type; nil if one of them has none.
func codecsOf(fields []arrow.Field) []codec {
	codecs := make([]codec, len(fields))
	for i, f := range fields {
		if codecs[i] = codecOf(f); codecs[i].text == nil {
			return nil
		}
	}
	return codecs
}

func appendEnum(dst []byte, a arrow.Array, i int) []byte {
	d := a.(*array.Dictionary)
	return append(dst, d.Dictionary().ValueStr(d.GetValueIndex(i))...)
}
