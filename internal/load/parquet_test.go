package load_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// TestTrialParquetFitsTheLimit writes tables of narrow, wide and long rows. Their row groups must fit
// into the memory limit, and no row may be lost or changed.
func TestTrialParquetFitsTheLimit(t *testing.T) {
	harness.Long(t)
	h := newFixture(t, "product_listings")
	for _, c := range []struct {
		shape, table, key, column string
		value                     string // an SQL expression for column
		rows, maxGroupRows        int64  // maxGroupRows is a multiple of 2,048, the number of rows in a vector
	}{
		{"narrow rows", "product_listing_prices", "product_listing_id", "position", "i", 400_000, 124_928},
		{"wide rows", "product_listings", "id", "name", "'a name of some length'", 200_000, 65_536},
		{"rows of 4 KB", "product_listings", "id", "description", "repeat(md5((i + 1)::VARCHAR), 130)", 100_000, 8_192},
		{"rows of 16 KB", "product_listings", "id", "description", "repeat(md5((i + 1)::VARCHAR), 520)", 20_000, 2_048},
	} {
		t.Run(c.shape, func(t *testing.T) {
			ctx := t.Context()
			d, err := h.w.Begin(ctx, "groups", night.Add(time.Hour))
			harness.Must(t, err)
			defer func() { harness.Must(t, d.Discard()) }()
			table := "main." + sqltext.Quote(c.table)
			const portion = 10_000
			for first := int64(0); first < c.rows; first += portion {
				harness.Must(t, d.Exec(ctx, sqltext.SQL(fmt.Sprintf("INSERT INTO %s BY NAME SELECT md5(i::VARCHAR) AS %s, %s AS %s, now() AS valid_from, i AS row_hash FROM range(%d, %d) r(i)",
					table, c.key, c.value, c.column, first, min(c.rows, first+portion)))))
			}
			harness.Must(t, d.Exec(ctx, "CHECKPOINT"))
			_, err = load.WriteParquet(ctx, d, h.w.Schema.Tables, nil)
			harness.Must(t, err)
			harness.Must(t, d.Exec(ctx, "SET threads = 1"))
			file := sqltext.Literal(filepath.Join(d.Dir, c.table+".parquet"))
			var largestGroup, rows, intact int64
			harness.Must(t, d.DB.QueryRowContext(ctx, "SELECT max(row_group_num_rows) FROM parquet_metadata("+file+")").Scan(&largestGroup))
			harness.Must(t, d.DB.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*), count(DISTINCT i) FILTER (%s = md5(i::VARCHAR) AND %s = %s)
				FROM (SELECT *, row_hash AS i FROM read_parquet(%s))`, c.key, c.column, c.value, file)).Scan(&rows, &intact))
			if largestGroup > c.maxGroupRows || rows != c.rows || intact != c.rows {
				t.Errorf("the largest row group has %d rows, want at most %d; the file has %d rows, %d of them unchanged, want %d", largestGroup, c.maxGroupRows,
					rows, intact, c.rows)
			}
		})
	}
}

// TestFilesNameTheirFields checks that files contain the types and field ids of schema/ and the rows of the catalog.
// JSON is written as text, and a fingerprint as a signed number. The fingerprints include the values at which a signed
// number overflows.
func TestFilesNameTheirFields(t *testing.T) {
	h := newFixture(t, "product_listings")
	_, err := h.run(wholeList(`{"id":"a","row_hash":0,"seq":1},{"id":"b","row_hash":9223372036854775807,"seq":2},
		{"id":"c","row_hash":9223372036854775808,"seq":3},{"id":"d","row_hash":18446744073709551615,"seq":4}`, price("a", 1, "2", 3, 1)), load.Limits{})
	harness.Must(t, err)
	for _, table := range h.w.Schema.Tables {
		types := map[stream.Type]stream.Type{stream.JSON: stream.Text, "UBIGINT": stream.Int64, stream.Instant: "TIMESTAMP WITH TIME ZONE"}
		var want, wantTypes []string
		for _, c := range slices.Concat(h.w.Schema.Definitions[table.Name].Columns, stream.SystemColumns()) {
			want = append(want, fmt.Sprintf("%s %d", c.Name, c.FieldID))
			wantTypes = append(wantTypes, fmt.Sprintf("%s %s", c.Name, cmp.Or(types[c.Type], c.Type)))
		}
		file := sqltext.Literal(h.file(table.Name))
		h.requireRows("SELECT name, field_id FROM parquet_schema("+file+") WHERE num_children IS NULL", want...)
		h.requireRows("SELECT column_name, column_type FROM (DESCRIBE FROM read_parquet("+file+"))", wantTypes...)
	}
	file := sqltext.Literal(h.file("product_listings"))
	h.requireRows("SELECT typeof(row_hash), row_hash FROM read_parquet("+file+") ORDER BY id",
		"BIGINT 0", "BIGINT 9223372036854775807", "BIGINT -9223372036854775808", "BIGINT -1")
	h.requireRows("SELECT count(*) FROM product_listings m JOIN read_parquet("+file+") f ON f.id = m.id AND f.row_hash::BIT = m.row_hash::BIT", "4")
}
