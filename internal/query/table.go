package query

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Screen says where a table is shown.
type Screen struct {
	// Terminal tables have rules, types under the names, a row count and
	// notes on what was cut. Others are plain aligned text, nothing cut.
	Terminal bool
	// Width is the width of the terminal; 0: as wide as it takes.
	Width int
	// Rows is how many rows a terminal shows at most, and from how many rows
	// plain text takes its column widths; 0: 10,000.
	Rows int
}

// null is NULL on a screen and in a document.
const null = "NULL"

// tableWriter collects the first rows to find the widths of the columns.
type tableWriter struct {
	out     *bufio.Writer
	screen  Screen
	columns []Column
	cells   [][]string
	rows    int
	widths  []int
	scratch []byte
}

func newTable(out *bufio.Writer, screen Screen) *tableWriter {
	if screen.Rows <= 0 {
		screen.Rows = 10_000
	}
	return &tableWriter{out: out, screen: screen}
}

func (w *tableWriter) Begin(columns []Column) error {
	w.columns = columns
	return nil
}

func (w *tableWriter) Row(r Row) error {
	w.rows++
	switch {
	case w.rows <= w.screen.Rows:
		w.cells = append(w.cells, w.cellTexts(r))
		return nil
	case w.screen.Terminal:
		return nil
	}
	if w.widths == nil {
		if err := w.startPlain(); err != nil {
			return err
		}
	}
	return w.plainLine(w.cellTexts(r))
}

func (w *tableWriter) End() error {
	var err error
	switch {
	case w.screen.Terminal:
		err = w.writeFramed()
	case w.widths == nil:
		err = w.startPlain()
	}
	if err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *tableWriter) cellTexts(r Row) []string {
	cells := make([]string, len(w.columns))
	for i := range cells {
		if r.IsNull(i) {
			cells[i] = null
			continue
		}
		w.scratch = r.AppendText(w.scratch[:0], i)
		cells[i] = escapeForScreen(string(w.scratch))
	}
	return cells
}

// columnWidths finds the widths of the columns, none above most.
func (w *tableWriter) columnWidths(most int, withTypes bool) []int {
	widths := make([]int, len(w.columns))
	for i, c := range w.columns {
		widths[i] = textWidth(escapeForScreen(c.Name))
		if withTypes {
			widths[i] = max(widths[i], textWidth(c.Type))
		}
	}
	for _, row := range w.cells {
		for i, cell := range row {
			widths[i] = max(widths[i], textWidth(cell))
		}
	}
	for i := range widths {
		widths[i] = min(widths[i], most)
	}
	return widths
}

func textWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

// startPlain writes the collected rows. A text longer than the widest column
// overflows its own line only.
func (w *tableWriter) startPlain() error {
	const widest = 60
	w.widths = w.columnWidths(widest, false)
	names := make([]string, len(w.columns))
	for i, c := range w.columns {
		names[i] = escapeForScreen(c.Name)
	}
	for _, row := range slices.Concat([][]string{names}, w.cells) {
		if err := w.plainLine(row); err != nil {
			return err
		}
	}
	return nil
}

func (w *tableWriter) plainLine(cells []string) error {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(0, w.widths[i]-textWidth(cell)))
		if w.columns[i].Numeric {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	_, err := w.out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	return err
}

// fitColumns chooses the widest limit on cells at which all columns fit, or else, at
// the narrowest, the number of columns that fit.
func (w *tableWriter) fitColumns() (widths []int, shown int) {
	const gutter = 3 // what a rule and two spaces add to a column
	for _, most := range []int{80, 60, 40, 30, 20} {
		widths = w.columnWidths(most, true)
		shown = len(widths)
		total := 1
		for i, n := range widths {
			if total += n + gutter; w.screen.Width > 0 && total > w.screen.Width {
				shown = max(i, 1)
				break
			}
		}
		if shown == len(widths) {
			return widths, shown
		}
	}
	return widths, shown
}

func (w *tableWriter) writeFramed() error {
	widths, shown := w.fitColumns()
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	header, configs := table.Row{}, []table.ColumnConfig{}
	for i, c := range w.columns[:shown] {
		header = append(header, snipText(escapeForScreen(c.Name), widths[i])+"\n"+snipText(c.Type, widths[i]))
		align := text.AlignLeft
		if c.Numeric {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	cut := false
	for _, row := range w.cells {
		cells := table.Row{}
		for i, cell := range row[:shown] {
			cut = cut || textWidth(cell) > widths[i]
			cells = append(cells, snipText(cell, widths[i]))
		}
		t.AppendRow(cells)
	}
	notes := []string{countedNoun(w.rows, "row")}
	if w.rows > len(w.cells) {
		notes[0] = fmt.Sprintf("%d of %s shown", len(w.cells), notes[0])
	}
	if shown < len(w.columns) {
		notes = append(notes, fmt.Sprintf("%d of %s shown", shown, countedNoun(len(w.columns), "column")))
	}
	if cut {
		notes = append(notes, "long texts cut")
	}
	if len(notes) > 1 || w.rows > len(w.cells) {
		notes = append(notes, "--format csv shows all")
	}
	_, err := fmt.Fprintf(w.out, "%s\n%s\n", t.Render(), strings.Join(notes, "; "))
	return err
}

func snipText(s string, most int) string {
	if textWidth(s) <= most {
		return s
	}
	return text.Snip(s, most, "…")
}

func countedNoun(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
