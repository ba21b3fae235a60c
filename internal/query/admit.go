package query

import (
	"context"

	duckdb "github.com/duckdb/duckdb-go/v2"
)

// Admitted is a query that was checked once. It can be run, and its sources can be determined, as long as
// its DB is open.
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

// admit does not prepare the statement of a built-in query if isPrepared is false. The field statement is then
// the zero value, so that the result cannot be spooled. Built-in queries are trusted.
func (db *DB) admit(ctx context.Context, q Query, values map[string]string, isPrepared bool) (Admitted, error) {
	a := Admitted{db: db, query: q, values: values}
	err := db.runOn(ctx, db.conn, func(ctx context.Context, conn *duckdb.Conn) error {
		s, args, err := db.check(ctx, conn, q, values, isPrepared || q.IsUserDefined())
		if err != nil {
			return err
		}
		a.statement, a.args = s, args
		return nil
	})
	if err != nil {
		return Admitted{}, err // an abandoned query may still set the fields of a
	}
	return a, nil
}

func (db *DB) check(
	ctx context.Context, conn *duckdb.Conn, q Query, values map[string]string, isPrepared bool,
) (s statement, args []any, err error) {
	if isPrepared {
		if s, err = prepareStatement(conn, q.SQL); err != nil {
			return s, nil, q.wrapErr(err)
		}
	}
	params := q.Params
	if q.IsUserDefined() {
		params = s.params
		for i, p := range params {
			if declared, ok := q.Param(p.Name); ok {
				params[i] = declared
			}
		}
	}
	if s.several && len(values) > 0 {
		return s, nil, &UsageError{Problem: "several statements cannot have parameters: write one statement (a PIVOT without IN counts as several)"}
	}
	if args, err = bindValues(ctx, conn, q, params, values, db.opts.Settings); err != nil {
		return s, nil, err
	}
	if q.IsUserDefined() && !db.opts.Unsafe {
		if err := checkReadOnly(ctx, conn, s, q.SQL, args); err != nil {
			return s, nil, q.wrapErr(err)
		}
	}
	return s, args, nil
}
