package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"
)

const (
	// spool is the temporary table of a long result. The driver keeps a whole result in memory,
	// in addition to DuckDB's memory limit. A temporary table is subject to the limit and is
	// spilled to disk.
	spool = `temp.main."spooled result"`
	// spoolRows is the number of rows of a long result that are in memory at a time.
	spoolRows = 40_960
)

// readLong is readArrow for results of any length. It reads a stored table in pieces, and other
// results from the spool. q is one statement whose columns have different names.
func readLong(ctx context.Context, conn *duckdb.Conn, q Query, args []any, use func(array.RecordReader) error) error {
	from, err := duckdb.NewArrowFromConn(conn)
	if err != nil {
		return fmt.Errorf("run query: %w", err)
	}
	r := &pieces{ctx: ctx, from: from, text: q.SQL}
	defer r.Release()
	if !q.stored {
		if err := execOn(ctx, conn, "CREATE OR REPLACE TEMP TABLE "+spool+" AS "+q.SQL, args...); err != nil {
			return q.wrapErr(asRefusal(err))
		}
		r.text = "SELECT * FROM " + spool
	}
	if err := r.openFirst(); err != nil {
		return q.wrapErr(asRefusal(err))
	}
	if err := use(r); err != nil {
		return err
	}
	if r.err != nil {
		return q.wrapErr(asRefusal(r.err))
	}
	return execOn(ctx, conn, "DROP TABLE IF EXISTS "+spool)
}

// spoolable matches the beginning of a text that can follow CREATE TABLE AS, after comments. It
// excludes DESCRIBE, for example, which DuckDB classifies as SELECT.
var spoolable = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE)\b)`)

// spoolResult writes the result of a statement to the spool and reports success. After a failure
// the caller runs the statement itself, so that the error refers to the original text.
func spoolResult(ctx context.Context, conn *duckdb.Conn, q Query, args []any) bool {
	return spoolable.MatchString(q.SQL) &&
		execOn(ctx, conn, "CREATE OR REPLACE TEMP TABLE "+spool+" AS "+q.SQL, args...) == nil
}

func execOn(ctx context.Context, conn *duckdb.Conn, text string, args ...any) error {
	_, err := conn.ExecContext(ctx, text, namedValues(args))
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

// pieces is an array.RecordReader that reads a stored table in ranges of rowid.
type pieces struct {
	ctx  context.Context
	from *duckdb.Arrow
	text string
	// The next piece begins at rowid next. end is the rowid after the last row.
	next, end int64
	err       error

	array.RecordReader // the current piece, or nil
}

func (p *pieces) openFirst() error {
	_, table, _ := strings.Cut(p.text, " FROM ")
	last, err := p.from.QueryContext(p.ctx, "SELECT coalesce(max(rowid) + 1, 0)::BIGINT FROM "+table)
	if err != nil {
		return err
	}
	defer last.Release()
	if last.Next() {
		p.end = last.RecordBatch().Column(0).(*array.Int64).Value(0)
	}
	return errors.Join(last.Err(), p.openNext())
}

func (p *pieces) openNext() error {
	part, err := p.from.QueryContext(p.ctx, fmt.Sprintf("%s WHERE rowid >= %d AND rowid < %d", p.text, p.next, p.next+spoolRows))
	if err != nil {
		return err
	}
	p.Release()
	p.RecordReader, p.next = part, p.next+spoolRows
	return nil
}

// Next implements array.RecordReader.
func (p *pieces) Next() bool {
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

// Err implements array.RecordReader.
func (p *pieces) Err() error { return p.err }

// Retain does nothing, because pieces has a single owner.
func (p *pieces) Retain() {}

// Release implements array.RecordReader.
func (p *pieces) Release() {
	if p.RecordReader != nil {
		p.RecordReader.Release()
	}
	p.RecordReader = nil
}
