package query

import (
	"bufio"
	"fmt"
	"strings"

	"placementsync/internal/plural"
)

// verticalWriter writes one column a line, for rows that are wider than a screen.
type verticalWriter struct {
	out  *bufio.Writer
	rows int
	// names have the same width all.
	names   []string
	scratch []byte
}

func (w *verticalWriter) Begin(columns []Column) error {
	width := 0
	for _, c := range columns {
		name := escapeForScreen(c.Name)
		width = max(width, textWidth(name))
		w.names = append(w.names, name)
	}
	for i, name := range w.names {
		w.names[i] += strings.Repeat(" ", width-textWidth(name))
	}
	return nil
}

func (w *verticalWriter) Row(r Row) error {
	return w.write(func(i int) string {
		if r.IsNull(i) {
			return null
		}
		return escapeForScreen(string(r.AppendText(nil, i)))
	})
}

// write writes a row by the texts of its columns.
func (w *verticalWriter) write(cell func(i int) string) error {
	const ruled = 40 // how long the line above a row is
	w.rows++
	head := fmt.Sprintf("-[ row %d ]", w.rows)
	w.scratch = append(w.scratch[:0], head+strings.Repeat("-", max(0, ruled-len(head)))+"\n"...)
	for i, name := range w.names {
		w.scratch = append(w.scratch, strings.TrimRight(name+" | "+cell(i), " ")+"\n"...)
	}
	_, err := w.out.Write(w.scratch)
	return err
}

func (w *verticalWriter) End() error {
	if w.rows == 0 {
		if _, err := w.out.WriteString(plural.Count(0, "row") + "\n"); err != nil {
			return err
		}
	}
	return w.out.Flush()
}
