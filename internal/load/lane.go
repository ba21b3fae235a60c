package load

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/warehouse"
)

// lane is one connection with at most one open transaction. Rows of many batches go into
// one transaction: a commit for each batch takes five times as long.
type lane struct {
	conn  driver.Conn
	arrow *duckdb.Arrow
	view  string
	open  bool
	// broken is the first statement that failed. The rows of the whole transaction are
	// lost with it, and DuckDB ends such a transaction by COMMIT without an error, so that
	// the lane inserts and commits nothing more.
	broken error
}

func newLane(ctx context.Context, d *warehouse.Draft, view, catalog string) (*lane, error) {
	conn, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &lane{conn: conn, arrow: a, view: view}
	// The view of a batch is made in the current catalog. A transaction writes to one file
	// only, so that this has to be the file of the table; and two of them must not make
	// the same view, hence a name for each lane.
	if err := l.execute(ctx, sqlText("USE "+catalog)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return l, nil
}

// insert registers batches as a view and copies them as they stand.
func (l *lane) insert(ctx context.Context, table sqlText, rows ...arrow.RecordBatch) (err error) {
	if l.broken != nil {
		return l.broken
	}
	defer func() { l.broken = err }()
	if !l.open {
		if err := l.execute(ctx, "BEGIN"); err != nil {
			return err
		}
		l.open = true
	}
	reader, err := array.NewRecordReader(rows[0].Schema(), rows)
	if err != nil {
		return err
	}
	defer reader.Release()
	release, err := l.arrow.RegisterView(reader, l.view)
	if err != nil {
		return err
	}
	defer release()
	return l.execute(ctx, l.insertView(table))
}

func (l *lane) insertView(table sqlText) sqlText {
	return stageSQL.Render("insert_batch", values{"table": table, "view": warehouse.Name(l.view)})
}

func (l *lane) execute(ctx context.Context, statement sqlText) error {
	_, err := l.conn.(driver.ExecerContext).ExecContext(ctx, string(statement), nil)
	return err
}

func (l *lane) commit(ctx context.Context) error {
	if l.broken != nil || !l.open {
		return l.broken
	}
	l.open = false
	l.broken = l.execute(ctx, "COMMIT")
	return l.broken
}

func (l *lane) close() error { return l.conn.Close() }
