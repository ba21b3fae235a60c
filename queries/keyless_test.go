package queries_test

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/schema"
)

// plantedPrefix begins each text of the fixture that is not a key.
const plantedPrefix = "Planted"

// fixtureWithoutReferences returns SQL that inserts two rows into each table. The rows have keys and
// texts, but no ids of other records, except the article of an order item.
func fixtureWithoutReferences(t *testing.T) string {
	t.Helper()
	defs, _ := schema.Definitions()
	var script strings.Builder
	script.WriteString("INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r1', '2026-11-01 02:00:00+00');\n")
	for _, table := range stream.Tables(stream.All()) {
		var names []string
		rows := make([][]string, 2)
		for _, c := range defs[table.Name].Columns {
			isKey := slices.Contains(table.Key, c.Name)
			if !isKey && (c.Type != stream.Text || strings.HasSuffix(c.Name, "_id") || strings.HasSuffix(c.Name, "prefix")) {
				continue
			}
			names = append(names, sqltext.Quote(c.Name))
			for i := range rows {
				value := fmt.Sprintf("'%s %s %d'", plantedPrefix, c.Name, i)
				switch {
				case isKey && c.Type == stream.Text:
					value = fmt.Sprintf("'k%d'", i)
				case isKey:
					value = fmt.Sprint(i)
				}
				rows[i] = append(rows[i], value)
			}
		}
		fmt.Fprintf(&script, "INSERT INTO main.%s (%s) VALUES (%s), (%s);\n", sqltext.Quote(table.Name),
			strings.Join(names, ", "), strings.Join(rows[0], ", "), strings.Join(rows[1], ", "))
	}
	// Statuses need a time, and articles are related to outlets by their order items.
	script.WriteString("UPDATE article_statuses SET effective_at = TIMESTAMPTZ '2026-10-01 00:00:00+00';\n" +
		"UPDATE order_items SET article_id = id;\n")
	return script.String()
}

// TestGroupsWithoutKeyHaveNoName runs all queries on rows with names but without ids of other records. A
// result row whose key is NULL summarizes many records, so it must not have the name of one of them.
func TestGroupsWithoutKeyHaveNoName(t *testing.T) {
	all := query.All()
	db := open(t, fixtureWithoutReferences(t))
	var keylessQueries []string
	for _, q := range all {
		rows, err := csv.NewReader(strings.NewReader(runCSV(t, db, q, requiredValues(q, "k0")))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", q.Name, err)
		}
		header := rows[0]
		if !strings.HasSuffix(header[0], "_id") && !strings.HasSuffix(header[0], "_prefix") {
			continue
		}
		for _, row := range rows[1:] {
			if row[0] != "" {
				continue
			}
			keylessQueries = append(keylessQueries, q.Name)
			for i, cell := range row {
				if strings.Contains(cell, plantedPrefix) {
					t.Errorf("%s: %s is NULL, but %s is %q", q.Name, header[0], header[i], cell)
				}
				if strings.HasSuffix(header[i], "_name") && cell != "(not stated)" {
					t.Errorf("%s: %s is NULL, but %s is %q, want (not stated)", q.Name, header[0], header[i], cell)
				}
			}
		}
	}
	want := []string{
		"article_cycle_time", "articles_by_status", "delivery", "list_vs_paid", "margins",
		"refunds_and_addons", "writer_load",
	}
	if diff := cmp.Diff(want, keylessQueries); diff != "" {
		t.Errorf("queries with a row without key (-want +got):\n%s", diff)
	}
}
