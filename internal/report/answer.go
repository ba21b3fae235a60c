package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// answer is the result of a query, and the columns that the page looked for in vain.
type answer struct {
	query.Result
	lacking map[string]bool
}

// valueOf gives the value of a column by name. A column that the answer does not
// have is recorded: page and query disagree.
func (a answer) valueOf(row query.Record, column string) query.Value {
	if !a.hasColumn(column) {
		a.lacking[column] = true
	}
	return row.Get(column)
}

func (a answer) hasColumn(name string) bool {
	return slices.ContainsFunc(a.Columns, func(c query.Column) bool { return c.Name == name })
}

// missingColumnsErr names the columns that the page looked for in vain.
func (a answer) missingColumnsErr(name string) error {
	if len(a.lacking) == 0 {
		return nil
	}
	return fmt.Errorf("read the answer of %q: it has no column %s", name, strings.Join(slices.Sorted(maps.Keys(a.lacking)), ", "))
}

// splitProblems separates the unread tables among those that a number needs from all
// other tables that are not proven: without the first there is no number.
func (a answer) splitProblems(needs []string) (missing, others []ledger.Problem) {
	for _, p := range a.Problems() {
		if p.Standing == ledger.NotRead && slices.Contains(needs, p.Name) {
			missing = append(missing, p)
		} else {
			others = append(others, p)
		}
	}
	return missing, others
}

// currencyOf names the currency of a row; empty for an answer without a currency.
func (a answer) currencyOf(row query.Record) string {
	if !a.hasColumn("currency") {
		return ""
	}
	return clipText(unitName(row.Get("currency")))
}

func (a answer) textOf(row query.Record, column string) string { return a.valueOf(row, column).Text }

// filterRows keeps the rows for which keep is true, in their order.
func (a answer) filterRows(keep func(row query.Record) bool) answer {
	kept := a
	kept.Rows = nil
	for _, row := range a.Rows {
		if keep(row) {
			kept.Rows = append(kept.Rows, row)
		}
	}
	return kept
}

// distinctLabels gives the different labels of the rows, in the order of the rows.
func (a answer) distinctLabels(label func(row query.Record) string) []string {
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
