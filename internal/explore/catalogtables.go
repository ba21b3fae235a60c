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

// index tracks the creation of the narrow in-memory tables of the catalog page. The first
// catalog request of a snapshot creates them. They count towards the memory limit of the
// snapshot.
type index struct {
	// done is closed after the tables were created, or after this failed with err.
	done chan struct{}
	err  error

	mu sync.Mutex // guards recent
	// recent is a cache of counts, so that sorting and paging need not count again.
	recent []filterCounts
}

type filterCounts struct {
	filter string
	counts counts
}

// maxRecent is the maximum number of cached filters.
const maxRecent = 32

var errNotReady = errors.New("the catalog of the snapshot is being prepared")

// The first and the longest interval before a failed index is built again.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// startIndex returns the index of a snapshot. The first call starts to create the tables in the
// background. This continues if the request ends, because a search while typing cancels most
// of its requests. After an error the tables are created again, with increasing intervals.
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
// within wait.
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

// cacheCounts adds counts to the cache. If it is full, it removes the least recently used counts.
func (ix *index) cacheCounts(filter string, c counts) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if len(ix.recent) == maxRecent {
		ix.recent = slices.Delete(ix.recent, 0, 1)
	}
	ix.recent = append(ix.recent, filterCounts{filter, c})
}
