package warehouse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

func TestEveryViewOfMartIsCreatedWithComments(t *testing.T) {
	harness.Slow(t)
	d, err := openFull(t).Begin(t.Context(), "r", firstNightAt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Discard()
	views := schema.MartViews()
	for _, v := range views {
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
	if missing := queryOne(t, d, "SELECT coalesce(string_agg(table_name || '.' || column_name, ', '), '') FROM duckdb_columns() WHERE schema_name = ? AND coalesce(comment, '') = ''", "mart"); missing != "" {
		t.Errorf("columns without a comment: %s, want none", missing)
	}
}

// queryOne returns the text in the only row of a query.
func queryOne(t *testing.T, d *warehouse.Draft, text string, args ...any) string {
	t.Helper()
	var s string
	if err := d.DB.QueryRowContext(t.Context(), text, args...).Scan(&s); err != nil {
		t.Fatal(err)
	}
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
			if err := d.Exec(t.Context(), sqltext.SQL(change)); err != nil {
				t.Fatal(err)
			}
			publishAsOtherSchema(t, w, d)
			next, err := w.Begin(t.Context(), "20261102T020000Z", firstNightAt.AddDate(0, 0, 1))
			if err != nil {
				t.Fatal(err)
			}
			defer next.Discard()
			if got := queryOne(t, next, viewNamesSQL, "mart"); got != "snapshot" {
				t.Errorf("got views %q, want snapshot", got)
			}
		})
	}
}
