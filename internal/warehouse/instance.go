package warehouse

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

var (
	//go:embed sql/instance.sql
	instanceSQL sqltext.File // settings of DuckDB, and statements for catalogs
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File // tables of a catalog
	//go:embed sql/verify.sql
	verifySQL sqltext.File // row counts of a draft
)

// StorageVersion is DuckDB's name of the file format of catalogs. DuckDB of this version and later
// versions can open the catalogs.
const StorageVersion = "v1.1.0"

// EngineVersion returns the version of the linked DuckDB.
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

// Instance is a DuckDB instance in this process with its attached files.
type Instance struct {
	connector   *duckdb.Connector
	DB          *sql.DB
	memoryLimit string // as in Config.MemoryLimit
	// scratch is a private folder, or nil.
	scratch *durable.Scratch
}

// scratchPrefix begins the names of folders for data that does not fit into memory. These folders are
// below state/, because the next run would remove hidden folders below versions/.
const scratchPrefix = ".sealed."

// openMemory opens an in-memory instance with a scratch folder. Close removes the folder. If the process
// is not allowed to write to the warehouse, the scratch folder is in the temporary folder of the system.
func (w *Warehouse) openMemory(ctx context.Context) (*Instance, error) {
	state := w.Folder.Path(StateDir)
	var scratch *durable.Scratch
	err := w.Folder.disk.MakeFolder(state, privateDir)
	if err == nil {
		scratch, err = durable.MakeScratch(state, scratchPrefix)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		scratch, err = durable.MakeTempFolder("placementsync" + scratchPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("create a folder for data that does not fit into memory: %w", err)
	}
	in, err := w.openDatabase(ctx, "", scratch.Dir)
	if err != nil {
		return nil, errors.Join(err, scratch.Remove())
	}
	in.scratch = scratch
	return in, nil
}

// openDatabase opens or creates the catalog of a draft, or a database in memory if path is empty. DuckDB
// spills to a folder below the existing folder scratch.
func (w *Warehouse) openDatabase(ctx context.Context, path, scratch string) (*Instance, error) {
	// Times without a zone are UTC on every machine.
	setUp := "SET TimeZone = 'UTC';"
	if path != "" {
		setUp += string(instanceSQL.Render("attach_draft", sqltext.Values{"catalog": path, "storage": StorageVersion}))
	}
	connector, err := duckdb.NewConnector("", func(exec driver.ExecerContext) error {
		// This runs for each connection. It ignores the end of ctx, because cleaning up after an
		// interruption may need a new connection.
		_, err := exec.ExecContext(context.WithoutCancel(ctx), setUp, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cmp.Or(path, "DuckDB"), err)
	}
	settings := []sqltext.SQL{instanceSQL.Render("settings", sqltext.Values{"spill": filepath.Join(scratch, "spill")})}
	if w.cfg.MemoryLimit != "" {
		settings = append(settings, instanceSQL.Render("memory_limit", sqltext.Values{"limit": w.cfg.MemoryLimit}))
	}
	if w.cfg.Threads != 0 {
		settings = append(settings, instanceSQL.Render("threads", sqltext.Values{"threads": w.cfg.Threads}))
	}
	in := &Instance{connector: connector, DB: sql.OpenDB(connector), memoryLimit: w.cfg.MemoryLimit}
	if err := in.Exec(ctx, settings...); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Connect opens a raw connection, which Arrow needs.
func (in *Instance) Connect(ctx context.Context) (driver.Conn, error) {
	return in.connector.Connect(ctx)
}

func (in *Instance) attachReadOnly(ctx context.Context, catalog string) error {
	return in.Exec(ctx, instanceSQL.Render("attach_version", sqltext.Values{"catalog": catalog}))
}

// ReduceMemory sets DuckDB's memory limit to reduced_memory_limit in instance.sql. This is enough to load and
// verify rows.
func (in *Instance) ReduceMemory(ctx context.Context) error {
	return in.limitMemory(ctx, "reduced_memory_limit")
}

// RestoreMemory sets DuckDB's memory limit to Config.MemoryLimit.
func (in *Instance) RestoreMemory(ctx context.Context) error {
	return in.limitMemory(ctx, "memory_limit")
}

func (in *Instance) limitMemory(ctx context.Context, statement string) error {
	if in.memoryLimit == "" {
		return nil
	}
	return in.Exec(ctx, instanceSQL.Render(statement, sqltext.Values{"limit": in.memoryLimit}))
}

// Exec runs statements in order until one fails.
func (in *Instance) Exec(ctx context.Context, statements ...sqltext.SQL) error {
	return ExecIn(ctx, in.DB, statements...)
}

// ExecIn runs statements in order in a transaction or database, until one fails.
func ExecIn(ctx context.Context, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements ...sqltext.SQL) error {
	const shownBytes = 160
	for _, s := range statements {
		_, err := db.ExecContext(ctx, string(s))
		if err != nil && len(s) > shownBytes {
			s = s[:shownBytes] + "..."
		}
		if err != nil {
			return fmt.Errorf("run %q: %w", s, err)
		}
	}
	return nil
}

func (in *Instance) Atomically(ctx context.Context, statements []sqltext.SQL) error {
	return in.InTransaction(ctx, func(tx *sql.Tx) error { return ExecIn(ctx, tx, statements...) })
}

// InTransaction calls do in a transaction, which is rolled back if do fails.
func (in *Instance) InTransaction(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := in.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, Undo(tx))
	}
	return tx.Commit()
}

// EachRow joins queries by UNION ALL to one query, and calls handle for each row of the result.
func (in *Instance) EachRow(ctx context.Context, queries []sqltext.SQL, handle func(scan func(...any) error) error) error {
	if len(queries) == 0 {
		return nil
	}
	rows, err := in.DB.QueryContext(ctx, string(sqltext.JoinSQL(queries, " UNION ALL ")))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := handle(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Undo rolls back a transaction. It returns nil if the transaction has already ended, for example with
// its context.
func Undo(tx *sql.Tx) error {
	if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// Close closes the instance and removes its scratch folder. It makes no checkpoint of attached files.
func (in *Instance) Close() error {
	err := errors.Join(in.DB.Close(), in.connector.Close())
	if in.scratch != nil {
		err = errors.Join(err, in.scratch.Remove())
	}
	return err
}

// IsInterrupted reports whether DuckDB stopped a statement because its context ended.
func IsInterrupted(err error) bool {
	e, ok := errors.AsType[*duckdb.Error](err)
	return ok && e.Type == duckdb.ErrorTypeInterrupt
}

// PublishedVersion is a version whose catalog is attached to a separate DuckDB instance as the read-only
// database "version". Reading needs no lock, because versions do not change.
type PublishedVersion struct {
	*Instance
	Manifest Manifest
	Dir      string
	// Scratch is a private folder. Close removes it.
	Scratch string

	columns map[string]map[string]stream.Column
}

// OpenVerified opens a published version for reading. It first compares the checksum of the catalog, so
// that no rows of a damaged catalog are copied to another place.
func (w *Warehouse) OpenVerified(ctx context.Context, run string) (*PublishedVersion, error) {
	m, err := w.Versions.ReadManifest(run)
	if err != nil {
		return nil, err
	}
	if err := m.CheckFormat(); err != nil {
		return nil, err
	}
	if err := w.Versions.VerifyCatalog(run); err != nil {
		return nil, w.WithRemedy(err, run)
	}
	v, err := w.OpenUnchecked(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("open version %s: %w", run, err)
	}
	v.Manifest = m
	return v, nil
}

// OpenUnchecked opens a published version without reading its manifest or comparing the checksum. If
// the catalog is damaged, queries fail or return wrong rows.
func (w *Warehouse) OpenUnchecked(ctx context.Context, run string) (*PublishedVersion, error) {
	in, err := w.openMemory(ctx)
	if err != nil {
		return nil, err
	}
	v := &PublishedVersion{Instance: in, Dir: w.Folder.VersionPath(run), Scratch: in.scratch.Dir}
	if err = v.attachReadOnly(ctx, w.Folder.VersionCatalog(run)); err == nil {
		v.columns, err = v.Columns(ctx, "version")
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// PresentColumns returns the given columns except those that the table lacks in the version. A version of
// an earlier release may lack some columns.
func (v *PublishedVersion) PresentColumns(schema, table string, columns []stream.Column) []stream.Column {
	var present []stream.Column
	for _, c := range columns {
		if _, ok := v.columns[schema+"."+table][c.Name]; ok {
			present = append(present, c)
		}
	}
	return present
}
