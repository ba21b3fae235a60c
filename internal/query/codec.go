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

// number is a codec whose text is a JSON number.
func number(name string, text appender) codec {
	return codec{name: name, numeric: true, text: text, json: text}
}

func quoted(name string, text appender) codec { return codec{name: name, text: text} }

// nested is a codec whose text is JSON.
func nested(name string, json appender) codec { return codec{name: name, text: json, json: json} }

// codecOf finds the codec of a field: by what DuckDB calls the type where it
// says so, else by the Arrow type.
func codecOf(f arrow.Field) codec {
	if c, ok := extensionCodec(extension(f)); ok {
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
		return quoted("BLOB", appendBase64)
	case arrow.BOOL:
		return codec{name: "BOOLEAN", text: appendBool, json: appendBool}
	case arrow.DICTIONARY:
		return codec{name: "ENUM", free: true, text: appendEnum}
	}
	return quoted(nestedName(t), func(dst []byte, a arrow.Array, i int) []byte { return append(dst, a.ValueStr(i)...) })
}

func extensionCodec(name string) (codec, bool) {
	switch name {
	case "bool8":
		return codec{name: "BOOLEAN", text: appendBool8, json: appendBool8}, true
	case "json":
		return codec{name: "JSON", free: true, text: appendString, json: appendDocument}, true
	case "uuid":
		return quoted("UUID", appendUUID), true
	case "hugeint":
		return number("HUGEINT", appendHugeint), true
	case "uhugeint":
		return number("UHUGEINT", appendUhugeint), true
	case "bignum":
		return number("BIGNUM", appendBignum), true
	case "bit":
		return quoted("BIT", appendBit), true
	case "time_tz":
		return quoted("TIMETZ", appendTimeTZ), true
	}
	return codec{}, false
}

func numberCodec(t arrow.DataType) (codec, bool) {
	switch t.ID() {
	case arrow.INT8:
		return number("TINYINT", appendInt[int8]), true
	case arrow.INT16:
		return number("SMALLINT", appendInt[int16]), true
	case arrow.INT32:
		return number("INTEGER", appendInt[int32]), true
	case arrow.INT64:
		return number("BIGINT", appendInt[int64]), true
	case arrow.UINT8:
		return number("UTINYINT", appendUint[uint8]), true
	case arrow.UINT16:
		return number("USMALLINT", appendUint[uint16]), true
	case arrow.UINT32:
		return number("UINTEGER", appendUint[uint32]), true
	case arrow.UINT64:
		return number("UBIGINT", appendUint[uint64]), true
	case arrow.FLOAT32:
		return codec{name: "FLOAT", numeric: true, text: appendFloat[float32], json: finite[float32]}, true
	case arrow.FLOAT64:
		return codec{name: "DOUBLE", numeric: true, text: appendFloat[float64], json: finite[float64]}, true
	case arrow.DECIMAL128:
		return decimalCodec(t.(*arrow.Decimal128Type)), true
	}
	return codec{}, false
}

func timeCodec(t arrow.DataType) (codec, bool) {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return quoted("DATE", appendDate), true
	case *arrow.Time64Type:
		return quoted("TIME", timeOfDay(t.Unit)), true
	case *arrow.TimestampType:
		return timestampCodec(t), true
	case *arrow.MonthDayNanoIntervalType:
		return quoted("INTERVAL", appendInterval), true
	}
	return codec{}, false
}

func nestedCodec(t arrow.DataType) (codec, bool) {
	switch t := t.(type) {
	case *arrow.MapType:
		return nested(nestedName(t), appendMap(codecOf(t.KeyField()), codecOf(t.ItemField()))), true
	case arrow.ListLikeType:
		return nested(nestedName(t), appendList(codecOf(t.ElemField()))), true
	case *arrow.StructType:
		return nested(nestedName(t), appendStruct(t.Fields())), true
	case arrow.UnionType:
		return nested(nestedName(t), appendUnion(t.Fields())), true
	}
	return codec{}, false
}

func appendEnum(dst []byte, a arrow.Array, i int) []byte {
	d := a.(*array.Dictionary)
	return append(dst, d.Dictionary().ValueStr(d.GetValueIndex(i))...)
}
