package main

import (
	"cmp"
	"fmt"
	"maps"
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
	name string
	// isNumber means that the cells are aligned to the right.
	isNumber bool
	// drop is the rank of a column that can be omitted on a narrow terminal. Zero means that the column
	// is never omitted. The columns of a rank are shown if all of them fit beside the shown columns of
	// lower ranks. Columns without values have the highest ranks.
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

// render returns the text for a terminal with width characters in a line. 0 means no limit.
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

// fitColumns returns the indexes of the columns that fit, and the widths of all columns.
func (t *textTable) fitColumns(width int) (shown, widths []int) {
	byRank := map[int][]int{}
	for i, c := range t.columns {
		shown = append(shown, i)
		widths = append(widths, cellWidth(c.name))
		for _, row := range t.rows {
			widths[i] = max(widths[i], cellWidth(row[i]))
		}
		byRank[t.dropRank(i)] = append(byRank[t.dropRank(i)], i)
	}
	if width == 0 {
		return shown, widths
	}
	shown = nil
	for _, rank := range slices.Sorted(maps.Keys(byRank)) {
		candidates := slices.Concat(shown, byRank[rank])
		if rank == 0 || t.totalWidth(candidates, widths)-t.spareWidth(candidates, widths) <= width {
			shown = candidates
		}
	}
	slices.Sort(shown)
	t.narrowCells(shown, widths, t.totalWidth(shown, widths)-width)
	return shown, widths
}

func (t *textTable) totalWidth(shown, widths []int) int {
	total := -len(columnGap)
	for _, i := range shown {
		total += widths[i] + len(columnGap)
	}
	return total
}

// dropRank returns column.drop, or a higher rank for an empty column that can be omitted.
func (t *textTable) dropRank(i int) int {
	isEmpty := !slices.ContainsFunc(t.rows, func(row []string) bool { return row[i] != "" })
	if isEmpty && t.columns[i].drop > 0 {
		return len(t.columns) + t.columns[i].drop
	}
	return t.columns[i].drop
}

// spareWidth returns by how much the shown columns can be narrowed in total.
func (t *textTable) spareWidth(shown, widths []int) int {
	spare := 0
	for _, i := range shown {
		if minWidth := t.columns[i].minWidth; minWidth > 0 {
			spare += max(0, widths[i]-max(minWidth, cellWidth(t.columns[i].name)))
		}
	}
	return spare
}

// narrowCells narrows the shown columns by excess in total, or by spareWidth if that is less. Each
// character is taken from the column that can be narrowed most.
func (t *textTable) narrowCells(shown, widths []int, excess int) {
	for ; excess > 0 && t.spareWidth(shown, widths) > 0; excess-- {
		roomiest := slices.MaxFunc(shown, func(a, b int) int {
			return cmp.Compare(t.spareWidth([]int{a}, widths), t.spareWidth([]int{b}, widths))
		})
		widths[roomiest]--
	}
}

func cellWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

func cutCell(s string, maxWidth int) string {
	if cellWidth(s) <= maxWidth {
		return s
	}
	return text.Snip(s, maxWidth, "\u2026")
}
