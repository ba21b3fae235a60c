package query

import (
	"context"
	"strings"
)

// Describe returns the columns of the answer of a query, and runs nothing of it. It fails
// also for a text that answers and cannot be a part of another, such as one of several
// statements.
func (db *DB) Describe(ctx context.Context, q Query, values map[string]string) ([]Column, error) {
	text := q.SQL[len(nothing.FindString(q.SQL)):]
	q.SQL = "SELECT * FROM (" + strings.TrimRight(text, "; \t\r\n") + "\n) LIMIT 0"
	q.long, q.stored, q.spooled = false, false, false
	r, err := db.Collect(ctx, q, values, 0)
	return r.Columns, err
}
