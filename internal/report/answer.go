package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Answer is what a query gave: texts as CSV has them, exact.
type Answer struct {
	Columns []Column
	Rows    [][]Cell
	// Total counts all rows of the answer, kept or not.
	Total int64

	// lacking collects the columns that were looked for in vain.
	lacking map[string]bool
}

// Column is one column of an answer, with its SQL type.
type Column struct {
	Name, Type string
}

// Cell is one value. The text of NULL is empty.
type Cell struct {
	Text string
	Null bool
}

// Number is the value for drawing; ok is false for NULL and what is no number.
// What is written out stays the text.
func (c Cell) Number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(c.Text, 64)
	return n, err == nil
}

// valueOf gives the value of a column by name. A column that the answer does not
// have is noted: the page and the query disagree.
func (a Answer) valueOf(row []Cell, column string) Cell {
	i := slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == column })
	if i < 0 {
		a.lacking[column] = true
		return Cell{Null: true}
	}
	return row[i]
}

// missingColumnsErr is an error when a column was looked for that is not there.
func (a Answer) missingColumnsErr(query string) error {
	if len(a.lacking) == 0 {
		return nil
	}
	return fmt.Errorf("read the answer of %q: it has no column %s", query, strings.Join(slices.Sorted(maps.Keys(a.lacking)), ", "))
}

// textOf is at for labels.
func (a Answer) textOf(row []Cell, column string) string { return a.valueOf(row, column).Text }

// filterRows keeps the rows that hold in order.
func (a Answer) filterRows(keep func(row []Cell) bool) Answer {
	kept := a
	kept.Rows = nil
	for _, row := range a.Rows {
		if keep(row) {
			kept.Rows = append(kept.Rows, row)
		}
	}
	return kept
}

// distinctLabels gives the different values of a column in the order of the rows.
func (a Answer) distinctLabels(label func(row []Cell) string) []string {
	var found []string
	seen := map[string]bool{}
	for _, row := range a.Rows {
		if l := label(row); !seen[l] {
			seen[l] = true
			found = append(found, l)
		}
	}
	return found
}
