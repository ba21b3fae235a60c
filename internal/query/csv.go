package query

import (
	"bufio"
	"bytes"
)

// csvWriter follows RFC 4180: CRLF between records, quotes where needed. NULL
// is an empty field, an empty text is "".
type csvWriter struct {
	out  *bufio.Writer
	cols int
	line []byte
	cell []byte
}

func (w *csvWriter) Begin(columns []Column) error {
	w.cols = len(columns)
	for i, c := range columns {
		w.field(i, []byte(c.Name))
	}
	return w.flushLine()
}

func (w *csvWriter) Row(r Row) error {
	for i := range w.cols {
		if r.IsNull(i) {
			w.separate(i)
			continue
		}
		w.cell = r.AppendText(w.cell[:0], i)
		w.field(i, w.cell)
	}
	return w.flushLine()
}

func (w *csvWriter) End() error { return w.out.Flush() }

func (w *csvWriter) separate(i int) {
	if i > 0 {
		w.line = append(w.line, ',')
	}
}

func (w *csvWriter) field(i int, text []byte) {
	w.separate(i)
	if len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		w.line = append(w.line, text...)
		return
	}
	w.line = append(w.line, '"')
	w.line = append(w.line, bytes.ReplaceAll(text, []byte(`"`), []byte(`""`))...)
	w.line = append(w.line, '"')
}

func (w *csvWriter) flushLine() error {
	w.line = append(w.line, "\r\n"...)
	_, err := w.out.Write(w.line)
	w.line = w.line[:0]
	return err
}
