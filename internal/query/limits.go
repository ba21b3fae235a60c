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

// stopGrace is how long DuckDB may take to stop, which it is told every half second.
const stopGrace = 2 * time.Second

// waitFor waits for work that a limit bounds, and no longer than stopGrace after the end of
// ctx. Work that it leaves behind then has ended when the channel is closed.
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
			panic(panicked) // where the caller's own recover is
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

// limitable is how a text begins whose answer can be the table of another SELECT,
// behind its comments. The others describe something, and have short answers.
var limitable = regexp.MustCompile(`^(?is:\s|--[^\n]*\n|/\*.*?\*/)*(?i:\(|(?:SELECT|FROM|WITH|VALUES|TABLE|PIVOT|PIVOT_WIDER|UNPIVOT)\b)`)

// limitRows lets DuckDB stop after so many rows, if that is not 0: the driver would hold the whole
// answer in memory, outside of DuckDB's limit. s is what DuckDB said of a text of the
// user, which stands alone, so that no bracket in it can close the one around it.
func limitRows(conn *duckdb.Conn, q Query, s statement, most int) (Query, error) {
	if most <= 0 || !limitable.MatchString(q.SQL) {
		return q, nil
	}
	text := fmt.Sprintf("SELECT * FROM (\n%s\n) LIMIT %d", strings.TrimRight(q.SQL, "; \t\r\n"), most)
	limited, err := prepareStatement(conn, text)
	if err != nil || limited.several && q.IsOwn() && !s.several {
		return q, &UsageError{Problem: q.errPrefix() + "the text cannot be limited to some rows: end it with the statement, without a semicolon and a comment behind it"}
	}
	q.SQL = text
	return q, nil
}
