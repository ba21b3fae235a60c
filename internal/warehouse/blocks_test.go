package warehouse_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// blockSize reads the size of blocks from the published catalog. The database header begins at byte
// 4096 of the file, and the size is at byte 40 of the header.
func blockSize(t *testing.T, w *warehouse.Warehouse) uint64 {
	t.Helper()
	data := harness.MustValue(os.ReadFile(w.Folder.CatalogPath()))
	return binary.LittleEndian.Uint64(data[4096+40:])
}

// catalogContent returns lines with the columns, tables, views and macros of the published catalog. One
// line contains the number and a checksum of the rows in history.product_listing_tags.
func catalogContent(t *testing.T, w *warehouse.Warehouse) []string {
	t.Helper()
	db, err := sql.Open("duckdb", w.Folder.CatalogPath()+"?access_mode=READ_ONLY")
	harness.Must(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `
		SELECT concat_ws(' ', schema_name, table_name, column_name, data_type, is_nullable, comment) FROM duckdb_columns() WHERE NOT internal
		UNION ALL SELECT concat_ws(' ', schema_name, table_name, comment) FROM duckdb_tables()
		UNION ALL SELECT concat_ws(' ', schema_name, view_name, comment, sql) FROM duckdb_views() WHERE NOT internal
		UNION ALL SELECT concat_ws(' ', schema_name, function_name, macro_definition) FROM duckdb_functions() WHERE NOT internal
		UNION ALL SELECT concat_ws(' ', count(*), sum(hash(t))) FROM history.product_listing_tags t
		ORDER BY 1`)
	harness.Must(t, err)
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		harness.Must(t, rows.Scan(&line))
		lines = append(lines, line)
	}
	harness.Must(t, rows.Err())
	return lines
}

// addRows adds rows to past.product_listing_tags.
func addRows(t *testing.T, d *warehouse.Draft, rows int) {
	t.Helper()
	harness.Must(t, d.Exec(t.Context(), sqltext.SQL(fmt.Sprintf("INSERT INTO past.product_listing_tags (product_listing_id, position, name, valid_from, row_hash, valid_to, run_id) "+
		"SELECT 'q', i, 'tag', TIMESTAMPTZ '2026-01-01', i, TIMESTAMPTZ '2026-01-02', 'r' FROM range(%d) r(i)", rows))))
}

// withoutRowCount removes the line with the number and the checksum of the rows. Only this line
// begins with a digit.
func withoutRowCount(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return line[0] >= '0' && line[0] <= '9' })
}

func TestBlocksGrowWithTheCatalog(t *testing.T) {
	w := openNights(t, 2, "one")
	if got := blockSize(t, w); got != 16<<10 {
		t.Fatalf("a small catalog has blocks of %d bytes, want 16384", got)
	}
	contentBefore := catalogContent(t, w)

	// If the new file cannot be renamed, readers still see the last night.
	failing := openFailingAt(t, w, "before rename of the draft")
	d := beginDraft(t, failing, "20261102T020000Z", "two")
	if _, err := d.Publish(t.Context(), slices.Clone(tableFiles)); !errors.Is(err, syscall.EIO) {
		t.Errorf("with a disk that fails at the rename: got %v, want EIO", err)
	}
	harness.Must(t, d.Discard())
	if diff := cmp.Diff(contentBefore, catalogContent(t, w)); diff != "" {
		t.Errorf("the published catalog changed (-before +after):\n%s", diff)
	}

	d = beginDraft(t, w, "20261102T020000Z", "two")
	addRows(t, d, 500_001)
	var rows int64
	var sum string
	harness.Must(t, d.DB.QueryRowContext(t.Context(), "SELECT count(*), sum(hash(t))::VARCHAR FROM history.product_listing_tags t").Scan(&rows, &sum))
	m, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: m.RunID, Outcome: ledger.Complete, SnapshotAt: m.SnapshotAt}))
	if got := blockSize(t, w); got != 256<<10 {
		t.Errorf("a catalog of %d rows has blocks of %d bytes, want 262144", rows, got)
	}
	contentAfter := catalogContent(t, w)
	if diff := cmp.Diff(withoutRowCount(contentBefore), withoutRowCount(contentAfter)); diff != "" {
		t.Errorf("tables, views, macros or comments changed (-small +large):\n%s", diff)
	}
	if want := fmt.Sprintf("%d %s", rows, sum); !slices.Contains(contentAfter, want) {
		t.Errorf("the content of the catalog lacks the line %q, the number and checksum of the rows", want)
	}
	// A catalog with large blocks keeps them.
	publish(t, w, "20261104T020000Z", "three")
	if got := blockSize(t, w); got != 256<<10 {
		t.Errorf("the catalog of the next night has blocks of %d bytes, want 262144", got)
	}
	requireNoDamage(t, w)
}

// TestALargeFirstNightIsNotCopied publishes a first night with many rows. DuckDB creates its file with large blocks.
func TestALargeFirstNightIsNotCopied(t *testing.T) {
	w, steps := openRecording(t, open(t))
	d := beginDraft(t, w, firstNight, "one")
	addRows(t, d, 250_000)
	harness.MustValue(d.Publish(t.Context(), slices.Clone(tableFiles)))
	if got := blockSize(t, w); got != 256<<10 || slices.Contains(*steps, "after rename of the draft") {
		t.Errorf("the catalog has blocks of %d bytes, want 262144 in the file that the night wrote; the steps are %q", got, *steps)
	}
}

// TestCatalogOfAnEarlierReleaseGetsSmallBlocks replaces the catalog of a night by a catalog of the same
// rows in the format of DuckDB 1.0, with blocks of the default size. The catalog of the next night must
// have small blocks.
func TestCatalogOfAnEarlierReleaseGetsSmallBlocks(t *testing.T) {
	w := open(t)
	m := publish(t, w, "20261101T020000Z", "one")
	contentBefore := catalogContent(t, w)
	file := filepath.Join(w.Folder.VersionPath(m.RunID), warehouse.CatalogFile)
	oldFile := filepath.Join(t.TempDir(), "old.duckdb")
	db, err := sql.Open("duckdb", "")
	harness.Must(t, err)
	for _, s := range []string{"ATTACH " + sqltext.Literal(file) + " AS small (READ_ONLY)",
		"ATTACH " + sqltext.Literal(oldFile) + " AS old (STORAGE_VERSION 'v1.0.0')", "COPY FROM DATABASE small TO old"} {
		_, err := db.ExecContext(t.Context(), s)
		harness.Must(t, err)
	}
	harness.Must(t, db.Close())
	data := harness.MustValue(os.ReadFile(oldFile))
	harness.Must(t, os.WriteFile(file, data, 0o600))
	m.Catalog = checksum.SumText(warehouse.CatalogFile, data)
	editManifest(t, w, manifestOf(w, m.RunID), func(changed *warehouse.Manifest) { changed.Catalog = m.Catalog })
	if got := blockSize(t, w); got != 256<<10 {
		t.Fatalf("the older file has blocks of %d bytes, want 262144", got)
	}

	next := publish(t, w, "20261102T020000Z", "two")
	if got := blockSize(t, w); got != 16<<10 {
		t.Errorf("the next night has blocks of %d bytes, want 16384", got)
	}
	if next.Catalog.Bytes*3 > m.Catalog.Bytes {
		t.Errorf("the catalog has %d bytes in small blocks, want at most a third of the earlier %d bytes", next.Catalog.Bytes, m.Catalog.Bytes)
	}
	if diff := cmp.Diff(withoutRowCount(contentBefore), withoutRowCount(catalogContent(t, w))); diff != "" {
		t.Errorf("tables, views, macros or comments changed (-before +after):\n%s", diff)
	}
	requireTags(t, w, "one", "two")
}
