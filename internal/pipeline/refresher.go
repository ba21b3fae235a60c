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

// maxTargets bounds what waits for one refresh, of each kind. What comes beyond
// it is left to the night, which reads the same events.
const maxTargets = 500

// Refresher collects what events are about and has it refreshed: window after
// the first event, once for all that came meanwhile, one refresh at a time.
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

// Add notes an article and its campaign; an empty id is none. It does not block.
func (r *Refresher) Add(article, campaign string) {
	if article == "" && campaign == "" {
		return
	}
	r.mu.Lock()
	r.waiting.Articles = join(r.waiting.Articles, article)
	r.waiting.Campaigns = join(r.waiting.Campaigns, campaign)
	r.mu.Unlock()
	r.wake()
}

func (r *Refresher) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// join adds ids to a sorted list, once each, as long as there is room.
func join(to []string, ids ...string) []string {
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

// refreshNow hands over what waits. A refresh that fails is not tried again: the
// next night reads what events told of and nobody has read since.
func (r *Refresher) refreshNow(ctx context.Context) {
	targets := r.removeTargets()
	err := r.refresh(ctx, targets)
	var held *warehouse.HeldError
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, &held) || errors.Is(err, ErrPending):
		r.log.Info("refresh waits", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
		r.putBack(targets)
	default:
		r.log.Warn("refresh failed, the next night reads the same", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
	}
}

// removeTargets empties what waits. An event that comes from now on wakes Run anew.
func (r *Refresher) removeTargets() Targets {
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

func (r *Refresher) putBack(t Targets) {
	r.mu.Lock()
	r.waiting.Articles = join(r.waiting.Articles, t.Articles...)
	r.waiting.Campaigns = join(r.waiting.Campaigns, t.Campaigns...)
	r.mu.Unlock()
	r.wake()
}
