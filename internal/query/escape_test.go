package query_test

import (
	"strings"
	"testing"
	"unicode"

	"placementsync/internal/query"
)

// hostile contains escape sequences and characters that would color, move, delete, reorder and
// hide text in a terminal.
const hostile = "\x1b[2J\x1b]0;title\x07\x9b31m\u009b31m\b\b\x7f\r\u202egpj.exe\u2066\u200b\u2028\U000e0041=cmd|'/c calc'!A1"

func TestControlCharactersAreEscapedOnATerminal(t *testing.T) {
	text := "SELECT '" + strings.ReplaceAll(strings.ToValidUTF8(hostile, ""), "'", "''") + "' AS \"a\u202eb\""
	for _, f := range []query.Format{query.Table, query.CSV, query.JSON, query.JSONL, query.Markdown} {
		t.Run(string(f), func(t *testing.T) {
			got, err := runQuery(t, open(t, ""), query.Text(text), nil, f, query.Screen{Terminal: true, Width: 200})
			if err != nil {
				t.Fatal(err)
			}
			requireGraphic(t, strings.ReplaceAll(got, "\r\n", "\n"))
			if !strings.Contains(got, `202egpj.exe`) {
				t.Errorf("got %q, want it to contain the graphic characters of the text", got)
			}
		})
	}
	requireGraphic(t, query.EscapeLines("line\n"+hostile))
	if got, want := query.EscapeLines("a\r\tb\x7f\u0080\U000e0041\u200d\nc"), `a\r\tb\x7f\u0080\udb40\udc41`+"\u200d\nc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLinesArriveInParts writes a line in parts, as a buffer does. An incomplete line is not shown.
func TestLinesArriveInParts(t *testing.T) {
	var out strings.Builder
	w := &query.ScreenWriter{To: &out}
	for _, part := range []string{"a\x1b", "[b\r\nc\r", "d\r", "\ne"} {
		if n, err := w.Write([]byte(part)); err != nil || n != len(part) {
			t.Errorf("wrote %d bytes of %q (%v), want all", n, part, err)
		}
	}
	if got, want := out.String(), `a\x1b[b`+"\r\n"+`c\rd`+"\r\n"; got != want {
		t.Errorf("the terminal shows %q, want %q", got, want)
	}
}

// requireGraphic checks that a text contains only visible characters, spaces and line feeds.
func requireGraphic(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != ' ' && !unicode.IsGraphic(r) {
			t.Errorf("the text contains %U, want only graphic characters: %q", r, text)
			return
		}
	}
}
