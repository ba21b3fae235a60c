package query

import (
	"fmt"
	"strings"
	"unicode"
)

// harmless shows a text of the service on a screen as itself: what would move
// the cursor, start an escape sequence, reorder or hide other text is written
// as an escape instead.
func harmless(s string) string {
	if strings.IndexFunc(s, acts) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !acts(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// acts reports whether a rune does something other than to be seen: control
// characters, format characters such as bidirectional overrides and
// zero-width ones, line and paragraph separators. The joiners that emoji and
// some scripts need stay.
func acts(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	if r == zeroWidthNonJoiner || r == zeroWidthJoiner {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
