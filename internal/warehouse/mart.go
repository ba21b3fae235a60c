package warehouse

import (
	"maps"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// martStatements replace all views of mart, because a view stores the columns of the views that it
// reads. There are none if no table has changed and no view is missing.
func (c *Catalog) martStatements(have map[string]map[string]stream.Column, changed bool) []sqltext.SQL {
	var drops, creates []sqltext.SQL
	wanted := map[string]bool{}
	// A view is left out if one of its tables is not configured.
	isMissing := func(table string) bool {
		return !slices.ContainsFunc(c.tables, func(t stream.Table) bool { return t.Name == table })
	}
	for _, v := range c.mart {
		if slices.ContainsFunc(v.Reads, isMissing) || slices.ContainsFunc(v.On, func(name string) bool { return !wanted[name] }) {
			continue
		}
		wanted[v.Name] = true
		creates = append(creates, sqltext.SQL(v.SQL))
		changed = changed || have["mart."+v.Name] == nil
	}
	for _, table := range slices.Sorted(maps.Keys(have)) {
		if name, ok := strings.CutPrefix(table, "mart."); ok {
			drops = append(drops, sqltext.SQL("DROP VIEW mart."+sqltext.Quote(name)))
			changed = changed || !wanted[name]
		}
	}
	if !changed {
		return nil
	}
	return append(drops, creates...)
}
