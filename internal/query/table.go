package query

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"placementsync/internal/plural"
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
	// First are the columns that a narrow terminal shows before all others, most wanted
	// first. They may be cut shorter than those of any answer.
	First []string
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
// the narrowest, the columns that answer most. It returns the width of each column and the
// indexes of those that are shown.
func (w *tableWriter) fitColumns() (widths, shown []int) {
	const gutter = 3 // what a rule and two spaces add to a column
	all := make([]int, len(w.columns))
	for i := range all {
		all[i] = i
	}
	limits := []int{80, 60, 40, 30, 20}
	if len(w.screen.First) > 0 {
		limits = append(limits, 16, 13, 10)
	}
	for _, most := range limits {
		widths = w.columnWidths(most, true)
		total := 1
		for _, n := range widths {
			total += n + gutter
		}
		if w.screen.Width == 0 || total <= w.screen.Width {
			return widths, all
		}
	}
	total := 1
	for _, i := range w.rankColumns() {
		if n := widths[i] + gutter; len(shown) == 0 || total+n <= w.screen.Width {
			total += n
			shown = append(shown, i)
		}
	}
	slices.Sort(shown)
	return widths, shown
}

// rankColumns orders the columns by what they tell a reader: what names the row and its
// currency, then numbers, times and switches, then other texts, and ids last.
func (w *tableWriter) rankColumns() []int {
	named := slices.IndexFunc(w.columns, func(c Column) bool { return strings.HasSuffix(c.Name, "_name") })
	if named < 0 {
		named = slices.IndexFunc(w.columns, func(c Column) bool { return c.Type == "VARCHAR" && !isID(c.Name) })
	}
	rank := func(i int) int {
		if first := slices.Index(w.screen.First, w.columns[i].Name); first >= 0 {
			return first - len(w.screen.First)
		}
		switch c := w.columns[i]; {
		case i == named || c.Name == "currency" || i == 0 && !isID(c.Name):
			return 0
		case c.Numeric:
			return 1
		case c.Type == "BOOLEAN" || strings.HasPrefix(c.Type, "DATE") || strings.HasPrefix(c.Type, "TIME"):
			return 2
		case !isID(c.Name):
			return 3
		}
		return 4
	}
	order := make([]int, len(w.columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	return order
}

func isID(column string) bool { return column == "id" || strings.HasSuffix(column, "_id") }

func (w *tableWriter) writeFramed() error {
	widths, shown := w.fitColumns()
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	header, configs := table.Row{}, []table.ColumnConfig{}
	for n, i := range shown {
		c := w.columns[i]
		header = append(header, snipText(escapeForScreen(c.Name), widths[i])+"\n"+snipText(c.Type, widths[i]))
		align := text.AlignLeft
		if c.Numeric {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: n + 1, Align: align, AlignHeader: align})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	cut := false
	for _, row := range w.cells {
		cells := table.Row{}
		for _, i := range shown {
			cut = cut || textWidth(row[i]) > widths[i]
			cells = append(cells, snipText(row[i], widths[i]))
		}
		t.AppendRow(cells)
	}
	notes := []string{plural.Count(w.rows, "row")}
	if w.rows > len(w.cells) {
		notes[0] = fmt.Sprintf("%d of %s shown", len(w.cells), notes[0])
	}
	if len(shown) < len(w.columns) {
		notes = append(notes, fmt.Sprintf("%d of %s shown", len(shown), plural.Count(len(w.columns), "column")))
	}
	if cut {
		notes = append(notes, "long texts cut")
	}
	if len(notes) > 1 || w.rows > len(w.cells) {
		notes = append(notes, "--vertical or --format csv shows all")
	}
	_, err := fmt.Fprintf(w.out, "%s\n%s\n", t.Render(), WrapLines(strings.Join(notes, "; "), w.screen.Width))
	return err
}

func snipText(s string, most int) string {
	if textWidth(s) <= most {
		return s
	}
	return text.Snip(s, most, "…")
}
