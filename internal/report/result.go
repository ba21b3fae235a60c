package report

import (
	"slices"

	"placementsync/internal/ledger"
	"placementsync/internal/query"
)

// splitProblems returns the problems of the source tables. missing are needed tables that were not read: no
// numbers are shown. others are all other problems. If needs is nil, all tables are needed.
func splitProblems(result query.Result, needs []string) (missing, others []ledger.Problem) {
	for _, p := range query.FindProblems(result.Sources) {
		isNeeded := needs == nil || slices.Contains(needs, p.Name)
		if isNeeded && p.Standing == ledger.NotRead {
			missing = append(missing, p)
		} else {
			others = append(others, p)
		}
	}
	return missing, others
}

// textOf returns the value of a column, and a value of an enumeration as words. A status without a name has its code.
func textOf(row query.Record, column string) query.Value {
	v := row.Get(column)
	if column == "status_name" && v.Null {
		v = row.Get("status_prefix")
	}
	isEnum := slices.ContainsFunc(row.Columns, func(c query.Column) bool { return c.Name == column && c.IsEnum() })
	if isEnum {
		v.Text = query.EnumWords(v.Text)
	}
	return v
}

// currencyOf returns an empty string if the result has no column "currency".
func currencyOf(row query.Record) string {
	if !slices.ContainsFunc(row.Columns, func(c query.Column) bool { return c.Name == "currency" }) {
		return ""
	}
	return clipText(currencyName(row.Get("currency")))
}

func filterRows(rows []query.Record, keep func(row query.Record) bool) []query.Record {
	var kept []query.Record
	for _, row := range rows {
		if keep(row) {
			kept = append(kept, row)
		}
	}
	return kept
}
