// Package humanize formats counts, sizes and durations for messages: 1 request, 1,234 rows,
// 12.3 MiB. It must not know the counted things. It is a separate package because fetch and
// ledger both need it and must not import each other.
package humanize

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Count returns a number with its noun: 2 requests. noun is the singular.
func Count[N ~int | ~int64](n N, noun string) string { return fmt.Sprintf("%d %s", n, Noun(n, noun)) }

// Noun returns the form of a noun after the number n. If noun has several words, only the last word
// changes.
func Noun[N ~int | ~int64](n N, noun string) string {
	stem, endsInY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return noun
	case endsInY && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// FormatBytes returns a size in binary units: 12.3 MiB.
func FormatBytes(n int64) string {
	const kib = 1024
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < kib*kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < kib*kib*kib:
		return fmt.Sprintf("%.1f MiB", float64(n)/kib/kib)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/kib/kib/kib)
}

// Duration returns a duration without zero minutes and seconds: 6h, not 6h0m0s.
func Duration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// Number returns an integer with thousands separators: 1,234,567.
func Number[N ~int | ~int64](n N) string { return GroupDigits(strconv.FormatInt(int64(n), 10)) }

// GroupDigits adds thousands separators to a decimal text and keeps all its digits: 1,234.50.
// It returns any other text unchanged.
func GroupDigits(decimal string) string {
	whole, fraction, hasFraction := strings.Cut(decimal, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") || strings.HasPrefix(whole, "+") {
		sign, whole = whole[:1], whole[1:]
	}
	if strings.Trim(whole, "0123456789") != "" {
		return decimal
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasFraction {
		return sign + whole + "." + fraction
	}
	return sign + whole
}

// UpperFirst returns a text with its first letter, an ASCII letter, in upper case.
func UpperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// LowerFirst returns a text with its first letter, an ASCII letter, in lower case.
func LowerFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToLower(text[:1]) + text[1:]
}
