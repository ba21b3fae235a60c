package query

import (
	"context"
	"strings"
)

// Describe passes the columns of the answer of a query to a writer, and no row: nothing of
// the query is run. It fails also for a text that answers and cannot be a part of another,
// such as one of several statements.
func (db *DB) Describe(ctx context.Context, q Query, values map[string]string, w Writer) error {
	text := q.SQL[len(nothing.FindString(q.SQL)):]
	q.SQL = "SELECT * FROM (" + strings.TrimRight(text, "; \t\r\n") + "\n) LIMIT 0"
	q.long, q.stored, q.spooled = false, false, false
	_, err := db.Run(ctx, q, values, w)
	return err
}
