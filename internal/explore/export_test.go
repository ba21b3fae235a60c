package explore

import "context"

// DeriveNow runs statements in the derived database of the newest snapshot. The caller must have opened
// only this snapshot.
func (e *Explorer) DeriveNow(ctx context.Context, statements ...string) error {
	return e.pool.open[0].db.Derive(ctx, statements...)
}

// Stuck returns the number of queries that are still running after their time limit.
func (e *Explorer) Stuck() int { return int(e.pool.stuck.Load()) }
