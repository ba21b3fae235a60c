package query_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
)

const exactRow = `SELECT 'a' AS text, 239.86784::DECIMAL(18, 6) AS amount, 170141183460469231731687303715884105::HUGEINT AS huge,
	sum(range) AS total, TIMESTAMPTZ '2026-11-01 02:00:00.000001+00' AS at, '{"x":1.10}'::JSON AS doc, [1, NULL] AS list, true AS yes,
	NULL::VARCHAR AS nothing FROM range($n::BIGINT)`

func TestParquetKeepsTypes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it's.parquet")
	rows, err := open(t, "").Save(t.Context(), query.Text(exactRow), map[string]string{"n": "5"}, query.Output{Format: query.Parquet}, file)
	if err != nil || rows != 1 {
		t.Fatalf("got %d rows, %v, want 1", rows, err)
	}
	got := readParquet(t, file)
	want := []string{
		`{"text":"a","amount":239.867840,"huge":170141183460469231731687303715884105,"total":10,"at":"2026-11-01T02:00:00.000001Z","doc":{"x":1.10},"list":[1,null],"yes":true,"nothing":null}` + "\n",
		`{"types":["VARCHAR","DECIMAL(18,6)","DECIMAL(38,0)","DECIMAL(38,0)","TIMESTAMP WITH TIME ZONE","JSON","INTEGER[]","BOOLEAN","VARCHAR"]}` + "\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows and types of the file (-want +got):\n%s", diff)
	}
}

// readParquet reads a Parquet file with DuckDB and returns its rows and its column types.
func readParquet(t *testing.T, file string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "read.duckdb")
	from := "FROM read_parquet('" + strings.ReplaceAll(file, "'", "''") + "')"
	instance := openDuckDB(t, path, "CREATE TABLE rows AS "+from)
	execute(t, instance, "CREATE TABLE types AS SELECT list(column_type) AS types FROM (DESCRIBE "+from+")")
	if err := instance.Close(); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, path)
	var got []string
	for _, table := range []string{"rows", "types"} {
		text, err := runQuery(t, db, query.Text("FROM "+table), nil, query.JSONL, query.Screen{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	return got
}

func TestParquetKeepsTheOrderOfManyRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "many.parquet")
	q := query.Text("SELECT range AS n, sum(range) OVER (ORDER BY range DESC) AS running FROM range(300000) ORDER BY n DESC")
	rows, err := open(t, "").Save(t.Context(), q, nil, query.Output{Format: query.Parquet}, file)
	if err != nil || rows != 300000 {
		t.Fatalf("got %d rows, %v, want 300000", rows, err)
	}
	path := filepath.Join(t.TempDir(), "read.duckdb")
	instance := openDuckDB(t, path, `CREATE TABLE got AS
		SELECT bool_and(n = 299999 - file_row_number) AS in_order, max(running) AS total
		FROM read_parquet('`+file+`', file_row_number = true)`)
	if err := instance.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := runQuery(t, openAt(t, path), query.Text("FROM got"), nil, query.JSONL, query.Screen{})
	if want := "{\"in_order\":true,\"total\":44999850000}\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestSaveIsAtomic(t *testing.T) {
	db := open(t, "")
	for _, format := range query.Formats() {
		t.Run(string(format), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "out")
			if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Save(t.Context(), query.Text("SELECT error('late') FROM range(9)"), nil, query.Output{Format: format}, file); err == nil {
				t.Error("Save of a failing query returned no error, want its error")
			}
			requireOnlyFile(t, dir, file, "before")
			if _, err := db.Save(t.Context(), query.Text("SELECT 1 AS a"), nil, query.Output{Format: format}, file); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) == "before" {
				t.Errorf("after a second Save: got %q, %v, want another content", got, err)
			}
		})
	}
}

// requireOnlyFile checks that a folder contains only the given file, and that its content is want.
func requireOnlyFile(t *testing.T, dir, file, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder contains %v, %v, want one file", entries, err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestSaveIsSandboxed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.parquet")
	var refused *query.RefusedError
	// Save registers a view named result in the DuckDB instance that writes Parquet.
	for _, sql := range []string{"FROM read_parquet('" + file + "')", "COPY (SELECT 1) TO '" + file + "'", "FROM result"} {
		_, err := open(t, "").Save(t.Context(), query.Text(sql), nil, query.Output{Format: query.Parquet}, file)
		if err == nil || strings.HasPrefix(sql, "COPY") && !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want an error, and a RefusedError for COPY", sql, err)
		}
	}
}

// TestSaveKeepsADevice saves to a link to a device. An atomic write would replace it.
func TestSaveKeepsADevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "out.csv")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, "").Save(t.Context(), query.Text("SELECT 1 AS a"), nil, query.Output{Format: query.CSV}, link)
	if !errors.As(err, new(*query.UsageError)) || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v, want a usage error", err)
	}
	if target, err := os.Readlink(link); err != nil || target != os.DevNull {
		t.Errorf("the link leads to %q (%v), want it unchanged", target, err)
	}
}
