package query

import (
	"bufio"
	"fmt"
	"strings"

	"placementsync/internal/humanize"
)

// verticalWriter writes one column per line, for rows that are wider than a screen.
type verticalWriter struct {
	out   *bufio.Writer
	rows  int
	names []string // of the columns, padded to the same width
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

func (w *verticalWriter) Row(values []Value) error { return w.writeRow(escapeCells(values)) }

func (w *verticalWriter) writeRow(cells []string) error {
	const headWidth = 40
	w.rows++
	head := fmt.Sprintf("-[ row %d ]", w.rows)
	var b strings.Builder
	b.WriteString(head + strings.Repeat("-", max(0, headWidth-len(head))) + "\n")
	for i, name := range w.names {
		b.WriteString(strings.TrimRight(name+" | "+cells[i], " ") + "\n")
	}
	_, err := w.out.WriteString(b.String())
	return err
}

func (w *verticalWriter) End() error {
	if w.rows == 0 {
		if _, err := w.out.WriteString(humanize.Count(0, "row") + "\n"); err != nil {
			return err
		}
	}
	return w.out.Flush()
}
