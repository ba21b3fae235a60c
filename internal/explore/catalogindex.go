package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"placementsync/internal/query"
)

// catalogIndex creates the in-memory tables of the catalog page, which have only the columns to
// search, filter and sort by. The tables count towards the memory limit of the snapshot.
type catalogIndex struct {
	mu      sync.Mutex // guards attempt and recent
	attempt *indexAttempt
	// recent is a cache of counts by filter, so that sorting and paging need not count again.
	recent map[string]counts
}

// indexAttempt is an attempt to create the tables. It may still be running.
type indexAttempt struct {
	cancel context.CancelFunc
	// done is closed when the attempt has ended, with err if it failed.
	done chan struct{}
	err  error
}

// maxRecent is the maximum number of filters in the cache. The next filter empties the cache.
const maxRecent = 32

var errNotReady = errors.New("the catalog of the snapshot is being prepared")

// wait returns when the tables exist. It returns errNotReady after limit. The first call begins to
// create the tables. After an error, the next call begins again.
func (ix *catalogIndex) wait(ctx context.Context, db *query.DB, limit time.Duration) error {
	a := ix.start(ctx, db)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-a.done:
		return a.err
	case <-timer.C:
		return errNotReady
	case <-ctx.Done():
		return fmt.Errorf("wait for the index of the catalog: %w", ctx.Err())
	}
}

// start returns the current attempt, or begins one. The attempt continues if the request ends,
// because the page cancels the previous request at each typed character.
func (ix *catalogIndex) start(ctx context.Context, db *query.DB) *indexAttempt {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.attempt != nil && !ix.attempt.hasFailed() {
		return ix.attempt
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &indexAttempt{cancel: cancel, done: make(chan struct{})}
	ix.attempt = a
	go func() {
		defer close(a.done)
		defer cancel()
		a.err = db.Derive(inner, string(catalogSQL.Render("tables", outletNames())))
	}()
	return a
}

func (a *indexAttempt) hasFailed() bool {
	select {
	case <-a.done:
		return a.err != nil
	default:
		return false
	}
}

// stop cancels a running attempt and waits for its end.
func (ix *catalogIndex) stop() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.attempt != nil {
		ix.attempt.cancel()
		<-ix.attempt.done
	}
}

func (ix *catalogIndex) cachedCounts(filter string) (c counts, ok bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	c, ok = ix.recent[filter]
	return c, ok
}

func (ix *catalogIndex) cacheCounts(filter string, c counts) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if len(ix.recent) == 0 || len(ix.recent) == maxRecent {
		ix.recent = map[string]counts{}
	}
	ix.recent[filter] = c
}
