package query

import (
	"bufio"
	"strings"
)

// markdownWriter writes a pipe table. Cells are not padded, so that rows can be streamed.
type markdownWriter struct{ out *bufio.Writer }

// markdownEscaper escapes the characters that could end a cell or start markup, such as links, images
// and HTML.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`,
	"[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
)

func (w *markdownWriter) Begin(columns []Column) error {
	var names, alignments []string
	for _, c := range columns {
		alignment := "---"
		if c.Numeric {
			alignment = "---:"
		}
		names = append(names, escapeControls(c.Name))
		alignments = append(alignments, alignment)
	}
	if err := w.writeLine(names); err != nil {
		return err
	}
	return w.writeLine(alignments)
}

func (w *markdownWriter) Row(values []Value) error { return w.writeLine(escapeCells(values)) }

func (w *markdownWriter) End() error { return w.out.Flush() }

func (w *markdownWriter) writeLine(cells []string) error {
	line := "|"
	for _, cell := range cells {
		line += " " + markdownEscaper.Replace(cell) + " |"
	}
	_, err := w.out.WriteString(line + "\n")
	return err
}
