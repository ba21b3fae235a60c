package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"placementsync/internal/ledger"
)

// Answer is the answer of a query, as exact texts like those of CSV.
type Answer struct {
	Columns []Column
	Rows    [][]Cell
	// Total counts all rows of the answer; Rows may hold fewer.
	Total int64
	// Problems are the tables behind the answer whose rows are not proven, by name.
	Problems []ledger.Problem

	// lacking collects the columns that were looked for and not found.
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

// Number is the value for drawing; ok is false for NULL and for texts that are not
// numbers. Tables show the text.
func (c Cell) Number() (n float64, ok bool) {
	n, err := strconv.ParseFloat(c.Text, 64)
	return n, err == nil
}

// valueOf gives the value of a column by name. A column that the answer does not
// have is recorded: page and query disagree.
func (a Answer) valueOf(row []Cell, column string) Cell {
	i := slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == column })
	if i < 0 {
		a.lacking[column] = true
		return Cell{Null: true}
	}
	return row[i]
}

// missingColumnsErr names the columns that were looked for and not found; nil: none.
func (a Answer) missingColumnsErr(query string) error {
	if len(a.lacking) == 0 {
		return nil
	}
	return fmt.Errorf("read the answer of %q: it has no column %s", query, strings.Join(slices.Sorted(maps.Keys(a.lacking)), ", "))
}

// splitProblems parts what was not read among the tables that an answer needs from
// everything else that is not proven: without the first there is no answer.
func (a Answer) splitProblems(needs []string) (missing, others []ledger.Problem) {
	for _, p := range a.Problems {
		if p.Standing == ledger.NotRead && slices.Contains(needs, p.Name) {
			missing = append(missing, p)
		} else {
			others = append(others, p)
		}
	}
	return missing, others
}

// currencyOf names the currency of a row; empty: the answer has none.
func (a Answer) currencyOf(row []Cell) string {
	if !slices.ContainsFunc(a.Columns, func(c Column) bool { return c.Name == "currency" }) {
		return ""
	}
	return clipText(unitName(a.valueOf(row, "currency")))
}

// textOf is the text of a value.
func (a Answer) textOf(row []Cell, column string) string { return a.valueOf(row, column).Text }

// filterRows keeps the rows for which keep is true, in their order.
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
