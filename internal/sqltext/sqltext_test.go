package sqltext_test

import (
	"strings"
	"testing"
	"time"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

const someStatements = `-- A file begins with a comment about its purpose.

-- name: first
-- A comment.
SELECT {columns} FROM {table}
WHERE name = {name} AND id IN ({ids}) AND n = {n} AND m < {m} AND share < {share} AND flag = {flag}
    AND at < {at}; -- this comment is kept

-- name: second
DELETE FROM t USING u;

-- name: struct
COPY t TO 'f' (KV_METADATA {run: 'x', 'a': 1})
`

func TestStatementsAreRenderedWithTheirValues(t *testing.T) {
	file := sqltext.File(someStatements)
	got := file.Render("first", sqltext.Values{
		"columns": sqltext.Names([]string{"a", `b"`}), "table": sqltext.Name(`a"b`), "name": "O'Neill {table}", "ids": []string{"x", "y'"},
		"n": 7, "m": int64(-8), "share": 0.25, "flag": true,
		"at": time.Date(2026, 11, 1, 4, 3, 4, 5000, time.FixedZone("", 2*60*60)),
	})
	want := `SELECT "a", "b""" FROM "a""b"
WHERE name = 'O''Neill {table}' AND id IN ('x', 'y''') AND n = 7 AND m < -8 AND share < 0.25 AND flag = true
    AND at < TIMESTAMPTZ '2026-11-01 02:03:04.000005+00'; -- this comment is kept`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := file.Render("second", nil), sqltext.SQL("DELETE FROM t USING u"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sqltext.Fill("{text} IN ({texts})", sqltext.Values{"text": sqltext.Name("a"), "texts": []string{"x"}}), sqltext.SQL(`"a" IN ('x')`); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := file.Render("struct", nil), sqltext.SQL("COPY t TO 'f' (KV_METADATA {run: 'x', 'a': 1})"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnrenderableStatementsAreRejected renders statements with mistakes. Render must return a description
// of the mistake in place of the SQL. DuckDB must reject the description and quote it in the error.
func TestUnrenderableStatementsAreRejected(t *testing.T) {
	file := sqltext.File("-- name: one\nSELECT {a}\n-- name: two\nSELECT 2\n")
	wh := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1, MemoryLimit: "256MB", Threads: 1,
		Tables: stream.Tables(stream.All())})
	d, err := wh.BeginFrom(t.Context(), "run", time.Now(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Discard() }()
	for want, rendered := range map[string]sqltext.SQL{
		"render one: {a}: the value is missing":                              file.Render("one", nil),
		"render one: {a}: values of type []int are not supported":            file.Render("one", sqltext.Values{"a": []int{1}}),
		"render two: {a}: the value is not used":                             file.Render("two", sqltext.Values{"a": 1}),
		"render on: there is no such statement":                              file.Render("on", nil),
		"SELECT render two: {b}: the value is not used":                      file.Render("one", sqltext.Values{"a": file.Render("two", sqltext.Values{"b": 1})}),
		"SELECT render three: there is no such statement":                    file.Render("one", sqltext.Values{"a": file.Render("three", nil)}),
		"SELECT render one: {a}: the value is missing":                       file.Render("one", sqltext.Values{"a": file.Render("one", nil)}),
		`SELECT render "{a}": {a}: the value is missing`:                     file.Render("one", sqltext.Values{"a": sqltext.Fill("{a}", nil)}),
		"SELECT render one: {a}: values of type struct {} are not supported": file.Render("one", sqltext.Values{"a": file.Render("one", sqltext.Values{"a": struct{}{}})}),
	} {
		if string(rendered) != want {
			t.Errorf("got %q, want %q", rendered, want)
		}
		if err := d.Exec(t.Context(), rendered); err == nil || !strings.Contains(err.Error(), "render") {
			t.Errorf("%s: DuckDB returned %v, want an error that quotes the statement", rendered, err)
		}
	}
	if err := d.Exec(t.Context(), file.Render("one", sqltext.Values{"a": 1})); err != nil {
		t.Errorf("a statement without a mistake failed: %v", err)
	}
	var got string
	const text = "it's\x00a \"text\""
	if err := d.DB.QueryRowContext(t.Context(), string(file.Render("one", sqltext.Values{"a": text}))).Scan(&got); err != nil || got != text {
		t.Errorf("a text with a NUL is %q in DuckDB (%v), want %q", got, err, text)
	}
}
