package warehouse

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// storageVersion is the file format of published catalogues: every DuckDB
// since 1.0 opens it.
const storageVersion = "v1.0.0"

// engine opens DuckDB with the limits of the configuration.
type engine struct {
	memoryLimit string
	threads     int
}

// Instance is one DuckDB in this process with one or more files attached.
// DB runs statements; Connect gives a raw connection for Arrow.
type Instance struct {
	connector *duckdb.Connector
	DB        *sql.DB
}

// createFile makes an empty DuckDB file of the published storage version,
// which only ATTACH can choose.
func (e *engine) createFile(ctx context.Context, path string) error {
	in, err := e.open(ctx, "", filepath.Dir(path))
	if err != nil {
		return err
	}
	err = in.Exec(ctx, fmt.Sprintf("ATTACH %s AS made (STORAGE_VERSION %s)", Literal(path), Literal(storageVersion)),
		"DETACH made")
	return errors.Join(err, in.Close())
}

// open opens a DuckDB file (or memory, for the path "") whose spills go
// to scratch.
func (e *engine) open(ctx context.Context, path, scratch string) (*Instance, error) {
	connector, err := duckdb.NewConnector(path, func(exec driver.ExecerContext) error {
		// Per connection: times without a zone are UTC wherever the job runs.
		// What is cleared away after an interruption may need a new one.
		_, err := exec.ExecContext(context.WithoutCancel(ctx), "SET TimeZone = 'UTC'", nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cmp.Or(path, "DuckDB"), err)
	}
	in := &Instance{connector, sql.OpenDB(connector)}
	if err := in.Exec(ctx, e.settings(scratch)...); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (e *engine) settings(scratch string) []string {
	set := []string{
		"SET GLOBAL temp_directory = " + Literal(filepath.Join(scratch, "spill")),
		// Order is stated where it matters (Parquet); keeping it elsewhere
		// makes DuckDB rewrite ragged row groups.
		"SET GLOBAL preserve_insertion_order = false",
		"SET GLOBAL autoinstall_known_extensions = false",
		// Seal checkpoints what is published. All else, the stage, is thrown
		// away, and compressing it on the way out would be work for nothing.
		"PRAGMA disable_checkpoint_on_shutdown",
		// Metadata that a later night takes over as it is cannot be found by a
		// DuckDB before 1.5 ("Failed to load metadata pointer"), whatever the
		// storage version says.
		"SET GLOBAL experimental_metadata_reuse = false",
		// What DuckDB frees goes back to the system at once: the peak of a night of
		// 1,000,000 listings is 780 MiB with this and up to 1,130 without, in the
		// same time.
		"SET GLOBAL allocator_background_threads = true",
		"SET GLOBAL allocator_flush_threshold = '16MB'",
	}
	if e.memoryLimit != "" {
		set = append(set, "SET GLOBAL memory_limit = "+Literal(e.memoryLimit))
	}
	if e.threads > 0 {
		set = append(set, fmt.Sprintf("SET GLOBAL threads = %d", e.threads))
	}
	return set
}

// Connect opens a raw connection to the instance.
func (in *Instance) Connect(ctx context.Context) (driver.Conn, error) {
	return in.connector.Connect(ctx)
}

// Exec runs statements in order and stops at the first that fails.
func (in *Instance) Exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := in.DB.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("run %q: %w", statementHead(s), err)
		}
	}
	return nil
}

// Atomically runs statements in one transaction: all of them or none.
func (in *Instance) Atomically(ctx context.Context, statements []string) error {
	tx, err := in.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return errors.Join(fmt.Errorf("run %q: %w", statementHead(s), err), Undo(tx))
		}
	}
	return tx.Commit()
}

// EachRow runs queries as one, by UNION ALL, and hands over its rows.
func (in *Instance) EachRow(ctx context.Context, queries []string, take func(scan func(...any) error) error) error {
	if len(queries) == 0 {
		return nil
	}
	rows, err := in.DB.QueryContext(ctx, strings.Join(queries, " UNION ALL "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Undo rolls a transaction back, if the end of its context has not done so.
func Undo(tx *sql.Tx) error {
	if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// statementHead is enough of a statement to find it by.
func statementHead(statement string) string {
	const most = 160
	if len(statement) > most {
		return statement[:most] + "..."
	}
	return statement
}

// Close ends the instance. Attached files are checkpointed by their owners
// before.
func (in *Instance) Close() error {
	return errors.Join(in.DB.Close(), in.connector.Close())
}

// timestampLiteral writes an instant for SQL with microseconds, the resolution of
// TIMESTAMPTZ.
func timestampLiteral(t time.Time) string {
	return "TIMESTAMPTZ " + Literal(t.UTC().Format("2006-01-02 15:04:05.000000")+"+00")
}
