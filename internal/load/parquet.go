package load

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"placementsync/internal/checksum"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

func countTables(ctx context.Context, d *warehouse.Draft, tables ...stream.Table) (map[string]int64, error) {
	counts := make([]sqlText, len(tables))
	for i, t := range tables {
		counts[i] = stageSQL.Render("count_table", values{"name": t.Name, "table": mainTable(t.Name)})
	}
	return queryMap[int64](ctx, d, counts...)
}

const (
	// zstdLevel 1 takes a quarter less time than the default, 3. Files are only one percent
	// larger, because dictionaries already compress most values.
	zstdLevel = 1
	// A thread keeps a row group in memory until the row group is complete. Each thread gets at
	// least threadBytes of memory. A row group can use 1/rowGroupDivisor of the memory of its thread.
	// The remaining memory is for reading and compressing, and for long rows: a row group has at least
	// 2,048 rows.
	threadBytes, rowGroupDivisor = 128_000_000, 8
)

// WriteParquet writes every table of main into the draft's folder and returns the files for
// the manifest. The order of rows is not defined. Besides the columns of schema/, a file has valid_from
// and row_hash, so that history can be rebuilt from files alone. The metadata of a file contain the field
// ids, and the run in which the content last changed. The file of a table without changes is copied from
// the version before, if this is possible.
func WriteParquet(ctx context.Context, d *warehouse.Draft, tables []stream.Table, changes []Change) ([]warehouse.ManifestTable, error) {
	files := make([]warehouse.ManifestTable, len(tables))
	unchanged := map[string]bool{}
	for _, c := range changes {
		unchanged[c.Table] = c.New+c.Changed+c.Gone+c.Replaced == 0
	}
	var tablesToWrite []stream.Table
	for i, t := range tables {
		files[i] = warehouse.ManifestTable{Name: t.Name, FileSum: checksum.FileSum{File: parquetFile(t.Name)}}
		if unchanged[t.Name] {
			isCopied, err := d.CopyUnchanged(t.Name)
			if err != nil {
				return nil, fmt.Errorf("write Parquet: %w", err)
			}
			if isCopied {
				continue
			}
		}
		tablesToWrite = append(tablesToWrite, t)
	}
	if err := writeTables(ctx, d, tablesToWrite); err != nil {
		return nil, fmt.Errorf("write Parquet: %w", err)
	}
	return files, nil
}

// writeTables writes one table after the other. The memory limit bounds the number of threads.
// Writing two tables at a time, with one thread each, would not be faster.
func writeTables(ctx context.Context, d *warehouse.Draft, tables []stream.Table) error {
	var limit int64 // in bytes
	if err := queryRow(ctx, d, filesSQL.Render("memory_limit", nil)).Scan(&limit); err != nil {
		return err
	}
	threads := int(max(1, min(int64(d.Threads()), limit/threadBytes)))
	if err := setThreads(ctx, d, threads); err != nil {
		return err
	}
	for _, t := range tables {
		if err := d.Exec(ctx, writeTableSQL(d, d.Schema.Definitions[t.Name], limit/int64(threads)/rowGroupDivisor)); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return setThreads(ctx, d, d.Threads())
}

func parquetFile(table string) string { return table + ".parquet" }

// writeTableSQL returns SQL that writes a table into its file. JSON is written as text: for a JSON column,
// polars would return binary values, and pyarrow an extension type.
func writeTableSQL(d *warehouse.Draft, def stream.Definition, groupBytes int64) sqlText {
	columns := sqltext.Join(def.Columns, ", ", func(c stream.Column) sqlText {
		if c.Type == stream.JSON {
			return valueAsText(c)
		}
		return sqlText(sqltext.Quote(c.Name))
	})
	labels := sqltext.Join(d.Labels(), ", ", func(l warehouse.Label) sqlText {
		return sqltext.Fill("{key}: {value}", values{"key": sqlText(l.Key), "value": l.Value})
	})
	return filesSQL.Render("write_table", values{
		"columns": columns, "row_hash": schema.SignedHash(), "table": mainTable(def.Name),
		"ids":  schema.FieldIDs(slices.Concat(def.Columns, stream.SystemColumns())),
		"file": filepath.Join(d.Dir, parquetFile(def.Name)), "level": zstdLevel, "max_bytes": groupBytes, "labels": labels,
	})
}
