package load

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
)

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
	defer func() { ins.firstErr = err }()
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
