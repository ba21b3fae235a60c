package query

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"placementsync/internal/sqltext"
)

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

// runOn calls work with a context that ends at Options.Timeout.
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

// selectStart matches the first word of a statement that can be a subquery or follow CREATE TABLE AS, and
// the comments before it. Other statements that read, such as DESCRIBE, have short results.
var selectStart = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE|PIVOT|PIVOT_WIDER|UNPIVOT)\b)`)

// Limit returns the query with a maximum number of rows. The driver keeps the whole result in memory, which
// DuckDB's memory limit does not count.
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
	if err != nil || limited.several && q.IsUserDefined() && !s.several {
		return q, &UsageError{Problem: q.errPrefix() + "the number of rows cannot be limited: remove the semicolon or the comment after the statement"}
	}
	q.SQL = text
	return q, nil
}
