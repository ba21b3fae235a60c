package query

import (
	"bufio"
	"strings"
)

// markdownWriter writes a pipe table. Cells are not padded, so that rows can be streamed.
type markdownWriter struct {
	out         *bufio.Writer
	escaper     *strings.Replacer
	columnCount int
}

// newMarkdownWriter returns a writer that escapes the characters that could end a cell or start markup,
// such as links, images and HTML.
func newMarkdownWriter(out *bufio.Writer) *markdownWriter {
	return &markdownWriter{out: out, escaper: strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`,
		"[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	)}
}

func (w *markdownWriter) Begin(columns []Column) error {
	w.columnCount = len(columns)
	names, alignments := make([]string, w.columnCount), make([]string, w.columnCount)
	for i, c := range columns {
		names[i], alignments[i] = w.escaper.Replace(escapeControls(c.Name)), "---"
		if c.Numeric {
			alignments[i] = "---:"
		}
	}
	if err := w.writeLine(names); err != nil {
		return err
	}
	return w.writeLine(alignments)
}

func (w *markdownWriter) Row(r Row) error {
	cells := escapeCells(r, w.columnCount)
	for i, cell := range cells {
		cells[i] = w.escaper.Replace(cell)
	}
	return w.writeLine(cells)
}

func (w *markdownWriter) End() error { return w.out.Flush() }

func (w *markdownWriter) writeLine(cells []string) error {
	_, err := w.out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	return err
}
