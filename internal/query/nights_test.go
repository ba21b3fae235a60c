package query_test

import (
	"strings"
	"testing"

	"placementsync/internal/query"
	"placementsync/internal/testing/fixture"
)

// threeNights inserts snapshots of 1, 2 and 3 November. Listing a is renamed on the 2nd, b is
// deleted on the 3rd, c is created on the 2nd, and d is renamed on the 2nd and back on the 3rd.
const threeNights = `
INSERT INTO meta.runs (run_id, snapshot_at, outcome)
	SELECT strftime(night, '%Y%m%dT%H%M%SZ'), night::TIMESTAMPTZ, 'complete' FROM range(TIMESTAMP '2026-11-01 02:00:00', TIMESTAMP '2026-11-04', INTERVAL 1 DAY) AS t(night);
INSERT INTO meta.streams (run_id, stream, grade) SELECT run_id, 'product_listings', 'exact' FROM meta.runs;
INSERT INTO main.product_listings (id, name, created_at, valid_from, row_hash) VALUES
	('a', 'new "name"', '2026-10-01 00:00:00+00', '2026-11-02 02:00:00+00', 2), ('c', '=c', '2026-11-01 12:00:00.5+00', '2026-11-02 02:00:00+00', 5),
	('d', 'same', NULL, '2026-11-03 02:00:00+00', 6);
INSERT INTO past.product_listings (id, name, created_at, valid_from, row_hash, valid_to, run_id) VALUES
	('a', 'old', '2026-10-01 00:00:00+00', '2026-11-01 02:00:00+00', 1, '2026-11-02 02:00:00+00', '20261102T020000Z'),
	('b', 'gone', NULL, '2026-11-01 02:00:00+00', 3, '2026-11-03 02:00:00+00', '20261103T020000Z'),
	('d', 'same', NULL, '2026-11-01 02:00:00+00', 6, '2026-11-02 02:00:00+00', '20261102T020000Z'),
	('d', 'other', NULL, '2026-11-02 02:00:00+00', 7, '2026-11-03 02:00:00+00', '20261103T020000Z');
INSERT INTO main.product_listing_prices (product_listing_id, position, unit_amount, currency, extra, valid_from, row_hash)
	VALUES ('a', 1, 123456789012.123456, 'USD', '{"x":1.10}', '2026-11-03 02:00:00+00', 2);
INSERT INTO past.product_listing_prices (product_listing_id, position, unit_amount, currency, valid_from, row_hash, valid_to, run_id)
	VALUES ('a', 1, 9.5, 'USD', '2026-11-01 02:00:00+00', 1, '2026-11-03 02:00:00+00', '20261103T020000Z');
CREATE VIEW mart.z_names AS SELECT name FROM product_listings ORDER BY id;
COMMENT ON VIEW mart.z_names IS 'It''s names.';
CREATE VIEW mart.outer_names AS SELECT upper(name) AS name FROM mart.z_names;
`

// fillCatalog creates a catalog with all tables and executes statements in it.
func fillCatalog(t *testing.T, statements string) string {
	t.Helper()
	return fixture.NewEmptyCatalog(t).Fill(t, statements)
}

// createNightsCatalog creates a catalog with the history of threeNights and executes statements in it. The catalog has only two
// tables, because opening an earlier snapshot creates the views and macros of each table.
func createNightsCatalog(t *testing.T, statements ...string) string {
	t.Helper()
	return fixture.NewEmptyCatalog(t, "product_listings", "product_listing_prices").Fill(t, threeNights+strings.Join(statements, ""))
}

func openAsOf(t *testing.T, path, when string) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), path, query.Options{MemoryLimit: "256MB", Threads: 1, AsOf: when})
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
