package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// enc appends JSON without reflection. It writes a comma after every value, and removes the last comma
// when a bracket is closed.
type enc struct {
	b    []byte
	seed seed
	// roll is the pseudo-random number of the current record. It determines which optional fields are absent
	// or null, and is the same in each response that contains the record.
	roll  uint64
	words *vocabulary
	// realistic means one form for each field. Otherwise a field has every form that the spec allows.
	realistic bool
	// escape makes strings ASCII only, with escaped slashes.
	escape bool
	// fullOutlets means that the query requests the outlets of an order with all fields.
	fullOutlets bool
}

func (e *enc) begin(k kind, n uint32) {
	e.roll = e.seed.roll(k, n, 1)
	e.escape = oneIn(e.roll, 8) && k != kindProduct && !e.realistic
	e.b = append(e.b, '{')
}

func (e *enc) beginRecord(k kind, n uint32) {
	e.begin(k, n)
	e.id("id", k, n)
}

// endRecord ends a record. Unless the world is realistic, a few records have a field that the spec does not list.
func (e *enc) endRecord() {
	if e.realistic {
		e.end()
		return
	}
	switch (e.roll >> 20) % 24 {
	case 0:
		e.raw("legacy_ref", `{"system":"v1","keys":[7,null,"x"]}`)
	case 1:
		e.raw("x_score", "0.875")
	case 2:
		e.raw("internal_note", `"kept \u2603 for audit"`)
	}
	e.end()
}

// withRollOf writes fields of a nested record, whose optional fields depend on that record.
func (e *enc) withRollOf(k kind, n uint32, write func()) {
	outer := e.roll
	e.roll = e.seed.roll(k, n, 1)
	write()
	e.roll = outer
}

func (e *enc) end() { e.close('}') }

// close writes a closing bracket and removes the comma before it.
func (e *enc) close(bracket byte) {
	if last := len(e.b) - 1; e.b[last] == ',' {
		e.b[last] = bracket
	} else {
		e.b = append(e.b, bracket)
	}
	e.b = append(e.b, ',')
}

// document returns the JSON without the last comma.
func (e *enc) document() []byte { return bytes.TrimSuffix(e.b, []byte(",")) }

// key writes a field name, which must not need escapes.
func (e *enc) key(key string) {
	e.b = append(e.b, '"')
	e.b = append(e.b, key...)
	e.b = append(e.b, '"', ':')
}

func (e *enc) obj(key string) {
	e.key(key)
	e.b = append(e.b, '{')
}

func (e *enc) arr(key string) {
	e.key(key)
	e.b = append(e.b, '[')
}

// raw writes a field whose value is JSON.
func (e *enc) raw(key, json string) {
	e.key(key)
	e.b = append(e.b, json...)
	e.b = append(e.b, ',')
}

func (e *enc) null(key string) { e.raw(key, "null") }

func (e *enc) str(key, value string) {
	e.key(key)
	e.value(value)
}

func (e *enc) strOrNull(key, value string) {
	if value == "" {
		e.null(key)
	} else {
		e.str(key, value)
	}
}

// value writes a string, in a list or after a key.
func (e *enc) value(s string) {
	e.b = append(appendString(e.b, s, e.escape), ',')
}

// textOrObject writes an element of a list. write writes the fields of the object.
func (e *enc) textOrObject(isObject bool, text string, write func()) {
	if !isObject {
		e.value(text)
		return
	}
	e.b = append(e.b, '{')
	write()
	e.end()
}

func (e *enc) num(key string, n int64) {
	e.key(key)
	e.b = append(strconv.AppendInt(e.b, n, 10), ',')
}

func (e *enc) flag(key string, v bool) {
	e.key(key)
	e.b = append(strconv.AppendBool(e.b, v), ',')
}

func (e *enc) id(key string, k kind, n uint32) {
	e.key(key)
	e.b = append(e.b, '"')
	e.b = append(e.seed.appendID(e.b, k, n), '"', ',')
}

// when writes a time, or null for 0.
func (e *enc) when(key string, sec int64) {
	if sec == 0 {
		e.null(key)
		return
	}
	if e.realistic {
		e.str(key, time.Unix(sec, 0).UTC().Format("2006-01-02T15:04:05.000Z"))
		return
	}
	e.key(key)
	e.b = append(appendTime(e.b, sec), ',')
}

func (e *enc) times(created, updated int64) {
	e.when("created_at", created)
	e.when("updated_at", updated)
}

func (e *enc) optWhen(key string, sec int64) {
	if e.optional(key) {
		e.when(key, sec)
	}
}

// money writes an amount as a number, in various notations unless the world is realistic.
func (e *enc) money(key string, m micros) {
	e.key(key)
	if e.realistic {
		e.b = append(appendDecimal(e.b, m), ',')
		return
	}
	e.b = append(appendMoney(e.b, m), ',')
}

func (e *enc) status(key, status string) { e.str(key, cmp.Or(e.words.statuses[status], status)) }

// either returns the second text in a realistic world, and otherwise the first.
func (e *enc) either(strange, realistic string) string {
	if e.realistic {
		return realistic
	}
	return strange
}

// optional makes one optional field in sixteen of the current record null, and leaves out one in sixteen. For
// the others, and for all in a realistic world, it returns true, and the caller writes the value.
func (e *enc) optional(key string) bool {
	if e.realistic {
		return true
	}
	last := len(key) - 1
	keyHash := uint64(key[0]) | uint64(key[last/2])<<8 | uint64(key[last])<<16 | uint64(last)<<24
	switch mix(e.roll^keyHash) % 16 {
	case 0:
		e.null(key)
		return false
	case 1:
		return false
	}
	return true
}

func (e *enc) optStr(key, value string) {
	if e.optional(key) {
		e.strOrNull(key, value)
	}
}

func (e *enc) optNum(key string, n int64) {
	if e.optional(key) {
		e.num(key, n)
	}
}

func (e *enc) optFlag(key string, v bool) {
	if e.optional(key) {
		e.flag(key, v)
	}
}

func (e *enc) optMoney(key string, m micros) {
	if e.optional(key) {
		e.money(key, m)
	}
}

// If ascii is true, non-ASCII characters and slashes are escaped.
func appendString(b []byte, s string, ascii bool) []byte {
	if !ascii {
		b, _ = jsontext.AppendQuote(b, s) // the vocabulary is valid UTF-8
		return b
	}
	quoted, _ := jsontext.AppendQuote(nil, s)
	for _, r := range string(quoted) {
		switch {
		case r == '/':
			b = append(b, '\\', '/')
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, `\u%04x`, unit)
			}
		}
	}
	return b
}

// appendTime appends a Unix time as a JSON string in one of the ISO 8601 formats: with Z,
// an offset or no zone, and with 0, 3, 6 or 9 digits of fraction. The format and the
// fraction depend only on the time, so that records of the same second have equal times.
func appendTime(b []byte, sec int64) []byte {
	h := mix(uint64(sec))
	layout, zone := "2006-01-02T15:04:05.000000", time.UTC
	switch n := h % 32; {
	case n < 15:
		layout = time.RFC3339
	case n < 21:
		layout = "2006-01-02T15:04:05.000Z"
	case n < 25:
		layout = "2006-01-02T15:04:05.000000Z"
	case n < 27:
		layout = "2006-01-02T15:04:05.000000000Z"
	case n < 29:
		layout, zone = time.RFC3339, time.FixedZone("", 2*60*60)
	case n < 31:
		layout, zone = "2006-01-02T15:04:05.000Z07:00", time.FixedZone("", -5*60*60)
	}
	b = append(b, '"')
	return append(time.Unix(sec, int64((h>>32)%1_000_000_000)).In(zone).AppendFormat(b, layout), '"')
}

// micros is an amount of money in millionths of its currency.
type micros int64

// cents rounds an amount down to whole cents.
func (m micros) cents() micros { return m / 10_000 * 10_000 }

func wholeUnits(n int64) micros { return micros(n) * 1_000_000 }

// perMille returns n times a thousandth of an amount. The thousandth is rounded down to a millionth of the
// currency.
func (m micros) perMille(n int64) micros { return m / 1000 * micros(n) }

// appendMoney appends an amount as a JSON number. Some numbers have the noise of binary floating
// point, some have trailing zeros, and some have an exponent. Rounded to six decimals, each number is
// the amount. The notation depends only on the amount.
func appendMoney(b []byte, m micros) []byte {
	value := float64(m) / 1e6
	switch h := mix(uint64(m)); {
	case m != 0 && h%12 == 0:
		return strconv.AppendFloat(b, math.Nextafter(value, 0), 'f', -1, 64)
	case h%12 == 1 && m%10_000 == 0:
		return strconv.AppendFloat(b, value, 'f', 2, 64)
	case h%96 == 2 && m >= wholeUnits(1000):
		return strconv.AppendFloat(b, value, 'e', -1, 64)
	}
	return appendDecimal(b, m)
}

func appendDecimal(b []byte, m micros) []byte {
	return strconv.AppendFloat(b, float64(m)/1e6, 'f', -1, 64)
}
