package load

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

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
	if !isWide(def) {
		return rowGroup, nil
	}
	rows, err := rowsIn(ctx, d, def.Name)
	if rows > manyRows {
		return longRowGroup, err
	}
	return wideRowGroup, err
}

// isWide tells tables with many texts.
func isWide(def stream.Definition) bool {
	texts := 0
	for _, c := range def.Columns {
		if c.Type == stream.Text || c.Type == stream.JSON {
			texts++
		}
	}
	return texts >= manyTexts
}

// rowsIn counts the rows of a table of main.
func rowsIn(ctx context.Context, d *warehouse.Draft, table string) (rows int, err error) {
	err = d.DB.QueryRowContext(ctx, "SELECT count(*) FROM main."+warehouse.Quote(table)).Scan(&rows)
	return rows, err
}

// zstdLevel takes a quarter off the time of the default, 3, and makes files one
// percent larger: dictionaries have compressed most of it before.
const zstdLevel = 1

// WriteParquet puts every table of main into the draft's folder, sorted by key,
// and names the files for the manifest. Beside the columns of schema/ a file has
// valid_from and row_hash, so that history can be rebuilt from files alone, and
// says in its metadata which run and which time it is of. A table in which the
// changes, if they are known, count none keeps the file that it had.
func WriteParquet(ctx context.Context, d *warehouse.Draft, defs map[string]stream.Definition, tables []stream.Table, changes []Change) ([]warehouse.ManifestTable, error) {
	w := parquetWriter{draft: d, defs: defs}
	written := make([]warehouse.ManifestTable, len(tables))
	for i, t := range tables {
		written[i] = warehouse.ManifestTable{Name: t.Name, ManifestFileSum: warehouse.ManifestFileSum{File: t.Name + ".parquet"}}
	}
	left, err := carryUnchanged(d, tables, changes)
	if err == nil {
		err = w.writeAll(ctx, left)
	}
	if err != nil {
		return nil, fmt.Errorf("write Parquet: %w", err)
	}
	return written, nil
}

// carryUnchanged takes over what can be and returns the tables to write.
func carryUnchanged(d *warehouse.Draft, tables []stream.Table, changes []Change) (left []stream.Table, err error) {
	same := names{}
	for _, c := range changes {
		if c.New+c.Changed+c.Gone == 0 {
			same.add(c.Table)
		}
	}
	before := d.NewCarrier()
	for _, t := range tables {
		carried := false
		if same.has(t.Name) {
			if carried, err = before.Carry(t.Name); err != nil {
				return nil, err
			}
		}
		if !carried {
			left = append(left, t)
		}
	}
	return left, nil
}

// parquetWriter sorts and writes tables of main.
type parquetWriter struct {
	draft *warehouse.Draft
	defs  map[string]stream.Definition
}

// threadMemory is what a thread needs to sort and write a narrow table. With half
// of it DuckDB finds no memory for the groups that the threads have open.
const threadMemory = 128 << 20

// writeAll writes narrow tables with as many threads as the memory limit bears,
// and wide ones, whose threads take more memory than there is, with one: it is
// done before two that wait for the disk, in wall time too.
func (w parquetWriter) writeAll(ctx context.Context, tables []stream.Table) error {
	if len(tables) == 0 {
		return nil
	}
	before, bearable, err := w.threads(ctx)
	if err != nil {
		return err
	}
	for _, wide := range []bool{false, true} {
		threads := 1
		if !wide {
			threads = max(1, min(before, bearable))
		}
		if _, err := setThreads(ctx, w.draft, threads); err != nil {
			return err
		}
		for _, t := range tables {
			if isWide(w.defs[t.Name]) == wide {
				if err := w.write(ctx, t); err != nil {
					return fmt.Errorf("%s: %w", t.Name, err)
				}
			}
		}
	}
	_, err = setThreads(ctx, w.draft, before)
	return err
}

// threads tells how many DuckDB has, and how many its memory bears.
func (w parquetWriter) threads(ctx context.Context) (have, bearable int, err error) {
	err = w.draft.DB.QueryRowContext(ctx, `SELECT current_setting('threads'), parse_formatted_bytes(current_setting('memory_limit')) // ?`, threadMemory).
		Scan(&have, &bearable)
	return have, bearable, err
}

func (w parquetWriter) write(ctx context.Context, t stream.Table) error {
	group, err := rowGroupOf(ctx, w.draft, w.defs[t.Name])
	if err != nil {
		return err
	}
	return w.draft.Exec(ctx, copyTable(w.draft, w.defs[t.Name], t, group, filepath.Join(w.draft.Dir, t.Name+".parquet")))
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
	var labels []string
	for _, l := range d.Labels() {
		labels = append(labels, l.Key+": "+warehouse.Literal(l.Value))
	}
	return fmt.Sprintf(`COPY (SELECT %s, valid_from, row_hash FROM main.%s ORDER BY %s) TO %s
		(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL %d, ROW_GROUP_SIZE %d, KV_METADATA {%s})`,
		flat(def), warehouse.Quote(t.Name), columns("", t.Key), warehouse.Literal(path), zstdLevel, group, strings.Join(labels, ", "))
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
