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

// TimeoutError says that a query was stopped since it took too long.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("stopped after %s, the time limit: ask for less (WHERE, LIMIT, fewer joins), or raise the limit", e.After)
}

// withTimeout bounds the work of one query. The returned function gives an error the
// reason, when it was the time.
func (db *DB) withTimeout(ctx context.Context) (context.Context, context.CancelFunc, func(error) error) {
	if db.opts.Timeout <= 0 {
		return ctx, func() {}, func(err error) error { return err }
	}
	ctx, cancel := context.WithTimeoutCause(ctx, db.opts.Timeout, &TimeoutError{db.opts.Timeout})
	return ctx, cancel, func(err error) error {
		var late *TimeoutError
		if err != nil && errors.As(context.Cause(ctx), &late) {
			return late
		}
		return err
	}
}

// limitable is how a text begins whose answer can be the table of another SELECT,
// behind its comments. The others describe something, and have short answers.
var limitable = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE|PIVOT|PIVOT_WIDER|UNPIVOT)\b)`)

// limitRows lets DuckDB stop after Options.MaxRows: the driver would hold the whole
// answer in memory, outside of DuckDB's limit. s is what DuckDB said of a text of the
// user, which stands alone, so that no bracket in it can close the one around it.
func (db *DB) limitRows(conn *duckdb.Conn, q Query, s statement) (Query, error) {
	if db.opts.MaxRows <= 0 || !limitable.MatchString(q.SQL) {
		return q, nil
	}
	text := fmt.Sprintf("SELECT * FROM (\n%s\n) LIMIT %d", strings.TrimRight(q.SQL, "; \t\r\n"), db.opts.MaxRows)
	limited, err := prepareStatement(conn, text)
	if err != nil || limited.several && q.IsOwn() && !s.several {
		return q, &UsageError{Problem: q.errPrefix() + "the text cannot be limited to some rows: end it with the statement, without a semicolon and a comment behind it"}
	}
	q.SQL = text
	return q, nil
}
