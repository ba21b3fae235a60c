package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Targets are the records that a refresh reads again.
type Targets struct{ Articles, Campaigns []string }

// ErrPending says that a refresh did nothing, since a night has to come first: none has
// published yet, one waits to be resumed, or one is held.
var ErrPending = errors.New("refresh: a night has to come first; nothing was changed")

// Refresh reads again a few articles and campaigns, what belongs to them, and
// the events in the inbox, and publishes a version in which everything else is that
// of the last one, with its grades and ages. It does not count for the schedule,
// leaves the turns of the settled as they are, and is not resumed when it fails,
// since the next night asks for the same. Errors are those of Run, and ErrPending.
func Refresh(ctx context.Context, cfg Config, targets Targets) (Result, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Result{}, err
	}
	now := snapshotTime(cfg)
	r, err := startRun(cfg, wh, runMode{kind: ledger.Refresh, details: cfg.Details, targets: targets}, now, now)
	if err != nil {
		return Result{}, err
	}
	if err := r.checkRefreshable(now); err != nil {
		return Result{}, errors.Join(err, r.lock.Release())
	}
	res, err := r.runAside(ctx)
	if err == nil {
		err = inOrder(r.night.inbox.Empty, wh.Pruner.DiscardSpent)
	}
	return r.finishRun(ctx, res, err)
}

// checkRefreshable refuses before the first night, while a night waits to be resumed, whose
// snapshot would be older than the one that it finds, and while a night is held, which can
// only be published over the snapshot that it was built on.
func (r *runner) checkRefreshable(now time.Time) error {
	wh := r.night.wh
	if err := wh.Recover(); err != nil {
		return err
	}
	last, waits, err := wh.Ledger.Unfinished()
	if err != nil {
		return err
	}
	_, published, err := wh.Versions.Latest()
	if err != nil {
		return err
	}
	_, isHeld, err := wh.Held()
	if err != nil {
		return err
	}
	if !published || isHeld || waits && now.Sub(last.StartedAt) <= r.night.cfg.ResumeMaxAge {
		return ErrPending
	}
	return nil
}

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
	r.mu.Lock()
	select {
	case <-r.woken: // an event that comes from now on wakes Run anew
	default:
	}
	targets := r.waiting
	r.waiting = Targets{}
	r.mu.Unlock()
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
