package bench_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// baseline loads the records of a first night with DuckDB alone. It loads NDJSON files into the
// same five tables as the program, and writes these tables as Parquet.
type baseline struct {
	// NDJSON is the folder of the input files, and Dir the folder for the results.
	NDJSON, Dir string
	// Ordered keeps the rows in the order of the files, which is DuckDB's default. Fewer
	// threads can then read and write.
	Ordered bool
}

// listingColumns declares the columns of a listing, so that DuckDB does not have to detect them.
// Values of varying type are JSON.
const listingColumns = `{id: 'VARCHAR', name: 'VARCHAR', description: 'VARCHAR', requirements: 'VARCHAR',
	min_delivery_days: 'BIGINT', max_delivery_days: 'BIGINT', is_featured: 'BOOLEAN', example_links: 'JSON[]',
	created_at: 'TIMESTAMPTZ', outlet_id: 'VARCHAR', outlet_name: 'VARCHAR', website_url: 'VARCHAR', logo: 'VARCHAR',
	city: 'VARCHAR', state: 'VARCHAR', country: 'VARCHAR', is_indexed: 'BOOLEAN', channel_id: 'VARCHAR',
	channel_type: 'VARCHAR', is_do_follow: 'BOOLEAN', domain_authority: 'BIGINT', domain_ranking: 'BIGINT',
	disclaimer: 'JSON', tags: 'JSON[]', placement_type: 'VARCHAR',
	prices: 'STRUCT(unit_amount DECIMAL(18,6), currency VARCHAR, pricing_tier VARCHAR)[]',
	includes: 'STRUCT(channel_type VARCHAR, placement_type VARCHAR)[]'}`

// listNames returns the names of the nested lists of a listing. Items of the first two lists are
// strings or objects. Of an object, only one string is loaded.
func listNames() []string { return []string{"tags", "example_links", "prices", "includes"} }

// statements returns SQL that loads the records with their lists and then copies the lists into
// their own tables. Reading the files twice or storing the raw records in a sixth table would be
// slower.
func (b baseline) statements() []string {
	file := func(name string) string { return "'" + filepath.Join(b.Dir, name) + "'" }
	stringListSQL := `CREATE TABLE product_listing_%[1]s AS SELECT product_listing_id, position,
		CASE json_type(item) WHEN 'OBJECT' THEN item->>'%[2]s' ELSE item->>'$' END AS %[2]s
		FROM (SELECT id AS product_listing_id, generate_subscripts(%[1]s, 1) AS position, unnest(%[1]s) AS item FROM product_listings)`
	objectListSQL := `CREATE TABLE product_listing_%[1]s AS
		SELECT id AS product_listing_id, generate_subscripts(%[1]s, 1) AS position, unnest(%[1]s, recursive := true)
		FROM product_listings`
	statements := []string{
		"SET TimeZone = 'UTC'",
		fmt.Sprintf("SET preserve_insertion_order = %t", b.Ordered),
		"SET temp_directory = " + file("spill"),
		"ATTACH " + file("baseline.duckdb") + " AS baseline (STORAGE_VERSION 'v1.1.0')",
		"USE baseline",
		fmt.Sprintf("CREATE TABLE product_listings AS SELECT * FROM read_json('%s/*.ndjson', format = 'newline_delimited', columns = %s)",
			b.NDJSON, listingColumns),
		fmt.Sprintf(stringListSQL, "tags", "name"), fmt.Sprintf(stringListSQL, "example_links", "url"),
		fmt.Sprintf(objectListSQL, "prices"), fmt.Sprintf(objectListSQL, "includes"),
		"CHECKPOINT",
		fmt.Sprintf("COPY (SELECT * EXCLUDE (%s) FROM product_listings) TO %s (FORMAT parquet, COMPRESSION zstd)",
			strings.Join(listNames(), ", "), file("product_listings.parquet")),
	}
	for _, list := range listNames() {
		statements = append(statements, fmt.Sprintf("COPY product_listing_%s TO %s (FORMAT parquet, COMPRESSION zstd)", list, file(list+".parquet")))
	}
	return statements
}

// run loads the records with DuckDB's default memory and threads.
func (b baseline) run(ctx context.Context) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1) // USE and SET apply only to their connection
	for _, statement := range b.statements() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return db.Close()
}

// measureDuckDB measures the baseline.
func measureDuckDB(t *testing.T, ndjson string, ordered bool) usage {
	t.Helper()
	dir, remove := scratch(t)
	defer remove()
	return measure(t, childCommand(t, "baseline", baseline{ndjson, dir, ordered}))
}

func duckDBVersion(t *testing.T) (version string) {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	must(t, err)
	defer db.Close()
	must(t, db.QueryRowContext(t.Context(), "SELECT version()").Scan(&version))
	return version
}
