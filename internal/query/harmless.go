package query

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeForScreen shows a text of the service on a screen as itself: what would move
// the cursor, start an escape sequence, reorder or hide other text is written
// as an escape instead.
func escapeForScreen(s string) string {
	if strings.IndexFunc(s, isActing) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isActing(r):
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
			for _, unit := range utf16.AppendRune(nil, r) { // as JSON writes it
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	return b.String()
}

// isActing reports whether a rune does more than show itself: control
// characters, format characters such as bidirectional overrides and
// zero-width ones, line and paragraph separators. The joiners that emoji and
// some scripts need stay.
func isActing(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	if r == zeroWidthNonJoiner || r == zeroWidthJoiner {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// OnScreen makes a text of several lines, such as an error that quotes an answer,
// fit for a terminal.
func OnScreen(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeForScreen(line)
	}
	return strings.Join(lines, "\n")
}

// WrapLines breaks the lines of a text between words, where they are wider than a screen;
// a width of 0 breaks none.
func WrapLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		rest := []rune(line)
		for len(rest) > width {
			end, next := width, width // of a word that is wider than the screen
			for at := width; at > 0; at-- {
				if rest[at] == ' ' {
					end, next = at, at+1
					break
				}
			}
			lines = append(lines, string(rest[:end]))
			rest = rest[next:]
		}
		lines = append(lines, string(rest))
	}
	return strings.Join(lines, "\n")
}

// screened writes to a terminal what was meant for a file or a pipe. Line ends
// stay; other characters that act are shown as escapes.
type screened struct {
	to io.Writer
	// begun is the beginning of an incomplete rune or line end.
	begun []byte
}

func (s *screened) Write(p []byte) (int, error) {
	text := append(s.begun, p...)
	var shown bytes.Buffer
	for len(text) > 0 {
		end, size := lineFeed(text), 0
		switch {
		case end < 0 || !utf8.FullRune(text):
			s.begun = bytes.Clone(text)
			_, err := s.to.Write(shown.Bytes())
			return len(p), err
		case end > 0:
			size = end
			shown.Write(text[:size])
		default:
			_, size = utf8.DecodeRune(text)
			shown.WriteString(escapeForScreen(string(text[:size])))
		}
		text = text[size:]
	}
	s.begun = nil
	_, err := s.to.Write(shown.Bytes())
	return len(p), err
}

// lineFeed measures the line end that a text begins with: 0 for none, -1 when
// more bytes are needed.
func lineFeed(text []byte) int {
	switch {
	case text[0] == '\n':
		return 1
	case text[0] != '\r':
		return 0
	case len(text) == 1:
		return -1
	case text[1] == '\n':
		return 2
	}
	return 0
}
