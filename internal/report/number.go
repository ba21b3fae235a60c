package report

import (
	"strings"
	"time"
)

const (
	// minus is the typographic sign: as wide as a digit, and never at the end
	// of a line.
	minus = "\u2212"
	// unknown stands where there is no value.
	unknown = "\u2013"
	// thin parts a number from its unit without breaking the line there.
	thin = "\u202f"
)

// groupDigits writes a decimal text with thousands separators: digits as they are,
// none added, none rounded away.
func groupDigits(digits string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = minus, rest
	} else if rest, ok := strings.CutPrefix(digits, "+"); ok {
		sign, digits = "+", rest
	}
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if strings.Trim(whole, "0123456789") != "" {
		return sign + digits
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if hasFraction {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// longest is how many characters of a text of the service are shown: a page
// stays small whatever somebody calls a thing.
const longest = 160

// clipText shortens a text, and shows that it did.
func clipText(text string) string {
	if len(text) <= longest {
		return text
	}
	runes := []rune(text)
	if len(runes) <= longest {
		return text
	}
	return string(runes[:longest]) + "\u2026"
}

// formatMoment writes an RFC 3339 time as people read it, UTC; other texts stay.
func formatMoment(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return formatClock(t)
}

func formatClock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
