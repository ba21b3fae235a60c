package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// queryResult is the result of a query. missing are the columns that the page reads and the
// result does not have.
type queryResult struct {
	query.Result
	missing map[string]bool
}

// valueOf returns the value of a column. It records a column that does not exist.
func (a queryResult) valueOf(row query.Record, column string) query.Value {
	if !a.hasColumn(column) {
		a.missing[column] = true
	}
	return row.Get(column)
}

func (a queryResult) hasColumn(name string) bool {
	return slices.ContainsFunc(a.Columns, func(c query.Column) bool { return c.Name == name })
}

// missingColumnsErr returns an error if valueOf was called for columns that do not exist.
func (a queryResult) missingColumnsErr(name string) error {
	if len(a.missing) == 0 {
		return nil
	}
	return fmt.Errorf("read the result of %q: it has no column %s", name, strings.Join(slices.Sorted(maps.Keys(a.missing)), ", "))
}

// splitProblems returns the needed tables that were not read, without which there is no number,
// and all other tables that are not proven.
func (a queryResult) splitProblems(needs []string) (missing, others []ledger.Problem) {
	for _, p := range query.FindProblems(a.Sources) {
		if p.Standing == ledger.NotRead && slices.Contains(needs, p.Name) {
			missing = append(missing, p)
		} else {
			others = append(others, p)
		}
	}
	return missing, others
}

// currencyOf returns the currency of a row. It is empty for a result without currencies.
func (a queryResult) currencyOf(row query.Record) string {
	if !a.hasColumn("currency") {
		return ""
	}
	return clipText(unitName(row.Get("currency")))
}

func (a queryResult) textOf(row query.Record, column string) string {
	return a.valueOf(row, column).Text
}

// filterRows keeps the rows for which keep is true, in their order.
func (a queryResult) filterRows(keep func(row query.Record) bool) queryResult {
	kept := a
	kept.Rows = nil
	for _, row := range a.Rows {
		if keep(row) {
			kept.Rows = append(kept.Rows, row)
		}
	}
	return kept
}

// distinctLabels returns the distinct labels of the rows, in the order of the rows.
func (a queryResult) distinctLabels(label func(row query.Record) string) []string {
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
