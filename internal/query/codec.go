package query

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-json-experiment/json/jsontext"
)

// appender appends the value at i of an array that holds no NULL there.
type appender func(dst []byte, a arrow.Array, i int) []byte

// codec writes the values of one SQL type.
type codec struct {
	name    string
	numeric bool
	// free texts can begin with anything; dates and numbers cannot.
	free bool
	text appender
	// json is nil where the JSON is the quoted text.
	json appender
}

func (c codec) appendJSON(dst []byte, a arrow.Array, i int) []byte {
	switch {
	case a.IsNull(i):
		return append(dst, "null"...)
	case c.json != nil:
		return c.json(dst, a, i)
	}
	return appendQuoted(dst, c.text(nil, a, i))
}

func appendQuoted(dst, text []byte) []byte {
	// The only error is invalid UTF-8, which is replaced and worth no stop.
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}

// newNumberCodec is a codec whose text is a JSON number.
func newNumberCodec(name string, text appender) codec {
	return codec{name: name, numeric: true, text: text, json: text}
}

// extensionCodecs are the codecs by what DuckDB calls the type.
var extensionCodecs = map[string]codec{
	"bool8":    {name: "BOOLEAN", text: appendBool8, json: appendBool8},
	"json":     {name: "JSON", free: true, text: appendString, json: appendDocument},
	"uuid":     {name: "UUID", text: appendUUID},
	"hugeint":  newNumberCodec("HUGEINT", appendHugeint),
	"uhugeint": newNumberCodec("UHUGEINT", appendUhugeint),
	"bignum":   newNumberCodec("BIGNUM", appendBignum),
	"bit":      {name: "BIT", text: appendBit},
	"time_tz":  {name: "TIMETZ", text: appendTimeTZ},
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
	arrow.FLOAT32:                 {name: "FLOAT", numeric: true, text: appendFloat[float32], json: appendFinite[float32]},
	arrow.FLOAT64:                 {name: "DOUBLE", numeric: true, text: appendFloat[float64], json: appendFinite[float64]},
	arrow.DATE32:                  {name: "DATE", text: appendDate},
	arrow.INTERVAL_MONTH_DAY_NANO: {name: "INTERVAL", text: appendInterval},
	arrow.STRING:                  {name: "VARCHAR", free: true, text: appendString},
	arrow.LARGE_STRING:            {name: "VARCHAR", free: true, text: appendString},
	arrow.STRING_VIEW:             {name: "VARCHAR", free: true, text: appendString},
	arrow.BINARY:                  {name: "BLOB", text: appendBase64},
	arrow.LARGE_BINARY:            {name: "BLOB", text: appendBase64},
	arrow.BINARY_VIEW:             {name: "BLOB", text: appendBase64},
	arrow.BOOL:                    {name: "BOOLEAN", text: appendBool, json: appendBool},
	arrow.DICTIONARY:              {name: "ENUM", free: true, text: appendEnum},
}

// codecOf finds the codec of a field: by what DuckDB calls the type where it
// says so, else by the Arrow type.
func codecOf(f arrow.Field) codec {
	if c, ok := extensionCodecs[extensionName(f)]; ok {
		return c
	}
	if c, ok := plainCodecs[f.Type.ID()]; ok {
		return c
	}
	var nested appender // whose text is JSON
	switch t := f.Type.(type) {
	case *arrow.Decimal128Type:
		return decimalCodec(t)
	case *arrow.Time64Type:
		return codec{name: "TIME", text: timeOfDay(t.Unit)}
	case *arrow.TimestampType:
		return timestampCodec(t)
	case *arrow.MapType:
		nested = appendMap(codecOf(t.KeyField()), codecOf(t.ItemField()))
	case arrow.ListLikeType:
		nested = appendList(codecOf(t.ElemField()))
	case *arrow.StructType:
		nested = appendStruct(t.Fields())
	case arrow.UnionType:
		nested = appendUnion(t.Fields())
	default:
		return codec{name: nestedName(t), text: func(dst []byte, a arrow.Array, i int) []byte { return append(dst, a.ValueStr(i)...) }}
	}
	return codec{name: nestedName(f.Type), text: nested, json: nested}
}

func appendEnum(dst []byte, a arrow.Array, i int) []byte {
	d := a.(*array.Dictionary)
	return append(dst, d.Dictionary().ValueStr(d.GetValueIndex(i))...)
}
