package queries_test

import (
	"io"
	"maps"
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/testing/fixture"
	"placementsync/schema"
)

// TestExtremeValuesFailNoQuery runs all named queries, views and macros on a catalog with the largest and
// smallest values that its columns can hold, more than 200 of each. A value that cannot be computed is NULL.
func TestExtremeValuesFailNoQuery(t *testing.T) {
	db := open(t, fixture.ExtremeRows(300))
	run := func(t *testing.T, q query.Query, values map[string]string, formats ...query.Format) {
		t.Helper()
		var all []query.Writer
		for _, format := range formats {
			w, err := query.NewWriter(query.Output{Format: format}, io.Discard, query.Screen{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
		writeResult(t, db, q, values, all...)
	}
	for _, q := range query.All() {
		t.Run(q.Name, func(t *testing.T) {
			for i, values := range parameterVariants(q) {
				formats := []query.Format{query.CSV}
				if i == 0 {
					formats = append(formats, query.JSON, query.Markdown)
				}
				run(t, q, values, formats...)
			}
		})
	}
	var relations []string
	for _, v := range schema.MartViews() {
		relations = append(relations, "mart."+v.Name)
	}
	for _, table := range stream.Tables(stream.All()) {
		relations = append(relations, "history."+table.Name, table.Name+"_at('2026-11-01')", table.Name+"_at('infinity')")
	}
	relations = append(relations, "changes('2026-11-01', 'infinity')")
	for _, relation := range relations {
		t.Run(relation, func(t *testing.T) {
			run(t, query.Query{Name: relation, SQL: "FROM " + relation}, nil, query.CSV)
		})
	}
}

// parameterVariants returns values for the parameters of a query: the defaults, and each of the defaults
// replaced by other values, one at a time.
func parameterVariants(q query.Query) []map[string]string {
	required := requiredValues(q, "k0")
	if _, ok := required["currency"]; ok {
		required["currency"] = "C0"
	}
	if _, ok := required["budget"]; ok {
		required["budget"] = "999999999999.999999"
	}
	all := []map[string]string{required}
	add := func(p query.Param, replacements ...string) {
		for _, value := range replacements {
			if value == p.Default {
				continue
			}
			values := maps.Clone(required)
			values[p.Name] = value
			all = append(all, values)
		}
	}
	for _, p := range q.Params {
		if p.Nullable {
			add(p, "NULL")
		}
		switch {
		case p.Type == "BOOLEAN":
			add(p, "true", "false")
		case p.Type == "DATE":
			add(p, "2026-10-01")
		case p.Type == "TIMESTAMPTZ":
			add(p, "2026-11-01T02:00:00Z")
		case p.Name == "currency":
			add(p, "C0", "C1", "C5") // the largest values, the smallest ones, and all
		case strings.Contains(p.Type, "|"):
			add(p, strings.Split(p.Type, "|")...)
		}
	}
	return all
}
