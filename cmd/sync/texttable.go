package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"placementsync/internal/query"
)

// textTable is a table that is fitted to the width of the terminal, so that no line wraps.
type textTable struct {
	columns []column
	rows    [][]string
}

type column struct {
	name     string
	isNumber bool
	// drop is the rank of a column that can be omitted on a narrow terminal. Zero means that the column
	// is never omitted. The columns of a rank are shown if all of them fit beside the shown columns of
	// lower ranks. Columns without values have the highest ranks, and are shown only beside uncut columns.
	drop int
	// minWidth is the width to which cells can be cut. Zero means that cells are not cut.
	minWidth int
}

// addRow adds a row. Its cells may contain text of the service, so control characters are
// escaped.
func (t *textTable) addRow(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = query.EscapeLines(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// render fits the table into lines of at most width characters. A width of 0 means no limit.
func (t *textTable) render(width int) string {
	shown, widths := t.fitColumns(width)
	header := make([]string, len(t.columns))
	for i, c := range t.columns {
		header[i] = c.name
	}
	lines := make([]string, 0, len(t.rows)+1)
	for _, row := range slices.Concat([][]string{header}, t.rows) {
		var line strings.Builder
		for _, i := range shown {
			align := text.AlignLeft
			if t.columns[i].isNumber {
				align = text.AlignRight
			}
			line.WriteString(align.Apply(cutCell(row[i], widths[i]), widths[i]) + columnGap)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return strings.Join(lines, "\n")
}

const columnGap = "  "

// fitColumns returns the indexes of the shown columns, and the widths of all columns.
func (t *textTable) fitColumns(width int) (shown, widths []int) {
	if width == 0 {
		width = math.MaxInt
	}
	var minWidths []int
	byRank := map[int][]int{}
	for i, c := range t.columns {
		rank, isEmpty := c.drop, true
		nameWidth := cellWidth(c.name)
		cellsWidth := nameWidth
		for _, row := range t.rows {
			cellsWidth = max(cellsWidth, cellWidth(row[i]))
			isEmpty = isEmpty && row[i] == ""
		}
		widths, minWidths = append(widths, cellsWidth), append(minWidths, cellsWidth)
		if c.minWidth > 0 {
			minWidths[i] = min(cellsWidth, max(c.minWidth, nameWidth))
		}
		if isEmpty && rank > 0 {
			rank += len(t.columns)
		}
		byRank[rank] = append(byRank[rank], i)
	}
	for _, rank := range slices.Sorted(maps.Keys(byRank)) {
		candidates, needed := slices.Concat(shown, byRank[rank]), minWidths
		if rank > len(t.columns) { // columns without values
			needed = widths
		}
		if rank == 0 || totalWidth(candidates, needed) <= width {
			shown = candidates
		}
	}
	slices.Sort(shown)
	excess := totalWidth(shown, widths) - width
	for _, i := range shown {
		cut := min(max(0, excess), widths[i]-minWidths[i])
		widths[i] -= cut
		excess -= cut
	}
	return shown, widths
}

func totalWidth(shown, widths []int) int {
	total := -len(columnGap)
	for _, i := range shown {
		total += widths[i] + len(columnGap)
	}
	return total
}

func cellWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

func cutCell(s string, maxWidth int) string {
	if cellWidth(s) <= maxWidth {
		return s
	}
	return text.Snip(s, maxWidth, "\u2026")
}
