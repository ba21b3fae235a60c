package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// refreshWindow is how long events are collected for one refresh.
const refreshWindow = 30 * time.Second

// hooks are the webhooks of the command "serve": the receiver, and the refreshes after status changes.
type hooks struct {
	wh        *warehouse.Warehouse
	log       *slog.Logger
	receiver  *webhook.Receiver
	refresher *refresher
	// turn contains a value while a night, refresh or verification runs. A night waits the few
	// seconds of a refresh instead of failing because the warehouse is locked.
	turn chan struct{}
	// current are the jobs of the current configuration.
	current atomic.Pointer[jobs]
	alerts  *inboxAlerts
}

func newHooks(wh *warehouse.Warehouse, log *slog.Logger, now func() time.Time) (*hooks, error) {
	h := &hooks{wh: wh, log: log, turn: make(chan struct{}, 1), alerts: &inboxAlerts{now: now, log: log}}
	h.refresher = newRefresher(log, refreshWindow)
	if err := wh.Folder.CheckRestored(); err != nil {
		return nil, err // a delivery could be replaced by a file of the backup
	}
	dir, err := wh.Folder.MakeInbox()
	if err != nil {
		return nil, err
	}
	h.receiver = webhook.New(webhook.Config{Dir: dir, Owner: h}, log, now)
	return h, nil
}

// apply makes j the current jobs, unless the receiver rejects their secrets.
func (h *hooks) apply(j *jobs) error {
	policy := webhook.Policy{Prefixes: j.cfg.Serve.WebhookPrefixes, MaxAge: j.cfg.Serve.WebhookMaxAge}
	for _, secret := range j.cfg.Serve.WebhookSecrets {
		policy.Secrets = append(policy.Secrets, secret.Reveal())
	}
	if err := h.receiver.Reload(policy); err != nil {
		return err
	}
	h.current.Store(j)
	return nil
}

func (h *hooks) InboxLimit(inboxBytes int64) int64 {
	if configured := h.current.Load().cfg.Serve.InboxMaxBytes(); configured > 0 {
		return configured
	}
	free, err := h.wh.Folder.FreeBytes()
	if err != nil {
		return maxInboxLimit
	}
	return defaultInboxLimit(inboxBytes, free)
}

func (h *hooks) EventStored(e stream.Event) {
	if h.current.Load().cfg.Serve.RefreshOnEvent {
		h.refresher.add(webhook.EventTargets(e))
	}
}

func (h *hooks) refreshTargets(ctx context.Context, t pipeline.Targets) error {
	j := h.current.Load()
	if !j.cfg.Serve.RefreshOnEvent { // switched off by a reload
		return nil
	}
	refresh := j.night
	refresh.Progress = nil // refreshes are not shown as running nights
	return h.runInTurn(ctx, func() error {
		res, err := pipeline.Refresh(ctx, refresh, t)
		if err == nil {
			h.log.Info("refreshed", "run", res.Run.ID, "outcome", res.Run.Outcome, "articles", len(t.Articles),
				"campaigns", len(t.Campaigns), "took", res.Run.Took())
		}
		return err
	})
}

// runInTurn calls do while no other night, refresh or verification of this process runs.
func (h *hooks) runInTurn(ctx context.Context, do func() error) error {
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.turn }()
	if ctx.Err() != nil { // select chooses at random if both are ready
		return context.Cause(ctx)
	}
	return do()
}

// runAround runs serve while the receiver runs. If another process has locked the inbox, serve is not run.
// The receiver is closed last, because events are accepted until serve ends.
func (h *hooks) runAround(ctx context.Context, serve func(context.Context) error) error {
	if err := h.receiver.Open(); err != nil {
		return err
	}
	servingCtx, stop := context.WithCancel(ctx)
	defer stop()
	refresherEnded := make(chan struct{})
	go func() {
		h.refresher.run(servingCtx, h.refreshTargets)
		close(refresherEnded)
	}()
	stopAlerts := callEvery(inboxAlertInterval, func() {
		inbox, err := h.receiver.Inbox()
		if err != nil {
			h.log.Warn("inbox not measured", "error", err)
			return
		}
		h.alerts.send(servingCtx, h.current.Load().cfg.Notify, inbox)
	})
	defer stopAlerts()
	err := serve(servingCtx)
	stop()
	<-refresherEnded
	return errors.Join(err, h.receiver.Close())
}

// maxTargets is the maximum number of records of each kind in one refresh. The next night reads
// further records, because their events are in the inbox.
const maxTargets = 500

// refresher collects the records that events name. After the first event it waits for the time window,
// and then refreshes all collected records in one refresh. It runs one refresh at a time.
type refresher struct {
	log    *slog.Logger
	window time.Duration
	// added contains a value if records were added since [refresher.run] last received from it.
	added chan struct{}

	mu      sync.Mutex // guards waiting
	waiting pipeline.Targets
}

// newRefresher returns a refresher without records.
func newRefresher(log *slog.Logger, window time.Duration) *refresher {
	return &refresher{log: log, window: window, added: make(chan struct{}, 1)}
}

// add collects an article and its campaign. Empty ids are ignored. add does not block.
func (r *refresher) add(article, campaign string) {
	if article != "" || campaign != "" {
		r.addTargets(pipeline.Targets{Articles: []string{article}, Campaigns: []string{campaign}})
	}
}

func (r *refresher) addTargets(t pipeline.Targets) {
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

// run calls refresh with collected records until ctx ends. If refresh returns a *warehouse.LockedError or
// pipeline.ErrPostponed, the records wait for another window. Records that wait when ctx ends are read by the next
// night.
func (r *refresher) run(ctx context.Context, refresh func(context.Context, pipeline.Targets) error) {
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
func (r *refresher) refreshNow(ctx context.Context, refresh func(context.Context, pipeline.Targets) error) {
	r.mu.Lock()
	select {
	case <-r.added: // this refresh includes the records of a second notice
	default:
	}
	targets := r.waiting
	r.waiting = pipeline.Targets{}
	r.mu.Unlock()
	err := refresh(ctx, targets)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.As(err, new(*warehouse.LockedError)) || errors.Is(err, pipeline.ErrPostponed):
		r.log.Info("refresh postponed", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
		r.addTargets(targets)
	default:
		r.log.Warn("refresh failed; the next night reads the same records", "articles", len(targets.Articles), "campaigns", len(targets.Campaigns), "error", err)
	}
}

// inboxAlertInterval is the interval at which "serve" checks whether the inbox is full.
const inboxAlertInterval = 10 * time.Second

// maxInboxLimit is the largest limit of the inbox, in bytes, if serve.inbox_max is not set.
const maxInboxLimit = 1_000_000_000

// defaultInboxLimit returns a tenth of the disk space that would be free without the inbox, at most maxInboxLimit.
func defaultInboxLimit(inboxBytes, freeBytes int64) (limitBytes int64) {
	const divisor = 10
	return max(1, min(maxInboxLimit, (freeBytes+inboxBytes)/divisor))
}

// inboxAlerts sends an alert when the inbox becomes full, and another when it has room again.
type inboxAlerts struct {
	now func() time.Time
	log *slog.Logger
	// reportedFullSince is InboxState.FullSince of the newest sent alert. Zero means that this alert
	// reported room, or that no alert was sent.
	reportedFullSince time.Time
	retryAt           time.Time
}

func (a *inboxAlerts) send(ctx context.Context, cfg config.Notify, inbox webhook.InboxState) {
	const retryAfter = 5 * time.Minute
	alert := notify.Alert{Work: notify.Inbox, EndedAt: a.now(), Program: version}
	switch {
	case a.reportedFullSince.IsZero() && !inbox.FullSince.IsZero():
		alert.Event, alert.StartedAt = notify.Full, inbox.FullSince
	case !a.reportedFullSince.IsZero() && inbox.FullSince.IsZero():
		alert.Event, alert.StartedAt = notify.Recovered, a.reportedFullSince
	default:
		return
	}
	if alert.EndedAt.Before(a.retryAt) {
		return
	}
	if !cli.NewNotifier(cfg, version, a.log).Alert(ctx, alert) {
		a.retryAt = a.now().Add(retryAfter)
		return
	}
	a.reportedFullSince = inbox.FullSince
}
