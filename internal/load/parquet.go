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

// rowsIn counts the rows of a table of main.
func rowsIn(ctx context.Context, d *warehouse.Draft, table string) (rows int, err error) {
	err = d.DB.QueryRowContext(ctx, "SELECT count(*) FROM main."+warehouse.Quote(table)).Scan(&rows)
	return rows, err
}

// rowsOf counts the rows of tables of main, by name, in one statement.
func rowsOf(ctx context.Context, d *warehouse.Draft, tables []stream.Table) (map[string]int64, error) {
	rows := map[string]int64{}
	var counts []string
	for _, t := range tables {
		counts = append(counts, fmt.Sprintf("SELECT %s, count(*) FROM main.%s", warehouse.Literal(t.Name), warehouse.Quote(t.Name)))
	}
	return rows, d.EachRow(ctx, counts, func(scan func(...any) error) error {
		var name string
		var n int64
		err := scan(&name, &n)
		rows[name] = n
		return err
	})
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
	// limit is DuckDB's memory in bytes, now the threads that it has.
	limit int64
	now   int
}

// writeAll sorts and writes tables, first those that gain by several threads.
func (w *parquetWriter) writeAll(ctx context.Context, tables []stream.Table) error {
	if len(tables) == 0 {
		return nil
	}
	if err := w.settings(ctx); err != nil {
		return err
	}
	have := w.now
	shapes, err := w.shapes(ctx, tables)
	if err != nil {
		return fmt.Errorf("measure the tables: %w", err)
	}
	for _, parallel := range []bool{true, false} {
		for i, t := range tables {
			if shapes[i].parallel(w.limit) != parallel {
				continue
			}
			if err := w.write(ctx, t, shapes[i]); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
		}
	}
	return w.withThreads(ctx, have)
}

// withThreads gives DuckDB threads, unless it has as many.
func (w *parquetWriter) withThreads(ctx context.Context, threads int) error {
	if w.now == threads {
		return nil
	}
	w.now = threads
	_, err := setThreads(ctx, w.draft, threads)
	return err
}

// settings finds the limit, and how many threads there are.
func (w *parquetWriter) settings(ctx context.Context) error {
	return w.draft.DB.QueryRowContext(ctx, "SELECT current_setting('threads'), parse_formatted_bytes(current_setting('memory_limit'))").
		Scan(&w.now, &w.limit)
}

func (w *parquetWriter) write(ctx context.Context, t stream.Table, s shape) error {
	threads := 1
	if s.parallel(w.limit) {
		threads = min(w.draft.Cores(), max(1, int(w.limit/threadMemory)))
	}
	if err := w.withThreads(ctx, threads); err != nil {
		return err
	}
	if pieces := s.pieces(w.limit); pieces > 1 {
		return w.writePieces(ctx, t, s, pieces)
	}
	return w.draft.Exec(ctx, w.copyTo(t.Name+".parquet", w.sorted(t, "TRUE"), s.group(w.limit)))
}

// writePieces sorts ranges of the key one after the other, each into a file of its
// own, and puts these together: slower, but no longer a matter of how long rows
// are.
func (w parquetWriter) writePieces(ctx context.Context, t stream.Table, s shape, pieces int) (err error) {
	dir := filepath.Join(w.draft.Dir, "pieces")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cuts, err := w.cuts(ctx, t, pieces)
	if err != nil {
		return fmt.Errorf("find ranges of the key: %w", err)
	}
	var files []string
	for i, between := range ranges(warehouse.Quote(t.Key[0]), cuts) {
		file := filepath.Join("pieces", strconv.Itoa(i))
		if err := w.draft.Exec(ctx, w.copyTo(file, w.sorted(t, between), s.group(w.limit))); err != nil {
			return err
		}
		files = append(files, warehouse.Literal(filepath.Join(w.draft.Dir, file)))
	}
	together := "SELECT * FROM read_parquet([" + strings.Join(files, ", ") + "])"
	return w.draft.Exec(ctx, "SET GLOBAL preserve_insertion_order = true",
		w.copyTo(t.Name+".parquet", together, s.group(w.limit)), "SET GLOBAL preserve_insertion_order = false")
}

// cuts are keys that part a table into about as many ranges of about as many rows.
func (w parquetWriter) cuts(ctx context.Context, t stream.Table, pieces int) (cuts []string, err error) {
	const perPiece = 256
	rows, err := w.draft.DB.QueryContext(ctx, fmt.Sprintf("SELECT k FROM (SELECT %s AS k FROM main.%s) USING SAMPLE reservoir(%d ROWS) REPEATABLE (1) ORDER BY k",
		warehouse.Quote(t.Key[0]), warehouse.Quote(t.Name), perPiece*pieces))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for i := 0; rows.Next(); i++ {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		if i > 0 && i%perPiece == 0 {
			cuts = append(cuts, key)
		}
	}
	return slices.Compact(cuts), rows.Err()
}

// ranges are conditions that part all keys at the cuts, in their order.
func ranges(key string, cuts []string) []string {
	var all []string
	from := "TRUE"
	for _, cut := range cuts {
		all = append(all, from+" AND "+key+" < "+warehouse.Literal(cut))
		from = key + " >= " + warehouse.Literal(cut)
	}
	return append(all, from)
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

func (w parquetWriter) sorted(t stream.Table, where string) string {
	return fmt.Sprintf("SELECT %s, valid_from, row_hash FROM main.%s WHERE %s ORDER BY %s",
		flat(w.defs[t.Name]), warehouse.Quote(t.Name), where, columns("", t.Key))
}

// copyTo writes rows into a file of the draft.
func (w parquetWriter) copyTo(file, rows string, group int) string {
	var labels []string
	for _, l := range w.draft.Labels() {
		labels = append(labels, l.Key+": "+warehouse.Literal(l.Value))
	}
	return fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL %d, ROW_GROUP_SIZE %d, KV_METADATA {%s})",
		rows, warehouse.Literal(filepath.Join(w.draft.Dir, file)), zstdLevel, group, strings.Join(labels, ", "))
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
