package warehouse

import (
	"maps"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// martStatements replace all views of mart, because a view stores the columns of the views that it
// reads. A view is left out if one of its tables is not configured.
func (c *Catalog) martStatements(have map[string]map[string]stream.Column) []sqltext.SQL {
	var statements []sqltext.SQL
	for _, table := range slices.Sorted(maps.Keys(have)) {
		if name, ok := strings.CutPrefix(table, "mart."); ok {
			statements = append(statements, sqltext.SQL("DROP VIEW mart."+sqltext.Quote(name)))
		}
	}
	isMissing := func(table string) bool { return c.tableKey(table) == nil }
	created := map[string]bool{}
	for _, v := range c.mart {
		if slices.ContainsFunc(v.Reads, isMissing) || slices.ContainsFunc(v.On, func(name string) bool { return !created[name] }) {
			continue
		}
		created[v.Name] = true
		statements = append(statements, sqltext.SQL(v.SQL))
	}
	return statements
}
