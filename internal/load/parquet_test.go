package load_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// TestParquetIsSortedInGroupsThatFit writes tables that came in no order.
func TestParquetIsSortedInGroupsThatFit(t *testing.T) {
	requireTrials(t)
	h := newHouse(t, "product_listings")
	for _, c := range []struct {
		what, table, key, rest string
		rows, group            int64
	}{
		{"narrow", "product_listing_prices", "product_listing_id", ", 1 AS position", 130_000, 122_880},
		{"wide", "product_listings", "id", ", 'a name of some length' AS name", 70_000, 30_720},
		{"wide and long", "product_listings", "id", ", 'a name of some length' AS name", 2_000_001, 20_480},
	} {
		t.Run(c.what, func(t *testing.T) {
			ctx := t.Context()
			d, err := h.w.Begin(ctx, "groups", night.Add(time.Hour))
			must(t, err)
			defer func() { must(t, d.Discard()) }()
			must(t, d.Exec(ctx, fmt.Sprintf("INSERT INTO main.%s BY NAME SELECT md5(i::VARCHAR) AS %s, now() AS valid_from, i AS row_hash%s FROM range(%d) r(i)",
				warehouse.Quote(c.table), warehouse.Quote(c.key), c.rest, c.rows)))
			_, err = load.WriteParquet(ctx, d, h.w.Catalog.Definitions(), h.w.Catalog.Tables(), nil)
			must(t, err)
			file := warehouse.Literal(filepath.Join(d.Dir, c.table+".parquet"))
			var group, rows, unsorted int64
			must(t, d.DB.QueryRowContext(ctx, "SELECT max(row_group_num_rows) FROM parquet_metadata("+file+")").Scan(&group))
			must(t, d.DB.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (key < before) FROM (SELECT `+warehouse.Quote(c.key)+` AS key,
				lag(key) OVER (ORDER BY file_row_number) AS before FROM read_parquet(`+file+`, file_row_number = true))`).Scan(&rows, &unsorted))
			if group != c.group || rows != c.rows || unsorted != 0 {
				t.Errorf("groups of %d rows, want %d; %d of %d rows, %d out of order", group, c.group, rows, c.rows, unsorted)
			}
		})
	}
}

// TestLongRowsAreSortedWithinTheLimit writes texts of which DuckDB's own sort
// would hold more at once than it may.
func TestLongRowsAreSortedWithinTheLimit(t *testing.T) {
	requireTrials(t)
	const rows = 100_000
	h := newHouse(t, "product_listings")
	ctx := t.Context()
	d, err := h.w.Begin(ctx, "long", night.Add(time.Hour))
	must(t, err)
	defer func() { must(t, d.Discard()) }()
	must(t, d.Exec(ctx, fmt.Sprintf(`INSERT INTO main.product_listings BY NAME SELECT md5(i::VARCHAR) AS id, repeat(md5((i + 1)::VARCHAR), 130) AS description,
		i AS min_delivery_days, now() AS valid_from, i AS row_hash FROM range(%d) r(i)`, rows)))
	_, err = load.WriteParquet(ctx, d, h.w.Catalog.Definitions(), h.w.Catalog.Tables(), nil)
	must(t, err)
	file := "read_parquet(" + warehouse.Literal(filepath.Join(d.Dir, "product_listings.parquet")) + ", file_row_number = true)"
	var whole, unsorted int64
	must(t, d.DB.QueryRowContext(ctx, `SELECT count(*) FILTER (id = md5(min_delivery_days::VARCHAR) AND row_hash = min_delivery_days
		AND description = repeat(md5((min_delivery_days + 1)::VARCHAR), 130)) FROM `+file).Scan(&whole))
	must(t, d.DB.QueryRowContext(ctx, `SELECT count(*) FILTER (id <= before)
		FROM (SELECT id, lag(id) OVER (ORDER BY file_row_number) AS before FROM `+file+`)`).Scan(&unsorted))
	if whole != rows || unsorted != 0 {
		t.Errorf("%d rows are as they were, want %d; %d are out of order", whole, rows, unsorted)
	}
	if left, err := filepath.Glob(filepath.Join(d.Dir, "pieces", "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
