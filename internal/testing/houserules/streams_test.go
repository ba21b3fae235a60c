package houserules_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// schemaColumns returns the columns of a table by name, or nil if schema/ has no valid file of the table.
func schemaColumns(table string) map[string]stream.Column {
	sql, err := schema.FS.ReadFile(table + ".sql")
	if err != nil {
		return nil
	}
	def, err := stream.ParseDefinition(table+".sql", string(sql))
	if err != nil || def.Name != table {
		return nil
	}
	columns := map[string]stream.Column{}
	for _, c := range def.Columns {
		columns[c.Name] = c
	}
	return columns
}

// TestStreamsAreComplete checks that each stream has a valid literal, schema files, a route of the demo service
// and a test case of the decoder.
func TestStreamsAreComplete(t *testing.T) {
	routes, seen := sim.New(sim.Options{}).Routes(), map[string]bool{}
	for _, s := range stream.AllWithEvents() {
		require := func(isRight bool, problem, remedy string) {
			if !isRight {
				t.Errorf("stream %q %s: %s", s.Name, problem, remedy)
			}
		}
		require(s.Name != "" && s.Spec != "", "has no name or no spec", "correct its literal in internal/stream")
		require(!seen[s.Name], "is defined twice", "rename one")
		seen[s.Name] = true
		require(strings.HasPrefix(s.Path, "/") != s.IsEvents(), "must have either a path or topics", "correct its literal")
		require(len(s.Tables) > 0, "has no table", "add the table of its records")
		require(!s.IsDetail() || s.Param != "" && strings.Contains(s.Path, "{"), "has parents, but no parameter", "set Param, and the place of the id in the path")
		_, isKnown := stream.Find(stream.All(), s.Completes)
		require(s.Completes == "" || isKnown, "completes "+s.Completes+", which does not exist", "name the stream whose rows it completes")
		require(s.IsEvents() || slices.Contains(routes, s.Path), "has no route in the demo service", "add a route with its scopes in internal/sim/routes.go")
		for _, ref := range s.IDColumns {
			_, hasColumn := schemaColumns(ref.Table)[ref.Column]
			require(hasColumn, "takes its ids from the missing column "+ref.Table+"."+ref.Column, "name a column of a table that a stream fills")
		}
		cases, err := filepath.Glob(filepath.Join(root, "internal/transform/testdata", s.Name, "*.want"))
		require(err == nil && len(cases) > 0, "has no case in internal/transform/testdata", "add a response, and run its test with -update")
		for _, table := range s.Tables {
			columns := schemaColumns(table.Name)
			require(columns != nil, "has no schema file of table "+table.Name, "write CREATE TABLE, and a COMMENT for the table and each column")
			require(len(table.Key) > 0, "has no key of table "+table.Name, "name the columns that identify a row")
			needed := slices.Concat(table.Key, table.Parents, slices.Collect(maps.Keys(table.Const)))
			if table.Value != "" {
				needed = append(needed, table.Value)
			}
			if table.Name == s.Root().Name && s.Param != "" {
				needed = append(needed, s.Param)
			}
			for _, name := range needed {
				_, hasColumn := columns[name]
				require(hasColumn, "needs the column "+table.Name+"."+name, "add it to schema/, or correct the literal")
			}
		}
	}
}

// TestTablesWithDetailColumnsAreRight checks TablesWithDetailColumns of the detail streams that complete the
// records of a list. It must name exactly the tables with a column for which no record of the list has a value.
// The column extra counts as such a column.
func TestTablesWithDetailColumnsAreRight(t *testing.T) {
	service := sim.New(sim.Options{HiddenDetail: true})
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
			for name, c := range schemaColumns(table.Name) {
				if slices.Contains(table.Key, name) || slices.Contains(table.Parents, name) {
					continue
				}
				compared++
				if c.Path() == "" || !isShown(records, strings.TrimPrefix(table.At+"."+c.Path(), ".")) {
					hidden = append(hidden, name)
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
