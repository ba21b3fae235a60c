package query_test

import (
	"bytes"
	"database/sql"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
	"placementsync/schema"
)

// createCatalog creates a DuckDB file with the table product_listings and no snapshots, and executes the fixture in it.
// The name of the file needs quoting.
func createCatalog(t testing.TB, fixture string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's a catalog?.duckdb")
	listings, err := fs.ReadFile(schema.FS, "product_listings.sql")
	if err != nil {
		t.Fatal(err)
	}
	db := openDuckDB(t, ":memory:", "ATTACH '"+strings.ReplaceAll(path, "'", "''")+"' AS catalog_file; USE catalog_file")
	execute(t, db, "CREATE SCHEMA meta; CREATE TABLE meta.runs (run_id VARCHAR, snapshot_at TIMESTAMPTZ)")
	execute(t, db, string(listings))
	execute(t, db, fixture)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// openDuckDB opens a DuckDB instance with a single connection and executes statements in it.
func openDuckDB(t testing.TB, dsn, statements string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	execute(t, db, statements)
	return db
}

func execute(t testing.TB, db *sql.DB, statements string) {
	t.Helper()
	if strings.TrimSpace(statements) == "" {
		return
	}
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%v in %s", err, statements)
	}
}

// open creates a catalog with the fixture, see createCatalog, and opens it. The race detector makes these tests slow, so
// they run without it. Tests of goroutines use openRace.
func open(t testing.TB, fixture string) *query.DB {
	t.Helper()
	harness.Slow(t)
	return openRace(t, fixture)
}

func openRace(t testing.TB, fixture string) *query.DB {
	t.Helper()
	return openAt(t, createCatalog(t, fixture))
}

// openAt opens the catalog at a path.
func openAt(t testing.TB, path string) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), path, query.Options{MemoryLimit: "256MB", Threads: 1})
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

// runQuery runs a query and returns its result in the format f.
func runQuery(t *testing.T, db *query.DB, q query.Query, values map[string]string, f query.Format, s query.Screen) (string, error) {
	t.Helper()
	var out bytes.Buffer
	w, err := query.NewWriter(query.Output{Format: f}, &out, s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Run(t.Context(), q, values, w)
	return out.String(), err
}
