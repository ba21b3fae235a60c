package query

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// escapeControls escapes the characters of a text that would move the cursor of a terminal,
// start an escape sequence, or reorder or hide other text.
func escapeControls(s string) string {
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

// isControl excepts the zero-width joiners, because emoji and some scripts need them.
func isControl(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = 0x200c, 0x200d
	return r != zeroWidthNonJoiner && r != zeroWidthJoiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// EscapeLines escapes the control characters in each line of a text, such as an error that quotes a
// value. It keeps the line feeds.
func EscapeLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeControls(line)
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

// ScreenWriter writes complete lines to a terminal and escapes their control characters. Lines may
// end with \n or \r\n.
type ScreenWriter struct {
	To   io.Writer
	line []byte // the beginning of a line whose end is not written yet
}

func (s *ScreenWriter) Write(p []byte) (int, error) {
	s.line = append(s.line, p...)
	complete := string(s.line[:bytes.LastIndexByte(s.line, '\n')+1])
	s.line = s.line[len(complete):]
	var shown strings.Builder
	for line := range strings.Lines(complete) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		shown.WriteString(escapeControls(text) + line[len(text):])
	}
	_, err := io.WriteString(s.To, shown.String())
	return len(p), err
}
