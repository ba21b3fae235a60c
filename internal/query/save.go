package query

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
)

// Save answers a query into a file of any format. The file is written
// atomically and replaces an earlier one. It returns the number of rows.
func (db *DB) Save(ctx context.Context, q Query, values map[string]string, f Format, file string) (int64, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return 0, &UsageError{Problem: fmt.Sprintf("%q is not a regular file; leave -o out to write to the terminal or a pipe", file)}
	}
	const public = 0o644
	var rows int64
	err := durable.Disk{}.WriteAtomically(file, public, func(temp *os.File) (err error) {
		if f == Parquet {
			return db.readAnswer(ctx, q.ofAnyLength(true), values, func(answer array.RecordReader) (err error) {
				rows, err = db.writeParquet(ctx, answer, temp.Name(), parquetOptions{})
				return err
			})
		}
		w, err := NewWriter(f, temp, Screen{})
		if err != nil {
			return err
		}
		rows, err = db.Run(ctx, q, values, w)
		return err
	})
	if err != nil {
		return 0, err // what was left behind may be counting still
	}
	return rows, nil
}

// parquetOptions choose how an answer becomes Parquet.
type parquetOptions struct {
	// partitionBy makes a folder with a folder for each value of the column.
	partitionBy string
	// plainJSON writes JSON as text, without the mark that some readers take
	// for binary.
	plainJSON bool
}

// writeParquet lets a second instance write the file. The SQL of the user runs
// on the locked one, as always; the second sees nothing but the rows of the
// answer, and may open nothing but the one place that is written.
func (db *DB) writeParquet(ctx context.Context, answer array.RecordReader, place string, o parquetOptions) (rows int64, err error) {
	scribe, err := startInstance(ctx, db.opts)
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer func() { err = errors.Join(err, scribe.Close()) }()
	settings := []string{"SET TimeZone = 'UTC'", "SET allowed_paths = [" + sqltext.Literal(place) + "]"}
	layout := "USE_TMP_FILE false"
	if o.partitionBy != "" {
		settings = append(settings, "SET allowed_directories = ["+sqltext.Literal(place+"/")+"]")
		layout = fmt.Sprintf("PARTITION_BY (%s)", sqltext.Quote(o.partitionBy))
	}
	if err := scribe.execAll(ctx, append(settings, "SET enable_external_access = false", "SET lock_configuration = true")...); err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	release, err := scribe.registerView(newExact(answer, o.plainJSON), "answer")
	if err != nil {
		return 0, fmt.Errorf("write parquet: %w", err)
	}
	defer release()
	// A view on Arrow may only be read whole and as it is.
	result, err := scribe.conn.ExecContext(ctx, "COPY (SELECT * FROM answer) TO "+sqltext.Literal(place)+
		" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880, "+layout+")")
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
