package query_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
)

// What query may not do, as the user is told.
const (
	noWriting = "refuse to write"
	noFiles   = "refuse to touch files"
	noSetting = "refuse to change a setting"
)

// refusals are statements that want more than to read the catalog. DIR is a
// folder with the file x.csv, CATALOG the file of the catalog, which DuckDB
// itself would let SQL write over.
var refusals = map[string][]string{
	noWriting: {
		"INSERT INTO product_listings (id) VALUES ('x')", "UPDATE product_listings SET name = 'x'", "DELETE FROM product_listings",
		"TRUNCATE product_listings", "CREATE TABLE t AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE SEQUENCE s",
		"CREATE TYPE e AS ENUM ('a')", "CREATE MACRO m() AS 1", "DROP TABLE product_listings", "ALTER TABLE product_listings ADD COLUMN x INTEGER",
		"COMMENT ON TABLE product_listings IS 'x'", "USE memory; DELETE FROM catalog.main.product_listings",
		"MERGE INTO product_listings USING (SELECT 1) ON false WHEN NOT MATCHED THEN INSERT (id) VALUES ('z')",
		"SELECT 1; DELETE FROM product_listings", "DELETE FROM product_listings; SELECT 1",
	},
	noFiles: {
		// Reading.
		"SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('DIR/x.csv')", "SELECT * FROM read_text(['DIR/x.csv'])",
		"SELECT * FROM read_blob('DIR/x.csv')", "SELECT * FROM read_json('DIR/x.csv')", "SELECT * FROM read_ndjson_objects('DIR/x.csv')",
		"SELECT * FROM parquet_scan('DIR/x.csv')", "SELECT * FROM parquet_metadata('DIR/x.csv')", "SELECT * FROM sniff_csv('DIR/x.csv')",
		"FROM 'DIR/x.csv'", "FROM query('SELECT * FROM read_csv(''DIR/x.csv'')')", "FROM query_table('DIR/x.csv')",
		"SELECT * FROM glob('DIR/*')", "SELECT * FROM read_text('/proc/self/environ')", "SELECT * FROM read_csv('/dev/stdin')",
		"CREATE TEMP TABLE x AS SELECT 1 AS a; COPY x FROM 'DIR/x.csv'", "COPY product_listings FROM 'DIR/x.csv'",
		"CREATE TEMP VIEW v AS FROM read_csv('DIR/x.csv'); FROM v", "CREATE TEMP MACRO f() AS TABLE FROM read_csv('DIR/x.csv'); FROM f()",
		"IMPORT DATABASE 'DIR'", "PRAGMA import_database('DIR')", "SELECT * FROM read_csv('https://example.com/x.csv')",
		// Writing.
		"COPY (SELECT 1) TO 'DIR/out.csv'", "COPY (SELECT 1) TO '/dev/stdout'", "COPY (SELECT 1) TO 's3://bucket/x'",
		"EXPORT DATABASE 'DIR/all'", "EXPORT DATABASE 'DIR/all' (FORMAT parquet)", "PREPARE p AS COPY (SELECT 1) TO 'DIR/p.csv'; EXECUTE p",
		"COPY (SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)", "COPY (SELECT 1) TO 'CATALOG.wal'", "COPY (SELECT 1) TO 'CATALOG.wal.recovery'",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)", "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO 'CATALOG.wal'",
		"USE memory; DETACH catalog; ATTACH 'CATALOG' AS again; DELETE FROM again.main.product_listings; CHECKPOINT again",
		"ATTACH 'DIR/new.duckdb'", "ATTACH 'https://example.com/x.duckdb'", "ATTACH IF NOT EXISTS 'CATALOG' AS again (READ_WRITE)",
		"PREPARE p AS ATTACH 'CATALOG' AS again; EXECUTE p", "COPY FROM DATABASE catalog TO memory",
		// Extensions.
		"INSTALL httpfs", "INSTALL x FROM community", "FORCE INSTALL json", "LOAD httpfs", "LOAD 'DIR/x.duckdb_extension'", "UPDATE EXTENSIONS",
	},
	noSetting: {
		"SET enable_external_access = true", "SET GLOBAL memory_limit = '100GB'", "PRAGMA memory_limit = '100GB'", "SET SESSION threads = 9",
		"SET lock_configuration = false", "RESET enable_external_access", "RESET lock_configuration", "SET allowed_paths = ['/etc/passwd']",
		"SET allowed_directories = ['/']", "SET disabled_filesystems = ''", "SET home_directory = 'DIR'", "PRAGMA extension_directory = 'DIR'",
		"SET profile_output = 'DIR/profile'", "PRAGMA profiling_output = 'DIR/profile'", "SET enable_logging = true", "SET TimeZone = 'Asia/Tokyo'",
		"SET temp_directory = 'DIR'", "BEGIN; SET allow_persistent_secrets = true",
	},
}

// hidden stand where a text or a comment seems not to have ended yet, or has.
var hidden = []string{
	"SELECT 1;%s", "/* a /* b */ c */ %s", "-- a\n%s", "-- a\r%s", `SELECT E'a\''; %s --'`, `SELECT 'a\'; %s --'`, `SELECT e'\\'; %s`,
	"SELECT $$'$$; %s --'", "SELECT $a$ $$ ' $a$; %s --'", "SELECT 1 AS a$$b; %s --$$", `SELECT 1 AS "'"; %s --'`, "SELECT 'it''s'; %s",
	"\u00a0%s", "\ufeff%s", "((SELECT 1)); %s", "EXPLAIN %s", "SELECT $ü$'$ü$; %s --'", `SELECT 1e1e'a\''; %s --'`,
	"SELECT VARCHAR\u00a0$$'$$; %s --'", "SELECT 1 AS a\U0001f600$$; %s; SELECT 1 AS b\U0001f600$$", "SELECT $a\u00a0b$; %s; SELECT $a\u00a0b$",
	"SELECT 0xa$$'$$; %s --'", "SELECT 1_0$$'$$; %s --'", "SELECT 1\u00a0AS\u00a0E'a\\''; %s --'", "SELECT \"a\"\"\"; %s --\"",
	"SELECT /*/ */ 1; %s", "/**/%s/**/", "SELECT 'a' -- '\n; %s", "SELECT 1\x0b;\x0c%s",
}

func TestQueryDoesNothingButRead(t *testing.T) {
	path, outside := nights(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.csv"), []byte("a\nroot:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := sums(t, filepath.Dir(path), outside)
	words := strings.NewReplacer("DIR", outside, "CATALOG", path)
	db := openAt(t, path)
	for reason, texts := range refusals {
		for _, text := range texts {
			requireRefused(t, db, words.Replace(text), reason)
			// What came before the refused statement stands.
			if strings.Contains(text, "; ") {
				db = openAt(t, path)
			}
		}
	}
	const worst = "cOpY/**/(SELECT 1) TO 'CATALOG' (USE_TMP_FILE false)"
	for _, text := range hidden {
		requireRefused(t, db, words.Replace(strings.Replace(text, "%s", worst, 1)), "refuse to")
	}
	for _, text := range []string{"SELECT getenv('HOME')", "CREATE PERSISTENT SECRET s (TYPE http)", "FROM 'file:///etc/passwd'"} {
		if got, err := answer(t, db, query.Text(text), nil, query.CSV, query.Screen{}); err == nil {
			t.Errorf("%s: answered %q", text, got)
		}
	}
	if diff := cmp.Diff(before, sums(t, filepath.Dir(path), outside)); diff != "" {
		t.Errorf("what lies on the disk changed (-before +after):\n%s", diff)
	}
}

// TestAsOfDoesNothingButRead tries some: the views of a past day are made in
// memory, beside the file.
func TestAsOfDoesNothingButRead(t *testing.T) {
	path, outside := nights(t), t.TempDir()
	before := sums(t, filepath.Dir(path), outside)
	for text, reason := range map[string]string{
		"COPY (SELECT 1) TO '" + path + "' (USE_TMP_FILE false)":                                 noFiles,
		"DETACH newest; ATTACH '" + path + "' AS again":                                          noFiles,
		"SELECT * FROM read_text('/etc/passwd')":                                                 noFiles,
		"SET enable_external_access = true":                                                      noSetting,
		"SELECT database_name FROM duckdb_databases(); DELETE FROM newest.main.product_listings": noWriting,
	} {
		requireRefused(t, openAsOf(t, path, "2026-11-01"), text, reason)
	}
	if diff := cmp.Diff(before, sums(t, filepath.Dir(path), outside)); diff != "" {
		t.Errorf("what lies on the disk changed (-before +after):\n%s", diff)
	}
}

func requireRefused(t *testing.T, db *query.DB, text, reason string) {
	t.Helper()
	got, err := answer(t, db, query.Text(text), nil, query.CSV, query.Screen{})
	var refused *query.RefusedError
	if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, reason) || strings.Contains(got+err.Error(), "root:") {
		t.Errorf("%s: got %q, %v, want a refusal %q", text, got, err, reason)
	}
}

// sums are those of the files in folders.
func sums(t *testing.T, dirs ...string) map[string][32]byte {
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

func TestWordsOfOpeningStatementsAreFreeElsewhere(t *testing.T) {
	db := open(t, oneListing)
	for _, text := range []string{
		"SELECT 'COPY; ATTACH ''x''' AS copy", `SELECT 1 AS load; SELECT 2 AS "attach"`, "SELECT $$; COPY x TO 'y'$$ AS a", "SELECT 1 -- ; COPY",
		"SELECT /* ; ATTACH 'x' */ 1", "EXPLAIN SELECT 1", "WITH copy AS (SELECT 1) FROM copy", `SELECT 'back\slash' AS a`, `SELECT E'it\'s' AS a`,
		"SELECT DATE'2026-11-01' AS a", "EXPLAIN SELECT 1 AS load_date", "SELECT 'größe' AS größe", "SELECT 1.5e3 AS a, $$it's$$ AS b", "CREATE TEMP TABLE export AS SELECT 1; FROM export",
	} {
		if got, err := answer(t, db, query.Text(text), nil, query.JSONL, query.Screen{}); err != nil || got == "" {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
}
