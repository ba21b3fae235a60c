package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"placementsync/internal/query"
)

// index is the narrow tables of the catalog page: made when the catalog of a snapshot is
// first asked for, in the memory of the sandbox and within its limit.
type index struct {
	// done is closed when the tables exist, or when err says why they do not.
	done chan struct{}
	err  error
	// counted holds the counts of the last filters: sorting and paging do not count again.
	mu      sync.Mutex // guards counted
	counted []counted
}

// counted are the counts of a filter.
type counted struct {
	filter string
	counts counts
}

// mostCounted is how many filters are remembered.
const mostCounted = 32

var errNotReady = errors.New("prepare the catalog: it takes some time once for each snapshot")

// The times before an index that could not be made is made again.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// startIndex returns the index of a snapshot. The first to ask begins it; it is made also
// when that one goes away, since a search as one types ends most of its requests. One that
// failed is made again after a while, each time a longer one.
func (s *snapshot) startIndex(ctx context.Context) *index {
	s.making.Lock()
	defer s.making.Unlock()
	if s.index != nil && (!s.index.hasFailed() || time.Now().Before(s.retryAt)) {
		return s.index
	}
	if s.stopIndex != nil {
		s.stopIndex()
	}
	ix := &index{done: make(chan struct{})}
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.index, s.stopIndex = ix, stop
	go func() {
		defer close(ix.done)
		if ix.err = ix.build(inner, s.db); ix.err != nil {
			s.making.Lock()
			defer s.making.Unlock()
			s.retryAt = time.Now().Add(min(firstRetry<<min(s.failures, 10), lastRetry))
			s.failures++
		}
	}()
	return ix
}

// stopMaking stops the making of the index and waits for its end.
func (s *snapshot) stopMaking() {
	s.making.Lock()
	ix, stop := s.index, s.stopIndex
	s.making.Unlock()
	if ix != nil {
		stop()
		<-ix.done
	}
}

// hasFailed reports whether the index could not be made.
func (ix *index) hasFailed() bool {
	select {
	case <-ix.done:
		return ix.err != nil
	default:
		return false
	}
}

// useIndex waits for the index of a snapshot.
func (s *snapshot) useIndex(ctx context.Context, patience time.Duration) (*index, error) {
	ix := s.startIndex(ctx)
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-ix.done:
		return ix, ix.err
	case <-wait.C:
		return nil, errNotReady
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the index of the catalog: %w", ctx.Err())
	}
}

// build makes the tables.
func (ix *index) build(ctx context.Context, db *query.DB) error {
	text, err := statements.ReadFile("sql/catalog_tables.sql")
	if err != nil {
		return err
	}
	return db.Derive(ctx, string(text))
}

// remembered returns the counts of a filter that was counted lately.
func (ix *index) remembered(filter string) (counts, bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	i := slices.IndexFunc(ix.counted, func(c counted) bool { return c.filter == filter })
	if i < 0 {
		return counts{}, false
	}
	found := ix.counted[i]
	ix.counted = append(slices.Delete(ix.counted, i, i+1), found)
	return found.counts, true
}

func (ix *index) remember(filter string, c counts) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if len(ix.counted) == mostCounted {
		ix.counted = slices.Delete(ix.counted, 0, 1)
	}
	ix.counted = append(ix.counted, counted{filter, c})
}
