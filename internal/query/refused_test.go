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
)

// Beginnings of RefusedError.Reason.
const (
	noWriting  = "refused to write"
	noFiles    = "refused access to files"
	noSetting  = "refused to change a setting"
	noSeveral  = "refused to run several statements"
	noKind     = "refused this kind of statement"
	noFunction = "refused to call a function"
	noPivot    = "refused a PIVOT"
)

// refusals are statements that do more than read the catalog. DIR is a folder with the file
// x.csv. CATALOG is the file of the catalog, which DuckDB's sandbox allows to overwrite.
var refusals = map[string][]string{
	noWriting: {
		"INSERT INTO product_listings (id) VALUES ('x')", "UPDATE product_listings SET name = 'x'", "DELETE FROM product_listings",
		"TRUNCATE product_listings", "CREATE TABLE t AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE SEQUENCE s",
		"CREATE TYPE e AS ENUM ('a')", "CREATE MACRO m() AS 1", "DROP TABLE product_listings", "ALTER TABLE product_listings ADD COLUMN x INTEGER",
		"COMMENT ON TABLE product_listings IS 'x'", "CREATE TEMP TABLE x AS SELECT 1 AS a", "CREATE TEMP MACRO f() AS TABLE FROM range(1)",
		"MERGE INTO product_listings USING (SELECT 1) ON false WHEN NOT MATCHED THEN INSERT (id) VALUES ('z')",
		"DELETE FROM product_listings RETURNING *", "WITH a AS (SELECT 1) INSERT INTO product_listings (id) FROM a", "EXPLAIN DELETE FROM product_listings",
	},
	noSeveral: {
		"SELECT 1; DELETE FROM product_listings", "DELETE FROM product_listings; SELECT 1", "SELECT 1; SELECT 2", "USE memory; DELETE FROM catalog.main.product_listings",
		"CREATE TEMP TABLE x AS SELECT 1 AS a; COPY x FROM 'DIR/x.csv'", "CREATE TEMP VIEW v AS FROM read_csv('DIR/x.csv'); FROM v",
		"CREATE TEMP MACRO f() AS TABLE FROM read_csv('DIR/x.csv'); FROM f()", "PREPARE p AS COPY (SELECT 1) TO 'DIR/p.csv'; EXECUTE p",
		"USE memory; DETACH catalog; ATTACH 'CATALOG' AS again; DELETE FROM again.main.product_listings; CHECKPOINT again",
		"COPY FROM DATABASE catalog TO memory", "PRAGMA copy_database('catalog', 'memory')", "BEGIN; SET allow_persistent_secrets = true",
		// DuckDB expands a PIVOT to several statements.
		"PIVOT product_listings ON name USING count(*); SELECT 1", "SELECT 1; PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
		"PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b); COPY (SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)",
		"EXPLAIN PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b); COPY (SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)",
		"CREATE TEMP TABLE x AS PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)", "EXPLAIN ANALYZE PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
	},
	noKind: {
		"CALL enable_logging(level='trace', storage='file', storage_path='DIR/log')", "CALL pragma_version()", "CHECKPOINT", "FORCE CHECKPOINT",
		"PREPARE p AS SELECT 1", "BEGIN", "COMMIT", "VACUUM", "ANALYZE", "EXPLAIN ANALYZE CHECKPOINT",
		"/* /* */ EXPLAIN SELECT 1 -- */ EXPLAIN ANALYZE SELECT 1", "--\rEXPLAIN ANALYZE SELECT 1 /*\nEXPLAIN SELECT 1 --*/",
	},
	noFunction: {
		"FROM enable_logging(level='trace', storage='file', storage_path='DIR/log')", "SELECT * FROM system.main.\"Enable_Logging\"(storage='stdout')",
		"EXPLAIN ANALYZE FROM enable_logging()", "FROM query('FROM enable' || '_logging()')", "FROM enable_profiling(format='json', save_location='DIR/profile.json')",
		"WITH a AS MATERIALIZED (FROM disable_logging()) SELECT 1 FROM range(3) WHERE range IN (FROM force_checkpoint()) OR EXISTS (FROM a, a AS b)",
		"FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_logging()'))", "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
		"FROM checkpoint()", "FROM truncate_duckdb_logs()", "FROM enable_peg_parser()", "FROM disable_peg_parser()", "FROM disable_profiling()",
		"SELECT (SELECT count(*) FROM enable_logging()) AS n", "SUMMARIZE FROM enable_logging()", "VALUES ((SELECT count(*) FROM disable_logging()))",
		"PIVOT (SELECT 1 AS a, 2 AS b FROM enable_logging()) ON a IN (1) USING sum(b)",
		// The optimizer may remove a call from the plan that runs nevertheless.
		"FROM enable_logging(storage='file', storage_path='DIR/log') WHERE txid_current() = 12", "FROM checkpoint /* a */ () WHERE txid_current() = 12",
		"FROM query(CASE WHEN random() < 0.5 THEN 'FROM checkpoint()' ELSE 'SELECT 1' END)", "FROM query('FROM ' || 'checkpoint()')", "FROM query(E'SELECT 1')",
		"FROM query('FROM query(''FROM checkpoint()'')')", "FROM \"query\"('SELECT 1' || '')",
	},
	"refused a text with a NUL": {"SELECT 1 AS a\x00; COPY product_listings TO 'DIR/x.csv'"},
	noPivot: {
		"PIVOT (SELECT 1 AS a, 2 AS b FROM enable_logging()) ON a USING sum(b)", "FROM (PIVOT (SELECT 1 AS a, 2 AS b FROM query('FROM checkpoint()')) ON a USING sum(b))",
	},
	noFiles: {
		// Reading.
		"SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('DIR/x.csv')", "SELECT * FROM read_text(['DIR/x.csv'])",
		"SELECT * FROM read_blob('DIR/x.csv')", "SELECT * FROM read_json('DIR/x.csv')", "SELECT * FROM read_ndjson_objects('DIR/x.csv')",
		"SELECT * FROM parquet_scan('DIR/x.csv')", "SELECT * FROM parquet_metadata('DIR/x.csv')", "SELECT * FROM sniff_csv('DIR/x.csv')",
		"FROM 'DIR/x.csv'", "FROM query('SELECT * FROM read_csv(''DIR/x.csv'')')", "FROM query_table('DIR/x.csv')",
		"SELECT * FROM glob('DIR/*')", "SELECT * FROM read_text('/proc/self/environ')", "SELECT * FROM read_csv('/dev/stdin')",
		"COPY product_listings FROM 'DIR/x.csv'", "CREATE TEMP VIEW v AS FROM read_csv('DIR/x.csv')", "PIVOT read_csv('DIR/x.csv') ON a USING count(*)",
		"IMPORT DATABASE 'DIR'", "PRAGMA import_database('DIR')", "SELECT * FROM read_csv('https://example.com/x.csv')",
		// Writing.
		"COPY (SELECT 1) TO 'DIR/out.csv'", "COPY (SELECT 1) TO '/dev/stdout'", "COPY (SELECT 1) TO 's3://bucket/x'",
		"EXPORT DATABASE 'DIR/all'", "EXPORT DATABASE 'DIR/all' (FORMAT parquet)",
		"COPY (SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)", "COPY (SELECT 1) TO 'CATALOG.wal'", "COPY (SELECT 1) TO 'CATALOG.wal.recovery'",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)", "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO 'CATALOG.wal'",
		"DETACH catalog", "DETACH memory", "ATTACH 'CATALOG' AS again",
		"ATTACH 'DIR/new.duckdb'", "ATTACH 'https://example.com/x.duckdb'", "ATTACH IF NOT EXISTS 'CATALOG' AS again (READ_WRITE)",
		// Extensions.
		"INSTALL httpfs", "INSTALL x FROM community", "FORCE INSTALL json", "LOAD httpfs", "LOAD 'DIR/x.duckdb_extension'", "UPDATE EXTENSIONS",
	},
	noSetting: {
		"SET enable_external_access = true", "SET GLOBAL memory_limit = '100GB'", "PRAGMA memory_limit = '100GB'", "SET SESSION threads = 9",
		"SET lock_configuration = false", "RESET enable_external_access", "RESET lock_configuration", "SET allowed_paths = ['/etc/passwd']",
		"SET allowed_directories = ['/']", "SET disabled_filesystems = ''", "SET home_directory = 'DIR'", "PRAGMA extension_directory = 'DIR'",
		"SET profile_output = 'DIR/profile'", "PRAGMA profiling_output = 'DIR/profile'", "SET enable_logging = true", "SET TimeZone = 'Asia/Tokyo'",
		"SET temp_directory = 'DIR'", "SET allow_persistent_secrets = true", "USE memory", "SET VARIABLE a = 1", "PRAGMA enable_profiling", "PRAGMA enable_verification",
	},
}

// hidden are texts with a second statement after an ambiguous end of a literal or comment.
var hidden = []string{
	"SELECT 1;%s", "/* a /* b */ c */ %s", "-- a\n%s", "-- a\r%s", `SELECT E'a\''; %s --'`, `SELECT 'a\'; %s --'`, `SELECT e'\\'; %s`,
	"SELECT $$'$$; %s --'", "SELECT $a$ $$ ' $a$; %s --'", "SELECT 1 AS a$$b; %s --$$", `SELECT 1 AS "'"; %s --'`, "SELECT 'it''s'; %s",
	"\u00a0%s", "\ufeff%s", "((SELECT 1)); %s", "EXPLAIN %s", "SELECT $ü$'$ü$; %s --'",
	"SELECT VARCHAR\u00a0$$'$$; %s --'", "SELECT 1 AS a\U0001f600$$; %s; SELECT 1 AS b\U0001f600$$",
	"SELECT 1\u00a0AS\u00a0E'a\\''; %s --'", "SELECT \"a\"\"\"; %s --\"",
	"SELECT /*/ */ 1; %s", "/**/%s/**/", "SELECT 'a' -- '\n; %s", "SELECT 1\x0b;\x0c%s",
}

// unread are similar texts in which DuckDB finds no second statement.
var unread = []string{
	`SELECT 1e1e'a\''; %s --'`, "SELECT $a\u00a0b$; %s; SELECT $a\u00a0b$", "SELECT 0xa$$'$$; %s --'", "SELECT 1_0$$'$$; %s --'",
	"SELECT '%s", "/* %s", "SELECT $$; %s", "SELECT 1;\x00 %s", "SELECT * FROM (SELECT 1); %s)", "PREPARE p AS ATTACH 'CATALOG' AS again; %s",
}

func TestQueryOnlyReads(t *testing.T) {
	path, outside := nights(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.csv"), []byte("a\nroot:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := checksums(t, filepath.Dir(path), outside)
	words := strings.NewReplacer("DIR", outside, "CATALOG", path)
	db := openAt(t, path)
	for reason, texts := range refusals {
		for _, text := range texts {
			requireRefused(t, db, words.Replace(text), reason)
		}
	}
	const worst = "cOpY/**/(SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)"
	for _, text := range hidden {
		requireRefused(t, db, words.Replace(strings.Replace(text, "%s", worst, 1)), "refused ")
	}
	for _, text := range unread {
		if got, err := runQuery(t, db, query.Text(words.Replace(strings.Replace(text, "%s", worst, 1))), nil, query.CSV, query.Screen{}); err == nil {
			t.Logf("%q returned %q", text, got)
		}
	}
	for _, text := range []string{"SELECT getenv('HOME')", "CREATE PERSISTENT SECRET s (TYPE http)", "FROM 'file:///etc/passwd'"} {
		if got, err := runQuery(t, db, query.Text(text), nil, query.CSV, query.Screen{}); err == nil {
			t.Errorf("%s: got %q, want an error", text, got)
		}
	}
	if diff := cmp.Diff(before, checksums(t, filepath.Dir(path), outside)); diff != "" {
		t.Errorf("files on disk changed (-before +after):\n%s", diff)
	}
}

// TestAsOfOnlyReads tests a catalog whose views of an earlier snapshot are in memory.
func TestAsOfOnlyReads(t *testing.T) {
	path, outside := nights(t), t.TempDir()
	before := checksums(t, filepath.Dir(path), outside)
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
		requireRefused(t, openAsOf(t, path, "2026-11-01"), text, reason)
	}
	if diff := cmp.Diff(before, checksums(t, filepath.Dir(path), outside)); diff != "" {
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

// checksums returns the SHA-256 of the files in folders.
func checksums(t *testing.T, dirs ...string) map[string][32]byte {
	t.Helper()
	found := map[string][32]byte{}
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
			found[file] = sha256.Sum256(data)
		}
	}
	return found
}

func TestReadingStatementsRun(t *testing.T) {
	db := open(t, oneListing)
	for _, text := range []string{
		"SELECT 'COPY; ATTACH ''x''' AS copy", `SELECT 1 AS load, 2 AS "attach"`, "SELECT $$; COPY x TO 'y'$$ AS a", "SELECT 1 -- ; COPY",
		"SELECT /* ; ATTACH 'x' */ 1", "EXPLAIN SELECT 1", "WITH copy AS (SELECT 1) FROM copy", `SELECT 'back\slash' AS a`, `SELECT E'it\'s' AS a`,
		"SELECT DATE'2026-11-01' AS a", "EXPLAIN SELECT 1 AS load_date", "SELECT 'größe' AS größe", "SELECT 1.5e3 AS a, $$it's$$ AS b",
		"SELECT 1;", "SELECT 1 ; \n", ";SELECT 1;; -- end", "VALUES (1), (2)", "TABLE product_listings", "(SELECT 1)",
		"EXPLAIN ANALYZE SELECT 1", "EXPLAIN/**/SELECT 1", "/* a */ EXPLAIN SELECT 1", "-- a\r\nEXPLAIN(FORMAT json) SELECT 1", ";EXPLAIN /* a */ ANALYZE SELECT 1", ";SELECT 1 AS query", "explain (analyze, format json) SELECT 1", "EXPLAIN (FORMAT graphviz) FROM product_listings", "EXPLAIN\n(ANALYZE) SELECT 1",
		"UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b", "SHOW ALL TABLES", "SHOW DATABASES", "PRAGMA show_tables", "PRAGMA table_info('product_listings')",
		// Names of refused functions as other words.
		`SELECT 'checkpoint' AS query, "query" FROM (SELECT 1 AS "query")`, "FROM query('SELECT 42 AS a')", "FROM query_table('product_listings')",
		"SELECT function_name FROM duckdb_functions() WHERE function_name = 'enable_logging'",
		// PIVOT with and without values.
		"PIVOT (SELECT 1 AS a, 2 AS b) ON a IN (1) USING sum(b)", "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b);", "FROM (PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b))",
		"WITH p AS (PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)) FROM p -- COPY",
	} {
		if got, err := runQuery(t, db, query.Text(text), nil, query.JSONL, query.Screen{}); err != nil || got == "" {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}

// allowed lists the functions of DuckDB that a query may call although they read more than
// their arguments. The sandbox refuses those that open files.
const allowed = `
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

var actingName = regexp.MustCompile(`(?i)[a-z]+_(?:logging|profiling|peg_parser)|(?:force_)?checkpoint|truncate_duckdb_logs|json_execute_serialized_sql`)

// TestFunctionsAreAllowedOrRefused fails when an update of DuckDB adds a function. Refuse it in
// statements.go, or add it to allowed.
func TestFunctionsAreAllowedOrRefused(t *testing.T) {
	text := `SELECT DISTINCT function_name FROM duckdb_functions()
		WHERE function_type IN ('table', 'table_macro') AND database_name = 'system' OR has_side_effects ORDER BY ALL`
	got, err := runQuery(t, open(t, ""), query.Text(text), nil, query.CSV, query.Screen{})
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields(allowed)
	for _, text := range refusals[noFunction] {
		for _, name := range actingName.FindAllString(text, -1) {
			known = append(known, strings.ToLower(name))
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(slices.Compact(known), strings.Fields(got)[1:]); diff != "" {
		t.Errorf("functions (-known +DuckDB's):\n%s", diff)
	}
}
