package warehouse

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
)

// StorageVersion is the form of the catalogs that are written, by the name that DuckDB has
// for it: every DuckDB since that version opens them.
const StorageVersion = "v1.1.0"

// EngineVersion is the version of the DuckDB that is linked in.
func EngineVersion(ctx context.Context) (version string, err error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return "", fmt.Errorf("ask DuckDB for its version: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return "", fmt.Errorf("ask DuckDB for its version: %w", err)
	}
	return version, nil
}

// engine opens DuckDB with the limits of the configuration.
type engine struct {
	memoryLimit string
	threads     int
}

// Instance is one DuckDB in this process with one or more files attached.
// DB runs statements; Connect gives a raw connection for Arrow.
type Instance struct {
	connector   *duckdb.Connector
	DB          *sql.DB
	memoryLimit string
	// scratch is a folder of this instance alone, if it has one.
	scratch *durable.Scratch
}

// scratchPrefix begins the names of folders for what does not fit into memory. They are
// below state/ and not versions/, where the next run removes what killed runs left.
const scratchPrefix = ".sealed."

// openMemory opens a DuckDB in memory with a scratch folder of its own, which Close
// removes. Whoever may only read the warehouse has it among the temporary files.
func (e *engine) openMemory(ctx context.Context, folder *Folder) (*Instance, error) {
	state := folder.Path(stateDir)
	var scratch *durable.Scratch
	err := os.MkdirAll(state, privateDir)
	if err == nil {
		scratch, err = durable.MakeScratch(state, scratchPrefix)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		scratch, err = durable.MakeTemp("placementsync" + scratchPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for what does not fit into memory: %w", err)
	}
	in, err := e.open(ctx, "", scratch.Dir)
	if err != nil {
		return nil, errors.Join(err, scratch.Remove())
	}
	in.scratch = scratch
	return in, nil
}

// open opens the catalog of a draft, which is made if there is none, or memory for the
// path "". Spills go to scratch, a folder that exists: DuckDB makes one below it.
func (e *engine) open(ctx context.Context, path, scratch string) (*Instance, error) {
	// Times without a zone are UTC wherever the job runs.
	setUp := "SET TimeZone = 'UTC';"
	if path != "" {
		setUp += string(instanceSQL.Render("attach_draft", sqltext.Values{"catalog": path, "storage": StorageVersion}))
	}
	connector, err := duckdb.NewConnector("", func(exec driver.ExecerContext) error {
		// Per connection. The clean-up after an interruption may need a new one.
		_, err := exec.ExecContext(context.WithoutCancel(ctx), setUp, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cmp.Or(path, "DuckDB"), err)
	}
	set := []string{string(instanceSQL.Render("settings", sqltext.Values{"spill": filepath.Join(scratch, "spill")}))}
	if e.memoryLimit != "" {
		set = append(set, string(instanceSQL.Render("memory_limit", sqltext.Values{"limit": e.memoryLimit})))
	}
	in := &Instance{connector: connector, DB: sql.OpenDB(connector), memoryLimit: e.memoryLimit}
	err = in.Exec(ctx, set...)
	if err == nil && e.threads > 0 {
		err = in.setThreads(ctx, e.threads)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (in *Instance) setThreads(ctx context.Context, threads int) error {
	return in.Exec(ctx, string(instanceSQL.Render("threads", sqltext.Values{"threads": threads})))
}

// Connect opens a raw connection to the instance.
func (in *Instance) Connect(ctx context.Context) (driver.Conn, error) {
	return in.connector.Connect(ctx)
}

func (in *Instance) attachSealed(ctx context.Context, catalog string) error {
	return in.Exec(ctx, string(instanceSQL.Render("attach_sealed", sqltext.Values{"catalog": catalog})))
}

// LimitMemory gives DuckDB the part of its memory that loading and verifying need, or all
// that it may have.
func (in *Instance) LimitMemory(ctx context.Context, part bool) error {
	name := "memory_limit"
	if part {
		name = "part_of_memory"
	}
	if in.memoryLimit == "" {
		return nil
	}
	return in.Exec(ctx, string(instanceSQL.Render(name, sqltext.Values{"limit": in.memoryLimit})))
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

// EachRow runs queries as one, by UNION ALL, and calls take for each row.
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

// Undo rolls a transaction back, unless the end of its context has done so.
func Undo(tx *sql.Tx) error {
	if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// statementHead is the beginning of a statement, enough to find it.
func statementHead(statement string) string {
	const most = 160
	if len(statement) > most {
		return statement[:most] + "..."
	}
	return statement
}

// Close ends the instance and removes its scratch folder. It does not checkpoint attached
// files.
func (in *Instance) Close() error {
	err := errors.Join(in.DB.Close(), in.connector.Close())
	if in.scratch != nil {
		err = errors.Join(err, in.scratch.Remove())
	}
	return err
}

// IsInterrupted reports whether DuckDB says that it was stopped, which follows from a
// context that ended.
func IsInterrupted(err error) bool {
	e, ok := errors.AsType[*duckdb.Error](err)
	return ok && e.Type == duckdb.ErrorTypeInterrupt
}
