package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
)

// Save writes the result of a query to a file of any format. The file is written
// atomically and replaces an earlier file. Save returns the number of rows.
func (db *DB) Save(ctx context.Context, q Query, values map[string]string, o Output, file string) (int64, error) {
	a, err := db.Admit(ctx, q, values)
	if err != nil {
		return 0, err
	}
	return a.Save(ctx, o, file)
}

// Save is like [DB.Save].
func (a Admitted) Save(ctx context.Context, o Output, file string) (int64, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return 0, &UsageError{Problem: fmt.Sprintf("%q is not a regular file: omit -o to write to the terminal or a pipe", file)}
	}
	const fileMode = 0o644
	var rows int64
	err := durable.Disk{}.WriteAtomically(file, fileMode, func(temp *os.File) (err error) {
		if o.Format == Parquet {
			rows, err = a.saveParquet(ctx, temp.Name())
		} else {
			rows, err = a.send(ctx, o, temp)
		}
		return err
	})
	return rows, err
}

// Send writes the result of a query to w in any format, and returns the number of rows. Parquet is first
// written to the private temporary folder.
func (db *DB) Send(ctx context.Context, q Query, values map[string]string, o Output, w io.Writer) (int64, error) {
	a, err := db.Admit(ctx, q, values)
	if err != nil {
		return 0, err
	}
	return a.send(ctx, o, w)
}

func (a Admitted) send(ctx context.Context, o Output, w io.Writer) (int64, error) {
	var writer Writer
	var err error
	switch o.Format {
	case Parquet:
		return a.sendParquet(ctx, w)
	case Excel:
		// The rows of an incomplete workbook must not remain in spill.Dir, because the DB may be open for days.
		dir, dirErr := os.MkdirTemp(a.db.spill.Dir, "excel")
		if dirErr != nil {
			return 0, fmt.Errorf("write excel: %w", dirErr)
		}
		defer os.RemoveAll(dir)
		writer, err = a.newExcelWriter(ctx, w, dir)
	default:
		writer, err = NewWriter(o, w, Screen{})
	}
	if err != nil {
		return 0, err
	}
	return a.Run(ctx, writer)
}

func (a Admitted) sendParquet(ctx context.Context, w io.Writer) (rows int64, err error) {
	temp, err := os.CreateTemp(a.db.spill.Dir, "*.parquet")
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
	if rows, err = a.saveParquet(ctx, temp.Name()); err != nil {
		return 0, err
	}
	if _, err := io.Copy(w, temp); err != nil {
		return rows, fmt.Errorf("send parquet: %w", err)
	}
	return rows, nil
}

func (a Admitted) saveParquet(ctx context.Context, path string) (int64, error) {
	var rows int64
	err := a.readResult(ctx, true, func(r array.RecordReader) (err error) {
		rows, err = a.db.writeParquet(ctx, r, path, parquetOptions{})
		return err
	})
	if err != nil {
		return 0, err
	}
	return rows, nil
}

type parquetOptions struct {
	partitionBy string // see Export.PartitionBy
	// plainJSON writes JSON columns as text. Some readers treat Parquet's JSON type as binary.
	plainJSON bool
}

// writeParquet writes the rows of r to path with a second DuckDB instance, because the instance of
// db cannot write files. The second instance runs no SQL of the user and can open only path.
func (db *DB) writeParquet(ctx context.Context, r array.RecordReader, path string, o parquetOptions) (rows int64, err error) {
	instance, err := startInstance(ctx, db.opts)
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	settings := []sqltext.SQL{setUTC, sqltext.Fill("SET allowed_paths = [{path}]", sqltext.Values{"path": path})}
	copyOption := sqltext.SQL("USE_TMP_FILE false")
	if o.partitionBy != "" {
		settings = append(settings, sqltext.Fill("SET allowed_directories = [{folder}]", sqltext.Values{"folder": path + "/"}))
		copyOption = sqltext.Fill("PARTITION_BY ({column})", sqltext.Values{"column": sqltext.Name(o.partitionBy)})
	}
	if err := instance.execAll(ctx, append(settings, "SET enable_external_access = false", "SET lock_configuration = true")...); err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	var release func()
	err = instance.conn.Raw(func(raw any) error {
		arrow, err := duckdb.NewArrowFromConn(raw.(*duckdb.Conn))
		if err == nil {
			release, err = arrow.RegisterView(r, "result")
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer release()
	copySQL := sqltext.Fill("COPY ({rows}) TO {path} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880, {option})",
		sqltext.Values{"rows": selectForParquet(columnsOf(r.Schema()), o.plainJSON), "path": path, "option": copyOption})
	result, err := instance.conn.ExecContext(ctx, string(copySQL))
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	return result.RowsAffected()
}

// selectForParquet returns a SELECT of all columns of "result", a view of Arrow batches. DuckDB cannot read
// such a view with fewer columns or in another order. HUGEINT, for example the sum of a BIGINT, becomes
// DECIMAL(38,0): Parquet has no HUGEINT, and DuckDB would write DOUBLE.
func selectForParquet(columns []Column, plainJSON bool) sqltext.SQL {
	parquetTypes := map[string]sqltext.SQL{"HUGEINT": "DECIMAL(38,0)"}
	if plainJSON {
		parquetTypes["JSON"] = "VARCHAR"
	}
	var casts []sqltext.SQL
	names := uniqueNames(columns)
	for i, c := range columns {
		if t, ok := parquetTypes[c.Type]; ok {
			casts = append(casts, sqltext.Fill("CAST({column} AS {type}) AS {column}", sqltext.Values{"column": sqltext.Name(names[i]), "type": t}))
		}
	}
	if len(casts) == 0 {
		return "SELECT * FROM result"
	}
	return sqltext.Fill("SELECT * REPLACE ({casts}) FROM result", sqltext.Values{"casts": sqltext.JoinSQL(casts, ", ")})
}
