package query_test

import (
	"bytes"
	"database/sql"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/schema"
)

// catalog makes a DuckDB file with the table product_listings and runs the
// fixture in it. Its name is one that careless quoting would trip over.
func catalog(t testing.TB, fixture string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's a catalog?.duckdb")
	listings, err := fs.ReadFile(schema.FS, "product_listings.sql")
	if err != nil {
		t.Fatal(err)
	}
	instance := execute(t, ":memory:", "ATTACH '"+strings.ReplaceAll(path, "'", "''")+"' AS made; USE made")
	run(t, instance, string(listings))
	run(t, instance, fixture)
	if err := instance.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// execute opens a DuckDB on a single connection and runs a text in it.
func execute(t testing.TB, dsn, text string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	run(t, db, text)
	return db
}

func run(t testing.TB, db *sql.DB, text string) {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return
	}
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func open(t testing.TB, fixture string) *query.DB {
	t.Helper()
	return openAt(t, catalog(t, fixture))
}

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

// answer runs a text and returns what the writer of the format makes of it.
func answer(t *testing.T, db *query.DB, q query.Query, values map[string]string, f query.Format, s query.Screen) (string, error) {
	t.Helper()
	var out bytes.Buffer
	w, err := query.NewWriter(f, &out, s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Run(t.Context(), q, values, w)
	return out.String(), err
}
