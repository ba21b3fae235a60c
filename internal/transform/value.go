package transform

import (
	"bytes"
	"math"
	"slices"
)

type valueReader struct {
	report *reporter
	json   jsonWriter
	idCase *IDCase // nil if ids keep their case
}

func (v *valueReader) readValue(t *table, col int, name string, raw []byte, f form) {
	c := &t.cols[col]
	reason := ""
	if c.kind == text {
		v.setText(t, col, name, raw, f)
	} else {
		reason = v.setTyped(t, c, name, raw, f)
	}
	if reason != "" {
		v.report.rejectValue(t, name, raw, reason)
		return
	}
	v.resolveConflict(t, col, name, raw)
}

func (v *valueReader) setText(t *table, col int, name string, raw []byte, f form) {
	c := &t.cols[col]
	switch {
	case f == plain && raw[0] == '"':
		c.data = append(c.data, raw[1:len(raw)-1]...)
	case isNotFinite(raw):
		v.report.rejectValue(t, name, raw, "expected a value that JSON allows")
		return
	case raw[0] != '"':
		c.data = append(c.data, raw...)
		v.report.countDrift(t, Converted, name, raw)
	default:
		var clean bool
		if c.data, clean = appendUnquoted(c.data, raw, f); !clean {
			v.report.countDrift(t, InvalidUTF8, name, raw)
		}
	}
	c.endText()
	inner := c.bytes(c.n - 1)
	if c.isCurrency {
		upperCurrency(inner)
	}
	if c.isID {
		v.idCase.unify(inner)
	}
	if c.enum != nil && len(inner) > 0 && !slices.ContainsFunc(c.enum, func(s string) bool { return s == string(inner) }) {
		v.countEnumValue(t, col, name, raw)
	}
	if c.isDetailID && !isPathSegment(inner) {
		c.truncate(c.n - 1)
		v.report.rejectValue(t, name, raw, "expected an id that can be used in a URL")
	}
}

// upperCurrency writes a currency of three letters in upper case, because the service sends both usd and USD (spec 2).
func upperCurrency(code []byte) {
	if len(code) != 3 {
		return
	}
	for _, c := range code {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return
		}
	}
	for i := range code {
		code[i] &^= 0x20
	}
}

func (v *valueReader) countEnumValue(t *table, col int, name string, raw []byte) {
	if t.cols[col].isPrivate() {
		v.report.countDrift(t, UnknownEnum, name, raw)
		return
	}
	path := string(v.report.dottedPath(name)) + "=" + clipSample(t.cols[col].bytes(t.cols[col].n-1))
	v.report.count(t.name, UnknownEnum, []byte(path), raw)
}

// setTyped reads a scalar into a column that is not text. A text with a value of the column's type is
// converted, and an empty text becomes NULL. If the scalar is rejected, setTyped returns the reason.
func (v *valueReader) setTyped(t *table, c *column, name string, raw []byte, f form) (reason string) {
	inner, quoted := raw, raw[0] == '"'
	if quoted {
		inner = unquote(raw, f)
		if len(inner) == 0 {
			v.report.countEmptyText(t, name, raw)
			return ""
		}
	}
	var n int64
	ok, converted, rounded, zoneless := true, quoted, false, false
	switch c.kind {
	case boolean:
		return v.setBoolean(t, c, name, inner, raw)
	case instant:
		if quoted {
			n, rounded, zoneless, ok = parseInstant(inner)
		}
		converted = !quoted || !ok
		if converted {
			n, rounded, ok = parseUnix(inner)
		}
		if !ok {
			return "expected an ISO 8601 date and time, or a Unix time from 2000 to 2100"
		}
	case money:
		if n, rounded, ok = parseAmount(inner); !ok {
			return "expected an amount of at most 12 digits before the point"
		}
		if c.isMinorPrice && (rounded || n%millionths != 0) {
			return "expected a whole number of the smallest unit of the currency, because of api.price_unit: minor"
		}
	default:
		n, converted, ok = parseInteger(inner)
		if !ok || c.kind == integer32 && n != int64(int32(n)) {
			return "expected a whole number in the range of the column"
		}
		converted = converted || quoted
	}
	c.appendInt(n)
	if converted {
		v.report.countDrift(t, Converted, name, raw)
	}
	if rounded {
		v.report.countDrift(t, Rounded, name, raw)
	}
	if zoneless {
		v.report.countDrift(t, Zoneless, name, raw)
	}
	return ""
}

func (v *valueReader) setBoolean(t *table, c *column, name string, inner, raw []byte) (reason string) {
	if string(raw) == "true" || string(raw) == "false" {
		c.appendBool(raw[0] == 't')
		return ""
	}
	if len(inner) > len("false") {
		return "expected true or false"
	}
	switch string(bytes.ToLower(inner)) {
	case "true", "yes", "1":
		c.appendBool(true)
	case "false", "no", "0":
		c.appendBool(false)
	default:
		return "expected true or false"
	}
	v.report.countDrift(t, Converted, name, raw)
	return ""
}

// resolveConflict resolves two values for one column of the current row. An empty text is ignored. Of two
// different values the column keeps the first; readObject decides which value is the first.
func (v *valueReader) resolveConflict(t *table, col int, name string, raw []byte) {
	c := &t.cols[col]
	if c.n <= t.rows+1 {
		return
	}
	if c.kind == text && len(c.bytes(t.rows)) == 0 {
		c.dropEmptyBeforeLast()
		return
	}
	ignored := c.equal(t.rows, t.rows+1) || c.kind == text && len(c.bytes(t.rows+1)) == 0
	c.truncate(t.rows + 1)
	if !ignored {
		v.keepSecond(t, col, name, raw)
	}
}

// keepSecond stores a second, different value for a column in extra. A private value is only counted.
func (v *valueReader) keepSecond(t *table, col int, name string, raw []byte) {
	if t.cols[col].isPrivate() {
		v.report.countPrivate(t, Conflict, v.report.dottedPath(name))
		return
	}
	v.report.keepExtra(t, Conflict, name, raw)
}

func (v *valueReader) readDocument(t *table, f *field, raw []byte, form form) {
	c := &t.cols[f.col]
	if isNotFinite(raw) {
		v.report.rejectValue(t, f.name, raw, "expected a value that JSON allows")
		return
	}
	if c.unwrapText && raw[0] == '"' {
		if content, ok := listInText(raw, form); ok {
			v.report.countDrift(t, Converted, f.name, raw)
			raw = content
		}
	}
	if len(v.report.binding.privatePaths) > 0 && !t.cols[f.col].isPrivate() {
		raw = v.report.redactRaw(t, string(v.report.dottedPath(f.name)), raw)
	}
	var clean bool
	if c.data, clean = v.json.appendJSON(c.data, raw, sorted); !clean {
		v.report.countDrift(t, InvalidUTF8, f.name, raw)
	}
	c.endText()
	v.resolveConflict(t, f.col, f.name, raw)
}

// Amounts are DECIMAL(18,6).
const (
	moneyDigits = 18
	moneyPlaces = 6
)

// decimal is a number as digits, without floating point.
type decimal struct {
	negative bool
	// whole and fraction are the digits before and after the decimal point.
	whole, fraction []byte
	exp             int64 // exponent of ten
}

// splitDecimal splits a number. It accepts JSON's grammar and leading zeros, which occur in
// strings.
func splitDecimal(b []byte) (decimal, bool) {
	d, n, ok := scanDecimal(b)
	return d, ok && n == len(b)
}

// scanDecimal splits the number at the beginning of b and returns its length.
func scanDecimal(b []byte) (d decimal, n int, ok bool) {
	if n < len(b) && b[n] == '-' {
		d.negative, n = true, n+1
	}
	start := n
	n = skipDigits(b, n)
	d.whole, ok = b[start:n], n > start
	if ok && n < len(b) && b[n] == '.' {
		start = n + 1
		n = skipDigits(b, start)
		d.fraction, ok = b[start:n], n > start
	}
	if !ok || n == len(b) || b[n]|0x20 != 'e' {
		return d, n, ok
	}
	n++
	isNegative := n < len(b) && b[n] == '-'
	if isNegative || n < len(b) && b[n] == '+' {
		n++
	}
	start = n
	n = skipDigits(b, n)
	for _, c := range b[start:n] {
		d.exp = min(d.exp*10+int64(c-'0'), maxExponent)
	}
	if isNegative {
		d.exp = -d.exp
	}
	return d, n, n > start
}

// maxExponent limits exponents. No body contains as many digits.
const maxExponent = 1 << 40

// scaleTo returns the absolute value of the number times 10^places, rounded half away from zero.
// inexact means that nonzero digits were dropped. ok means that the number has at most wholeDigits
// digits before the point. places and wholeDigits together must not exceed 19.
func (d decimal) scaleTo(places, wholeDigits int64) (v uint64, inexact, ok bool) {
	power := int64(len(d.whole)) + d.exp
	roundUp := false
	for i := range len(d.whole) + len(d.fraction) {
		power--
		c := d.digitAt(i)
		switch {
		case c == 0 && v == 0:
		case power < -places:
			roundUp = roundUp || power == -places-1 && c >= 5
			inexact = inexact || c != 0
		case power >= wholeDigits:
			return 0, false, false
		default:
			v = v*10 + uint64(c)
		}
	}
	for ; v != 0 && power > -places; power-- {
		v *= 10
	}
	if roundUp {
		v++
	}
	return v, inexact, true
}

func (d decimal) digitAt(i int) byte {
	if i < len(d.whole) {
		return d.whole[i] - '0'
	}
	return d.fraction[i-len(d.whole)] - '0'
}

func (d decimal) hasLeadingZero() bool { return d.whole[0] == '0' && len(d.whole) > 1 }

func (d decimal) withSign(v uint64) int64 {
	if d.negative {
		return -int64(v)
	}
	return int64(v)
}

// parseAmount returns millionths.
func parseAmount(b []byte) (v int64, rounded, ok bool) {
	d, ok := splitDecimal(b)
	if !ok {
		return 0, false, false
	}
	u, inexact, ok := d.scaleTo(moneyPlaces, moneyDigits-moneyPlaces)
	if !ok || u >= 1e18 {
		return 0, false, false
	}
	return d.withSign(u), inexact, true
}

// parseInteger parses an integer. converted means that it was written with a point or an
// exponent. Leading zeros occur only in strings, which are converted anyway.
func parseInteger(b []byte) (v int64, converted, ok bool) {
	d, ok := splitDecimal(b)
	if !ok {
		return 0, false, false
	}
	u, inexact, ok := d.scaleTo(0, 19)
	limit := uint64(math.MaxInt64)
	if d.negative {
		limit++
	}
	if !ok || inexact || u > limit {
		return 0, false, false
	}
	digits := bytes.TrimPrefix(b, []byte("-"))
	return d.withSign(u), len(digits) > len(d.whole), true
}
