package queries_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// fixtureNight is the time of the only snapshot of most fixtures.
var fixtureNight = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// createCatalog returns a DuckDB file with all tables and views of the warehouse and without rows. The
// default of valid_from is fixtureNight.
func createCatalog(t testing.TB) []byte {
	t.Helper()
	d := beginDraft(t)
	var statements []sqltext.SQL
	for _, table := range stream.Tables(stream.All()) {
		for _, schema := range []string{"main", "past"} {
			name := schema + "." + sqltext.Quote(table.Name)
			statements = append(statements,
				sqltext.SQL(fmt.Sprintf("ALTER TABLE %s ALTER valid_from SET DEFAULT %s", name, sqltext.Literal(d.At.Format(time.RFC3339Nano)))),
				sqltext.SQL(fmt.Sprintf("ALTER TABLE %s ALTER row_hash SET DEFAULT 0", name)))
		}
		statements = append(statements, sqltext.SQL(fmt.Sprintf("ALTER TABLE past.%s ALTER run_id SET DEFAULT 'fixture'", sqltext.Quote(table.Name))))
	}
	if err := d.Atomically(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := d.Exec(t.Context(), "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(d.Dir, warehouse.CatalogFile))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// beginDraft begins a version in a new warehouse.
func beginDraft(t testing.TB) *warehouse.Draft {
	t.Helper()
	w, err := warehouse.Open(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1, Tables: stream.Tables(stream.All())})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.Begin(t.Context(), "fixture", fixtureNight)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Discard(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func insertRows(t testing.TB, path, text string) {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// open copies the empty catalog, inserts the rows of the fixture and opens the copy.
func open(t testing.TB, fixture string, empty []byte) *query.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.duckdb")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	insertRows(t, path, "SET TimeZone = 'UTC';"+fixture)
	db, err := query.Open(t.Context(), path, query.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// parseParams parses lines of the form name=value.
func parseParams(t *testing.T, text string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			t.Fatalf("the parameter line %q does not have the form name=value", line)
		}
		values[name] = value
	}
	return values
}

// runCSV runs a query and returns its result as CSV with LF line ends.
func runCSV(t testing.TB, db *query.DB, q query.Query, values map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w, err := query.NewWriter(query.CSV, &out, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Run(t.Context(), q, values, w); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}
