// Package query runs SQL and named queries with parameters on a warehouse, and writes the
// results in several formats. The user's SQL runs in a DuckDB instance that can only read the
// catalog: it cannot access other files or the network, load extensions or change settings.
//
// The instance is in memory, with the catalog attached read only. DuckDB still allows access to attached files,
// and a COPY could overwrite them. So SQL is prepared first, and run only if it is a single reading statement without
// functions that change the process. A second instance that contains only the result writes Parquet. DuckDB
// ignores an interruption during a function call, so typed SQL and SQL of assistants run in a child process, which
// is killed soon after the time limit.
//
// The package must not know how the catalog is created, and it never writes to the catalog.
package query

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File
	//go:embed sql/diff.sql
	diffSQL sqltext.File
)

// Options configure a DB. If MemoryLimit, Threads or SpillLimit is zero, DuckDB's default applies.
type Options struct {
	// MemoryLimit is a size in DuckDB's syntax, such as "512MB". Larger intermediate results are
	// spilled to a private temporary folder.
	MemoryLimit string
	Threads     int
	// Timeout is the time limit of a query. 0 means no limit. A query that reaches the limit fails
	// with a *TimeoutError. DuckDB cannot be interrupted within one call of a function, such as
	// list_sum(range(1e9)). Run then returns when the call ends.
	Timeout time.Duration
	// SpillLimit limits the size of the temporary folder, in DuckDB's syntax.
	SpillLimit string
	// AsOf chooses an earlier snapshot by a time, a date or a run id. Empty means the newest snapshot.
	AsOf     string
	Settings Settings // that parameters may name
	// Before adds the database "before", in which checks read the previous snapshot.
	Before *Before
	// Unsafe allows SQL to use files, the network and extensions, to change settings, and to have
	// several statements. The catalog is still read-only.
	Unsafe   bool
	Sessions int // additional handles for concurrent queries, see DB.Sessions
}

// DB is a catalog that is open for reading. Its queries run one at a time.
type DB struct {
	pool                       *sql.DB
	conn                       *sql.Conn
	opts                       Options
	spill                      *durable.Scratch
	asOf                       *Snapshot
	file                       string // the catalog, without symbolic links
	stored                     string // the database with the file, see catalogDB; empty means that the file is catalogDB
	sessions                   []*DB
	hasBefore, isBeforeDerived bool      // whether beforeDB exists, and whether it shows the history of the same file
	planner                    *sql.Conn // plans queries without the optimizer; nil if no catalog is attached
}

// AsOf returns the snapshot that Options.AsOf chose, or nil.
func (db *DB) AsOf() *Snapshot { return db.asOf }

// Open opens the DuckDB file at path, which may be a symbolic link. The file is attached to a
// private in-memory instance. If a later night changes the link, another Open of the same path opens
// the new file, even if the first DB is still open. An unknown snapshot in opts is a *UsageError.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open catalog %q: %w: the first run creates it", path, os.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	db, err := startInstance(ctx, opts)
	if errors.As(err, new(*durable.TempError)) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	db.file = file
	if err := db.attachAndLockConfig(ctx, file); err != nil {
		if _, ok := errors.AsType[*UsageError](err); !ok {
			err = fmt.Errorf("open catalog %q: %w", path, err)
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close closes the catalog and the sessions, and removes temporary files.
func (db *DB) Close() error {
	var err error
	if db.planner != nil {
		err = db.planner.Close()
	}
	for _, session := range db.sessions {
		err = errors.Join(err, session.conn.Close())
	}
	return errors.Join(err, db.conn.Close(), db.pool.Close(), db.spill.Remove())
}

// startInstance starts an empty in-memory instance and opens one connection.
func startInstance(ctx context.Context, opts Options) (*DB, error) {
	spill, err := durable.MakeTempFolder("placementsync-query-")
	if err != nil {
		return nil, err
	}
	settings := url.Values{
		"autoinstall_known_extensions": {"false"},
		"autoload_known_extensions":    {"false"},
		"allow_community_extensions":   {"false"},
		"allow_persistent_secrets":     {"false"},
		"temp_directory":               {spill.Dir},
	}
	if opts.MemoryLimit != "" {
		settings.Set("memory_limit", opts.MemoryLimit)
	}
	if opts.SpillLimit != "" {
		settings.Set("max_temp_directory_size", opts.SpillLimit)
	}
	if opts.Threads > 0 {
		settings.Set("threads", strconv.Itoa(opts.Threads))
	}
	pool, err := sql.Open("duckdb", ":memory:?"+settings.Encode())
	if err != nil {
		return nil, errors.Join(err, spill.Remove())
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close(), spill.Remove())
	}
	return &DB{pool: pool, conn: conn, opts: opts, spill: spill}, nil
}

// Names of attached databases. Queries always read catalogDB. In most cases, catalogDB is the file. If an earlier
// snapshot is chosen, or if the file has earlier values of hidden columns, catalogDB is an in-memory database with
// views of the file. The file then has the name DB.stored. This is newestDB or, with Options.Before, a random name,
// so that no check can read the file itself.
const (
	catalogDB = "catalog"
	newestDB  = "newest"
)

func (db *DB) attachAndLockConfig(ctx context.Context, path string) error {
	if err := db.attachCatalog(ctx, path); err != nil {
		return err
	}
	if db.opts.Before != nil {
		if err := db.attachBefore(ctx, *db.opts.Before); err != nil {
			return err
		}
	}
	var err error
	if db.planner, err = db.pool.Conn(ctx); err != nil {
		return err
	}
	for _, s := range []string{"USE " + catalogDB, "PRAGMA disable_optimizer"} {
		if _, err := db.planner.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	if err := db.openSessions(ctx); err != nil {
		return err
	}
	settings := []sqltext.SQL{"SET arrow_lossless_conversion = true"} // Arrow fields then contain DuckDB's types
	if !db.opts.Unsafe {
		settings = append(settings, "SET enable_external_access = false", "SET lock_configuration = true")
	}
	return db.execAll(ctx, settings...)
}

const setUTC = "SET TimeZone = 'UTC'"

func (db *DB) attachCatalog(ctx context.Context, path string) error {
	var hidden []string
	if db.opts.Before != nil {
		hidden = db.opts.Before.Hidden
	}
	if db.opts.AsOf == "" {
		if err := db.execAll(ctx, attachSQL(path, catalogDB)); err != nil {
			return err
		}
		// Creating views of all tables takes longer than most checks, so the file is read directly if possible.
		mustHide, err := db.hasEarlierValues(ctx, hidden)
		if err != nil {
			return err
		}
		if !mustHide {
			return db.execAll(ctx, "USE "+catalogDB, setUTC)
		}
		if err := db.execAll(ctx, "DETACH "+catalogDB); err != nil {
			return err
		}
	}
	db.stored = newestDB
	if db.opts.Before != nil {
		db.stored = unguessableName()
	}
	err := db.execAll(ctx, attachSQL(path, db.stored), "ATTACH ':memory:' AS "+catalogDB, "USE "+catalogDB, setUTC)
	if err != nil {
		return err
	}
	if db.opts.AsOf == "" {
		return db.createCatalogViews(ctx, func(t storedTable) sqltext.SQL {
			if t.schema == "past" {
				return t.selectAll(hidden)
			}
			return t.selectAll(nil)
		})
	}
	all, err := db.readSnapshots(ctx, db.stored)
	if err != nil {
		return err
	}
	snapshot, err := findSnapshot(all, db.opts.AsOf)
	if err != nil {
		return err
	}
	db.asOf = &snapshot
	err = db.createCatalogViews(ctx, func(t storedTable) sqltext.SQL { return t.selectSQL(snapshot, hidden) })
	if err != nil {
		return fmt.Errorf("create the views of the snapshot %s: %w", snapshot, err)
	}
	return nil
}

func attachSQL(file, database string) sqltext.SQL {
	return sqltext.Fill("ATTACH {file} AS {database} (READ_ONLY)", sqltext.Values{"file": file, "database": sqltext.Name(database)})
}

func (db *DB) execAll(ctx context.Context, statements ...sqltext.SQL) error {
	for _, s := range statements {
		if _, err := db.conn.ExecContext(ctx, string(s)); err != nil {
			return asRefusal(err)
		}
	}
	return nil
}

// Sessions returns the handles that Options.Sessions requested. The handles share the DuckDB instance,
// its limits and the catalog with db. Queries of different sessions run concurrently. Close closes the
// sessions too.
func (db *DB) Sessions() []*DB { return db.sessions }

func (db *DB) openSessions(ctx context.Context) error {
	for range db.opts.Sessions {
		conn, err := db.pool.Conn(ctx)
		if err != nil {
			return err
		}
		session := &DB{pool: db.pool, conn: conn, opts: db.opts, spill: db.spill, asOf: db.asOf, planner: db.planner}
		db.sessions = append(db.sessions, session)
		if err := session.execAll(ctx, "USE "+catalogDB, setUTC); err != nil {
			return err
		}
	}
	return nil
}
