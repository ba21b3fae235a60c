package query_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
	"placementsync/internal/testing/escapes"
	"placementsync/internal/testing/harness"
)

// Beginnings of RefusedError.Reason.
const (
	noWriting  = "the SQL is refused: it writes"
	noFiles    = "the SQL is refused: it uses files"
	noSetting  = "the SQL is refused: it changes a setting"
	noSeveral  = "the SQL is refused: it contains several statements"
	noFunction = "the SQL is refused: it calls a function"
)

func TestQueryOnlyReads(t *testing.T) {
	path, outside := createNightsCatalog(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.csv"), []byte("a\nroot:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := fileSums(t, filepath.Dir(path), outside)
	paths := strings.NewReplacer("DIR", outside, "CATALOG", path)
	db := openAt(t, path)
	for reason, texts := range escapes.RefusedStatements() {
		for _, text := range texts {
			requireRefused(t, db, paths.Replace(text), reason)
		}
	}
	for _, text := range escapes.TwoStatements() {
		requireRefused(t, db, paths.Replace(strings.Replace(text, "%s", escapes.OverwriteCatalog, 1)), "the SQL is refused: ")
	}
	// These texts may run or fail, because DuckDB does not see a second statement in them. Only the
	// files are checked.
	for _, text := range escapes.OneStatement() {
		if got, err := runQuery(t, db, query.Text(paths.Replace(strings.Replace(text, "%s", escapes.OverwriteCatalog, 1))), nil, query.CSV, query.Screen{}); err == nil {
			t.Logf("%q returned %q", text, got)
		}
	}
	for _, text := range []string{"SELECT getenv('HOME')", "CREATE PERSISTENT SECRET s (TYPE http)", "FROM 'file:///etc/passwd'"} {
		if got, err := runQuery(t, db, query.Text(text), nil, query.CSV, query.Screen{}); err == nil {
			t.Errorf("%s: got %q, want an error", text, got)
		}
	}
	if diff := cmp.Diff(before, fileSums(t, filepath.Dir(path), outside)); diff != "" {
		t.Errorf("files on disk changed (-before +after):\n%s", diff)
	}
}

// TestAsOfOnlyReads runs statements on an earlier snapshot, whose catalog is in memory.
func TestAsOfOnlyReads(t *testing.T) {
	harness.Slow(t)
	path, outside := createNightsCatalog(t), t.TempDir()
	before := fileSums(t, filepath.Dir(path), outside)
	db := openAsOf(t, path, "2026-11-01")
	for text, reason := range map[string]string{
		"COPY (SELECT 1) TO '" + path + "' (USE_TMP_FILE false)": noFiles,
		"DETACH newest":                            noFiles,
		"ATTACH '" + path + "' AS again":           noFiles,
		"FROM enable_logging(level='trace')":       noFunction,
		"SELECT 1; ATTACH '" + path + "' AS x":     noSeveral,
		"SELECT * FROM read_text('/etc/passwd')":   noFiles,
		"SET enable_external_access = true":        noSetting,
		"DELETE FROM newest.main.product_listings": noWriting,
	} {
		requireRefused(t, db, text, reason)
	}
	if diff := cmp.Diff(before, fileSums(t, filepath.Dir(path), outside)); diff != "" {
		t.Errorf("files on disk changed (-before +after):\n%s", diff)
	}
}

func requireRefused(t *testing.T, db *query.DB, text, reason string) {
	t.Helper()
	got, err := runQuery(t, db, query.Text(text), nil, query.CSV, query.Screen{})
	var refused *query.RefusedError
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, reason) || strings.Contains(got+err.Error(), "root:") {
		t.Errorf("%s: got %q, %v, want a RefusedError with %q", text, got, err, reason)
	}
}

// TestCallsInMacrosAreRefused calls a macro of the catalog that does more than read. Only the plan shows its function.
func TestCallsInMacrosAreRefused(t *testing.T) {
	db := open(t, "CREATE MACRO logs() AS TABLE FROM enable_logging(level='trace')")
	requireRefused(t, db, "SELECT 1 AS query FROM logs()", noFunction)
}

// fileSums returns the SHA-256 of the files in folders.
func fileSums(t *testing.T, dirs ...string) map[string][32]byte {
	t.Helper()
	sums := map[string][32]byte{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sums[file] = sha256.Sum256(data)
		}
	}
	return sums
}

func TestReadOnlyStatementsRun(t *testing.T) {
	db := open(t, oneListing)
	for _, text := range []string{
		"SELECT 'COPY; ATTACH ''x''' AS copy", `SELECT 1 AS load, 2 AS "attach"`, "SELECT $$; COPY x TO 'y'$$ AS a", "SELECT 1 -- ; COPY",
		"SELECT /* ; ATTACH 'x' */ 1", "EXPLAIN SELECT 1", "WITH copy AS (SELECT 1) FROM copy", `SELECT 'back\slash' AS a`, `SELECT E'it\'s' AS a`,
		"SELECT DATE'2026-11-01' AS a", "EXPLAIN SELECT 1 AS load_date", "SELECT 'größe' AS größe", "SELECT 1.5e3 AS a, $$it's$$ AS b",
		"SELECT 1;", "SELECT 1 ; \n", ";SELECT 1;; -- end", "VALUES (1), (2)", "TABLE product_listings", "(SELECT 1)",
		"EXPLAIN ANALYZE SELECT 1", "EXPLAIN/**/SELECT 1", "/* a */ EXPLAIN SELECT 1", "-- a\r\nEXPLAIN(FORMAT json) SELECT 1", ";EXPLAIN /* a */ ANALYZE SELECT 1", ";SELECT 1 AS query", "explain (analyze, format json) SELECT 1", "EXPLAIN (FORMAT graphviz) FROM product_listings", "EXPLAIN\n(ANALYZE) SELECT 1",
		"UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b", "SHOW ALL TABLES", "SHOW DATABASES", "PRAGMA show_tables", "PRAGMA table_info('product_listings')",
		// The function "query", and names of refused functions that are not called.
		`SELECT 'checkpoint' AS query, "query" FROM (SELECT 1 AS "query")`, "FROM query('SELECT 42 AS a')", "FROM query_table('product_listings')",
		"SELECT function_name FROM duckdb_functions() WHERE function_name = 'enable_logging'",
		// PIVOT with and without values.
		"PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (1) USING sum(b)", "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b);", "FROM (PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b))",
		"WITH p AS (PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)) FROM p -- COPY",
	} {
		if got, err := runQuery(t, db, query.Text(text), nil, query.JSONL, query.Screen{}); err != nil || got == "" {
			t.Errorf("%s: got %q, %v, want a result", text, got, err)
		}
	}
}

// allowedFunctions lists the table functions, and the functions with side effects, that this package
// does not refuse. If one of these functions opens a file, DuckDB's sandbox refuses the access.
const allowedFunctions = `
arrow_scan arrow_scan_dumb check_peg_parser current_connection_id current_query current_query_id current_transaction_id
currval duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints duckdb_coordinate_systems
duckdb_databases duckdb_dependencies duckdb_extensions duckdb_external_file_cache duckdb_functions duckdb_indexes
duckdb_keywords duckdb_log_contexts duckdb_logs duckdb_logs_parsed duckdb_memory duckdb_optimizers
duckdb_prepared_statements duckdb_profiling_settings duckdb_schemas duckdb_secret_types duckdb_secrets duckdb_sequences
duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files duckdb_types duckdb_variables duckdb_views error
gen_random_uuid generate_series glob histogram histogram_values icu_calendar_names json_each json_tree nextval
parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan
parquet_schema pg_timezone_names pragma_collations pragma_database_size pragma_metadata_info pragma_platform pragma_show
pragma_storage_info pragma_table_info pragma_user_agent pragma_version query query_table random range read_blob read_csv
read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto
read_ndjson_objects read_parquet read_text repeat repeat_row seq_scan setseed sleep_ms sniff_csv sql_auto_complete stats
summary test_all_types test_vector_types unnest uuid uuidv4 uuidv7 which_secret write_log
`

var sideEffectName = regexp.MustCompile(`(?i)[a-z]+_(?:logging|profiling|peg_parser)|(?:force_)?checkpoint|truncate_duckdb_logs|json_execute_serialized_sql`)

// TestFunctionsAreAllowedOrRefused fails if an update of DuckDB adds a table function or a function
// with side effects. Then refuse the function in statements.go, or add it to allowedFunctions.
func TestFunctionsAreAllowedOrRefused(t *testing.T) {
	text := `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE function_type IN ('table', 'table_macro') AND database_name = 'system' OR has_side_effects ORDER BY ALL`
	got, err := runQuery(t, open(t, ""), query.Text(text), nil, query.CSV, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(allowedFunctions)
	for _, text := range escapes.RefusedStatements()[noFunction] {
		for _, name := range sideEffectName.FindAllString(text, -1) {
			known = append(known, strings.ToLower(name))
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(slices.Compact(known), strings.Fields(got)[1:]); diff != "" {
		t.Errorf("functions (-allowed or refused +in DuckDB):\n%s", diff)
	}
}
