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

// index contains the state of the narrow in-memory tables of the catalog page. They are created
// by the first request for the catalog of a snapshot, and count towards its memory limit.
type index struct {
	// done is closed when the tables are created or when creating them failed with err.
	done chan struct{}
	err  error
	// recent is a cache of counts, for sorting and paging.
	mu     sync.Mutex // guards recent
	recent []filterCounts
}

// filterCounts are the counts of a filter.
type filterCounts struct {
	filter string
	counts counts
}

// maxRecent is the number of cached filters.
const maxRecent = 32

var errNotReady = errors.New("the catalog of the snapshot is being prepared")

// The first and the longest interval before a failed index is built again.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// startIndex returns the index of a snapshot. The first call starts building it in the
// background. Building continues if this request ends, because a search while typing cancels most
// of its requests. A failed index is built again, after increasing intervals.
func (s *openSnapshot) startIndex(ctx context.Context) *index {
	s.building.Lock()
	defer s.building.Unlock()
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
			s.building.Lock()
			defer s.building.Unlock()
			s.retryAt = time.Now().Add(min(firstRetry<<min(s.failures, 10), lastRetry))
			s.failures++
		}
	}()
	return ix
}

// stopBuilding cancels building the index and waits for its end.
func (s *openSnapshot) stopBuilding() {
	s.building.Lock()
	ix, stop := s.index, s.stopIndex
	s.building.Unlock()
	if ix != nil {
		stop()
		<-ix.done
	}
}

func (ix *index) hasFailed() bool {
	select {
	case <-ix.done:
		return ix.err != nil
	default:
		return false
	}
}

// useIndex returns the index of a snapshot. It returns errNotReady if the index is not built
// within the time wait.
func (s *openSnapshot) useIndex(ctx context.Context, wait time.Duration) (*index, error) {
	ix := s.startIndex(ctx)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ix.done:
		return ix, ix.err
	case <-timer.C:
		return nil, errNotReady
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the index of the catalog: %w", ctx.Err())
	}
}

func (ix *index) build(ctx context.Context, db *query.DB) error {
	text, err := statements.ReadFile("sql/catalog_tables.sql")
	if err != nil {
		return err
	}
	return db.Derive(ctx, string(text))
}

// cachedCounts returns the counts of a filter from the cache.
func (ix *index) cachedCounts(filter string) (counts, bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	i := slices.IndexFunc(ix.recent, func(c filterCounts) bool { return c.filter == filter })
	if i < 0 {
		return counts{}, false
	}
	found := ix.recent[i]
	ix.recent = append(slices.Delete(ix.recent, i, i+1), found)
	return found.counts, true
}

// cacheCounts adds counts to the cache and removes the least recently used ones.
func (ix *index) cacheCounts(filter string, c counts) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if len(ix.recent) == maxRecent {
		ix.recent = slices.Delete(ix.recent, 0, 1)
	}
	ix.recent = append(ix.recent, filterCounts{filter, c})
}
