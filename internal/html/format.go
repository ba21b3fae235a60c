package html

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"placementsync/internal/humanize"
)

const (
	// Unknown is shown in place of a missing value, and NoCurrency in place of a missing currency.
	Unknown    = "\u2013"
	NoCurrency = "(no currency)"
	// Minus is the typographic minus sign. It is as wide as a digit, and browsers do not break
	// a line after it.
	Minus = "\u2212"
	// Thin is a narrow no-break space between a number and its unit.
	Thin = "\u202f"
)

// Decimal adds thousands separators to a decimal number and keeps all its digits. In a text that is not
// a decimal number, it changes only a minus at the beginning.
func Decimal(digits string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = Minus, rest
	}
	return sign + humanize.GroupDigits(digits)
}

// Share returns part/whole as a percentage, rounded down: 33 %.
func Share(part, whole int64) string {
	if whole <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%d %%", 100*part/whole)
}

// Percent returns a fraction of 1 as a CSS percentage: 33.33%.
func Percent(fraction float64) string {
	return strconv.FormatFloat(100*fraction, 'f', 2, 64) + "%"
}

// Clock formats a time in UTC, without its seconds.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// Moment formats an RFC 3339 time like Clock. It returns any other text unchanged.
func Moment(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return Clock(t)
}

// YesNo returns a boolean as yes or no, and any other text unchanged.
func YesNo(text string) string {
	switch text {
	case "true":
		return "yes"
	case "false":
		return "no"
	}
	return text
}

// Duration returns a duration in at most two units: 2 d 3 h, 4 min 10 s.
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

// Clip shortens a text to maxChars characters and marks the cut with an ellipsis.
func Clip(text string, maxChars int) string {
	runes := []rune(text)
	if len(runes) <= maxChars {
		return text
	}
	return string(runes[:maxChars]) + "\u2026"
}

// IsCode reports whether a text is one short word with a digit, such as an id or a month. It must not break at a hyphen.
func IsCode(text string) bool {
	const maxBytes = 24
	return len(text) <= maxBytes && strings.ContainsAny(text, "0123456789") && !strings.ContainsFunc(text, unicode.IsSpace)
}

// WebAddress returns an address that is safe to link to, or an empty text.
func WebAddress(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	isWeb := u.Scheme == "http" || u.Scheme == "https"
	if !isWeb || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// ShellWord returns a word for a shown command that the user copies. It quotes the word if a shell would
// split or expand it.
func ShellWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
