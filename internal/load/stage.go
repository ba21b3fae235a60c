// Package load writes Arrow record batches into a draft of the warehouse. It inserts them
// into staging tables, checks the limits on deletions, merges the staged rows into main and past, and
// writes Parquet files. Its SQL is in the folder sql, in the order of the phases.
//
// A row reaches main in one of two ways. Most rows are staged (rows.go)
// and merged (merge.go). A large list fills empty tables of main directly (rows.go). The rows of
// unchanged records remain in main and are not staged (unchanged.go).
//
// The stage is a DuckDB file of its own, because staging would leave free blocks in the catalog. Arrow
// batches are read by "INSERT INTO t SELECT * FROM view": a projection or a filter on such a view is not safe.
// While records are read, a statement has one thread: a second one would leave a partial row group, which
// makes the next checkpoint slow. After the last response, all cores are used.
//
// The merge compares keys and fingerprints, and no other column. NULLs are not part of a
// fingerprint, so a new column changes no row. The computation of a fingerprint must never change; DuckDB's hash()
// is not promised to be stable. Items keep their positions, which key child rows: staged positions are
// replaced before the plan and the merge, so that counts, gates and plan see no false change.
//
// Parquet files are not sorted: the key is a UUID, so readers could not skip parts of a sorted file. An
// unchanged table keeps its Parquet file, as a compared copy and not as a link, because repairs need an
// independent copy.
//
// The package must not know how records are fetched or decoded. It knows only the staged rows
// of a stream, and whether the absence of a row proves its deletion.
package load

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// stageFile contains the staged rows during a night. It is a separate file in the draft's folder,
// because staged rows, which are deleted after the merge, would leave unused blocks in the catalog.
const stageFile = "stage.duckdb"

// Stage contains the rows of a night until they are merged. Rows are added from many goroutines.
type Stage struct {
	draft   *warehouse.Draft
	streams []stream.Stream
	direct  nameSet // tables of main that are filled directly
	// withStoredRows contains the lists to whose staged rows the stored rows of unchanged records were added.
	withStoredRows nameSet
	shared         *inserter                      // for all tables without a feed
	replaced       map[string]int64               // the number of rows of main with other values and no new version, by table
	ignored        map[string]map[string][]string // paths of members by table and column; no path means the whole column

	mu    sync.Mutex // guards the fields below
	feeds map[streamTable]*feed
	// feedErr joins the errors of feeds. The rows of a failed feed are lost, so the stage cannot be
	// merged.
	feedErr       error
	directDecided map[string]bool    // the streams for which chooseDirect has decided
	stored        map[string]*Stored // the lists that are being read
}

// Open attaches a stage to a draft. If only ignored columns of a row differ, or signatures of URLs, the row gets
// the new values and no new version. ignored contains columns as table.column, and members of JSON columns as table.column.member.
func Open(ctx context.Context, d *warehouse.Draft, streams []stream.Stream, ignored []string) (*Stage, error) {
	s := &Stage{
		draft: d, streams: streams, feeds: map[streamTable]*feed{}, directDecided: map[string]bool{}, stored: map[string]*Stored{},
		replaced: map[string]int64{}, ignored: map[string]map[string][]string{},
	}
	for _, name := range ignored {
		table, path, _ := strings.Cut(name, ".")
		column, member, isMember := strings.Cut(path, ".")
		if s.ignored[table] == nil {
			s.ignored[table] = map[string][]string{}
		}
		paths, isNamed := s.ignored[table][column]
		isWhole := isNamed && len(paths) == 0
		if !isMember {
			s.ignored[table][column] = nil
		} else if !isWhole {
			s.ignored[table][column] = append(paths, member)
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open the stage: %w", err)
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context) (err error) {
	if err := s.createTables(ctx); err != nil {
		return err
	}
	if err := s.draft.ReduceMemory(ctx); err != nil {
		return err
	}
	// Several tables are still filled at the same time, because each statement also runs on the thread of
	// its caller. With two threads, a first night would take 50 % more CPU time.
	if err := setThreads(ctx, s.draft, 1); err != nil {
		return err
	}
	s.shared, err = newInserter(ctx, s.draft, "batch", stageName)
	return err
}

func (s *Stage) createTables(ctx context.Context) error {
	path := filepath.Join(s.draft.Dir, stageFile)
	if err := s.draft.Exec(ctx, stageSQL.Render("attach", values{"file": path})); err != nil {
		return err
	}
	statements := []sqlText{createSchemaSQL(desiredSchema), createSchemaSQL(changedKeysSchema), stageSQL.Render("create_findings", nil)}
	for _, st := range s.streams {
		statements = append(statements, createSchemaSQL(st.Name))
		if st.IsDetail() {
			statements = append(statements, stageSQL.Render("create_details", values{"requested": requestedTable(st.Name), "plan": planTable(st.Name)}))
		}
		if s.canSkip(st) {
			statements = append(statements, stageSQL.Render("create_table", values{
				"table": stagedTable(st.Name, exceptionsName), "columns": sqlText("row_id BIGINT, is_unchanged BOOLEAN"),
			}))
		}
		for _, t := range tablesOf(st) {
			columns := sqltext.Join(s.draft.Schema.Definitions[t.Name].Columns, ", ", func(c stream.Column) sqlText {
				if c.Type == stream.JSON { // JSON is staged as text, and the merge converts it
					c.Type = stream.Text
				}
				return sqlText(sqltext.Quote(c.Name) + " " + string(c.Type))
			})
			statements = append(statements, stageSQL.Render("create_table", values{"table": stagedTable(st.Name, t.Name),
				"columns": columns + ", " + stream.RowHash + " UBIGINT, " + stream.Seq + " UBIGINT"}))
		}
	}
	return s.draft.Atomically(ctx, statements)
}

func createSchemaSQL(name string) sqlText {
	return stageSQL.Render("create_schema", values{"schema": sqlText(stageName + "." + sqltext.Quote(name))})
}

// Close closes the stage and removes its file. The draft stays open.
func (s *Stage) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.closeFeeds(allStreams) // flush or insert has reported the error
	err := s.shared.conn.Close()
	if s.draft.Instance != nil {
		err = errors.Join(err, s.draft.Exec(ctx, stageSQL.Render("detach", values{"catalog": sqltext.Name(stageName)})))
	}
	path := filepath.Join(s.draft.Dir, stageFile)
	return errors.Join(err, os.RemoveAll(path), os.RemoveAll(path+".wal"))
}

func setThreads(ctx context.Context, d *warehouse.Draft, threads int) error {
	return d.Exec(ctx, stageSQL.Render("set_threads", values{"threads": threads}))
}

// feed inserts the batches of one table with a single INSERT, which reads them from a channel. DuckDB
// then writes each row once. With an INSERT for each batch, DuckDB would write each row twice: into the
// transaction, and into the table at the commit.
type feed struct {
	batches chan arrow.RecordBatch
	// noMoreBatches is closed after the last batch, and insertEnded after the INSERT.
	noMoreBatches, insertEnded chan struct{}
	sent                       atomic.Int64 // number of rows
	// err is the error of the INSERT, and inserted its number of rows. They may be read once insertEnded is closed.
	err      error
	inserted int64
}

// openFeed starts the INSERT of a table on a connection of its own. The INSERT also reads the batches
// of later calls of AddRows, so the end of ctx must not cancel it.
func (s *Stage) openFeed(ctx context.Context, target streamTable, schema *arrow.Schema) (*feed, error) {
	ctx = context.WithoutCancel(ctx)
	database := stageName
	if s.direct.has(target.table) {
		database = catalogName
	}
	ins, err := newInserter(ctx, s.draft, target.stream+"."+target.table, database)
	if err != nil {
		return nil, err
	}
	f := &feed{batches: make(chan arrow.RecordBatch), noMoreBatches: make(chan struct{}), insertEnded: make(chan struct{})}
	reader := &feedReader{feed: f, schema: schema}
	release, err := ins.arrow.RegisterView(reader, ins.view)
	if err != nil {
		return nil, errors.Join(err, ins.conn.Close())
	}
	go func() {
		defer close(f.insertEnded)
		var err error
		f.inserted, err = ins.executeAndCount(ctx, s.insertBatchSQL(target, ins.view))
		release()
		reader.releaseBatch()
		dropView := stageSQL.Render("drop_view", values{"view": sqltext.Name(ins.view)})
		f.err = errors.Join(err, ins.execute(ctx, dropView), ins.conn.Close())
	}()
	return f, nil
}

func (f *feed) send(ctx context.Context, batches []arrow.RecordBatch) error {
	for _, batch := range batches {
		batch.Retain() // feedReader releases it
		f.sent.Add(batch.NumRows())
		select {
		case f.batches <- batch:
		case <-f.insertEnded:
			batch.Release()
			return errors.Join(errors.New("the INSERT ended before its last batch"), f.err)
		case <-ctx.Done():
			batch.Release()
			return context.Cause(ctx)
		}
	}
	return nil
}

// wait waits for the end of the INSERT and checks that it inserted all rows.
func (f *feed) wait() error {
	<-f.insertEnded
	if f.err != nil {
		return f.err
	}
	return checkInserted(f.inserted, f.sent.Load())
}

// feedReader implements array.RecordReader.
type feedReader struct {
	feed   *feed
	schema *arrow.Schema
	batch  arrow.RecordBatch
}

func (r *feedReader) Retain() {}

func (r *feedReader) Release() {}

func (r *feedReader) Schema() *arrow.Schema { return r.schema }

func (r *feedReader) Err() error { return nil }

func (r *feedReader) RecordBatch() arrow.RecordBatch { return r.batch }

func (r *feedReader) Record() arrow.RecordBatch { return r.batch }

// Next waits for a batch. DuckDB calls it from one thread at a time.
func (r *feedReader) Next() bool {
	r.releaseBatch()
	select {
	case r.batch = <-r.feed.batches:
		return true
	case <-r.feed.noMoreBatches:
		return false
	}
}

func (r *feedReader) releaseBatch() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

// inserter is a connection with at most one open transaction. A transaction contains the rows of
// many batches, because a commit for each batch takes five times as long.
type inserter struct {
	conn  driver.Conn
	arrow *duckdb.Arrow
	view  string // the name under which a batch is registered

	mu             sync.Mutex // guards the fields below
	hasTransaction bool
	// firstErr is the first error of a write. All rows of the transaction are then lost, but a later
	// COMMIT would succeed. So insert and commit return firstErr from then on.
	firstErr error
}

func newInserter(ctx context.Context, d *warehouse.Draft, view, database string) (*inserter, error) {
	conn, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	ins := &inserter{conn: conn, arrow: a, view: view}
	// The view of a batch is created in DuckDB's current database. A transaction can write to only one
	// database, so the current database must contain the table. Two transactions cannot create views
	// with the same name, so each inserter has its own view name.
	if err := ins.execute(ctx, sqlText("USE "+database)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return ins, nil
}

// insert inserts the rows of batches. count is their number.
func (ins *inserter) insert(ctx context.Context, statement sqlText, batches []arrow.RecordBatch, count int64) error {
	return ins.inOpenTransaction(ctx, func() error {
		reader, err := array.NewRecordReader(batches[0].Schema(), batches)
		if err != nil {
			return err
		}
		defer reader.Release()
		release, err := ins.arrow.RegisterView(reader, ins.view)
		if err != nil {
			return err
		}
		defer release()
		inserted, err := ins.executeAndCount(ctx, statement)
		if err != nil {
			return err
		}
		return checkInserted(inserted, count)
	})
}

func (ins *inserter) inOpenTransaction(ctx context.Context, write func() error) (err error) {
	ins.mu.Lock()
	defer ins.mu.Unlock()
	if ins.firstErr != nil {
		return ins.firstErr
	}
	defer func() { ins.firstErr = err }() // nil after a successful write
	if !ins.hasTransaction {
		if err := ins.execute(ctx, "BEGIN"); err != nil {
			return err
		}
		ins.hasTransaction = true
	}
	return write()
}

func (ins *inserter) execute(ctx context.Context, statement sqlText) error {
	_, err := ins.executeAndCount(ctx, statement)
	return err
}

// checkInserted makes sure that no decoded row is lost, which the proof of a list would not notice.
func checkInserted(inserted, sent int64) error {
	if inserted != sent {
		return fmt.Errorf("DuckDB inserted %d of %d rows", inserted, sent)
	}
	return nil
}

// executeAndCount returns the number of inserted rows.
func (ins *inserter) executeAndCount(ctx context.Context, statement sqlText) (int64, error) {
	result, err := ins.conn.(driver.ExecerContext).ExecContext(ctx, string(statement), nil)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (ins *inserter) commit(ctx context.Context) error {
	ins.mu.Lock()
	defer ins.mu.Unlock()
	if ins.firstErr != nil || !ins.hasTransaction {
		return ins.firstErr
	}
	ins.hasTransaction = false
	ins.firstErr = ins.execute(ctx, stageSQL.Render("commit_batches", values{"view": sqltext.Name(ins.view)}))
	return ins.firstErr
}

// appendRows inserts rows into a table of the stage. The values of a row are in the order of the columns.
func appendRows[R any](ctx context.Context, s *Stage, schema, table string, rows []R, valuesOf func(R) []driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	err := s.shared.inOpenTransaction(ctx, func() (err error) {
		appender, err := duckdb.NewAppender(s.shared.conn, stageName, schema, table)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, appender.Close()) }()
		for _, row := range rows {
			if err := appender.AppendRow(valuesOf(row)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("stage %d rows of %s.%s: %w", len(rows), schema, table, err)
	}
	return nil
}

// rowBatch inserts rows that are computed one by one into a table of the stage, many at a time.
type rowBatch struct {
	stage         *Stage
	schema, table string
	rows          [][]driver.Value
}

func (b *rowBatch) add(ctx context.Context, row ...driver.Value) error {
	b.rows = append(b.rows, row)
	const size = 4096
	if len(b.rows) < size {
		return nil
	}
	return b.insert(ctx)
}

// insert inserts the rows that were added since the last insert.
func (b *rowBatch) insert(ctx context.Context) error {
	err := appendRows(ctx, b.stage, b.schema, b.table, b.rows, func(row []driver.Value) []driver.Value { return row })
	b.rows = b.rows[:0]
	return err
}
