package query

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/go-json-experiment/json/jsontext"
)

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
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
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
		at := time.Unix(v/perSecond, v%perSecond*int64(t.Unit.Multiplier())).UTC()
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

// appendFraction appends a fraction of a second with six or, if needed, nine digits. It appends
// nothing for 0.
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
	for i, n := range []int32{v.Months / 12, v.Months % 12, v.Days} {
		switch n {
		case 0:
		case 1, -1:
			parts = append(parts, fmt.Sprintf("%d %s", n, units[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, units[i]))
		}
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
