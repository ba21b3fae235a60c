package report

import (
	"slices"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

type queryResult struct{ query.Result }

// splitProblems returns the problems of the source tables. missing are needed tables that were not read: no
// numbers are shown. others are all other tables that are not proven. If needs is nil, all tables are needed.
func (result queryResult) splitProblems(needs []string) (missing, others []ledger.Problem) {
	for _, p := range query.FindProblems(result.Sources) {
		if p.Standing == ledger.NotRead && (needs == nil || slices.Contains(needs, p.Name)) {
			missing = append(missing, p)
		} else {
			others = append(others, p)
		}
	}
	return missing, others
}

// currencyOf returns the currency of a row, or an empty string if the result has no currencies.
func (result queryResult) currencyOf(row query.Record) string {
	if !slices.ContainsFunc(result.Columns, func(c query.Column) bool { return c.Name == "currency" }) {
		return ""
	}
	return clipText(currencyName(row.Get("currency")))
}

// filterRows does not change Total.
func (result queryResult) filterRows(keep func(row query.Record) bool) queryResult {
	filtered := result
	filtered.Rows = nil
	for _, row := range result.Rows {
		if keep(row) {
			filtered.Rows = append(filtered.Rows, row)
		}
	}
	return filtered
}

// distinctLabels returns the labels in the order of the rows.
func (result queryResult) distinctLabels(label func(row query.Record) string) []string {
	var labels []string
	for _, row := range result.Rows {
		if l := label(row); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return labels
}
