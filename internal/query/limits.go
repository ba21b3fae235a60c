package query

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// TimeoutError reports that a query was stopped at its time limit.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the query was stopped after %s, the time limit: read less (WHERE, LIMIT, fewer joins), or raise the limit", e.After)
}

// withTimeout limits the time of one query. A limit of 0 means no limit. If the limit was reached,
// the returned function replaces an error by a *TimeoutError.
func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, func(error) error) {
	if limit <= 0 {
		return ctx, func() {}, func(err error) error { return err }
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &TimeoutError{limit})
	return ctx, cancel, func(err error) error {
		var late *TimeoutError
		if err != nil && errors.As(context.Cause(ctx), &late) {
			return late
		}
		return err
	}
}

// WithTimeout limits the time of several queries together, as the time of one query.
func (db *DB) WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel, _ := withTimeout(ctx, db.opts.Timeout)
	return ctx, cancel
}

// stopGrace is the time that DuckDB may take to stop after the end of the context. During this time, the
// driver interrupts the query every half second.
const stopGrace = 2 * time.Second

// waitFor runs work and waits until the work ends, but no longer than stopGrace after the end of ctx.
// If the work is still running then, waitFor returns a channel that is closed when the work ends. A
// limit of 0 means that ctx has no time limit: waitFor then always waits until the work ends.
func waitFor(ctx context.Context, limit time.Duration, work func() error) (abandoned <-chan struct{}, _ error) {
	if limit <= 0 {
		return nil, work()
	}
	ended := make(chan struct{})
	var panicked any
	var err error
	go func() {
		defer close(ended)
		defer func() { panicked = recover() }()
		err = work()
	}()
	finish := func() (<-chan struct{}, error) {
		if panicked != nil {
			panic(panicked) // in the goroutine of the caller, which may recover
		}
		return nil, err
	}
	select {
	case <-ended:
		return finish()
	case <-ctx.Done():
	}
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-ended:
		return finish()
	case <-timer.C:
		return ended, context.Cause(ctx)
	}
}

// selectStart matches the first word of a statement that can be a subquery or follow CREATE TABLE AS, and
// the comments before it. Other statements that read, such as DESCRIBE, have short results.
var selectStart = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE|PIVOT|PIVOT_WIDER|UNPIVOT)\b)`)

// limitRows makes a query the subquery of a SELECT with a LIMIT. The driver keeps the whole result
// in memory, which DuckDB's memory limit does not count. A limit of 0 means no limit. s describes
// q.SQL before the change. If the changed SQL is invalid, or if a single statement of the user becomes
// several because a bracket in the statement closes the added bracket, limitRows returns a
// *UsageError.
func limitRows(conn *duckdb.Conn, q Query, s statement, limit int) (Query, error) {
	if limit <= 0 || !selectStart.MatchString(q.SQL) {
		return q, nil
	}
	text := fmt.Sprintf("SELECT * FROM (\n%s\n) LIMIT %d", strings.TrimRight(q.SQL, "; \t\r\n"), limit)
	limited, err := prepareStatement(conn, text)
	if err != nil || limited.several && q.IsUserDefined() && !s.several {
		return q, &UsageError{Problem: q.errPrefix() + "the number of rows cannot be limited: remove the semicolon or the comment after the statement"}
	}
	q.SQL = text
	return q, nil
}
