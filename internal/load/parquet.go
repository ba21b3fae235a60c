package load

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// rowGroup is the size that scans best and that DuckDB itself uses. While a group
// is written all of it lies in memory, next to what is being sorted; where both do
// not fit, DuckDB writes blocks out and reads them back again and again. Tables
// with many texts come to that within the default memory limit and have smaller
// groups, those with many rows the smallest: docs/ARCHITECTURE.md has what that
// saves, and costs in size.
const (
	rowGroup     = 122_880
	wideRowGroup = 30_720
	longRowGroup = 20_480
	manyTexts    = 10
	manyRows     = 2_000_000
)

// rowGroupOf chooses the size of a table's groups in rows.
func rowGroupOf(ctx context.Context, d *warehouse.Draft, def stream.Definition) (int, error) {
	texts := 0
	for _, c := range def.Columns {
		if c.Type == stream.Text || c.Type == stream.JSON {
			texts++
		}
	}
	if texts < manyTexts {
		return rowGroup, nil
	}
	rows, err := rowsIn(ctx, d, def.Name)
	if rows > manyRows {
		return longRowGroup, err
	}
	return wideRowGroup, err
}

// rowsIn counts the rows of a table of main.
func rowsIn(ctx context.Context, d *warehouse.Draft, table string) (rows int, err error) {
	err = d.DB.QueryRowContext(ctx, "SELECT count(*) FROM main."+warehouse.Quote(table)).Scan(&rows)
	return rows, err
}

// zstdLevel takes a quarter off the time of the default, 3, and makes files one
// percent larger: dictionaries have compressed most of it before.
const zstdLevel = 1

// WriteParquet copies every table of main into the draft's folder, sorted by
// key, and names the files for the manifest. Beside the columns of schema/ a
// file has valid_from and row_hash, so that history can be rebuilt from files
// alone, and says in its metadata which run and which time it is of.
func WriteParquet(ctx context.Context, d *warehouse.Draft, defs map[string]stream.Definition, tables []stream.Table) ([]warehouse.ManifestTable, error) {
	// Each thread of a sort takes memory of its own: one of them is done before
	// two that wait for the disk, in wall time too. Two tables at once need more
	// memory than the 512 MB of the default.
	before, err := setThreads(ctx, d, 1)
	if err != nil {
		return nil, fmt.Errorf("write Parquet: %w", err)
	}
	written := make([]warehouse.ManifestTable, len(tables))
	for i, t := range tables {
		file := t.Name + ".parquet"
		group, err := rowGroupOf(ctx, d, defs[t.Name])
		if err == nil {
			err = d.Exec(ctx, copyTable(d, defs[t.Name], t, group, filepath.Join(d.Dir, file)))
		}
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", file, err)
		}
		written[i] = warehouse.ManifestTable{Name: t.Name, ManifestFileSum: warehouse.ManifestFileSum{File: file}}
	}
	_, err = setThreads(ctx, d, before)
	return written, err
}

// setThreads gives DuckDB a number of threads and returns how many it had. A
// statement always has that of its caller, so that with one each a night's feeds
// keep all cores busy; a second thread in an INSERT leaves a row group begun in
// the midst of the table, and to mend that a later checkpoint writes a quarter of
// the table again.
func setThreads(ctx context.Context, d *warehouse.Draft, threads int) (before int, err error) {
	if err := d.DB.QueryRowContext(ctx, "SELECT current_setting('threads')").Scan(&before); err != nil || before == threads {
		return before, err
	}
	return before, d.Exec(ctx, fmt.Sprintf("SET GLOBAL threads = %d", threads))
}

func copyTable(d *warehouse.Draft, def stream.Definition, t stream.Table, group int, path string) string {
	return fmt.Sprintf(`COPY (SELECT %s, valid_from, row_hash FROM main.%s ORDER BY %s) TO %s
		(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL %d, ROW_GROUP_SIZE %d, KV_METADATA {run_id: %s, snapshot_at: %s, schema_version: %s})`,
		flat(def), warehouse.Quote(t.Name), columns("", t.Key), warehouse.Literal(path), zstdLevel, group,
		warehouse.Literal(d.Run), warehouse.Literal(d.At.Format(time.RFC3339Nano)), warehouse.Literal(warehouse.SchemaVersion()))
}

// flat selects the columns of a table with JSON as plain text: marked as JSON,
// it is binary to polars and a type of its own to pyarrow.
func flat(def stream.Definition) string {
	names := make([]string, len(def.Columns))
	for i, c := range def.Columns {
		names[i] = warehouse.Quote(c.Name)
		if c.Type == stream.JSON {
			names[i] += "::VARCHAR AS " + names[i]
		}
	}
	return strings.Join(names, ", ")
}
