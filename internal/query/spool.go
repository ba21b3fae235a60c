package query

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
)

const (
	// spool is the temporary table of a spooled result. The driver would keep the whole result in
	// memory, which DuckDB's memory limit does not count. The limit does count a temporary table, and
	// DuckDB can move it to disk.
	spool     = sqltext.SQL(`temp.main."spooled result"`)
	pieceRows = 40_960
)

// spoolResult writes the result of a statement to the spool and reports whether that succeeded. If it
// failed, the caller runs the original statement, so that the error quotes the original SQL.
func spoolResult(ctx context.Context, conn *duckdb.Conn, q Query, args []any) bool {
	create := sqltext.Fill("CREATE OR REPLACE TEMP TABLE {spool} AS {query}", sqltext.Values{"spool": spool, "query": sqltext.SQL(q.SQL)})
	return selectStart.MatchString(q.SQL) && execOn(ctx, conn, create, args...) == nil
}

func execOn(ctx context.Context, conn *duckdb.Conn, statement sqltext.SQL, args ...any) error {
	_, err := conn.ExecContext(ctx, string(statement), namedValues(args))
	return err
}

func namedValues(args []any) []driver.NamedValue {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
		if n, ok := a.(sql.NamedArg); ok {
			values[i].Name, values[i].Value = n.Name, n.Value
		}
	}
	return values
}

// pieceReader is an array.RecordReader that reads the spool in ranges of rowid.
type pieceReader struct {
	ctx       context.Context
	arrow     *duckdb.Arrow
	next, end int64 // the first rowid of the next piece, and the rowid after the last row
	err       error

	array.RecordReader // the current piece, or nil
}

func openPieces(ctx context.Context, arrow *duckdb.Arrow) (array.RecordReader, error) {
	p := &pieceReader{ctx: ctx, arrow: arrow}
	reader, err := arrow.QueryContext(ctx, string("SELECT coalesce(max(rowid) + 1, 0)::BIGINT FROM "+spool))
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	if reader.Next() {
		p.end = reader.RecordBatch().Column(0).(*array.Int64).Value(0)
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	return p, p.openNext()
}

func (p *pieceReader) openNext() error {
	pieceSQL := sqltext.Fill("FROM {spool} WHERE rowid >= {first} AND rowid < {end}",
		sqltext.Values{"spool": spool, "first": p.next, "end": p.next + pieceRows})
	piece, err := p.arrow.QueryContext(p.ctx, string(pieceSQL))
	if err != nil {
		return err
	}
	p.Release()
	p.RecordReader, p.next = piece, p.next+pieceRows
	return nil
}

func (p *pieceReader) Next() bool {
	for !p.RecordReader.Next() {
		if p.err = p.RecordReader.Err(); p.err != nil || p.next >= p.end {
			return false
		}
		if p.err = p.openNext(); p.err != nil {
			return false
		}
	}
	return true
}

func (p *pieceReader) Err() error { return p.err }

// Retain does nothing, because a pieceReader has a single owner.
func (p *pieceReader) Retain() {}

func (p *pieceReader) Release() {
	if p.RecordReader != nil {
		p.RecordReader.Release()
	}
	p.RecordReader = nil
}
