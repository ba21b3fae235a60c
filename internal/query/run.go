package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
)

// Run runs a query, writes its rows to w and returns their number. SQL of the user must be a single
// statement. With Options.Unsafe, several statements are allowed, and Run writes the result of the
// last one. Run returns a *UsageError for wrong parameters, a *RefusedError for a statement that does
// more than read, and otherwise an error of DuckDB or of w.
func (db *DB) Run(ctx context.Context, q Query, values map[string]string, w Writer) (int64, error) {
	ctx, cancel := db.WithTimeout(ctx) // for Admit and Run together
	defer cancel()
	a, err := db.Admit(ctx, q, values)
	if err != nil {
		return 0, err
	}
	return a.Run(ctx, w)
}

// Admitted is a checked query. Its methods can be called until its DB is closed.
type Admitted struct {
	db     *DB
	query  Query
	values map[string]string // as they were given

	statement statement
	args      []any
}

// Admit checks the SQL and the values of a query. It returns a *UsageError for wrong parameters, and a
// *RefusedError for a statement that does more than read.
func (db *DB) Admit(ctx context.Context, q Query, values map[string]string) (Admitted, error) {
	return db.admit(ctx, q, values, true)
}

// admit prepares a built-in query only if mustPrepare is true, because built-in queries are trusted. Otherwise the field
// statement is the zero value, and the result cannot be spooled.
func (db *DB) admit(ctx context.Context, q Query, values map[string]string, mustPrepare bool) (Admitted, error) {
	a := Admitted{db: db, query: q, values: values}
	err := db.runOn(ctx, db.conn, func(ctx context.Context, conn *duckdb.Conn) error {
		return a.check(ctx, conn, mustPrepare)
	})
	return a, err
}

// check sets the fields statement and args.
func (a *Admitted) check(ctx context.Context, conn *duckdb.Conn, mustPrepare bool) (err error) {
	q := a.query
	if mustPrepare || q.IsUserDefined() {
		a.statement, err = prepareStatement(conn, q.SQL)
		if err != nil {
			return q.wrapErr(err)
		}
	}
	if a.statement.several && len(a.values) > 0 {
		return &UsageError{Problem: "several statements cannot have parameters: write one statement (a PIVOT without IN counts as several)"}
	}
	params := q.Params
	if q.IsUserDefined() {
		params = nil // only the parameters in the SQL, in its order
		for _, p := range a.statement.params {
			if declared, isDeclared := q.Param(p.Name); isDeclared {
				p = declared
			}
			params = append(params, p)
		}
	}
	a.args, err = bindValues(ctx, conn, q, params, a.values, a.db.opts.Settings)
	if err != nil {
		return err
	}
	if q.IsUserDefined() && !a.db.opts.Unsafe {
		if err := checkReadOnly(ctx, conn, a.statement, q.SQL, a.args); err != nil {
			return q.wrapErr(err)
		}
	}
	return nil
}

// Run runs the query, writes its rows to w and returns their number. Its errors are those of DuckDB and of w.
func (a Admitted) Run(ctx context.Context, w Writer) (int64, error) {
	var rows int64
	err := a.readResult(ctx, true, func(r array.RecordReader) (err error) {
		rows, err = copyRows(r, w)
		return err
	})
	return rows, err
}

// readResult runs the query and calls use with its result in Arrow batches. If maySpool is true, the result
// is first written to a temporary table, if possible, and then read in pieces.
func (a Admitted) readResult(ctx context.Context, maySpool bool, use func(array.RecordReader) error) error {
	return a.db.runOn(ctx, a.db.conn, func(ctx context.Context, conn *duckdb.Conn) error {
		q, err := limitRows(conn, a.query, a.statement)
		if err != nil {
			return err
		}
		isSpooled := false
		if maySpool && a.statement.storable {
			// If the statement fails, the original one runs, so that the error quotes the original SQL.
			isSpooled = execOn(ctx, conn, spoolSQL(q), a.args...) == nil
		}
		arrow, err := duckdb.NewArrowFromConn(conn)
		if err != nil {
			return fmt.Errorf("run query: %w", err)
		}
		var reader array.RecordReader
		if isSpooled {
			reader, err = openPieces(ctx, arrow)
		} else {
			reader, err = arrow.QueryContext(ctx, q.SQL, a.args...)
		}
		if err != nil {
			return q.wrapErr(asRefusal(err))
		}
		defer reader.Release()
		if err := use(reader); err != nil {
			return err
		}
		if err := reader.Err(); err != nil {
			return q.wrapErr(asRefusal(err))
		}
		if isSpooled {
			return execOn(ctx, conn, "DROP TABLE "+spool)
		}
		return nil
	})
}

func copyRows(r array.RecordReader, w Writer) (int64, error) {
	columns := columnsOf(r.Schema())
	for _, c := range columns {
		if c.codec.text == nil {
			return 0, &UsageError{Problem: fmt.Sprintf("column %q has the type %s, which no format supports: cast it, as in CAST(%[1]q AS VARCHAR)", c.Name, c.Type)}
		}
	}
	if err := w.Begin(columns); err != nil {
		return 0, err
	}
	var rows int64
	values := make([]Value, len(columns))
	for r.Next() {
		batch := r.RecordBatch()
		for row := range int(batch.NumRows()) {
			for i, c := range columns {
				values[i] = c.valueAt(batch.Column(i), row)
			}
			if err := w.Row(values); err != nil {
				return rows, err
			}
		}
		rows += batch.NumRows()
	}
	if r.Err() != nil {
		return rows, nil // readResult returns r.Err; End is not called for an incomplete result
	}
	return rows, w.End()
}

// TimeoutError reports that a query was stopped at its time limit.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the query was stopped after %s, the time limit: read less (WHERE, LIMIT, fewer joins), or raise the limit", e.After)
}

// WithTimeout returns a context in which several queries together have the time limit of one query.
func (db *DB) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if db.opts.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, db.opts.Timeout, &TimeoutError{db.opts.Timeout})
}

// runOn calls work with a context that ends at Options.Timeout. After that time, errors become a *TimeoutError.
func (db *DB) runOn(ctx context.Context, conn *sql.Conn, work func(context.Context, *duckdb.Conn) error) error {
	ctx, cancel := db.WithTimeout(ctx)
	defer cancel()
	err := conn.Raw(func(raw any) error { return work(ctx, raw.(*duckdb.Conn)) })
	var late *TimeoutError
	if err != nil && errors.As(context.Cause(ctx), &late) {
		return late
	}
	return err
}

// IsUnreadable reports whether an error indicates a damaged file rather than a mistake in the
// query.
func IsUnreadable(err error) bool {
	if e, ok := errors.AsType[*StatementError](err); ok {
		return e.Unreadable
	}
	return hasType(err, duckdb.ErrorTypeIO, duckdb.ErrorTypeInternal,
		duckdb.ErrorTypeFatal, duckdb.ErrorTypeSerialization, duckdb.ErrorTypeInvalid)
}

// IsMissing reports whether DuckDB could not resolve a name in a query, in most cases because the
// catalog of an older program version lacks a table, view or column.
func IsMissing(err error) bool {
	return hasType(err, duckdb.ErrorTypeCatalog, duckdb.ErrorTypeBinder)
}

func hasType(err error, types ...duckdb.ErrorType) bool {
	de, ok := errors.AsType[*duckdb.Error](err)
	return ok && slices.Contains(types, de.Type)
}

// selectStart matches the first word of a statement that can be a subquery, and the comments before it. Other
// statements that read, such as DESCRIBE, have short results.
var selectStart = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE|PIVOT|PIVOT_WIDER|UNPIVOT)\b)`)

// Limit returns the query with a maximum number of rows. It protects a caller that does not spool the result, because
// the driver keeps the whole result in memory, which DuckDB's memory limit does not count.
func (q Query) Limit(maxRows int) Query {
	q.maxRows = maxRows
	return q
}

// limitRows makes a limited query the subquery of a SELECT with a LIMIT. s describes q.SQL before the
// change. If the changed SQL is invalid, or if a single statement of the user becomes several because a
// bracket in the statement closes the added bracket, limitRows returns a *UsageError.
func limitRows(conn *duckdb.Conn, q Query, s statement) (Query, error) {
	if q.maxRows == 0 || !selectStart.MatchString(q.SQL) {
		return q, nil
	}
	text := string(sqltext.Fill("{select} LIMIT {most}", sqltext.Values{"select": selectFrom(q.SQL), "most": q.maxRows}))
	limited, err := prepareStatement(conn, text)
	isSplit := limited.several && !s.several && q.IsUserDefined()
	if err != nil || isSplit {
		return q, &UsageError{Problem: q.errPrefix() + "the number of rows cannot be limited: remove the semicolon or the comment after the statement"}
	}
	q.SQL = text
	return q, nil
}

const (
	// spool is the temporary table of a spooled result. The driver would keep the whole result in
	// memory, which DuckDB's memory limit does not count. The limit does count a temporary table, and
	// DuckDB can move it to disk.
	spool     = sqltext.SQL(`temp.main."spooled result"`)
	pieceRows = 40_960
)

// spoolSQL returns a statement that writes the result of a query to the spool.
func spoolSQL(q Query) sqltext.SQL {
	return sqltext.Fill("CREATE OR REPLACE TEMP TABLE {spool} AS {query}", sqltext.Values{"spool": spool, "query": sqltext.SQL(q.SQL)})
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
		p.err = p.RecordReader.Err()
		if p.err != nil || p.next >= p.end {
			return false
		}
		p.err = p.openNext()
		if p.err != nil {
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
