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

// listing is a table that is fitted to the width of the terminal, so that no line wraps.
type listing struct {
	columns []column
	rows    [][]string
}

type column struct {
	name string
	// isNumber aligns its cells to the right.
	isNumber bool
	// drop orders the columns that are omitted on a narrow terminal. The columns with the highest
	// number are omitted first, columns with the same number together. Zero means never. Empty
	// columns are omitted before all other columns.
	drop int
	// minWidth is the width to which cells may be cut. Zero means that they are not cut.
	minWidth int
}

// addRow adds a row. Its cells may contain text of the service, so control characters are
// escaped.
func (l *listing) addRow(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = query.OnScreen(fmt.Sprint(cell))
	}
	l.rows = append(l.rows, row)
}

// render returns the lines for a terminal of a width. A width of 0 means no limit.
func (l *listing) render(width int) string {
	shown, widths := l.fitColumns(width)
	header := make([]string, len(l.columns))
	for i, c := range l.columns {
		header[i] = c.name
	}
	lines := make([]string, 0, len(l.rows)+1)
	for _, row := range slices.Concat([][]string{header}, l.rows) {
		var line strings.Builder
		for _, i := range shown {
			align := text.AlignLeft
			if l.columns[i].isNumber {
				align = text.AlignRight
			}
			line.WriteString(align.Apply(cutCell(row[i], widths[i]), widths[i]) + columnGap)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return strings.Join(lines, "\n")
}

const columnGap = "  "

// fitColumns returns the columns that fit, and the widths of all columns.
func (l *listing) fitColumns(width int) (shown, widths []int) {
	byOrder := map[int][]int{}
	for i, c := range l.columns {
		shown = append(shown, i)
		widths = append(widths, cellWidth(c.name))
		for _, row := range l.rows {
			widths[i] = max(widths[i], cellWidth(row[i]))
		}
		byOrder[l.dropOrder(i)] = append(byOrder[l.dropOrder(i)], i)
	}
	if width == 0 {
		return shown, widths
	}
	shown = nil
	for _, order := range slices.Sorted(maps.Keys(byOrder)) {
		more := slices.Concat(shown, byOrder[order])
		if order == 0 || l.totalWidth(more, widths)-l.spareWidth(more, widths) <= width {
			shown = more
		}
	}
	slices.Sort(shown)
	l.narrowCells(shown, widths, l.totalWidth(shown, widths)-width)
	return shown, widths
}

func (l *listing) totalWidth(shown, widths []int) int {
	total := -len(columnGap)
	for _, i := range shown {
		total += widths[i] + len(columnGap)
	}
	return total
}

// dropOrder returns column.drop, or a higher number for an empty column.
func (l *listing) dropOrder(i int) int {
	isEmpty := !slices.ContainsFunc(l.rows, func(row []string) bool { return row[i] != "" })
	if isEmpty && l.columns[i].drop > 0 {
		return len(l.columns) + l.columns[i].drop
	}
	return l.columns[i].drop
}

// spareWidth returns the width by which the cells of columns may be cut.
func (l *listing) spareWidth(shown, widths []int) int {
	spare := 0
	for _, i := range shown {
		if minWidth := l.columns[i].minWidth; minWidth > 0 {
			spare += max(0, widths[i]-max(minWidth, cellWidth(l.columns[i].name)))
		}
	}
	return spare
}

// narrowCells removes excess characters, one at a time from the column that can spare most.
func (l *listing) narrowCells(shown, widths []int, excess int) {
	for ; excess > 0 && l.spareWidth(shown, widths) > 0; excess-- {
		widest := slices.MaxFunc(shown, func(a, b int) int {
			return cmp.Compare(l.spareWidth([]int{a}, widths), l.spareWidth([]int{b}, widths))
		})
		widths[widest]--
	}
}

func cellWidth(s string) int { return text.StringWidthWithoutEscSequences(s) }

func cutCell(s string, maxWidth int) string {
	if cellWidth(s) <= maxWidth {
		return s
	}
	return text.Snip(s, maxWidth, "\u2026")
}
