package query_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/harness"
)

func TestLoadChecksReportsAllMistakes(t *testing.T) {
	dir := writeQueryFiles(t, map[string]string{
		"good.sql":        "-- severity: warn\n-- title: Good\n-- each: table orders\n-- param: most COUNT 3 -- rows\nFROM {table} LIMIT $most",
		"reference.sql":   "-- severity: hold\n-- title: Reference\n-- each: reference\nFROM {target}",
		"no_default.sql":  "-- severity: warn\n-- title: No default\n-- param: most COUNT REQUIRED -- rows\nFROM orders LIMIT $most",
		"no_severity.sql": "-- title: No severity\nFROM orders",
		"severe.sql":      "-- severity: severe\n-- title: Severe\nFROM orders",
		"each.sql":        "-- severity: hold\n-- title: Each\n-- each: row orders\nFROM orders",
		"no_title.sql":    "-- severity: hold\nFROM orders",
		"no_type.sql":     "-- severity: hold\n-- title: No type\n-- each: column\nFROM {table}",
	})
	builtIn, err := query.LoadChecks("")
	if err != nil {
		t.Fatal(err)
	}
	all, err := query.LoadChecks(dir)
	faulty, ok := errors.AsType[*query.FilesError](err)
	if !ok {
		t.Fatalf("got %v, want a FilesError", err)
	}
	want := []string{
		`each.sql:1: "row orders" is not a value of "each": use one of table, reference, column, type, unknown_field, rewritten`,
		`no_default.sql:1: parameter "most" needs a default: a check runs with the defaults of its parameters`,
		"no_severity.sql:1: needs a severity: write -- severity: hold or -- severity: warn",
		"no_title.sql:1: needs a title: begin with -- title: TEXT",
		`no_type.sql:1: "column" needs one type after "column": VARCHAR, BOOLEAN, INTEGER, BIGINT, DECIMAL(18,6), TIMESTAMPTZ, JSON`,
		"severe.sql:1: needs a severity: write -- severity: hold or -- severity: warn",
	}
	got := strings.Split(strings.ReplaceAll(strings.Join(faulty.Problems, "\n"), dir+string(filepath.Separator), ""), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(all.List()) != len(builtIn.List())+2 {
		t.Errorf("got %d checks, want the %d built-in ones and two more", len(all.List()), len(builtIn.List()))
	}
	if q, ok := all.Find("good"); !ok || q.Severity != query.Warn || q.Each != "table orders" {
		t.Errorf("good: got %+v, found %t, want a check of orders that warns", q, ok)
	}
	if _, ok := all.Find("best_value"); ok {
		t.Error("the named query best_value is a check, want only checks")
	}
}

func TestChecksAreExpandedToParts(t *testing.T) {
	harness.Slow(t)
	const forTables, forReferences = "-- title: Rows\nSELECT {name} FROM {table}; \n", "SELECT {name}, {target_name} FROM {table}, {target} WHERE {column} = {target_column}"
	const forColumns, forTypes = "SELECT {column_name}, {column}, {currency}, [{labels}] FROM {table} JOIN USING ({key})", "SELECT [{columns}], [{column_names}] FROM {table} JOIN USING ({key})"
	for name, c := range map[string]struct {
		each, sql       string
		tables, private []string
		want            []string
	}{
		"no each":                      {"", forTables, []string{"orders"}, nil, []string{forTables}},
		"all tables":                   {"table", forTables, []string{"tags", "orders", "nosuch"}, nil, []string{`SELECT 'orders' FROM "orders"`, `SELECT 'tags' FROM "tags"`}},
		"listed tables":                {"table tags products", forTables, []string{"tags", "orders"}, nil, []string{`SELECT 'tags' FROM "tags"`}},
		"no table":                     {"table products", forTables, []string{"tags"}, nil, nil},
		"references to a table":        {"reference", forReferences, []string{"disclaimers"}, nil, []string{`SELECT 'product_listings.disclaimer_id', 'disclaimers.id' FROM "product_listings", "disclaimers" WHERE "disclaimer_id" = "id"`}},
		"references of a nested table": {"reference", forReferences, []string{"outlet_tags"}, nil, []string{`SELECT 'outlet_tags.name', 'tags.name' FROM "outlet_tags", "tags" WHERE "name" = "name"`}},
		"a column of a nested table": {"column DECIMAL(18,6)", forColumns, []string{"product_prices"}, nil,
			[]string{`SELECT 'unit_amount', "unit_amount", currency, [currency, pricing_tier] FROM "product_prices" JOIN USING ("product_id", "position")`}},
		"columns without a currency": {"column BOOLEAN", forColumns, []string{"products"}, nil, []string{
			`SELECT 'is_featured', "is_featured", NULL, [] FROM "products" JOIN USING ("id")`, `SELECT 'active', "active", NULL, [] FROM "products" JOIN USING ("id")`}},
		"columns of one type": {"type", forTypes, []string{"outlet_listing_prices"}, nil,
			[]string{`SELECT ["currency", "pricing_tier"], ['currency', 'pricing_tier'] FROM "outlet_listing_prices" JOIN USING ("outlet_listing_id", "position")`}},
		"from a private column": {"reference", forReferences, []string{"disclaimers"}, []string{"product_listings.disclaimer_id"}, nil},
		"to a private column":   {"reference", forReferences, []string{"disclaimers"}, []string{"disclaimers.id"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			parts := query.Query{Name: "rows", Each: c.each, SQL: c.sql}.Expand(query.ChangedTables{MuchChanged: c.tables}, c.private)
			var got []string
			for _, p := range parts {
				got = append(got, p.SQL)
				if p.Name != "rows" {
					t.Errorf("a part has the name %q, want the name of the check", p.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("SQL of the parts (-want +got):\n%s", diff)
			}
		})
	}
	var references []string
	q := query.Query{Each: query.EachReference, SQL: "{name}"}
	for _, p := range q.Expand(query.ChangedTables{MuchChanged: []string{"campaigns"}}, []string{"campaigns.profile_id"}) {
		references = append(references, p.SQL)
	}
	if !slices.Contains(references, "'campaigns.file_id'") || slices.Contains(references, "'campaigns.profile_id'") {
		t.Errorf("the references %v are checked, want those after a private column too", references)
	}
}

// TestFlagsAreNotExchanged expands a check of exchanged columns for a table with several flags.
func TestFlagsAreNotExchanged(t *testing.T) {
	q := query.Query{SQL: "SELECT {columns}", Each: query.EachType}
	parts := q.Expand(query.ChangedTables{MuchChanged: []string{"order_items"}}, nil)
	for _, part := range parts {
		if strings.Contains(part.SQL, "is_refunded") {
			t.Errorf("two flags that changed count as exchanged: %s", part.SQL)
		}
	}
	if len(parts) == 0 {
		t.Error("the check has no parts")
	}
}

func TestAmountsAreComparedInAllChangedTables(t *testing.T) {
	harness.Slow(t)
	changed := query.ChangedTables{Changed: []string{"orders", "campaigns"}, MuchChanged: []string{"orders"}}
	for each, want := range map[string]int{"table": 1, "column DECIMAL(18,6)": 6, "column BOOLEAN": 1} {
		if got := (query.Query{Each: each, SQL: "FROM {table}"}).Expand(changed, nil); len(got) != want {
			t.Errorf("each: %s: got %d parts, want %d", each, len(got), want)
		}
	}
	texts := query.Query{Each: "column VARCHAR", SQL: "{table}"}
	for _, part := range texts.Expand(changed, nil) {
		if part.SQL != `"orders"` {
			t.Errorf("texts of %s are compared, want only those of much changed tables", part.SQL)
		}
	}
}

func TestPartsOfACheckBecomeOneQuery(t *testing.T) {
	one := query.Text("SELECT 1 AS n -- the first")
	if got := query.UnionParts([]query.Query{one}); got.SQL != one.SQL {
		t.Errorf("the union of one part is %q, want the part", got.SQL)
	}
	both := query.UnionParts([]query.Query{one, query.Text("SELECT 2 ORDER BY 1 LIMIT 1")})
	got, err := runQuery(t, open(t, ""), both, nil, query.JSONL, query.Screen{})
	if want := "{\"n\":1}\n{\"n\":2}\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestChecksOfSomeTables expands checks that are repeated only for tables of the night.
func TestChecksOfSomeTables(t *testing.T) {
	tables := query.ChangedTables{Changed: []string{"orders"}, MuchChanged: []string{"orders"}, WithUnknownFields: []string{"articles"},
		Rewritten: []string{"outlets"}}
	for each, want := range map[string]string{query.EachUnknownField: `SELECT 'articles' FROM "articles"`, query.EachRewritten: `SELECT 'outlets' FROM "outlets"`} {
		parts := query.Query{Name: "rows", Each: each, SQL: "SELECT {name} FROM {table}"}.Expand(tables, nil)
		if len(parts) != 1 || parts[0].SQL != want {
			t.Errorf("each %s: got %+v, want one query %s", each, parts, want)
		}
	}
}

// TestFailedChecks reads the failed checks after a refresh that skipped some checks, after a night that was not
// published, and after a night without checks.
func TestFailedChecks(t *testing.T) {
	const results = `
INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r1', '2026-11-01 02:00:00+00'), ('r2', '2026-11-02 02:00:00+00'), ('r3', '2026-11-03 02:00:00+00'), ('held', NULL);
INSERT INTO meta.checks (run_id, check_name, severity, outcome, rows) VALUES
	('r1', 'skipped later', 'warn', 'failed', 1), ('r2', 'skipped later', 'warn', 'not run', 2), ('r3', 'skipped later', 'warn', 'skipped', 0), ('held', 'skipped later', 'warn', 'failed', 4),
	('r2', 'passed later', 'hold', 'failed', 1), ('r3', 'passed later', 'hold', 'passed', 0),
	('r3', 'the last name', 'hold', 'failed', 3),
	('r2', 'removed', 'hold', 'failed', 1),
	('r3', 'only held', 'hold', 'skipped', 0), ('held', 'only held', 'hold', 'failed', 4);`
	for name, c := range map[string]struct{ statements, want string }{
		"after a refresh":              {results, "the last name,r3,hold,failed,3\r\nskipped later,r2,warn,not run,2\r\n"},
		"after a night without checks": {results + "INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r4', '2026-11-04 02:00:00+00');", ""},
	} {
		q := query.Text("SELECT * EXCLUDE (reason, sample) FROM (" + query.FailedChecksSQL() + ")")
		got, err := runQuery(t, openAt(t, fillCatalog(t, c.statements)), q, nil, query.CSV, query.Screen{})
		if want := "check,run,severity,outcome,rows\r\n" + c.want; err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
		}
	}
}
