package explore

import (
	"context"

	"placementsync/internal/query"
)

// DeriveNow runs statements in the derived database of the newest snapshot, which a page
// has opened.
func (e *Explorer) DeriveNow(ctx context.Context, statements ...string) error {
	return query.Derive(ctx, e.pool.newest.db, statements...)
}

// Stuck counts the queries that could not be stopped and are still at work.
func (e *Explorer) Stuck() int { return int(e.pool.stuck.Load()) }
