package query

import (
	"context"
	"strings"
)

// Describe returns the columns of the result of a query without running it. It returns an error
// for SQL that cannot be a subquery, such as several statements.
func (db *DB) Describe(ctx context.Context, q Query, values map[string]string) ([]Column, error) {
	text := q.SQL[len(leadingGap.FindString(q.SQL)):]
	q.SQL = "SELECT * FROM (" + strings.TrimRight(text, "; \t\r\n") + "\n) LIMIT 0"
	q.stored = false
	r, err := db.Collect(ctx, q, values, 0)
	return r.Columns, err
}
