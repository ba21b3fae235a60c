package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"placementsync/internal/warehouse"
)

// maxTargets bounds the records of each kind that wait for one refresh. The night
// reads the others by the same events.
const maxTargets = 500

// Refresher collects the records that events name and refreshes them together: one
// window after the first event, one refresh at a time.
type Refresher struct {
	log     *slog.Logger
	window  time.Duration
	refresh func(context.Context, Targets) error
	// woken holds a token while something waits.
	woken chan struct{}

	mu      sync.Mutex // guards waiting
	waiting Targets
}

// NewRefresher makes a collector; refresh is called by Run. It may answer with a
// *warehouse.HeldError or ErrPending: the targets then wait another window.
func NewRefresher(log *slog.Logger, window time.Duration, refresh func(context.Context, Targets) error) *Refresher {
	return &Refresher{log: log, window: window, refresh: refresh, woken: make(chan struct{}, 1)}
}

// Add collects an article and its campaign; an empty id is none. It does not block.
func (r *Refresher) Add(article, campaign string) {
	if article != "" || campaign != "" {
		r.addTargets(Targets{[]string{article}, []string{campaign}})
	}
}

// addTargets adds to what waits, and wakes Run.
func (r *Refresher) addTargets(t Targets) {
	r.mu.Lock()
	r.waiting.Articles = addIDs(r.waiting.Articles, t.Articles...)
	r.waiting.Campaigns = addIDs(r.waiting.Campaigns, t.Campaigns...)
	r.mu.Unlock()
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// addIDs adds ids to a sorted list, once each, as long as there is room.
func addIDs(to []string, ids ...string) []string {
	for _, id := range ids {
		at, known := slices.BinarySearch(to, id)
		if id != "" && !known && len(to) < maxTargets {
			to = slices.Insert(to, at, id)
		}
	}
	return to
}

// Run refreshes until ctx ends. What waits then is left to the next night.
func (r *Refresher) Run(ctx context.Context) {
	window := time.NewTimer(r.window)
	defer window.Stop()
	for {
		select {
		case <-r.woken:
		case <-ctx.Done():
			return
		}
		window.Reset(r.window)
		select {
		case <-window.C:
			r.refreshNow(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// refreshNow refreshes what waits. A refresh that fails is not repeated: the next
// night reads the records that events named and no run has read since.
func (r *Refresher) refreshNow(ctx context.Context) {
	targets := r.takeTargets()
	err := r.refresh(ctx, targets)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, new(*warehouse.HeldError)) || errors.Is(err, ErrPending):
		r.log.Info("refresh waits for another window", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
		r.addTargets(targets)
	default:
		r.log.Warn("refresh failed; the next night reads the same records", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
	}
}

// takeTargets empties what waits. An event that comes from now on wakes Run anew.
func (r *Refresher) takeTargets() Targets {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.woken:
	default:
	}
	was := r.waiting
	r.waiting = Targets{}
	return was
}
