package warehouse_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
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

// TestDefinitionsMatchDuckDB compares the results of stream.ParseDefinition with the tables that
// DuckDB creates from the same schema files.
func TestDefinitionsMatchDuckDB(t *testing.T) {
	harness.Slow(t)
	w := openFull(t)
	d, err := w.Begin(t.Context(), "r", firstNightAt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	for name, def := range w.Schema.Definitions {
		sql, err := schema.FS.ReadFile(name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Exec(t.Context(), "CREATE SCHEMA plain", "USE plain", sqltext.SQL(sql), "USE main"); err != nil {
			t.Fatalf("run schema/%s.sql in DuckDB: %v", name, err)
		}
		if diff := cmp.Diff(withoutUnstoredFields(def.Columns), columnsInDuckDB(t, d, "plain", name)); diff != "" {
			t.Errorf("columns of %s (-ParseDefinition +DuckDB):\n%s", name, diff)
		}
		if err := d.Exec(t.Context(), "DROP SCHEMA plain CASCADE"); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutUnstoredFields clears the fields of stream.Column that DuckDB does not store.
func withoutUnstoredFields(columns []stream.Column) []stream.Column {
	stored := slices.Clone(columns)
	for i := range stored {
		stored[i].Untracked, stored[i].FieldID, stored[i].References, stored[i].OtherNames = false, 0, stream.Reference{}, nil
	}
	return stored
}

// columnsInDuckDB returns the columns of a table or view in DuckDB.
func columnsInDuckDB(t *testing.T, d *warehouse.Draft, schema, table string) []stream.Column {
	t.Helper()
	rows, err := d.DB.QueryContext(t.Context(), `SELECT column_name, replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ'),
		NOT is_nullable, coalesce(comment, '') FROM duckdb_columns() WHERE schema_name = ? AND table_name = ? ORDER BY column_index`, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var columns []stream.Column
	for rows.Next() {
		var c stream.Column
		if err := rows.Scan(&c.Name, &c.Type, &c.NotNull, &c.Comment); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	return columns
}

func TestEveryTableIsInMainPastAndHistory(t *testing.T) {
	harness.Slow(t)
	w := openFull(t)
	d, err := w.Begin(t.Context(), "r", firstNightAt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	for _, table := range w.Schema.Tables {
		definedColumns := len(w.Schema.Definitions[table.Name].Columns)
		for schema, systemColumns := range map[string]int{"main": 2, "past": 4} {
			if got := len(columnsInDuckDB(t, d, schema, table.Name)); got != definedColumns+systemColumns {
				t.Errorf("%s.%s has %d columns, want %d", schema, table.Name, got, definedColumns+systemColumns)
			}
		}
		if err := d.Exec(t.Context(), sqltext.SQL("FROM history."+sqltext.Quote(table.Name)),
			sqltext.SQL("FROM "+sqltext.Quote(table.Name+"_at")+"(TIMESTAMP '2026-11-01')")); err != nil {
			t.Errorf("read the history of %s: %v", table.Name, err)
		}
	}
}

func TestEveryPublishedColumnHasAComment(t *testing.T) {
	harness.Slow(t)
	d, err := openFull(t).Begin(t.Context(), "r", firstNightAt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	var uncommented string
	err = d.DB.QueryRowContext(t.Context(), `SELECT coalesce(string_agg(schema_name || '.' || table_name || '.' || column_name, ', '), '')
		FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name)
		WHERE (schema_name IN ('main', 'meta') OR schema_name = 'past' AND column_name IN ('valid_to', 'run_id'))
			AND coalesce(duckdb_columns.comment, '') = ''`).Scan(&uncommented)
	if err != nil || uncommented != "" {
		t.Errorf("columns without a comment: %s (error %v), want no columns", uncommented, err)
	}
}

func TestAsOfMacroReturnsTheRowsOfATime(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, "20261102T020000Z", "new")
	defer d.Discard()
	if err := d.Exec(t.Context(), `INSERT INTO past.product_listing_tags (product_listing_id, position, name, valid_from, row_hash, valid_to, run_id)
		VALUES ('p', 1, 'old', TIMESTAMPTZ '2026-11-01 02:00:00+00', 2, TIMESTAMPTZ '2026-11-02 02:00:00+00', 'r')`); err != nil {
		t.Fatal(err)
	}
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
	m, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	m.Schema = "another"
	data, err := checksum.Seal(m)
	harness.Must(t, err)
	harness.Must(t, os.WriteFile(filepath.Join(w.Folder.VersionPath(m.RunID), warehouse.ManifestFile), data, 0o600))
}

func TestNewColumnsAreAddedAndOtherDifferencesAreErrors(t *testing.T) {
	cases := []struct{ name, change, want string }{
		{"a column that the warehouse lacks is added", "DROP VIEW history.product_listing_tags; ALTER TABLE main.product_listing_tags DROP COLUMN name; ALTER TABLE past.product_listing_tags DROP COLUMN name", ""},
		{"a column of another type is refused", "ALTER TABLE main.product_listing_tags ALTER name TYPE BIGINT USING 1", "name is BIGINT in the warehouse and VARCHAR in this program"},
		{"a column that this program lacks is refused", "ALTER TABLE main.product_listing_tags ADD COLUMN colour VARCHAR", "colour is VARCHAR in the warehouse and absent"},
		{"a table that this program lacks is refused", "CREATE TABLE main.adverts (id VARCHAR)", "main.adverts is a table in the warehouse and absent"},
		{"a table of meta that this program lacks is refused", "CREATE TABLE meta.adverts (id VARCHAR)", "meta.adverts is a table in the warehouse and absent"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			d := beginDraft(t, w, "20261101T020000Z", "one")
			if err := d.Exec(t.Context(), sqltext.SQL(c.change)); err != nil {
				t.Fatal(err)
			}
			publishAsOtherSchema(t, w, d)
			next, err := w.Begin(t.Context(), "20261102T020000Z", firstNightAt.AddDate(0, 0, 1))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := len(columnsInDuckDB(t, next, "main", "product_listing_tags")); got != 6 {
					t.Errorf("got %d columns, want 4 of the table and 2 system columns", got)
				}
				next.Discard()
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "rebuild") {
				t.Errorf("got error %v, want an error with %q and the command rebuild", err, c.want)
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
	w := open(t)
	publish(t, w, "20261101T020000Z", "one")
	other := warehouse.New(warehouse.Config{Dir: w.Folder.Dir(), KeepVersions: 1, MemoryLimit: "256MB", Threads: 1,
		Tables: slices.DeleteFunc(stream.Tables(stream.All()), func(x stream.Table) bool { return x.Name != "orders" })})
	d, err := other.Begin(t.Context(), "20261102T020000Z", firstNightAt.AddDate(0, 0, 1))
	harness.Must(t, err)
	defer d.Discard()
	if len(columnsInDuckDB(t, d, "main", "orders")) == 0 {
		t.Error("the draft has no table orders")
	}
}
