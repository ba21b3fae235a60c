package query_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/stream"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// poorNights inserts the snapshots of two nights. The token has no scope for order_details. On the
// second night, the token has no scope for orders and order_items either, outlet_listings failed, and
// campaigns was not proven.
const poorNights = `
INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES
	('20261101T020000Z', '2026-11-01 02:00:00+00', 'complete'), ('20261102T020000Z', '2026-11-02 02:00:00+00', 'partial');
INSERT INTO meta.streams (run_id, stream, grade, reason, age_since) VALUES
	('20261101T020000Z', 'product_listings', 'exact', 'proven', NULL),
	('20261101T020000Z', 'outlet_listings', 'exact', 'proven', NULL),
	('20261101T020000Z', 'campaigns', 'exact', 'proven', NULL),
	('20261101T020000Z', 'orders', 'exact', 'proven', NULL),
	('20261101T020000Z', 'order_details', 'skipped', 'missing scope orders.read', NULL),
	('20261102T020000Z', 'product_listings', 'repaired', 'proven', NULL),
	('20261102T020000Z', 'products', 'bounded', 'proven', '2026-11-01 02:00:00+00'),
	('20261102T020000Z', 'outlet_listings', 'carried_forward', 'GET /outlets answered 500', '2026-11-01 02:00:00+00'),
	('20261102T020000Z', 'campaigns', 'best_effort', 'not proven within 4 passes', NULL),
	('20261102T020000Z', 'orders', 'skipped', 'missing scope orders.lists', NULL),
	('20261102T020000Z', 'order_items', 'skipped', 'missing scope orders.lists', NULL),
	('20261102T020000Z', 'order_details', 'skipped', 'missing scope orders.read', NULL);
INSERT INTO main.product_listings (id, name, valid_from, row_hash) VALUES ('a', 'A', '2026-11-01 02:00:00+00', 1);
`

// openPoorNights opens a catalog with poorNights, without the tables that few tests read.
func openPoorNights(t *testing.T, statements ...string) *query.DB {
	t.Helper()
	empty := fixture.NewEmptyCatalog(t, "product_listings", "outlet_listings", "campaigns", "products", "orders", "order_line_items", "order_items", "articles")
	return openAt(t, empty.Fill(t, poorNights+strings.Join(statements, "")))
}

// describeTables lists the tables of sources, each with its standing.
func describeTables(sources []query.Source) string {
	var tables []string
	for _, s := range sources {
		tables = append(tables, s.Table+" "+string(s.Standing))
	}
	return strings.Join(tables, ", ")
}

func TestSourcesAreTheTablesOfAQuery(t *testing.T) {
	harness.Slow(t)
	path := fillCatalog(t, poorNights)
	newest, earlier := openAt(t, path), openAsOf(t, path, "2026-11-01")
	named, err := query.Resolve("payables_ageing")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q    query.Query
		want string
	}{
		{named, "order_items not read, orders not read"},
		{query.Text("SELECT count(*) FROM orders"), "orders not read"},
		{query.Text(`  -- all of them
			from catalog.main."orders"; `), "orders not read"},
		{query.Text("SELECT * FROM campaigns WHERE false"), "campaigns not proven"},
		{query.Text("FROM products"), "products proven"},
		{query.Text("FROM orders; -- all of them"), "orders not read"},
		{query.Text("SELECT * FROM orders LIMIT 0"), "orders not read"},
		{query.Text("SELECT (SELECT count(*) FROM orders) AS n, l.id FROM product_listings AS l"), "orders not read, product_listings proven"},
		{query.Text(`SELECT id FROM product_listings AS l WHERE EXISTS (SELECT 1 FROM campaigns AS c
			WHERE c.id = l.id AND EXISTS (SELECT 1 FROM order_items AS i WHERE i.id = l.id AND i.order_id = c.id))`),
			"order_items not read, campaigns not proven, product_listings proven"},
		{query.Text("WITH orders AS (SELECT 1 AS n) SELECT * FROM orders"), ""},
		{query.Text("WITH o AS MATERIALIZED (FROM orders) SELECT a.id FROM o AS a JOIN o AS b USING (id)"), "orders not read"},
		{query.Text("FROM mart.payables"), "order_items not read, orders not read"},
		{query.Text("FROM history.outlet_listings"), "outlet_listings carried"},
		{query.Text("FROM past.outlet_listings"), "outlet_listings carried"},
		{query.Text("FROM orders_at(TIMESTAMP '2026-11-01')"), "orders not read"},
		{query.Text("FROM query('FROM orders')"), "orders not read"},
		{query.Text("FROM query_table('orders')"), "orders not read"},
		{query.Text("SELECT 'orders' AS campaigns, name AS orders FROM product_listings"), "product_listings proven"},
		{query.Text("SELECT count(*) FROM product_listings WHERE id = $id"), "product_listings proven"},
		{query.Text("PIVOT product_listings ON name IN ('A', 'B') USING count(*)"), "product_listings proven"},
		{query.Text("SUMMARIZE orders"), "orders not read"},
		{query.Text("FROM orders UNION ALL BY NAME FROM orders"), "orders not read"},
		{query.Text("FROM meta.streams, mart.snapshot"), ""},
		{query.Text("SHOW TABLES"), ""},
		{query.Text("-- the tables\npragma show_tables"), ""},
		{query.Text("DESCRIBE orders; -- end"), ""},
		{query.Text("EXPLAIN FROM orders"), ""},
		{query.Text("SELECT 1"), ""},
	} {
		values := map[string]string{}
		if strings.Contains(c.q.SQL, "$id") {
			values["id"] = "a"
		}
		got, err := newest.Sources(t.Context(), c.q, values)
		if err != nil || describeTables(got) != c.want {
			t.Errorf("%.80s: got %q, %v, want %q", c.q.SQL, describeTables(got), err, c.want)
		}
	}
	for sql, want := range map[string]string{
		"FROM orders": "orders proven", "FROM order_line_items": "order_line_items not proven", "FROM mart.listing_prices": "product_listing_prices proven, product_listings proven",
	} {
		got, err := earlier.Sources(t.Context(), query.Text(sql), nil)
		if err != nil || describeTables(got) != want {
			t.Errorf("%s as of the first night: got %q, %v, want %q", sql, describeTables(got), err, want)
		}
	}
}

// TestSourcesOfRowCounts checks that all tables are sources of the row counts in meta.tables.
func TestSourcesOfRowCounts(t *testing.T) {
	db := openPoorNights(t)
	headline, err := query.Resolve("headline")
	if err != nil {
		t.Fatal(err)
	}
	all, err := db.AllSources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []query.Query{headline, query.Text("SELECT sum(rows) FROM meta.tables")} {
		sources, err := db.Sources(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		described := ", " + describeTables(sources) + ","
		for _, want := range []string{"orders not read", "outlet_listings carried", "campaigns not proven", "product_listings proven"} {
			if !strings.Contains(described, ", "+want+",") {
				t.Errorf("%s: the sources %s lack %q", q.Name, described, want)
			}
		}
		if len(sources) != len(stream.Tables(stream.All())) {
			t.Errorf("%s: got %d sources, want all %d tables", q.Name, len(sources), len(stream.Tables(stream.All())))
		}
		if diff := cmp.Diff(sources, all); diff != "" {
			t.Errorf("%s: the sources of the query and all sources (-query +all):\n%s", q.Name, diff)
		}
	}
}

func TestSourcesDoNotRunTheQuery(t *testing.T) {
	db := openPoorNights(t)
	if _, err := db.Sources(t.Context(), query.Text("PIVOT product_listings ON name USING count(*)"), nil); !errors.Is(err, query.ErrNoPlan) {
		t.Errorf("PIVOT without IN: got %v, want ErrNoPlan", err)
	}
	for _, sql := range []string{"DELETE FROM orders", "SELECT 1; DELETE FROM orders", "COPY orders TO 'x.csv'", "FROM enable_logging()"} {
		_, err := db.Sources(t.Context(), query.Text(sql), nil)
		if refused := (*query.RefusedError)(nil); !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a RefusedError", sql, err)
		}
	}
	if _, err := db.Sources(t.Context(), query.Text("FROM nowhere"), nil); err == nil || !strings.Contains(err.Error(), "nowhere does not exist") {
		t.Errorf("an unknown table: got %v, want DuckDB's error", err)
	}
}

// TestSourcesHaveTheGradesOfTheNewestSnapshot has a newest snapshot whose run id is not the last.
func TestSourcesHaveTheGradesOfTheNewestSnapshot(t *testing.T) {
	db := openAt(t, fillCatalog(t, `INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('r2', '2026-11-01 02:00:00+00'), ('r1', '2026-11-02 02:00:00+00');
INSERT INTO meta.streams (run_id, stream, grade) VALUES ('r2', 'product_listings', 'skipped'), ('r1', 'product_listings', 'exact');`))
	sources, err := db.Sources(t.Context(), query.Text("SELECT id FROM product_listings"), nil)
	if got := describeTables(sources); err != nil || got != "product_listings proven" {
		t.Errorf("got %q (%v), want the grade of the newest snapshot", got, err)
	}
}

func TestSourcesHaveReasonsAndTimes(t *testing.T) {
	db := openPoorNights(t, `
INSERT INTO meta.runs (run_id, snapshot_at) VALUES ('20261103T020000Z', NULL); -- this night is held
INSERT INTO meta.streams (run_id, stream, grade, age_since) VALUES ('20261103T020000Z', 'products', 'bounded', '2026-11-02 02:00:00+00');`)
	q := query.Text("SELECT id FROM outlet_listings UNION ALL SELECT id FROM orders UNION ALL SELECT order_id FROM order_line_items UNION ALL SELECT id FROM campaigns UNION ALL SELECT id FROM articles")
	sources, err := db.Sources(t.Context(), q, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "articles was not read: the snapshot has no grade for this table; order_line_items and orders were not read: missing scope orders.lists; " +
		"outlet_listings is carried since 2026-11-01 02:00 UTC: GET /outlets answered 500; campaigns is not proven: not proven within 4 passes"
	if diff := cmp.Diff(want, query.DescribeSources(sources)); diff != "" {
		t.Errorf("DescribeSources (-want +got):\n%s", diff)
	}
	// An unproven reading proves no rows, and a bounded one proves them at the time of the oldest row. A held night proves none.
	q = query.Text("SELECT id FROM campaigns UNION ALL SELECT id FROM products UNION ALL SELECT id FROM product_listings")
	sources, err = db.Sources(t.Context(), q, nil)
	if err != nil || len(sources) != 3 {
		t.Fatalf("got the sources %+v (%v), want campaigns, products and product_listings", sources, err)
	}
	first, second := time.Date(2026, time.November, 1, 2, 0, 0, 0, time.UTC), time.Date(2026, time.November, 2, 2, 0, 0, 0, time.UTC)
	proven := map[string]time.Time{"campaigns": first, "products": first, "product_listings": second}
	for _, s := range sources {
		if !s.ReadAt.Equal(second) || !s.ProvenAt.Equal(proven[s.Table]) {
			t.Errorf("%s was read at %s and proven at %s, want %s and %s", s.Table, s.ReadAt, s.ProvenAt, second, proven[s.Table])
		}
	}
}

// TestGradesInJSON writes a result with a source, and a result without sources and rows.
func TestGradesInJSON(t *testing.T) {
	db := openPoorNights(t)
	snapshot, err := db.SelectedSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runJSON := func(text string) string {
		q := query.Text(text)
		sources, err := db.Sources(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := query.NewWriter(query.Output{Format: query.JSON, Grades: &query.Grades{Snapshot: snapshot, Sources: sources}}, &out, query.Screen{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Run(t.Context(), q, nil, w); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Errorf("invalid JSON: %s", out.String())
		}
		return out.String()
	}
	const wantJSON = `{"snapshot":{"run_id":"20261102T020000Z","snapshot_at":"2026-11-02T02:00:00Z"},
"grades":[{"table":"outlet_listings","standing":"carried","grade":"carried_forward","stream":"outlet_listings","reason":"GET /outlets answered 500","rows_since":"2026-11-01T02:00:00Z","last_read_at":"2026-11-01T02:00:00Z","last_proven_at":"2026-11-01T02:00:00Z"}],
"rows":[
{"n":0}
]}
`
	if diff := cmp.Diff(wantJSON, runJSON("SELECT count(*) AS n FROM outlet_listings")); diff != "" {
		t.Errorf("graded JSON (-want +got):\n%s", diff)
	}
	empty := runJSON("SELECT 1 WHERE false")
	if !strings.HasSuffix(empty, ",\n\"grades\":[],\n\"rows\":[]}\n") {
		t.Errorf("a result without sources and rows is %q, want empty lists", empty)
	}
}
