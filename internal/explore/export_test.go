package explore

import (
	"context"

	"placementsync/internal/query"
)

// DeriveNow runs statements in the derived database of the newest snapshot, which must be open.
func (e *Explorer) DeriveNow(ctx context.Context, statements ...string) error {
	return e.pool.newest.db.Derive(ctx, statements...)
}

// Stuck returns the number of queries that are still running after their time limit.
func (e *Explorer) Stuck() int { return int(e.pool.stuck.Load()) }

// AskSecond runs a query in the second session of a request.
func (e *Explorer) AskSecond(ctx context.Context, text string) error {
	s, db, err := e.pool.borrow(ctx, "")
	if err != nil {
		return err
	}
	defer e.pool.release(s, db)
	other := s.borrowIdle()
	defer e.pool.releaseIdle(s, other)
	_, err = other.Collect(ctx, query.Text(text), nil, maxRows)
	return err
}
