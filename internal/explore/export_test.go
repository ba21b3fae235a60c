package explore

import "context"

// RunInDerived runs statements in the in-memory database "derived" of the newest snapshot. The caller
// must have opened only this snapshot.
func (e *Explorer) RunInDerived(ctx context.Context, statements ...string) error {
	return e.pool.open[0].db.Derive(ctx, statements...)
}

// FillStatementQueue occupies all places of the queue of typed SQL until release is called.
func (e *Explorer) FillStatementQueue() (release func()) {
	for range cap(e.statements.places) {
		e.statements.places <- struct{}{}
	}
	return func() {
		for range cap(e.statements.places) {
			<-e.statements.places
		}
	}
}

// Stuck returns the number of ended requests whose query is still running.
func (e *Explorer) Stuck() int { return int(e.pool.stuck.Load()) }
