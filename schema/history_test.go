package schema_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/schema"
)

// openHistory returns a database with two tables, things and thing_tags, their past rows, and the views and macros of
// their history. The columns valid_from and valid_to are given as days of November.
func openHistory(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	things := stream.Definition{Name: "things", Columns: []stream.Column{
		{Name: "id", Type: stream.Text}, {Name: "price", Type: stream.Money}, {Name: "seen", Type: stream.Instant},
		{Name: "extra", Type: stream.JSON},
	}}
	tags := stream.Definition{Name: "thing_tags", Columns: []stream.Column{
		{Name: "thing_id", Type: stream.Text}, {Name: "position", Type: stream.Int32}, {Name: "name", Type: stream.Text},
	}}
	statements := []string{"SET TimeZone = 'Asia/Tokyo'", "CREATE SCHEMA past", "CREATE SCHEMA history",
		"CREATE MACRO november(day) AS make_timestamp(2026, 11, day, 2, 0, 0)::TIMESTAMP AT TIME ZONE 'UTC'"}
	for _, def := range []stream.Definition{things, tags} {
		var columns []string
		for _, c := range def.Columns {
			columns = append(columns, c.Name+" "+string(c.Type))
		}
		list := strings.Join(columns, ", ") + ", row_hash UBIGINT, valid_from TIMESTAMPTZ"
		statements = append(statements, "CREATE TABLE main."+def.Name+"("+list+")", "CREATE TABLE past."+def.Name+"("+list+", valid_to TIMESTAMPTZ)")
	}
	for _, s := range slices.Concat(schema.HistoryStatements(things, []string{"id"}), schema.HistoryStatements(tags, []string{"thing_id", "position"})) {
		statements = append(statements, string(s))
	}
	statements = append(statements, string(schema.AllChangesStatement([]stream.Table{{Name: "things"}, {Name: "thing_tags"}})),
		// The values of things are id, price, seen, extra, row_hash, valid_from and valid_to.
		`INSERT INTO past.things VALUES
			('changed', 1.5, november(3), '{"a":1}', 10, november(1), november(5)),
			('gone', 2, NULL, NULL, 20, november(1), november(5)),
			('older', 3, NULL, NULL, 30, november(1), november(2)),
			('brief', 4, NULL, NULL, 40, november(3), november(4)),
			('later', 6, NULL, NULL, 60, november(1), november(9))`,
		`INSERT INTO main.things VALUES
			('changed', 1.25, november(4), '{"a":1}', 11, november(5)),
			('new "x"', 7, NULL, NULL, 70, november(5)),
			('later', 8, NULL, NULL, 61, november(9)),
			('same', 9, NULL, NULL, 90, november(1))`,
		// An item was inserted before a and b, and c was replaced by d.
		`INSERT INTO past.thing_tags VALUES ('t', 1, 'a', 1, november(1), november(5)), ('t', 2, 'b', 2, november(1), november(5)), ('t', 3, 'c', 3, november(1), november(5))`,
		`INSERT INTO main.thing_tags VALUES ('t', 1, 'first', 4, november(5)), ('t', 2, 'a', 5, november(5)), ('t', 3, 'b', 6, november(5)), ('t', 4, 'd', 7, november(5))`)
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
	return db
}

// queryLines returns the rows of a query, their values joined by "|".
func queryLines(t *testing.T, db *sql.DB, query string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT COLUMNS(*)::VARCHAR FROM ("+query+")")
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, pointers := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			pointers[i] = &cells[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, cell := range cells {
			texts = append(texts, cell.String)
		}
		lines = append(lines, strings.Join(texts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestHistoryOfATable queries the changes between two times, and the rows at a time.
func TestHistoryOfATable(t *testing.T) {
	t.Parallel()
	db := openHistory(t)
	for query, want := range map[string][]string{
		"FROM things_changes(november(2), november(6)) ORDER BY key, field": {
			`changed|changed|price|1.500000|1.250000`, `changed|changed|seen|"2026-11-03T02:00:00Z"|"2026-11-04T02:00:00Z"`,
			`gone|gone||{"id":"gone","price":2.000000}|`, `new "x"|new|||{"id":"new \"x\"","price":7.000000}`,
		},
		"FROM things_changes(november(5), november(6))":                    nil,
		"SELECT key, kind FROM things_changes(november(1), november(2))":   {"older|gone"},
		"SELECT key, kind FROM things_changes(november(2), november(3))":   {"brief|new"},
		"SELECT key, field FROM things_changes(november(8), november(9))":  {"later|price"},
		"SELECT id FROM things_at(november(2)) ORDER BY id":                {"changed", "gone", "later", "same"},
		"SELECT id, price FROM things_at(november(3)) ORDER BY id LIMIT 2": {"brief|4.000000", "changed|1.500000"},
		"SELECT id, price FROM things_at(november(5)) ORDER BY id LIMIT 1": {"changed|1.250000"},
		"SELECT count(*), count(valid_to) FROM history.things":             {"9|5"},
		"SELECT count(*) FROM things_at('2026-11-04 10:30:00+09')":         {"5"},
		"SELECT key, kind, field FROM thing_tags_changes(november(2), november(6)) ORDER BY key, kind": {
			"t/1|new|", "t/3|gone|", "t/4|new|",
		},
		"SELECT table_name, count(*) FROM changes(november(2), november(6)) GROUP BY ALL ORDER BY ALL": {"thing_tags|3", "things|4"},
	} {
		if diff := gocmp.Diff(want, queryLines(t, db, query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// TestColumnsInSQL checks the forms of columns in statements, and that row hashes survive Parquet files.
func TestColumnsInSQL(t *testing.T) {
	t.Parallel()
	def := stream.Definition{Columns: []stream.Column{{Name: "id", FieldID: 3}, {Name: `a"b`, FieldID: 1}}}
	if got, want := string(schema.ColumnNames("m.", def)), `m."id", m."a""b"`; got != want {
		t.Errorf("got the columns %s, want %s", got, want)
	}
	if got, want := string(schema.FieldIDs(def.Columns)), `{'id': 3, 'a"b': 1}`; got != want {
		t.Errorf("got the field ids %s, want %s", got, want)
	}
	db := openHistory(t)
	for hash, signed := range map[string]string{"0": "0", "9223372036854775807": "9223372036854775807", "9223372036854775808": "-9223372036854775808", "18446744073709551615": "-1"} {
		query := fmt.Sprintf("SELECT row_hash AS stored, %s AS read, typeof(row_hash) FROM (SELECT %s AS row_hash FROM (SELECT %s::UBIGINT AS row_hash))",
			schema.UnsignedHash(), schema.SignedHash(), hash)
		if got, want := strings.Join(queryLines(t, db, query), ";"), signed+"|"+hash+"|BIGINT"; got != want {
			t.Errorf("the hash %s is stored and read as %s, want %s", hash, got, want)
		}
	}
	if got := queryLines(t, db, fmt.Sprintf("SELECT %s FROM (SELECT 18446744073709551615::UBIGINT AS row_hash)", schema.UnsignedHash())); !slices.Equal(got, []string{"18446744073709551615"}) {
		t.Errorf("the unsigned hash of an earlier release is read as %v", got)
	}
}

// TestNewSQLNeedsANewSchemaVersion compares a hash of the generated SQL. Catalogs get new views and macros only if
// SchemaVersion changes. generatedVersion in definitions.go is a part of it.
func TestNewSQLNeedsANewSchemaVersion(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	main, _ := schema.Definitions()
	for _, table := range []stream.Table{{Name: "tags", Key: []string{"name"}}, {Name: "article_files", Key: []string{"article_id", "position"}}} {
		fmt.Fprintln(h, schema.HistoryStatements(main[table.Name], table.Key), schema.AllChangesStatement([]stream.Table{table}))
	}
	const want = "04a37556f6604ad2"
	if got := fmt.Sprintf("%x", h.Sum(nil))[:16]; got != want {
		t.Errorf("the hash of the generated SQL is %s, want %s: raise generatedVersion in definitions.go, and write the new hash here", got, want)
	}
	// Without a new version, a catalog would not get the columns and views of a changed file.
	h = sha256.New()
	fmt.Fprintf(h, "generated %d %+v %+v\n", 3, stream.SystemColumns(), stream.ClosedColumns())
	harness.Must(t, fs.WalkDir(schema.FS, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(schema.FS, file)
		fmt.Fprintf(h, "%s %d\n%s", file, len(data), data)
		return err
	}))
	if got, want := schema.SchemaVersion(), fmt.Sprintf("%x", h.Sum(nil))[:12]; got != want {
		t.Errorf("the schema version is %s, want the hash %s of all files and of the columns that the program adds", got, want)
	}
}
