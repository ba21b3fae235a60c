package trials

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/checksum"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// RequireIntact compares the files of all versions with their manifests, compares the published catalog with its
// manifest, and reads the Parquet files that parquet/ has for the published day. It returns the published run, or
// "" before the first publish.
func RequireIntact(t *testing.T, dir string) string {
	t.Helper()
	run := PublishedRun(t, dir)
	if run == "" {
		return ""
	}
	versions, err := filepath.Glob(filepath.Join(dir, "versions", "[0-9]*"))
	testharness.Must(t, err)
	for _, version := range versions {
		RequireChecksums(t, version)
	}
	m := ReadManifest(t, filepath.Join(dir, "latest"))
	if m.RunID != run {
		t.Errorf("the manifest of latest has the run %s, want %s", m.RunID, run)
	}
	requireRowCounts(t, dir, m)
	RequireReadable(t, filepath.Join(dir, "parquet", "*", "snapshot_date="+m.SnapshotAt.Format("2006-01-02"), "*.parquet"))
	return run
}

// ReadManifest reads the manifest in the folder of a version.
func ReadManifest(t *testing.T, version string) warehouse.Manifest {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(version, "manifest.json"))
	testharness.Must(t, err)
	var m warehouse.Manifest
	testharness.Must(t, json.Unmarshal(data, &m))
	return m
}

// RequireChecksums compares the files of a version with the checksums in its manifest.
func RequireChecksums(t *testing.T, version string) {
	t.Helper()
	m := ReadManifest(t, version)
	files := []checksum.FileSum{m.Catalog}
	for _, table := range m.Tables {
		files = append(files, table.FileSum)
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(version, file.File))
		testharness.Must(t, err)
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != file.SHA256 || int64(len(data)) != file.Bytes {
			t.Errorf("%s of version %s differs from its manifest", file.File, m.RunID)
		}
	}
}

// requireRowCounts compares the number of rows of every table, in the catalog and in Parquet, with the manifest.
func requireRowCounts(t *testing.T, dir string, m warehouse.Manifest) {
	t.Helper()
	db := OpenUnmanaged(t, filepath.Join(dir, "catalog.duckdb")+"?access_mode=read_only&threads=1")
	defer db.Close()
	var counts []string
	for _, table := range m.Tables {
		file := filepath.Join(dir, "latest", table.File)
		counts = append(counts, fmt.Sprintf("SELECT '%s', (SELECT count(*) FROM main.%[1]s)::VARCHAR, (SELECT count(*) FROM '%[2]s')::VARCHAR, '%[3]d'",
			table.Name, file, table.Rows))
	}
	for _, row := range Query(t, db, strings.Join(counts, " UNION ALL ")) {
		if want := row[3].String; row[1].String != want || row[2].String != want {
			t.Errorf("%s has %s rows in the catalog and %s in Parquet, want %s", row[0].String, row[1].String, row[2].String, want)
		}
	}
}

// RequireReadable decodes all values of the Parquet files that match a pattern.
func RequireReadable(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	testharness.Must(t, err)
	db := OpenUnmanaged(t, "")
	defer db.Close()
	for _, file := range files {
		Query(t, db, fmt.Sprintf("SELECT max(hash(t))::VARCHAR FROM read_parquet('%s', hive_partitioning = false) t", file))
	}
}

// OpenUnmanaged opens a database that the caller must close. A trial opens too many databases to
// keep them all open until its end.
func OpenUnmanaged(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", dsn)
	testharness.Must(t, err)
	return db
}

// RequireSameMain compares the current rows of two warehouses. It leaves out valid_from.
func RequireSameMain(t *testing.T, want, got string) {
	t.Helper()
	db := attachBoth(t, want, got)
	defer db.Close()
	for _, row := range Query(t, db, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'want' AND schema_name = 'main'") {
		requireSameRows(t, db, "main."+row[0].String, "* EXCLUDE (valid_from)")
	}
}

// RequireSameWarehouse compares the warehouses in two folders. It compares all rows of main and
// past, and the columns of meta that do not depend on the number of tries.
func RequireSameWarehouse(t *testing.T, want, got string) {
	t.Helper()
	db := attachBoth(t, want, got)
	defer db.Close()
	columns := map[string]string{
		"meta.deletions": "*", "meta.details": "*", "meta.tables": "*",
		"meta.rejects": "* EXCLUDE (seq)", "meta.drift": "* EXCLUDE (count, sample)",
		"meta.runs":    "run_id, started_at, snapshot_at, outcome, exit_code, rows, rows_new, rows_changed, rows_gone",
		"meta.streams": "run_id, stream, grade, total_first, total_last, distinct_ids, rows, fetched, carried, rechecked, failed",
	}
	for _, row := range Query(t, db, `SELECT schema_name || '.' || table_name FROM duckdb_tables()
		WHERE database_name = 'want' AND schema_name IN ('main', 'past')`) {
		columns[row[0].String] = "*"
	}
	for table, names := range columns {
		requireSameRows(t, db, table, names)
	}
}

// attachBoth attaches the catalogs of two warehouses as "want" and "got".
func attachBoth(t *testing.T, want, got string) *sql.DB {
	t.Helper()
	db := OpenUnmanaged(t, "")
	for name, dir := range map[string]string{"want": want, "got": got} {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf("ATTACH '%s/catalog.duckdb' AS %s (READ_ONLY)", dir, name))
		testharness.Must(t, err)
	}
	return db
}

// requireSameRows compares a table of the attached databases "want" and "got".
func requireSameRows(t *testing.T, db *sql.DB, table, columns string) {
	t.Helper()
	for _, side := range [][2]string{{"want", "got"}, {"got", "want"}} {
		difference := fmt.Sprintf("SELECT to_json(d)::VARCHAR FROM (SELECT %[1]s FROM %[3]s.%[2]s EXCEPT ALL SELECT %[1]s FROM %[4]s.%[2]s) d LIMIT 3",
			columns, table, side[0], side[1])
		for _, row := range Query(t, db, difference) {
			t.Errorf("%s: only the warehouse %q has %s", table, side[0], row[0].String)
		}
	}
}

// RequireNoTemporaryFiles checks that a warehouse contains no temporary files.
func RequireNoTemporaryFiles(t *testing.T, dir string) {
	t.Helper()
	testharness.Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if entry.IsDir() && filepath.Base(filepath.Dir(path)) == "parquet" && (name == ".manifests" || name == ".meta") {
			return err // these hidden folders are permanent
		}
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "stage.duckdb") || name == "spill" || strings.HasSuffix(name, ".wal") {
			t.Errorf("the temporary file %s exists, want none", path)
		}
		return err
	}))
}

// PublishedRun returns the id of the published run, or "" if there is none.
func PublishedRun(t *testing.T, dir string) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(dir, "latest"))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	testharness.Must(t, err)
	return filepath.Base(target)
}

// WithLock calls an operation while it holds the lock of the warehouse.
func WithLock(cfg pipeline.Config, name string, operate func(w *warehouse.Warehouse) error) error {
	w := warehouse.New(cfg.Warehouse)
	lock, err := w.Lock(name, cfg.Now())
	if err != nil {
		return err
	}
	return errors.Join(operate(w), lock.Release())
}

// SumTree returns the checksum of each file below a folder, and the target of each link, by path. It leaves out files
// whose paths begin with one of the prefixes.
func SumTree(t *testing.T, dir string, excluded ...string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	testharness.Must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, path)
		switch {
		case err != nil || relErr != nil || e.IsDir():
			return errors.Join(err, relErr)
		case e.Type()&fs.ModeSymlink != 0:
			sums[name], err = os.Readlink(path)
			return err
		case slices.ContainsFunc(excluded, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			return nil
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		sums[name] = hex.EncodeToString(sum[:])
		return err
	}))
	return sums
}
