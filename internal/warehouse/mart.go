package warehouse

import (
	"maps"
	"slices"
	"strings"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// martStatements creates all views of mart again, since a view remembers the columns of
// those that it is built on. It returns none when nothing changed and no view is
// missing.
func (c *Catalog) martStatements(have map[string]map[string]stream.Column, changed bool) []string {
	var drops, creates []string
	wanted := map[string]bool{}
	// A warehouse that is configured with few tables goes without some views.
	isLacking := func(table string) bool {
		return !slices.ContainsFunc(c.tables, func(t stream.Table) bool { return t.Name == table })
	}
	for _, v := range c.mart {
		if slices.ContainsFunc(v.Reads, isLacking) || slices.ContainsFunc(v.On, func(name string) bool { return !wanted[name] }) {
			continue
		}
		wanted[v.Name] = true
		creates = append(creates, v.SQL)
		changed = changed || have["mart."+v.Name] == nil
	}
	for _, table := range slices.Sorted(maps.Keys(have)) {
		if name, ok := strings.CutPrefix(table, "mart."); ok {
			drops = append(drops, "DROP VIEW mart."+sqltext.Quote(name))
			changed = changed || !wanted[name]
		}
	}
	if !changed {
		return nil
	}
	return append(drops, creates...)
}
