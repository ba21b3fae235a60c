package query

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

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
