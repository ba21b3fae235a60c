package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// countRows counts the rows of a table of main.
func countRows(ctx context.Context, d *warehouse.Draft, table string) (rows int, err error) {
	err = queryRow(ctx, d, stageSQL.Render("count_rows", values{"table": mainTable(table)})).Scan(&rows)
	return rows, err
}

// countTables counts the rows of tables of main, by name, in one statement.
func countTables(ctx context.Context, d *warehouse.Draft, tables []stream.Table) (map[string]int64, error) {
	rows := map[string]int64{}
	var counts []sqlText
	for _, t := range tables {
		counts = append(counts, stageSQL.Render("count_table", values{"name": t.Name, "table": mainTable(t.Name)}))
	}
	return rows, eachRow(ctx, d, counts, func(scan func(...any) error) error {
		var name string
		var n int64
		err := scan(&name, &n)
		rows[name] = n
		return err
	})
}

// zstdLevel takes a quarter off the time of the default, 3, and makes files one percent
// larger: dictionaries have compressed most of it before.
const zstdLevel = 1

// WriteParquet writes every table of main into the draft's folder, sorted by key, and
// names the files for the manifest. Besides the columns of schema/ a file has valid_from
// and row_hash, so that history can be rebuilt from files alone, and its metadata name the
// run and the time. A table in which the changes, if they are known, count none keeps the
// file that it had.
func WriteParquet(ctx context.Context, d *warehouse.Draft, defs map[string]stream.Definition, tables []stream.Table, changes []Change) ([]warehouse.ManifestTable, error) {
	w := parquetWriter{draft: d, defs: defs}
	written := make([]warehouse.ManifestTable, len(tables))
	for i, t := range tables {
		written[i] = warehouse.ManifestTable{Name: t.Name, ManifestFileSum: warehouse.ManifestFileSum{File: t.Name + ".parquet"}}
	}
	unchanged := map[string]bool{}
	for _, c := range changes {
		unchanged[c.Table] = c.New+c.Changed+c.Gone == 0
	}
	before := d.NewCarrier()
	var rest []stream.Table
	for _, t := range tables {
		carried := false
		if unchanged[t.Name] {
			var err error
			if carried, err = before.Carry(t.Name); err != nil {
				return nil, fmt.Errorf("write Parquet: %w", err)
			}
		}
		if !carried {
			rest = append(rest, t)
		}
	}
	if err := w.writeTables(ctx, rest); err != nil {
		return nil, fmt.Errorf("write Parquet: %w", err)
	}
	return written, nil
}

// parquetWriter sorts and writes tables of main.
type parquetWriter struct {
	draft *warehouse.Draft
	defs  map[string]stream.Definition
	// limit is DuckDB's memory in bytes, threads how many it has now.
	limit   int64
	threads int
}

// writeTables sorts and writes tables, first those that gain by several threads.
func (w *parquetWriter) writeTables(ctx context.Context, tables []stream.Table) error {
	if len(tables) == 0 {
		return nil
	}
	if err := queryRow(ctx, w.draft, parquetSQL.Render("settings", nil)).Scan(&w.threads, &w.limit); err != nil {
		return err
	}
	before := w.threads
	shapes, err := w.measureTables(ctx, tables)
	if err != nil {
		return fmt.Errorf("measure the tables: %w", err)
	}
	for _, parallel := range []bool{true, false} {
		for i, t := range tables {
			if shapes[i].isParallel(w.limit) != parallel {
				continue
			}
			if err := w.writeTable(ctx, t, shapes[i]); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
		}
	}
	return w.useThreads(ctx, before)
}

// useThreads sets the number of DuckDB's threads, unless it has as many.
func (w *parquetWriter) useThreads(ctx context.Context, threads int) error {
	if w.threads == threads {
		return nil
	}
	w.threads = threads
	_, err := setThreads(ctx, w.draft, threads)
	return err
}

func (w *parquetWriter) writeTable(ctx context.Context, t stream.Table, s shape) error {
	threads := 1
	if s.isParallel(w.limit) {
		threads = min(w.draft.Cores(), max(1, int(w.limit/threadMemory)))
	}
	if err := w.useThreads(ctx, threads); err != nil {
		return err
	}
	if pieces := s.pieceCount(w.limit); pieces > 1 {
		return w.writePieces(ctx, t, s, pieces)
	}
	return execute(ctx, w.draft, w.writeFile(t.Name+".parquet", w.sortedRows(t, "TRUE"), s))
}

// writePieces sorts ranges of the key one after the other, each into a file of its own,
// and puts these together: slower, but the length of rows does not matter.
func (w *parquetWriter) writePieces(ctx context.Context, t stream.Table, s shape, pieces int) (err error) {
	dir := filepath.Join(w.draft.Dir, "pieces")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cuts, err := w.cutKeys(ctx, t, pieces)
	if err != nil {
		return fmt.Errorf("find ranges of the key: %w", err)
	}
	var files []string
	for i, keys := range keyRanges(warehouse.Name(t.Key[0]), cuts) {
		file := filepath.Join("pieces", strconv.Itoa(i))
		if err := execute(ctx, w.draft, w.writeFile(file, w.sortedRows(t, keys), s)); err != nil {
			return err
		}
		files = append(files, filepath.Join(w.draft.Dir, file))
	}
	return execute(ctx, w.draft, parquetSQL.Render("keep_order", values{"keep": true}),
		w.writeFile(t.Name+".parquet", parquetSQL.Render("read_files", values{"files": files}), s),
		parquetSQL.Render("keep_order", values{"keep": false}))
}

// cutKeys are keys that divide a table into about as many ranges of about as many rows.
func (w *parquetWriter) cutKeys(ctx context.Context, t stream.Table, pieces int) (cuts []string, err error) {
	const perPiece = 256
	keys, err := queryTexts(ctx, w.draft, parquetSQL.Render("sample_keys",
		values{"key": warehouse.Name(t.Key[0]), "table": mainTable(t.Name), "rows": perPiece * pieces}))
	for i, key := range keys {
		if i > 0 && i%perPiece == 0 {
			cuts = append(cuts, key)
		}
	}
	return slices.Compact(cuts), err
}

// keyRanges are conditions that divide all keys at the cuts, in their order.
func keyRanges(key warehouse.Name, cuts []string) []sqlText {
	var all []sqlText
	first := sqlText("TRUE")
	for _, cut := range cuts {
		all = append(all, parquetSQL.Render("key_range", values{"first": first, "key": key, "end": cut}))
		first = parquetSQL.Render("key_from", values{"key": key, "first": cut})
	}
	return append(all, first)
}

// sortedRows selects the rows of a table with JSON as plain text: marked as JSON, it is
// binary to polars and a type of its own to pyarrow.
func (w *parquetWriter) sortedRows(t stream.Table, keys sqlText) sqlText {
	columns := columnEach(w.defs[t.Name], ", ", func(c stream.Column) sqlText {
		if c.Type == stream.JSON {
			return valueAsText(c)
		}
		return sqlText(warehouse.Quote(c.Name))
	})
	return parquetSQL.Render("sorted_rows", values{"columns": columns, "table": mainTable(t.Name), "range": keys, "key": columnList("", t.Key)})
}

// writeFile writes rows into a file of the draft.
func (w *parquetWriter) writeFile(file string, rows sqlText, s shape) sqlText {
	var labels []string
	for _, l := range w.draft.Labels() {
		labels = append(labels, l.Key+": "+warehouse.Literal(l.Value))
	}
	return parquetSQL.Render("write_file", values{"rows": rows, "file": filepath.Join(w.draft.Dir, file), "level": zstdLevel,
		"group": s.groupRows(w.limit), "labels": sqlText("{" + strings.Join(labels, ", ") + "}")})
}
