package load

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
	"placementsync/internal/warehouse"
)

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
