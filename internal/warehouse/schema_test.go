package warehouse_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// openFull returns a warehouse with every table.
func openFull(t *testing.T) *warehouse.Warehouse {
	t.Helper()
	w := warehouse.New(warehouse.Config{Dir: t.TempDir(), KeepVersions: 1, MemoryLimit: "256MB", Threads: 1, Tables: stream.Tables(stream.All())})
	return w
}

// TestADraftHasAllTablesAndViews begins a draft of all tables, and compares its columns with the schema files, which
// stream.ParseDefinition and DuckDB read.
func TestADraftHasAllTablesAndViews(t *testing.T) {
	harness.Slow(t)
	w := openFull(t)
	d, err := w.Begin(t.Context(), "r", firstNightAt)
	harness.Must(t, err)
	defer d.Discard()
	for _, table := range w.Schema.Tables {
		def := w.Schema.Definitions[table.Name]
		sql := harness.MustValue(schema.FS.ReadFile(table.Name + ".sql"))
		if err := d.Exec(t.Context(), "CREATE SCHEMA plain", "USE plain", sqltext.SQL(sql), "USE main"); err != nil {
			t.Fatalf("run schema/%s.sql in DuckDB: %v", table.Name, err)
		}
		if diff := cmp.Diff(withoutUnstoredFields(def.Columns), columnsInDuckDB(t, d, "plain", table.Name)); diff != "" {
			t.Errorf("columns of %s (-ParseDefinition +DuckDB):\n%s", table.Name, diff)
		}
		if diff := cmp.Diff(columnsInDuckDB(t, d, "plain", table.Name), columnsInDuckDB(t, d, "main", table.Name)[:len(def.Columns)]); diff != "" {
			t.Errorf("columns of %s (-schema file +draft):\n%s", table.Name, diff)
		}
		for schema, systemColumns := range map[string]int{"main": 2, "past": 4} {
			if got := len(columnsInDuckDB(t, d, schema, table.Name)); got != len(def.Columns)+systemColumns {
				t.Errorf("%s.%s has %d columns, want %d", schema, table.Name, got, len(def.Columns)+systemColumns)
			}
		}
		harness.Must(t, d.Exec(t.Context(), "DROP SCHEMA plain CASCADE"))
		if err := d.Exec(t.Context(), sqltext.SQL("FROM history."+sqltext.Quote(table.Name)),
			sqltext.SQL("FROM "+sqltext.Quote(table.Name+"_at")+"(TIMESTAMP '2026-11-01')")); err != nil {
			t.Errorf("read the history of %s: %v", table.Name, err)
		}
	}
	for _, v := range schema.MartViews() {
		if diff := cmp.Diff(columnsInDuckDB(t, d, "mart", v.Name), v.Columns); diff != "" || len(v.Columns) == 0 {
			t.Errorf("mart.%s: columns (-DuckDB +file):\n%s", v.Name, diff)
		}
		about := queryOne(t, d, "SELECT coalesce(max(comment), '') FROM duckdb_views() WHERE view_name = ? AND schema_name = 'mart'", v.Name)
		if about == "" || about != v.About || v.Grain == "" {
			t.Errorf("mart.%s has the comment %q and the grain %q, want the comment %q and a grain", v.Name, about, v.Grain, v.About)
		}
		if err := d.Exec(t.Context(), sqltext.SQL("FROM mart."+sqltext.Quote(v.Name))); err != nil {
			t.Errorf("read mart.%s: %v", v.Name, err)
		}
	}
	columns := queryOne(t, d, `SELECT coalesce(string_agg(schema_name || '.' || table_name || '.' || column_name, ', '), '')
		FROM duckdb_columns()
		WHERE (schema_name IN ('main', 'meta', 'mart') OR schema_name = 'past' AND column_name IN ('valid_to', 'run_id'))
			AND database_name = 'catalog' AND NOT internal AND coalesce(comment, '') = ''`)
	if columns != "" {
		t.Errorf("columns without a comment: %s, want none", columns)
	}
	tables := queryOne(t, d, `SELECT coalesce(string_agg(schema_name || '.' || table_name, ', '), '') FROM duckdb_tables()
		WHERE schema_name IN ('main', 'meta') AND database_name = 'catalog' AND coalesce(comment, '') = ''`)
	if tables != "" {
		t.Errorf("tables without a comment: %s, want none", tables)
	}
}

// withoutUnstoredFields clears the fields of stream.Column that DuckDB does not store.
func withoutUnstoredFields(columns []stream.Column) []stream.Column {
	stored := slices.Clone(columns)
	for i := range stored {
		stored[i].FieldID, stored[i].References, stored[i].OtherNames = 0, stream.Reference{}, nil
	}
	return stored
}

// columnsInDuckDB returns the columns of a table or view in DuckDB.
func columnsInDuckDB(t *testing.T, d *warehouse.Draft, schema, table string) []stream.Column {
	t.Helper()
	rows, err := d.DB.QueryContext(t.Context(), `SELECT column_name, replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ'),
		NOT is_nullable, coalesce(comment, '') FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? ORDER BY column_index`, schema, table)
	harness.Must(t, err)
	defer rows.Close()
	var columns []stream.Column
	for rows.Next() {
		var c stream.Column
		harness.Must(t, rows.Scan(&c.Name, &c.Type, &c.NotNull, &c.Comment))
		columns = append(columns, c)
	}
	return columns
}

func TestAsOfMacroReturnsTheRowsOfATime(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, "20261102T020000Z", "new")
	defer d.Discard()
	harness.Must(t, d.Exec(t.Context(), `INSERT INTO past.product_listing_tags (product_listing_id, position, name, valid_from, row_hash, valid_to, run_id)
		VALUES ('p', 1, 'old', TIMESTAMPTZ '2026-11-01 02:00:00+00', 2, TIMESTAMPTZ '2026-11-02 02:00:00+00', 'r')`))
	for at, want := range map[string]string{
		"2026-11-01 01:59:59": "", "2026-11-01 02:00:00": "old", "2026-11-02 01:59:59": "old", "2026-11-02 02:00:00": "new"} {
		var got string
		err := d.DB.QueryRowContext(t.Context(), "SELECT coalesce(string_agg(name, ','), '') FROM product_listing_tags_at(?::TIMESTAMP)", at).Scan(&got)
		if err != nil || got != want {
			t.Errorf("at %s got %q, want %q (error %v)", at, got, want, err)
		}
	}
	const changes = "SELECT string_agg(table_name || ' ' || kind || ' ' || field || ' ' || old || ' ' || new, ',') FROM changes(TIMESTAMPTZ '2026-11-01 12:00:00+00', TIMESTAMPTZ '2026-11-03 00:00:00+00')"
	if got, want := queryOne(t, d, changes), `product_listing_tags changed name "old" "new"`; got != want {
		t.Errorf("the changes of all tables are %s, want %s", got, want)
	}
}

// publishAsOtherSchema publishes a draft and then changes the schema version in the manifest, as if a
// program with another schema had published the version.
func publishAsOtherSchema(t *testing.T, w *warehouse.Warehouse, d *warehouse.Draft) {
	t.Helper()
	_, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	editManifest(t, w, manifestOf(w, d.Run), func(m *warehouse.Manifest) { m.Schema = "another" })
}

func TestNewColumnsAreAddedAndOtherDifferencesAreErrors(t *testing.T) {
	cases := []struct{ name, change, want string }{
		{"a column that the warehouse lacks is added", "DROP VIEW history.product_listing_tags; " +
			"ALTER TABLE main.product_listing_tags DROP COLUMN name; ALTER TABLE past.product_listing_tags DROP COLUMN name; " +
			"COMMENT ON COLUMN main.product_listing_tags.position IS 'of an earlier release'", ""},
		{"a column of another type is refused", "ALTER TABLE main.product_listing_tags ALTER name TYPE BIGINT USING 1", "name is BIGINT in the warehouse and VARCHAR in this program"},
		{"a column that this program lacks is refused", "ALTER TABLE main.product_listing_tags ADD COLUMN colour VARCHAR", "colour is VARCHAR in the warehouse and absent"},
		{"a table that this program lacks is refused", "CREATE TABLE main.adverts (id VARCHAR)", "main.adverts is a table in the warehouse and absent"},
		{"a table of past that this program lacks is refused", "CREATE TABLE past.adverts (id VARCHAR)", "past.adverts is a table in the warehouse and absent"},
		{"a column of past of another type is refused",
			"DROP VIEW history.product_listing_tags; ALTER TABLE past.product_listing_tags ALTER name TYPE BIGINT USING 1", "past.product_listing_tags.name is BIGINT"},
		{"a column of meta that this program lacks is refused",
			"ALTER TABLE meta.statuses ADD COLUMN colour VARCHAR", "meta.statuses.colour is VARCHAR in the warehouse and absent"},
		{"a table of meta that this program lacks is refused", "CREATE TABLE meta.adverts (id VARCHAR)", "meta.adverts is a table in the warehouse and absent"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			d := beginDraft(t, w, "20261101T020000Z", "one")
			harness.Must(t, d.Exec(t.Context(), sqltext.SQL(c.change)))
			publishAsOtherSchema(t, w, d)
			next, err := w.Begin(t.Context(), "20261102T020000Z", firstNightAt.AddDate(0, 0, 1))
			if c.want == "" {
				harness.Must(t, err)
				if got := len(columnsInDuckDB(t, next, "main", "product_listing_tags")); got != 6 {
					t.Errorf("got %d columns, want 4 of the table and 2 system columns", got)
				}
				const comment = "SELECT comment FROM duckdb_columns() " +
					"WHERE schema_name = 'main' AND table_name = ? AND column_name = ?"
				column := w.Schema.Definitions[tagsTable].Columns[1]
				if got := queryOne(t, next, comment, tagsTable, column.Name); got != column.Comment {
					t.Errorf("the column %s has the comment %q, want that of this program, %q", column.Name, got, column.Comment)
				}
				next.Discard()
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `(version test), or run "placementsync rebuild"`) {
				t.Errorf("got error %v, want an error with %q, the program that wrote it and the command rebuild", err, c.want)
			}
			drafts, globErr := filepath.Glob(filepath.Join(w.Folder.Dir(), "versions", ".*"))
			if len(drafts) > 0 || globErr != nil {
				t.Errorf("after the error there are the drafts %v (%v), want none", drafts, globErr)
			}
		})
	}
}

// TestATableIsAddedWithoutANewSchemaVersion begins a draft with another table than the newest version. The
// schema version is the same.
func TestATableIsAddedWithoutANewSchemaVersion(t *testing.T) {
	w := openNights(t, 2, "one")
	other := warehouse.New(warehouse.Config{Dir: w.Folder.Dir(), KeepVersions: 1, MemoryLimit: "256MB", Threads: 1,
		Tables: slices.DeleteFunc(stream.Tables(stream.All()), func(x stream.Table) bool { return x.Name != "orders" })})
	d := begin(t, other, "20261102T020000Z")
	defer d.Discard()
	if len(columnsInDuckDB(t, d, "main", "orders")) == 0 {
		t.Error("the draft has no table orders")
	}
}

// queryOne returns the text in the only row of a query.
func queryOne(t *testing.T, d *warehouse.Draft, text string, args ...any) string {
	t.Helper()
	var s string
	harness.Must(t, d.DB.QueryRowContext(t.Context(), text, args...).Scan(&s))
	return s
}

// TestTheNextNightHasTheViewsOfThisProgram changes the views in the catalog of a version that a program with
// another schema published. The next night must have exactly the views of this program.
func TestTheNextNightHasTheViewsOfThisProgram(t *testing.T) {
	const viewNamesSQL = "SELECT string_agg(view_name, ',' ORDER BY view_name) FROM duckdb_views() WHERE schema_name = ?"
	for name, change := range map[string]string{
		"the view of the configured tables is kept": "SELECT 1",
		"a missing view is created":                 "DROP VIEW mart.snapshot",
		"an unknown view is dropped":                "CREATE VIEW mart.old AS SELECT 1",
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			d := beginDraft(t, w, "20261101T020000Z", "one")
			harness.Must(t, d.Exec(t.Context(), sqltext.SQL(change)))
			publishAsOtherSchema(t, w, d)
			next := begin(t, w, "20261102T020000Z")
			defer next.Discard()
			if got := queryOne(t, next, viewNamesSQL, "mart"); got != "snapshot" {
				t.Errorf("got views %q, want snapshot", got)
			}
		})
	}
}
