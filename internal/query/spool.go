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
	// spool is the temporary table of a long answer. The driver holds a whole answer
	// in memory, outside of DuckDB's limit; a temporary table stays within the limit
	// and spills.
	spool = `temp.main."spooled answer"`
	// spoolRows is how many rows of a long answer are in memory at a time.
	spoolRows = 40_960
)

// readLong is readArrow for answers of any length. A stored table is read in
// place, piece by piece; any other answer is spooled first. It takes one
// statement, whose columns have different names.
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

// beginning is how a text begins that can follow CREATE TABLE AS, behind its
// comments: not so DESCRIBE, which DuckDB takes for a SELECT all the same.
var beginning = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE)\b)`)

// spoolAnswer puts the answer of a storable statement into the spool. It is false
// for what fails: read directly, it says why in terms of the text as written.
func spoolAnswer(ctx context.Context, conn *duckdb.Conn, q Query, args []any) bool {
	return beginning.MatchString(q.SQL) &&
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

// pieces reads a stored table by ranges of its row numbers, as one answer.
type pieces struct {
	ctx  context.Context
	from *duckdb.Arrow
	text string
	// next is the first row number of the next piece, end that after the last.
	next, end int64
	err       error

	array.RecordReader // of the piece that is read; nil: none
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

// openNext moves on to the next piece.
func (p *pieces) openNext() error {
	part, err := p.from.QueryContext(p.ctx, fmt.Sprintf("%s WHERE rowid >= %d AND rowid < %d", p.text, p.next, p.next+spoolRows))
	if err != nil {
		return err
	}
	p.Release()
	p.RecordReader, p.next = part, p.next+spoolRows
	return nil
}

// Next moves to the next batch.
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

// Err is what ended the reading too early.
func (p *pieces) Err() error { return p.err }

// Retain is part of the interface; pieces have one reader.
func (p *pieces) Retain() {}

// Release ends the reading.
func (p *pieces) Release() {
	if p.RecordReader != nil {
		p.RecordReader.Release()
	}
	p.RecordReader = nil
}
