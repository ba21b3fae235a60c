package query

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"placementsync/internal/humanize"
)

// Screen describes the destination of a table.
type Screen struct {
	// Terminal tables have borders, column types, a row count and notes about cut texts. Other
	// tables are plain aligned text without cuts.
	Terminal bool
	// Width is the width of the terminal in columns. 0 means no limit.
	Width int
	// Rows is the maximum number of rows on a terminal. Plain tables compute the column widths
	// from this number of rows. 0 means 10,000.
	Rows int
	// First lists the most important columns, in order of importance. A narrow terminal hides them
	// last. Their texts may be cut shorter than other texts.
	First []string
}

// tableWriter collects the first rows to compute the column widths.
type tableWriter struct {
	out     *bufio.Writer
	screen  Screen
	columns []Column
	cells   [][]string
	rows    int
	widths  []int
}

func (w *tableWriter) Begin(columns []Column) error {
	w.columns = columns
	return nil
}

func (w *tableWriter) Row(values []Value) error {
	w.rows++
	switch {
	case w.rows <= w.screen.Rows:
		w.cells = append(w.cells, escapeCells(values))
		return nil
	case w.screen.Terminal:
		return nil
	}
	if w.widths == nil {
		if err := w.startPlainTable(); err != nil {
			return err
		}
	}
	return w.writePlainLine(escapeCells(values))
}

func (w *tableWriter) End() error {
	var err error
	switch {
	case w.screen.Terminal:
		err = w.writeFramed()
	case w.widths == nil:
		err = w.startPlainTable()
	}
	if err != nil {
		return err
	}
	return w.out.Flush()
}

func escapeCells(values []Value) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = escapeControls(v.Or("NULL"))
	}
	return cells
}

// columnWidths returns the widths of the columns. Names and texts have at most limit characters.
// Numbers are never cut, because a cut number would be another number.
func (w *tableWriter) columnWidths(limit int, withTypes bool) []int {
	widths := make([]int, len(w.columns))
	for i, c := range w.columns {
		widths[i] = textWidth(escapeControls(c.Name))
		if withTypes {
			widths[i] = max(widths[i], textWidth(c.Type))
		}
		widths[i] = min(widths[i], limit)
	}
	for _, row := range w.cells {
		for i, cell := range row {
			n := textWidth(cell)
			if !w.columns[i].Numeric {
				n = min(n, limit)
			}
			widths[i] = max(widths[i], n)
		}
	}
	return widths
}

func textWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

// startPlainTable writes the column names and the collected rows. A text longer than maxWidth shifts the
// rest of its line instead of widening its column.
func (w *tableWriter) startPlainTable() error {
	const maxWidth = 60
	w.widths = w.columnWidths(maxWidth, false)
	names := make([]string, len(w.columns))
	for i, c := range w.columns {
		names[i] = escapeControls(c.Name)
	}
	for _, row := range slices.Concat([][]string{names}, w.cells) {
		if err := w.writePlainLine(row); err != nil {
			return err
		}
	}
	return nil
}

func (w *tableWriter) writePlainLine(cells []string) error {
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

// fitColumns returns the width of each column and the indexes of the shown columns. It cuts texts at
// the largest limit at which all columns fit. If the columns do not fit at a limit of 30 characters,
// fitColumns hides columns, the least important first. The needed columns are hidden last: these are
// the columns of Screen.First or, if it is empty, the key columns and the most important number.
// Before fitColumns hides a needed column, it cuts texts down to 10 characters. ok is false if the
// needed columns do not fit and Screen.First is empty.
func (w *tableWriter) fitColumns() (widths, shown []int, ok bool) {
	const (
		gutter         = 3  // a border and two spaces
		maxHidingLimit = 20 // columns are hidden only at this limit and below
	)
	needed := w.findKeys()
	order := w.rankColumns(needed)
	if len(w.screen.First) > 0 {
		needed = slices.DeleteFunc(slices.Clone(order), func(i int) bool { return !slices.Contains(w.screen.First, w.columns[i].Name) })
	} else if i := slices.IndexFunc(order, func(i int) bool { return w.columns[i].Numeric }); i >= 0 {
		needed = append(needed, order[i])
	}
	for _, limit := range []int{80, 60, 40, 30, 20, 16, 13, 10} {
		widths, shown = w.columnWidths(limit, true), nil
		total := 1
		for _, i := range order {
			n := widths[i] + gutter
			fits := w.screen.Width == 0 || total+n <= w.screen.Width
			if fits || len(shown) == 0 {
				total += n
				shown = append(shown, i)
			}
		}
		showsAll := len(shown) == len(order)
		showsNeeded := !slices.ContainsFunc(needed, func(i int) bool { return !slices.Contains(shown, i) })
		mayHide := limit <= maxHidingLimit
		if showsAll || mayHide && showsNeeded {
			ok = true
			break
		}
	}
	slices.Sort(shown)
	return widths, shown, ok || len(w.screen.First) > 0
}

// findKeys returns the columns that distinguish the rows. These are the name, the currency, the first
// column unless it is an id or a number, and then each text, time or boolean that distinguishes more
// rows. Ids are tried last, because people do not read them.
func (w *tableWriter) findKeys() []int {
	var keys []int
	nameColumn := slices.IndexFunc(w.columns, func(c Column) bool { return strings.HasSuffix(c.Name, "_name") })
	if nameColumn < 0 {
		nameColumn = slices.IndexFunc(w.columns, func(c Column) bool { return c.Type == "VARCHAR" && !isID(c.Name) })
	}
	for i, c := range w.columns {
		isFirstText := i == 0 && !isID(c.Name) && !c.Numeric
		if i == nameColumn || isFirstText || c.Name == "currency" {
			keys = append(keys, i)
		}
	}
	distinct := w.countDistinct(keys)
	for _, wantID := range []bool{false, true} {
		for i, c := range w.columns {
			isCandidate := !c.Numeric && isID(c.Name) == wantID && !slices.Contains(keys, i)
			if !isCandidate || distinct == len(w.cells) {
				continue
			}
			if n := w.countDistinct(append(slices.Clone(keys), i)); n > distinct {
				distinct = n
				keys = append(keys, i)
			}
		}
	}
	return keys
}

func (w *tableWriter) countDistinct(columns []int) int {
	seen := map[string]bool{}
	for _, row := range w.cells {
		var key strings.Builder
		for _, i := range columns {
			key.WriteString(row[i])
			key.WriteByte(0)
		}
		seen[key.String()] = true
	}
	return len(seen)
}

// rankColumns orders the columns by importance: first the columns in Screen.First, then keys,
// amounts, other numbers, times and booleans, other texts, and ids.
func (w *tableWriter) rankColumns(keys []int) []int {
	rank := func(i int) int {
		if first := slices.Index(w.screen.First, w.columns[i].Name); first >= 0 {
			return first - len(w.screen.First)
		}
		switch c := w.columns[i]; {
		case slices.Contains(keys, i):
			return 0
		case c.Numeric && strings.HasPrefix(c.Type, "DECIMAL"):
			return 1
		case c.Numeric:
			return 2
		case c.Type == "BOOLEAN" || strings.HasPrefix(c.Type, "DATE") || strings.HasPrefix(c.Type, "TIME"):
			return 3
		case !isID(c.Name):
			return 4
		}
		return 5
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
	const ellipsis = "…"
	widths, shown, ok := w.fitColumns()
	if !ok {
		return w.writeVertical()
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	header, configs := table.Row{}, []table.ColumnConfig{}
	for n, i := range shown {
		c := w.columns[i]
		header = append(header, text.Snip(escapeControls(c.Name), widths[i], ellipsis)+"\n"+text.Snip(c.Type, widths[i], ellipsis))
		align := text.AlignLeft
		if c.Numeric {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: n + 1, Align: align, AlignHeader: align})
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	hasCutText := false
	for _, row := range w.cells {
		cells := table.Row{}
		for _, i := range shown {
			hasCutText = hasCutText || textWidth(row[i]) > widths[i]
			cells = append(cells, text.Snip(row[i], widths[i], ellipsis))
		}
		t.AppendRow(cells)
	}
	notes := []string{humanize.Count(w.rows, "row")}
	if w.rows > len(w.cells) {
		notes[0] = fmt.Sprintf("%d of %s shown", len(w.cells), notes[0])
	}
	if len(shown) < len(w.columns) {
		var hidden []string
		for i, c := range w.columns {
			if !slices.Contains(shown, i) {
				hidden = append(hidden, escapeControls(c.Name))
			}
		}
		notes = append(notes, fmt.Sprintf("%d of %s hidden: %s", len(hidden), humanize.Count(len(w.columns), "column"), strings.Join(hidden, ", ")))
	}
	if hasCutText {
		notes = append(notes, "long texts cut")
	}
	if len(notes) > 1 || w.rows > len(w.cells) {
		notes = append(notes, "--vertical or --format csv shows all")
	}
	_, err := fmt.Fprintf(w.out, "%s\n%s\n", t.Render(), WrapLines(strings.Join(notes, "; "), w.screen.Width))
	return err
}

// writeVertical is for terminals that are too narrow for the key columns.
func (w *tableWriter) writeVertical() error {
	v := &verticalWriter{out: w.out}
	if err := v.Begin(w.columns); err != nil {
		return err
	}
	for _, row := range w.cells {
		if err := v.writeRow(row); err != nil {
			return err
		}
	}
	note := humanize.Count(w.rows, "row")
	if w.rows > len(w.cells) {
		note = fmt.Sprintf("%d of %s shown; --format csv shows all", len(w.cells), note)
	}
	_, err := w.out.WriteString(note + "\n")
	return err
}

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
