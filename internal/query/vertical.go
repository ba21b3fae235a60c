package query

import (
	"bufio"
	"fmt"
	"strings"

	"placementsync/internal/plural"
)

// verticalWriter writes one column per line, for rows that are wider than a screen.
type verticalWriter struct {
	out  *bufio.Writer
	rows int
	// names are the column names, padded to the same width.
	names   []string
	scratch []byte
}

func (w *verticalWriter) Begin(columns []Column) error {
	width := 0
	for _, c := range columns {
		name := escapeControls(c.Name)
		width = max(width, textWidth(name))
		w.names = append(w.names, name)
	}
	for i, name := range w.names {
		w.names[i] += strings.Repeat(" ", width-textWidth(name))
	}
	return nil
}

func (w *verticalWriter) Row(r Row) error {
	return w.write(func(i int) string { return escapeControls(r.Value(i).Or(null)) })
}

// write writes a row. cell returns the text of column i.
func (w *verticalWriter) write(cell func(i int) string) error {
	const headWidth = 40
	w.rows++
	head := fmt.Sprintf("-[ row %d ]", w.rows)
	w.scratch = append(w.scratch[:0], head+strings.Repeat("-", max(0, headWidth-len(head)))+"\n"...)
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
