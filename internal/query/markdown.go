package query

import (
	"bufio"
	"strings"
)

// markdownWriter writes a pipe table. Cells are not padded, so that rows can be streamed.
type markdownWriter struct {
	out    *bufio.Writer
	escape *strings.Replacer
	cols   int
}

// newMarkdown returns a writer that escapes the characters that could end a cell or start markup,
// such as links, images and HTML.
func newMarkdown(out *bufio.Writer) *markdownWriter {
	return &markdownWriter{out: out, escape: strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`,
		"[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	)}
}

func (w *markdownWriter) Begin(columns []Column) error {
	w.cols = len(columns)
	names, rules := make([]string, w.cols), make([]string, w.cols)
	for i, c := range columns {
		names[i], rules[i] = w.escapeCell(c.Name), "---"
		if c.Numeric {
			rules[i] = "---:"
		}
	}
	if err := w.writeLine(names); err != nil {
		return err
	}
	return w.writeLine(rules)
}

func (w *markdownWriter) Row(r Row) error {
	cells := make([]string, w.cols)
	for i := range cells {
		cells[i] = w.escapeCell(r.Value(i).Or(null))
	}
	return w.writeLine(cells)
}

func (w *markdownWriter) End() error { return w.out.Flush() }

func (w *markdownWriter) writeLine(cells []string) error {
	_, err := w.out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	return err
}

func (w *markdownWriter) escapeCell(s string) string { return w.escape.Replace(escapeForScreen(s)) }
