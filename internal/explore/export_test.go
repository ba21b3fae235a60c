package explore

import (
	"context"

	"placementsync/internal/query"
)

// DeriveNow runs statements in the derived database of the newest snapshot, which a page
// has opened.
func (e *Explorer) DeriveNow(ctx context.Context, statements ...string) error {
	return e.pool.newest.db.Derive(ctx, statements...)
}

// Stuck counts the queries that could not be stopped and are still at work.
func (e *Explorer) Stuck() int { return int(e.pool.stuck.Load()) }

// AskSecond asks on the second connection of a request.
func (e *Explorer) AskSecond(ctx context.Context, text string) error {
	s, db, err := e.pool.borrow(ctx, "")
	if err != nil {
		return err
	}
	defer e.pool.release(s, db)
	other := s.borrowIdle()
	defer e.pool.releaseIdle(s, other)
	_, err = other.Collect(ctx, query.Text(text), nil, mostRecords)
	return err
}
