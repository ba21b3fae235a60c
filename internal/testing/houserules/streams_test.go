package houserules_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// TestTablesWithDetailColumnsAreRight checks TablesWithDetailColumns of the detail streams that complete the
// records of a list. It must name exactly the tables with a column for which no record of the list has a value.
// The column extra counts as such a column.
func TestTablesWithDetailColumnsAreRight(t *testing.T) {
	service := sim.New(sim.Options{HiddenDetail: true})
	definitions, _ := schema.Definitions()
	compared := 0
	for _, s := range stream.All() {
		list, _ := stream.Find(stream.All(), s.Completes)
		if s.Completes == "" {
			continue
		}
		var records []any
		for _, raw := range service.Records(list.Path) {
			var record any
			if err := json.Unmarshal(raw, &record); err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		for _, table := range s.Tables {
			var hidden []string
			for _, c := range definitions[table.Name].Columns {
				if slices.Contains(table.Key, c.Name) || slices.Contains(table.Parents, c.Name) {
					continue
				}
				compared++
				if c.Path() == "" || !isShown(records, strings.TrimPrefix(table.At+"."+c.Path(), ".")) {
					hidden = append(hidden, c.Name)
				}
			}
			slices.Sort(hidden)
			if slices.Contains(s.TablesWithDetailColumns, table.Name) != (len(hidden) > 0) {
				t.Errorf("stream %s: TablesWithDetailColumns is wrong for %s: the list does not contain the columns %q", s.Name, table.Name, hidden)
			}
			if s.Completes == "orders" && table.Name == "orders" && !slices.Equal(hidden, []string{"email", "extra", "name"}) {
				t.Errorf("columns of orders that the list does not contain: got %q, want email, extra and name", hidden)
			}
		}
	}
	if compared < 60 {
		t.Errorf("compared %d columns, want at least 60", compared)
	}
}

// isShown reports whether any of the JSON values contains a value other than null or "" at a dotted path. The
// path leads through objects, and through all items of lists.
func isShown(values []any, path string) bool {
	if path == "" {
		return slices.ContainsFunc(values, func(v any) bool { return v != nil && v != "" })
	}
	name, rest, _ := strings.Cut(path, ".")
	var inner []any
	for _, v := range values {
		object, _ := v.(map[string]any)
		if items, ok := object[name].([]any); ok {
			inner = append(inner, items...)
		} else if value, ok := object[name]; ok {
			inner = append(inner, value)
		}
	}
	return isShown(inner, rest)
}
