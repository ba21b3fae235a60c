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

// escapeForScreen escapes the characters of a text that would move the cursor of a terminal,
// start an escape sequence, or reorder or hide other text.
func escapeForScreen(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isControl(r):
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

// isControl reports whether a rune is a control character, a format character such as a
// bidirectional override, or a line or paragraph separator. Zero-width joiners are excepted,
// because emoji and some scripts need them.
func isControl(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	if r == zeroWidthNonJoiner || r == zeroWidthJoiner {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// OnScreen escapes a text of several lines for a terminal, such as an error that quotes a value.
func OnScreen(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeForScreen(line)
	}
	return strings.Join(lines, "\n")
}

// WrapLines breaks lines that are longer than width, between words if possible. A width of 0
// breaks no line.
func WrapLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		rest := []rune(line)
		for len(rest) > width {
			end, next := width, width // a word longer than width is broken
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

// screenWriter writes to a terminal and escapes control characters, except for line ends.
type screenWriter struct {
	to io.Writer
	// pending contains the bytes of a rune or line end whose other bytes are not written yet.
	pending []byte
}

func (s *screenWriter) Write(p []byte) (int, error) {
	text := append(s.pending, p...)
	var shown bytes.Buffer
	for len(text) > 0 {
		end, size := lineEnd(text), 0
		switch {
		case end < 0 || !utf8.FullRune(text):
			s.pending = bytes.Clone(text)
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
	s.pending = nil
	_, err := s.to.Write(shown.Bytes())
	return len(p), err
}

// lineEnd returns the length of the line end at the beginning of a text. It returns 0 if the text
// does not begin with a line end, and -1 if the next byte decides that.
func lineEnd(text []byte) int {
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
