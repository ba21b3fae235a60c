package query

import (
	"bufio"
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// csvWriter writes CSV as in RFC 4180. NULL is written as an empty field, and an empty text as "".
type csvWriter struct {
	out    *bufio.Writer
	defuse bool // see Output

	columns []Column
	line    []byte
}

func (w *csvWriter) Begin(columns []Column) error {
	w.columns = columns
	for _, c := range columns {
		w.appendField(w.defuseFormula(c.Name))
	}
	return w.flushLine()
}

func (w *csvWriter) Row(values []Value) error {
	for i, c := range w.columns {
		switch v := values[i]; {
		case v.Null:
			w.line = append(w.line, ',')
		case c.codec.anyText:
			w.appendField(w.defuseFormula(v.Text))
		default:
			w.appendField(v.Text)
		}
	}
	return w.flushLine()
}

func (w *csvWriter) End() error { return w.out.Flush() }

// defuseFormula inserts an apostrophe before a text that begins like a formula, or with a tab or a
// line break, so that spreadsheets show it as text. Some spreadsheets skip leading spaces and
// invisible characters, and accept full-width signs.
func (w *csvWriter) defuseFormula(text string) string {
	if !w.defuse {
		return text
	}
	isInvisible := func(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) }
	sign, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(text, isInvisible))
	if !strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", sign) && strings.IndexAny(text, "\t\r\n") != 0 {
		return text
	}
	return "'" + text
}

func (w *csvWriter) appendField(text string) {
	if text == "" || strings.ContainsAny(text, "\",\r\n") || text[0] == ' ' || text[len(text)-1] == ' ' {
		text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	w.line = append(append(w.line, text...), ',')
}

func (w *csvWriter) flushLine() error {
	w.line = append(bytes.TrimSuffix(w.line, []byte(",")), "\r\n"...)
	_, err := w.out.Write(w.line)
	w.line = w.line[:0]
	return err
}
