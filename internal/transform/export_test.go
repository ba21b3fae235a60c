package transform

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

type Table struct {
	Name   string
	Schema *arrow.Schema
}

// Tables returns the staging tables without duplicates. The table of the records is first.
func (b *Binding) Tables() []Table {
	var all []Table
	for _, t := range b.tables {
		if !slices.ContainsFunc(all, func(o Table) bool { return o.Name == t.name }) {
			all = append(all, Table{Name: t.name, Schema: t.schema})
		}
	}
	return all
}
