package queries_test

import (
	"bytes"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/schema"
)

// catalog is the bytes of a DuckDB file with every table of main and no row.
func catalog(t *testing.T) []byte {
	t.Helper()
	files, err := fs.Glob(schema.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	for _, file := range files {
		text, err := fs.ReadFile(schema.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, string(text))
	}
	path := filepath.Join(t.TempDir(), "catalog.duckdb")
	fill(t, path, "BEGIN;"+strings.Join(statements, "\n")+"COMMIT;")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func fill(t *testing.T, path, text string) {
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

// open copies the empty catalog and puts the rows of the fixture in.
func open(t *testing.T, fixture string, empty []byte) *query.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.duckdb")
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, path, "SET TimeZone = 'UTC';"+fixture)
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

// params reads name=value lines.
func params(t *testing.T, text string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			t.Fatalf("parameter line %q is not name=value", line)
		}
		values[name] = value
	}
	return values
}

// answer is what the query says, as CSV with plain line ends.
func answer(t *testing.T, db *query.DB, q query.Query, values map[string]string) string {
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
