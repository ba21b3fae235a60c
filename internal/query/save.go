package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"placementsync/internal/durable"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"
)

// Save answers a query into a file of any format. The file is written
// atomically and replaces an earlier one. It returns the number of rows.
func (db *DB) Save(ctx context.Context, q Query, values map[string]string, f Format, file string) (int64, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return 0, &UsageError{Problem: fmt.Sprintf("%q is not a regular file; leave -o out to write to the terminal or a pipe", file)}
	}
	const public fs.FileMode = 0o644
	var rows int64
	err := durable.Disk{}.WriteAtomically(file, public, func(temp *os.File) error {
		var err error
		if f == Parquet {
			rows, err = db.saveParquet(ctx, q, values, temp.Name())
		} else {
			rows, err = db.saveText(ctx, q, values, f, temp)
		}
		return err
	})
	return rows, err
}

func (db *DB) saveText(ctx context.Context, q Query, values map[string]string, f Format, to *os.File) (int64, error) {
	w, err := NewWriter(f, to, Screen{})
	if err != nil {
		return 0, err
	}
	return db.Run(ctx, q, values, w)
}

// saveParquet lets a second instance write the file. The SQL of the user runs
// on the locked one, as always; the second sees nothing but the rows of the
// answer, and may open nothing but the file.
func (db *DB) saveParquet(ctx context.Context, q Query, values map[string]string, file string) (int64, error) {
	var rows int64
	err := db.readAnswer(ctx, q.ofAnyLength(true), values, func(answer array.RecordReader) error {
		var err error
		rows, err = db.writeParquet(ctx, answer, file, parquetOptions{})
		return err
	})
	return rows, err
}

func (db *DB) writeParquet(ctx context.Context, answer array.RecordReader, place string, o parquetOptions) (rows int64, err error) {
	scribe, err := startInstance(ctx, db.opts)
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, scribe.Close()) }()
	settings := append([]string{"SET TimeZone = 'UTC'"}, o.allowPaths(place)...)
	if err := scribe.execAll(ctx, append(settings, "SET enable_external_access = false", "SET lock_configuration = true")...); err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	release, err := scribe.registerView(newExact(answer, o.plainJSON), "answer")
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer release()
	result, err := scribe.conn.ExecContext(ctx, o.copyTo(place))
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	return result.RowsAffected()
}

func (db *DB) registerView(r array.RecordReader, name string) (release func(), err error) {
	err = db.conn.Raw(func(raw any) error {
		conn, ok := raw.(*duckdb.Conn)
		if !ok {
			return fmt.Errorf("connection is %T, not DuckDB's", raw)
		}
		arrow, err := duckdb.NewArrowFromConn(conn)
		if err != nil {
			return err
		}
		release, err = arrow.RegisterView(r, name)
		return err
	})
	return release, err
}
