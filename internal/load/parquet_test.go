package load_test

import (
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/warehouse"
)

// TestParquetIsSortedInGroupsThatFit writes tables that came in no order.
func TestParquetIsSortedInGroupsThatFit(t *testing.T) {
	h := newHouse(t, "product_listings")
	for _, c := range []struct {
		what, table, insert string
		group               int64
	}{
		{"narrow", "product_listing_prices", "product_listing_prices (product_listing_id, position, valid_from, row_hash) SELECT md5(i::VARCHAR), 1, now(), i FROM range(130_000) r(i)", 122_880},
		{"wide", "product_listings", "product_listings (id, valid_from, row_hash) SELECT md5(i::VARCHAR), now(), i FROM range(70_000) r(i)", 30_720},
		{"wide and long", "product_listings", "product_listings (id, valid_from, row_hash) SELECT md5(i::VARCHAR), now(), i FROM range(2_000_001) r(i)", 20_480},
	} {
		t.Run(c.what, func(t *testing.T) {
			ctx := t.Context()
			d, err := h.w.Begin(ctx, "groups", night.Add(time.Hour))
			must(t, err)
			defer func() { must(t, d.Discard()) }()
			must(t, d.Exec(ctx, "INSERT INTO main."+c.insert))
			_, err = load.WriteParquet(ctx, d, h.w.Definitions(), h.w.Tables())
			must(t, err)
			file := warehouse.Literal(filepath.Join(d.Dir, c.table+".parquet"))
			key := h.w.Definition(c.table).Columns[0].Name
			var group, rows, stored, unsorted int64
			must(t, d.DB.QueryRowContext(ctx, "SELECT max(row_group_num_rows) FROM parquet_metadata("+file+")").Scan(&group))
			must(t, d.DB.QueryRowContext(ctx, "SELECT count(*) FROM main."+warehouse.Quote(c.table)).Scan(&stored))
			must(t, d.DB.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (key < before) FROM (SELECT `+warehouse.Quote(key)+` AS key,
				lag(key) OVER (ORDER BY file_row_number) AS before FROM read_parquet(`+file+`, file_row_number = true))`).Scan(&rows, &unsorted))
			if group != c.group || rows != stored || unsorted != 0 {
				t.Errorf("groups of %d rows, want %d; %d of %d rows, %d out of order", group, c.group, rows, stored, unsorted)
			}
		})
	}
}
