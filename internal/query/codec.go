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

func newQuotedCodec(name string, text appender) codec { return codec{name: name, text: text} }

// newNestedCodec is a codec whose text is JSON.
func newNestedCodec(name string, json appender) codec {
	return codec{name: name, text: json, json: json}
}

// codecOf finds the codec of a field: by what DuckDB calls the type where it
// says so, else by the Arrow type.
func codecOf(f arrow.Field) codec {
	if c, ok := extensionCodec(extensionName(f)); ok {
		return c
	}
	t := f.Type
	if c, ok := numberCodec(t); ok {
		return c
	}
	if c, ok := timeCodec(t); ok {
		return c
	}
	if c, ok := nestedCodec(t); ok {
		return c
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return codec{name: "VARCHAR", free: true, text: appendString}
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return newQuotedCodec("BLOB", appendBase64)
	case arrow.BOOL:
		return codec{name: "BOOLEAN", text: appendBool, json: appendBool}
	case arrow.DICTIONARY:
		return codec{name: "ENUM", free: true, text: appendEnum}
	}
	return newQuotedCodec(nestedName(t), func(dst []byte, a arrow.Array, i int) []byte { return append(dst, a.ValueStr(i)...) })
}

func extensionCodec(name string) (codec, bool) {
	switch name {
	case "bool8":
		return codec{name: "BOOLEAN", text: appendBool8, json: appendBool8}, true
	case "json":
		return codec{name: "JSON", free: true, text: appendString, json: appendDocument}, true
	case "uuid":
		return newQuotedCodec("UUID", appendUUID), true
	case "hugeint":
		return newNumberCodec("HUGEINT", appendHugeint), true
	case "uhugeint":
		return newNumberCodec("UHUGEINT", appendUhugeint), true
	case "bignum":
		return newNumberCodec("BIGNUM", appendBignum), true
	case "bit":
		return newQuotedCodec("BIT", appendBit), true
	case "time_tz":
		return newQuotedCodec("TIMETZ", appendTimeTZ), true
	}
	return codec{}, false
}

func numberCodec(t arrow.DataType) (codec, bool) {
	switch t.ID() {
	case arrow.INT8:
		return newNumberCodec("TINYINT", appendInt[int8]), true
	case arrow.INT16:
		return newNumberCodec("SMALLINT", appendInt[int16]), true
	case arrow.INT32:
		return newNumberCodec("INTEGER", appendInt[int32]), true
	case arrow.INT64:
		return newNumberCodec("BIGINT", appendInt[int64]), true
	case arrow.UINT8:
		return newNumberCodec("UTINYINT", appendUint[uint8]), true
	case arrow.UINT16:
		return newNumberCodec("USMALLINT", appendUint[uint16]), true
	case arrow.UINT32:
		return newNumberCodec("UINTEGER", appendUint[uint32]), true
	case arrow.UINT64:
		return newNumberCodec("UBIGINT", appendUint[uint64]), true
	case arrow.FLOAT32:
		return codec{name: "FLOAT", numeric: true, text: appendFloat[float32], json: appendFinite[float32]}, true
	case arrow.FLOAT64:
		return codec{name: "DOUBLE", numeric: true, text: appendFloat[float64], json: appendFinite[float64]}, true
	case arrow.DECIMAL128:
		return decimalCodec(t.(*arrow.Decimal128Type)), true
	}
	return codec{}, false
}

func timeCodec(t arrow.DataType) (codec, bool) {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return newQuotedCodec("DATE", appendDate), true
	case *arrow.Time64Type:
		return newQuotedCodec("TIME", timeOfDay(t.Unit)), true
	case *arrow.TimestampType:
		return timestampCodec(t), true
	case *arrow.MonthDayNanoIntervalType:
		return newQuotedCodec("INTERVAL", appendInterval), true
	}
	return codec{}, false
}

func nestedCodec(t arrow.DataType) (codec, bool) {
	switch t := t.(type) {
	case *arrow.MapType:
		return newNestedCodec(nestedName(t), appendMap(codecOf(t.KeyField()), codecOf(t.ItemField()))), true
	case arrow.ListLikeType:
		return newNestedCodec(nestedName(t), appendList(codecOf(t.ElemField()))), true
	case *arrow.StructType:
		return newNestedCodec(nestedName(t), appendStruct(t.Fields())), true
	case arrow.UnionType:
		return newNestedCodec(nestedName(t), appendUnion(t.Fields())), true
	}
	return codec{}, false
}

func appendEnum(dst []byte, a arrow.Array, i int) []byte {
	d := a.(*array.Dictionary)
	return append(dst, d.Dictionary().ValueStr(d.GetValueIndex(i))...)
}
