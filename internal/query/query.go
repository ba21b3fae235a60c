// Package query answers questions about a warehouse: SQL text or a named query
// with parameters, streamed to a writer of the wanted format or saved to a
// file. The user's SQL runs on an instance that can read the catalog and
// nothing else: no other file, no network, no extension, no setting.
//
// It must not know how the catalog is made, and it never writes to it.
package query

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/durable"
	"placementsync/internal/sqltext"
)

// Options bound what a query may use. Zero values leave DuckDB's defaults.
type Options struct {
	// MemoryLimit is a size as DuckDB reads it, such as "512MB". What exceeds it
	// is in a private folder for temporary files until Close.
	MemoryLimit string
	// Threads is the number of threads of the instance.
	Threads int
	// Timeout is how long a query may take before it is stopped with a *TimeoutError;
	// 0: as long as it wants. DuckDB cannot stop within one call of a function, such as
	// list_sum(range(1e9)): Run returns all the same, and Close waits for the end of it.
	Timeout time.Duration
	// MaxRows is after how many rows an answer ends; 0: with its last.
	MaxRows int
	// SpillLimit is how much of the disk may hold what exceeds the memory, as DuckDB
	// reads it.
	SpillLimit string
	// AsOf shows the catalog as it was: at a time, on a date or after a run,
	// see Find. Empty: as it is.
	AsOf string
	// Before, if set, shows the snapshot before in the database "before", for checks.
	Before *Before
	// Unsafe lets SQL reach files, the network and extensions, and change
	// settings. The catalog stays read only.
	Unsafe bool
	// Sessions is how many queries can run side by side, see DB.Sessions. Defaults to
	// none but the DB itself.
	Sessions int
}

// DB is one catalog, opened read only. Its queries run one after another.
type DB struct {
	pool     *sql.DB
	conn     *sql.Conn
	opts     Options
	spill    *durable.Scratch
	asOf     *Snapshot
	sessions []*DB
	// hasBefore is for HasBefore.
	hasBefore bool
	// abandoned is that of Abandoned.
	abandoned <-chan struct{}
	// planner finds what stands behind an answer; nil: no catalog is attached.
	planner *planner
}

// AsOf is the snapshot that Options.AsOf chose; ok is false without one.
func (db *DB) AsOf() (s Snapshot, ok bool) {
	if db.asOf == nil {
		return Snapshot{}, false
	}
	return *db.asOf, true
}

// Open opens the DuckDB file at path, which may be a symlink. The file is
// attached to a private instance in memory, under the name catalog, so that
// opening it again after a new night sees the new file even while this handle
// is open. A snapshot in opts that is not there is a *UsageError.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open catalog %q: no such file; a first run creates it: %w", path, os.ErrNotExist)
	}
	db, err := startInstance(ctx, opts)
	if errors.As(err, new(*durable.TempError)) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	if err := db.lockDown(ctx, path); err != nil {
		if _, ok := errors.AsType[*UsageError](err); !ok {
			err = fmt.Errorf("open catalog %q: %w", path, err)
		}
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close releases the file.
func (db *DB) Close() error {
	var err error
	if db.planner != nil {
		err = db.planner.conn.Close()
	}
	return errors.Join(err, db.closeSessions(), db.conn.Close(), db.pool.Close(), db.spill.Remove())
}

// spillPrefix begins the names of folders for what does not fit into memory.
const spillPrefix = "placementsync-query-"

// startInstance makes an empty instance in memory with a single connection: settings
// such as USE belong to a connection, and a second one would lack them.
func startInstance(ctx context.Context, opts Options) (*DB, error) {
	spill, err := durable.MakeTemp(spillPrefix)
	if err != nil {
		return nil, err
	}
	s := url.Values{
		"autoinstall_known_extensions": {"false"},
		"autoload_known_extensions":    {"false"},
		"allow_community_extensions":   {"false"},
		"allow_persistent_secrets":     {"false"},
		"temp_directory":               {spill.Dir},
	}
	if opts.MemoryLimit != "" {
		s.Set("memory_limit", opts.MemoryLimit)
	}
	if opts.SpillLimit != "" {
		s.Set("max_temp_directory_size", opts.SpillLimit)
	}
	if opts.Threads > 0 {
		s.Set("threads", strconv.Itoa(opts.Threads))
	}
	pool, err := sql.Open("duckdb", ":memory:?"+s.Encode())
	if err != nil {
		return nil, errors.Join(err, spill.Remove())
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close(), spill.Remove())
	}
	return &DB{pool: pool, conn: conn, opts: opts, spill: spill}, nil
}

// lockDown attaches the catalog and then switches off all other access. The last
// statement makes this final.
func (db *DB) lockDown(ctx context.Context, path string) error {
	if err := db.attachCatalog(ctx, path); err != nil {
		return err
	}
	var err error
	if db.opts.Before != nil {
		if err := db.attachBefore(ctx, *db.opts.Before); err != nil {
			return err
		}
	}
	if db.planner, err = db.openPlanner(ctx); err != nil {
		return err
	}
	if err := db.openSessions(ctx); err != nil {
		return err
	}
	// Arrow then carries the exact DuckDB type of every column.
	set := []string{"SET arrow_lossless_conversion = true"}
	if !db.opts.Unsafe {
		set = append(set, "SET enable_external_access = false", "SET lock_configuration = true")
	}
	return db.execAll(ctx, set...)
}

// setUTC makes a connection show times in UTC.
const setUTC = "SET TimeZone = 'UTC'"

func (db *DB) attachCatalog(ctx context.Context, path string) error {
	file := "ATTACH " + sqltext.Literal(path) + " AS %s (READ_ONLY)"
	if db.opts.AsOf == "" {
		return db.execAll(ctx, fmt.Sprintf(file, home), "USE "+home, setUTC)
	}
	if err := db.execAll(ctx, fmt.Sprintf(file, newest), "ATTACH ':memory:' AS "+home, "USE "+home, setUTC); err != nil {
		return err
	}
	all, err := db.readSnapshots(ctx, newest)
	if err != nil {
		return err
	}
	s, err := Find(all, db.opts.AsOf)
	if err != nil {
		return err
	}
	db.asOf = &s
	if err := db.goBack(ctx, s); err != nil {
		return fmt.Errorf("go back to %s: %w", s, err)
	}
	return nil
}

func (db *DB) execAll(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := db.conn.ExecContext(ctx, s); err != nil {
			return asRefusal(err)
		}
	}
	return nil
}

// Run answers a query: its rows go to w as they come. A text is one statement;
// with Options.Unsafe it may be several, and the last one answers. It returns the
// number of rows. Errors are *UsageError for parameters, *RefusedError for what a
// query may not do, and otherwise DuckDB's own. After an error at the time limit, w may be
// written to until Abandoned is closed.
func (db *DB) Run(ctx context.Context, q Query, values map[string]string, w Writer) (int64, error) {
	var rows int64
	err := db.readAnswer(ctx, q.ofAnyLength(isStreaming(w)), values, func(r array.RecordReader) (err error) {
		rows, err = copyRows(r, w)
		return err
	})
	if err != nil {
		return 0, err // what was left behind may be counting still
	}
	return rows, nil
}

// readAnswer runs the query and calls use with its answer, in Arrow batches.
func (db *DB) readAnswer(ctx context.Context, q Query, values map[string]string, use func(array.RecordReader) error) error {
	ctx, cancel, explain := withTimeout(ctx, db.opts.Timeout)
	defer cancel()
	abandoned, err := waitFor(ctx, db.opts.Timeout, func() error {
		return db.conn.Raw(func(raw any) error {
			conn, ok := raw.(*duckdb.Conn)
			if !ok {
				return fmt.Errorf("run query: connection is %T, not DuckDB's", raw)
			}
			s, args, err := db.admitQuery(ctx, conn, q, values)
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err // DuckDB may have worked for long to prepare it
			}
			if q, err = limitRows(conn, q, s, db.opts.MaxRows); err != nil {
				return err
			}
			if q.spooled && s.storable && spoolAnswer(ctx, conn, q, args) {
				q.SQL, q.long, q.stored = "SELECT * FROM "+spool, true, true
			}
			if q.long {
				return readLong(ctx, conn, q, args, use)
			}
			return readArrow(ctx, conn, q, args, use)
		})
	})
	db.leaveBehind(abandoned)
	return explain(err)
}

// leaveBehind notes work that was left at its time limit; nil: none was. What was left
// before may be at work still.
func (db *DB) leaveBehind(work <-chan struct{}) {
	before := db.abandoned
	select {
	case <-before:
		before = nil
	default: // also where there is none
	}
	if before == nil || work == nil {
		db.abandoned = cmp.Or(work, before)
		return
	}
	both := make(chan struct{})
	go func() {
		<-before
		<-work
		close(both)
	}()
	db.abandoned = both
}

// Abandoned is closed when the work has ended that the last query left behind at its time
// limit, since DuckDB could not stop it; nil: it left nothing. Until then the next query
// of the DB waits, and so does Close.
func (db *DB) Abandoned() <-chan struct{} { return db.abandoned }

// admitQuery prepares a query with its arguments and refuses what it may not do. The
// built-in queries are trusted.
func (db *DB) admitQuery(ctx context.Context, conn *duckdb.Conn, q Query, values map[string]string) (s statement, args []any, err error) {
	own := q.IsOwn()
	if own || q.spooled {
		if s, err = prepareStatement(conn, q.SQL); err != nil {
			return s, nil, q.wrapErr(err)
		}
	}
	params := q.Params
	if own {
		params = usedParams(q.Params, s.params)
	}
	if s.several && len(values) > 0 {
		return s, nil, &UsageError{Problem: "a text of several statements takes no parameters: give one statement (a PIVOT without IN counts as several)"}
	}
	if args, err = bindValues(ctx, conn, q, params, values); err != nil {
		return s, nil, err
	}
	if own && !db.opts.Unsafe {
		if err := refuseUnlessReads(ctx, conn, s, q.SQL, args); err != nil {
			return s, nil, q.wrapErr(err)
		}
	}
	return s, args, nil
}

func readArrow(ctx context.Context, conn driver.Conn, q Query, args []any, use func(array.RecordReader) error) error {
	arrow, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return fmt.Errorf("run query: %w", err)
	}
	reader, err := arrow.QueryContext(ctx, q.SQL, args...)
	if err != nil {
		return q.wrapErr(asRefusal(err))
	}
	defer reader.Release()
	if err := ctx.Err(); err != nil {
		return err // nobody may wait for the answer any more
	}
	if err := use(reader); err != nil {
		return err
	}
	if err := reader.Err(); err != nil {
		return q.wrapErr(asRefusal(err))
	}
	return nil
}

func copyRows(r array.RecordReader, w Writer) (int64, error) {
	columns := columnsOf(r.Schema())
	if err := unwrittenErr(columns); err != nil {
		return 0, err
	}
	if err := w.Begin(columns); err != nil {
		return 0, err
	}
	var rows int64
	for r.Next() {
		row := &batchRow{batch: newBatch(columns, r.RecordBatch())}
		for row.at < row.batch.len {
			if err := w.Row(row); err != nil {
				return rows, err
			}
			row.at++
		}
		rows += int64(row.batch.len)
	}
	if r.Err() != nil {
		return rows, nil // the caller reports it; a half-written answer gets no end
	}
	return rows, w.End()
}
