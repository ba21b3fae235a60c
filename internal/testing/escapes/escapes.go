// Package escapes contains SQL that tries to do more than read a catalog. The tests of all packages
// that run SQL of users use this package. It must not import those packages.
package escapes

// RefusedStatements returns statements that must be refused. The keys of the map are the first words of the expected
// errors. The caller replaces DIR in a statement by a folder with the file x.csv, and CATALOG by the file of the
// catalog. DuckDB's own sandbox would let some statements overwrite the catalog.
func RefusedStatements() map[string][]string {
	return map[string][]string{
		"the SQL is refused: it writes": {
			"INSERT INTO product_listings (id) VALUES ('x')", "UPDATE product_listings SET name = 'x'", "DELETE FROM product_listings",
			"TRUNCATE product_listings", "CREATE TABLE t AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE SEQUENCE s",
			"CREATE TYPE e AS ENUM ('a')", "CREATE MACRO m() AS 1", "DROP TABLE product_listings", "ALTER TABLE product_listings ADD COLUMN x INTEGER",
			"COMMENT ON TABLE product_listings IS 'x'", "CREATE TEMP TABLE x AS SELECT 1 AS a", "CREATE TEMP MACRO f() AS TABLE FROM range(1)",
			"MERGE INTO product_listings USING (SELECT 1) ON false WHEN NOT MATCHED THEN INSERT (id) VALUES ('z')",
			"DELETE FROM product_listings RETURNING *", "WITH a AS (SELECT 1) INSERT INTO product_listings (id) FROM a", "EXPLAIN DELETE FROM product_listings",
		},
		"the SQL is refused: it contains several statements": {
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
		"the SQL is refused: this kind of statement": {
			"CALL enable_logging(level='trace', storage='file', storage_path='DIR/log')", "CALL pragma_version()", "CHECKPOINT", "FORCE CHECKPOINT",
			"PREPARE p AS SELECT 1", "BEGIN", "COMMIT", "VACUUM", "ANALYZE", "EXPLAIN ANALYZE CHECKPOINT",
			"/* /* */ EXPLAIN SELECT 1 -- */ EXPLAIN ANALYZE SELECT 1", "--\rEXPLAIN ANALYZE SELECT 1 /*\nEXPLAIN SELECT 1 --*/",
		},
		"the SQL is refused: it calls a function": {
			"FROM enable_logging(level='trace', storage='file', storage_path='DIR/log')", "SELECT * FROM system.main.\"Enable_Logging\"(storage='stdout')",
			"EXPLAIN ANALYZE FROM enable_logging()", "FROM query('FROM enable' || '_logging()')", "FROM enable_profiling(format='json', save_location='DIR/profile.json')",
			"WITH a AS MATERIALIZED (FROM disable_logging()) SELECT 1 FROM range(3) WHERE range IN (FROM force_checkpoint()) OR EXISTS (FROM a, a AS b)",
			"FROM json_execute_serialized_sql(json_serialize_sql('FROM enable_logging()'))", "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
			"FROM checkpoint()", "FROM truncate_duckdb_logs()", "FROM enable_peg_parser()", "FROM disable_peg_parser()", "FROM disable_profiling()",
			"SELECT (SELECT count(*) FROM enable_logging()) AS n", "SUMMARIZE FROM enable_logging()", "VALUES ((SELECT count(*) FROM disable_logging()))",
			"PIVOT (SELECT 1 AS a, 2 AS b FROM enable_logging()) ON a IN (1) USING sum(b)",
			// DuckDB calls these functions before the optimizer may remove them from the plan.
			"FROM enable_logging(storage='file', storage_path='DIR/log') WHERE txid_current() = 12", "FROM checkpoint /* a */ () WHERE txid_current() = 12",
			"FROM query(CASE WHEN random() < 0.5 THEN 'FROM checkpoint()' ELSE 'SELECT 1' END)", "FROM query('FROM ' || 'checkpoint()')", "FROM query(E'SELECT 1')",
			"FROM query('FROM query(''FROM checkpoint()'')')", "FROM \"query\"('SELECT 1' || '')",
		},
		"the SQL is refused: it contains a NUL": {"SELECT 1 AS a\x00; COPY product_listings TO 'DIR/x.csv'"},
		"the SQL is refused: its PIVOT": {
			"PIVOT (SELECT 1 AS a, 2 AS b FROM enable_logging()) ON a USING sum(b)", "FROM (PIVOT (SELECT 1 AS a, 2 AS b FROM query('FROM checkpoint()')) ON a USING sum(b))",
		},
		"the SQL is refused: it uses files": {
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
		"the SQL is refused: it changes a setting": {
			"SET enable_external_access = true", "SET GLOBAL memory_limit = '100GB'", "PRAGMA memory_limit = '100GB'", "SET SESSION threads = 9",
			"SET lock_configuration = false", "RESET enable_external_access", "RESET lock_configuration", "SET allowed_paths = ['/etc/passwd']",
			"SET allowed_directories = ['/']", "SET disabled_filesystems = ''", "SET home_directory = 'DIR'", "PRAGMA extension_directory = 'DIR'",
			"SET profile_output = 'DIR/profile'", "PRAGMA profiling_output = 'DIR/profile'", "SET enable_logging = true", "SET TimeZone = 'Asia/Tokyo'",
			"SET temp_directory = 'DIR'", "SET allow_persistent_secrets = true", "USE memory", "SET VARIABLE a = 1", "PRAGMA enable_profiling", "PRAGMA enable_verification",
		},
	}
}

// TwoStatements returns SQL in which %s is a statement of its own, mostly after the end of a literal
// or comment. A parser that misses this end takes %s for a part of the literal or comment.
func TwoStatements() []string {
	return []string{
		"SELECT 1;%s", "/* a /* b */ c */ %s", "-- a\n%s", "-- a\r%s", `SELECT E'a\''; %s --'`, `SELECT 'a\'; %s --'`, `SELECT e'\\'; %s`,
		"SELECT $$'$$; %s --'", "SELECT $a$ $$ ' $a$; %s --'", "SELECT 1 AS a$$b; %s --$$", `SELECT 1 AS "'"; %s --'`, "SELECT 'it''s'; %s",
		"\u00a0%s", "\ufeff%s", "((SELECT 1)); %s", "EXPLAIN %s", "SELECT $ü$'$ü$; %s --'",
		"SELECT VARCHAR\u00a0$$'$$; %s --'", "SELECT 1 AS a\U0001f600$$; %s; SELECT 1 AS b\U0001f600$$",
		"SELECT 1\u00a0AS\u00a0E'a\\''; %s --'", "SELECT \"a\"\"\"; %s --\"",
		"SELECT /*/ */ 1; %s", "/**/%s/**/", "SELECT 'a' -- '\n; %s", "SELECT 1\x0b;\x0c%s",
	}
}

// OneStatement returns similar SQL in which DuckDB does not run %s as a statement.
func OneStatement() []string {
	return []string{
		`SELECT 1e1e'a\''; %s --'`, "SELECT $a\u00a0b$; %s; SELECT $a\u00a0b$", "SELECT 0xa$$'$$; %s --'", "SELECT 1_0$$'$$; %s --'",
		"SELECT '%s", "/* %s", "SELECT $$; %s", "SELECT 1;\x00 %s", "SELECT * FROM (SELECT 1); %s)", "PREPARE p AS ATTACH 'CATALOG' AS again; %s",
	}
}

// OverwriteCatalog is a statement that would overwrite the catalog. It can replace %s.
const OverwriteCatalog = "cOpY/**/(SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)"
