package transform

import (
	"bytes"
	"math"
)

// Amounts are DECIMAL(18,6).
const (
	moneyDigits = 18
	moneyPlaces = 6
)

// decimal is a number as its digits; no float is ever involved.
type decimal struct {
	negative bool
	// whole and part are the digits before and after the point.
	whole, part []byte
	exp         int64
}

// splitDecimal takes a number apart. It accepts JSON's grammar and leading
// zeros, which numbers in strings may have.
func splitDecimal(b []byte) (d decimal, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		d.negative, b = true, b[1:]
	}
	n := skipDigits(b, 0)
	d.whole, b = b[:n], b[n:]
	if n == 0 {
		return d, false
	}
	if len(b) > 0 && b[0] == '.' {
		n = skipDigits(b, 1)
		if d.part, b = b[1:n], b[n:]; n == 1 {
			return d, false
		}
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		d.exp, b, ok = parseExponent(b[1:])
		return d, ok && len(b) == 0
	}
	return d, len(b) == 0
}

// farAway is an exponent that no body's digits can make up for.
const farAway = 1 << 40

func parseExponent(b []byte) (exp int64, rest []byte, ok bool) {
	sign := int64(1)
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	n := skipDigits(b, 0)
	for _, c := range b[:n] {
		exp = min(exp*10+int64(c-'0'), farAway)
	}
	return sign * exp, b[n:], n > 0
}

// scaleTo is the number times 10^places, rounded half away from zero. Inexact
// says that digits other than zero were dropped; ok, that it has at most
// wholeDigits before the point. The two together must not exceed 19.
func (d decimal) scaleTo(places, wholeDigits int64) (v uint64, inexact, ok bool) {
	place := int64(len(d.whole)) + d.exp
	up := false
	for i := range len(d.whole) + len(d.part) {
		place--
		c := d.digitAt(i)
		switch {
		case c == 0 && v == 0:
		case place < -places:
			up = up || place == -places-1 && c >= 5
			inexact = inexact || c != 0
		case place >= wholeDigits:
			return 0, false, false
		default:
			v = v*10 + uint64(c)
		}
	}
	for ; v != 0 && place > -places; place-- {
		v *= 10
	}
	if up {
		v++
	}
	return v, inexact, true
}

func (d decimal) digitAt(i int) byte {
	if i < len(d.whole) {
		return d.whole[i] - '0'
	}
	return d.part[i-len(d.whole)] - '0'
}

func (d decimal) withSign(v uint64) int64 {
	if d.negative {
		return -int64(v)
	}
	return int64(v)
}

// parseAmount reads an amount in millionths from the text of a number.
func parseAmount(b []byte) (v int64, rounded, ok bool) {
	if v, ok := shortAmount(b); ok {
		return v, false, true
	}
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

// shortAmount reads what nearly every amount is: a few digits, and at most six
// behind a point.
func shortAmount(b []byte) (v int64, ok bool) {
	point := len(b)
	for i, c := range b {
		switch c -= '0'; {
		case c <= 9:
			v = v*10 + int64(c)
		case b[i] == '.' && i > 0 && point == len(b):
			point = i
		default:
			return 0, false
		}
	}
	places := max(0, len(b)-point-1)
	if point == 0 || point == len(b)-1 || point > moneyDigits-moneyPlaces || places > moneyPlaces {
		return 0, false
	}
	for range moneyPlaces - places {
		v *= 10
	}
	return v, true
}

// wholeNumber reads an integer from the text of a number; converted says that
// it is written with a point, an exponent or leading zeros.
func wholeNumber(b []byte) (v int64, converted, ok bool) {
	if v, ok := shortInteger(b); ok {
		return v, false, true
	}
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
	leading := d.whole[0] == '0' && len(d.whole) > 1
	return d.withSign(u), leading || bytes.ContainsAny(b, ".eE"), true
}

// shortInteger reads what nearly every integer is: a few plain digits.
func shortInteger(b []byte) (v int64, ok bool) {
	if len(b) == 0 || len(b) > 18 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	return v, true
}
