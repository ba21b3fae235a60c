package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/plural"
)

const (
	// Unknown is shown in place of a missing value.
	Unknown = "\u2013"
	// Minus is the typographic sign: as wide as a digit, and never at the end of a line.
	Minus = "\u2212"
	// Thin separates a number from its unit; the line does not break there.
	Thin = "\u202f"
)

// Decimal writes a decimal text with thousands separators. Its digits stay as they are:
// none is added and none rounded away. Other texts stay, but for the sign.
func Decimal(digits string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = Minus, rest
	}
	return sign + plural.GroupDigits(digits)
}

// Amount is Decimal for a column of amounts: of the zeros at the end of a fraction two
// places stay, so that amounts are aligned.
func Amount(digits string) string {
	const least = 2
	whole, fraction, ok := strings.Cut(digits, ".")
	if !ok {
		return Decimal(digits)
	}
	short := strings.TrimRight(fraction, "0")
	return Decimal(whole) + "." + fraction[:max(min(least, len(fraction)), len(short))]
}

// Share is a part of a whole in percent.
func Share(part, whole int64) string {
	if whole <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%d %%", 100*part/whole)
}

// Percent is a part of a whole of one, for a length in a page.
func Percent(part float64) string {
	const whole = 100
	return strconv.FormatFloat(part*whole, 'f', 2, 64) + "%"
}

// Clock is a time in UTC, to the minute.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// Moment is Clock of an RFC 3339 time; other texts stay.
func Moment(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return Clock(t)
}

// Duration has at most two units: 2 d 3 h, 4 min 10 s.
func Duration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d/time.Hour%24)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d/time.Minute%60)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d/time.Second%60)
	case d >= 10*time.Second || d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Clip shortens a text to a number of characters, and shows that it did.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "\u2026"
}

// ShellWord quotes a word of a command that a page shows, where a shell would split or
// expand it.
func ShellWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
