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

// ErrPostponed means that a refresh did not start: no night was published yet, or a night can be
// resumed, or a night is held.
var ErrPostponed = errors.New("refresh: no night was published yet, or a night can be resumed or is held; nothing was changed: the next night reads these records")

// Refresh reads the details of the given articles and campaigns again, and the events in the inbox. It
// publishes a new version. All other rows, grades and ages are those of the last version. A refresh does
// not count for the schedule, or for the order in which settled details are read again. A failed refresh
// is not resumed, because the next night reads its records. Refresh returns the errors of [Run], and
// ErrPostponed.
func Refresh(ctx context.Context, cfg Config, targets Targets) (Result, error) {
	now := snapshotTime(cfg)
	l, err := begin(cfg, runMode{kind: ledger.Refresh, targets: targets}, now, now)
	if err != nil {
		return Result{}, err
	}
	if err := l.checkRefreshable(now); err != nil {
		return Result{}, errors.Join(err, l.lock.Release())
	}
	res, err := l.execute(ctx)
	return l.end(ctx, res, err)
}

// checkRefreshable returns ErrPostponed before the first night, if a night can be resumed, and if
// a night is held. A resumed night keeps its snapshot time, so a later snapshot must not be published
// before the night is resumed. A held night can only be published while readers see the version on which
// it was built.
func (l *locked) checkRefreshable(now time.Time) error {
	if err := l.wh.Recover(); err != nil {
		return err
	}
	last, isUnfinished, err := l.wh.RunLog.ResumableRun()
	if err != nil {
		return err
	}
	_, hasVersion, err := l.wh.Versions.Latest()
	if err != nil {
		return err
	}
	_, isHeld, err := l.wh.Held()
	if err != nil {
		return err
	}
	canResume := isUnfinished && now.Sub(last.StartedAt) <= l.cfg.ResumeMaxAge
	if !hasVersion || isHeld || canResume {
		return ErrPostponed
	}
	return nil
}

// maxTargets is the maximum number of records of each kind in one refresh. The next night reads
// further records, because their events are in the inbox.
const maxTargets = 500

// Refresher collects the records that events name. After the first event it waits for the time window,
// and then refreshes all collected records in one refresh. It runs one refresh at a time.
type Refresher struct {
	log    *slog.Logger
	window time.Duration
	// added contains a value if records were added since [Refresher.Run] last received from it.
	added chan struct{}

	mu      sync.Mutex // guards waiting
	waiting Targets
}

// NewRefresher returns a Refresher without records.
func NewRefresher(log *slog.Logger, window time.Duration) *Refresher {
	return &Refresher{log: log, window: window, added: make(chan struct{}, 1)}
}

// Add collects an article and its campaign. Empty ids are ignored. Add does not block.
func (r *Refresher) Add(article, campaign string) {
	if article != "" || campaign != "" {
		r.addTargets(Targets{[]string{article}, []string{campaign}})
	}
}

func (r *Refresher) addTargets(t Targets) {
	r.mu.Lock()
	r.waiting.Articles = addIDs(r.waiting.Articles, t.Articles...)
	r.waiting.Campaigns = addIDs(r.waiting.Campaigns, t.Campaigns...)
	r.mu.Unlock()
	select {
	case r.added <- struct{}{}:
	default:
	}
}

// addIDs inserts ids into sorted, a list without duplicates, up to maxTargets.
func addIDs(sorted []string, ids ...string) []string {
	for _, id := range ids {
		at, known := slices.BinarySearch(sorted, id)
		if id != "" && !known && len(sorted) < maxTargets {
			sorted = slices.Insert(sorted, at, id)
		}
	}
	return sorted
}

// Run calls refresh with collected records until ctx ends. If refresh returns a *warehouse.LockedError or
// ErrPostponed, the records wait for another window. Records that wait when ctx ends are read by the next
// night.
func (r *Refresher) Run(ctx context.Context, refresh func(context.Context, Targets) error) {
	for {
		select {
		case <-r.added:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(r.window):
			r.refreshNow(ctx, refresh)
		case <-ctx.Done():
			return
		}
	}
}

// refreshNow refreshes the waiting records. A failed refresh is not repeated: the next
// night reads all records that events named and that no run has read since.
func (r *Refresher) refreshNow(ctx context.Context, refresh func(context.Context, Targets) error) {
	r.mu.Lock()
	select {
	case <-r.added: // later events wake Refresher.Run again
	default:
	}
	targets := r.waiting
	r.waiting = Targets{}
	r.mu.Unlock()
	err := refresh(ctx, targets)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, new(*warehouse.LockedError)) || errors.Is(err, ErrPostponed):
		r.log.Info("refresh postponed", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
		r.addTargets(targets)
	default:
		r.log.Warn("refresh failed; the next night reads the same records", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
	}
}
