package query_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

func TestAsOfAppliesToAllSchemas(t *testing.T) {
	harness.Slow(t)
	path := createNightsCatalog(t, `
INSERT INTO meta.drift (table_name, path, kind, first_run, last_run, count) VALUES ('orders', 'note', 'unknown_field', '20261102T020000Z', '20261103T020000Z', 1);
INSERT INTO meta.webhook_events (event_id, received_at, run_id) VALUES ('e', '2026-11-02 01:00:00+00', '20261102T020000Z');
INSERT INTO meta.details (stream, id, run_id, read_at) VALUES ('products', 'a', '20261102T020000Z', '2026-11-02 02:00:00+00');`)
	const findings = "SELECT (SELECT count(*) FROM meta.drift) + (SELECT count(*) FROM meta.webhook_events) + (SELECT count(*) FROM meta.details) AS v"
	opened := map[string]*query.DB{} // by time; the statements only read
	for name, c := range map[string]struct{ when, sql, want string }{
		"first night by date":                             {"2026-11-01", "SELECT string_agg(id || name, ',' ORDER BY id) AS v FROM product_listings", "aold,bgone,dsame"},
		"second night by date":                            {"2026-11-02", "SELECT string_agg(id || name, ',' ORDER BY id) AS v FROM product_listings", `anew "name",bgone,c=c,dother`},
		"third night by run":                              {"20261103T020000Z", "SELECT string_agg(id || name, ',' ORDER BY id) AS v FROM product_listings", `anew "name",c=c,dsame`},
		"a qualified name":                                {"2026-11-02", "SELECT count(*) AS v FROM catalog.main.product_listings", "4"},
		"past lacks rows that were closed later":          {"2026-11-02", "SELECT string_agg(id, ',' ORDER BY id) AS v FROM past.product_listings", "a,d"},
		"rows that were closed later are open in history": {"2026-11-02", "SELECT string_agg(id, ',' ORDER BY id) AS v FROM history.product_listings WHERE valid_to IS NULL", "a,b,c,d"},
		"meta.runs":                                       {"2026-11-02", "SELECT count(*) AS v FROM meta.runs", "2"},
		"meta.streams":                                    {"2026-11-01", "SELECT count(*) AS v FROM meta.streams", "1"},
		"meta lacks what a later night found":             {"2026-11-01", findings, "0"},
		"meta has what the night found":                   {"2026-11-02", findings, "3"},
		"a view that reads a view":                        {"2026-11-01", "SELECT string_agg(name, ',') AS v FROM mart.outer_names", "OLD,GONE,SAME"},
		"macro with an earlier time":                      {"2026-11-02", "SELECT count(*) AS v FROM product_listings_at(TIMESTAMP '2026-11-01 12:00:00')", "3"},
		"macro with a later time":                         {"2026-11-01", "SELECT count(*) AS v FROM product_listings_at(TIMESTAMP '2026-11-03 12:00:00')", "3"},
		"macro of all changes":                            {"2026-11-02", "SELECT string_agg(key || ' ' || kind, ',' ORDER BY key) AS v FROM changes(TIMESTAMPTZ '2026-11-01 12:00:00Z', TIMESTAMPTZ 'infinity')", "a changed,c new,d changed"},
		"macro of the changes of a table":                 {"2026-11-02", "SELECT count(*) AS v FROM product_listings_changes(TIMESTAMPTZ '2026-11-01 12:00:00Z', TIMESTAMPTZ 'infinity')", "3"},
		"the type of unit_amount":                         {"2026-11-01", "SELECT typeof(unit_amount) AS v FROM product_listing_prices", "DECIMAL(18,6)"},
	} {
		if opened[c.when] == nil {
			opened[c.when] = openAsOf(t, path, c.when)
		}
		t.Run(name, func(t *testing.T) {
			got, err := runQuery(t, opened[c.when], query.Text(c.sql), nil, query.Markdown, query.Screen{})
			if want := "| " + c.want + " |\n"; err != nil || !strings.HasSuffix(got, want) {
				t.Errorf("%s as of %s: got %q, %v, want %q", c.sql, c.when, got, err, want)
			}
		})
	}
}

func TestAsOfRejectsUnknownSnapshots(t *testing.T) {
	harness.Slow(t)
	path := createNightsCatalog(t, `
INSERT INTO meta.runs (run_id, snapshot_at) VALUES
	('a', '2026-10-29 02:00:00+00'), ('b', '2026-10-30 02:00:00+00'), ('c', '2026-10-31 02:00:00+00');`)
	for when, want := range map[string]string{
		"2026-10-28": `"2026-10-28" is before the first snapshot, a of 2026-10-29T02:00:00Z: name a later time`,
		"20261031T020000Z": `run "20261031T020000Z" is not in the catalog; the newest runs are ` +
			"20261103T020000Z, 20261102T020000Z, 20261101T020000Z, c, b",
		"yesterday": `"yesterday" is not a time such as 2026-11-01T02:00:00Z, a date such as 2026-11-01 or the id of a run`,
	} {
		_, err := query.Open(t.Context(), path, query.Options{AsOf: when})
		var usage *query.UsageError
		if !errors.As(err, &usage) || usage.Problem != want {
			t.Errorf("as of %s: got %v, want %q", when, err, want)
		}
	}
	_, err := query.Open(t.Context(), createCatalog(t, ""), query.Options{AsOf: "2026-11-01"})
	var usage *query.UsageError
	if !errors.As(err, &usage) {
		t.Errorf("a catalog without snapshots: got %v, want a usage error", err)
	}
}

// TestAsOfNamesAViewThatCannotBeCreated reads an earlier snapshot of a catalog with a view of a table that it lacks.
func TestAsOfNamesAViewThatCannotBeCreated(t *testing.T) {
	harness.Slow(t)
	path := createNightsCatalog(t, "CREATE TABLE main.short (a INTEGER); CREATE VIEW mart.broken AS SELECT a FROM main.short; DROP TABLE main.short;")
	db, err := query.Open(t.Context(), path, query.Options{AsOf: "2026-11-02"})
	if err == nil {
		err = db.Close()
		t.Errorf("the snapshot was opened without the view mart.broken (%v)", err)
	} else if !strings.Contains(err.Error(), "create the views of the snapshot 20261102T020000Z") {
		t.Errorf("got %v, want that the views cannot be created", err)
	}
}

func TestUnsafeReadsFilesButCannotWriteTheCatalog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "more.csv")
	if err := os.WriteFile(file, []byte("id\np1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := query.Open(t.Context(), createCatalog(t, oneListing), query.Options{Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := runQuery(t, db, query.Text("SELECT country FROM product_listings JOIN '"+file+"' USING (id)"), nil, query.JSONL, query.Screen{})
	if diff := cmp.Diff("{\"country\":\"DE\"}\n", got); err != nil || diff != "" {
		t.Errorf("join with a CSV file: %v (-want +got):\n%s", err, diff)
	}
	statements := "CREATE TEMP TABLE t AS SELECT range AS n FROM range(3); SELECT 'lost'; SELECT sum(n) AS total FROM t; -- end"
	if got, err := runQuery(t, db, query.Text(statements), nil, query.JSONL, query.Screen{}); err != nil || got != "{\"total\":3}\n" {
		t.Errorf("several statements: got %q, %v, want the result of the last statement", got, err)
	}
	var refused *query.RefusedError
	if _, err := runQuery(t, db, query.Text("DELETE FROM product_listings"), nil, query.CSV, query.Screen{}); !errors.As(err, &refused) {
		t.Errorf("DELETE: got %v, want a RefusedError", err)
	}
}
