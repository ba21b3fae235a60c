package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/pipeline"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// refreshWindow is how long events are collected for one refresh.
const refreshWindow = 30 * time.Second

// hooks are the webhooks of serve: the receiver, and what refreshes after a
// status change.
type hooks struct {
	log       *slog.Logger
	receiver  *webhook.Receiver
	refresher *pipeline.Refresher
	// turn is held by the night or the refresh that runs: a night waits for a
	// refresh to end, which takes seconds, and does not find the lock held.
	turn chan struct{}
	// night is that of the configuration in force; nil: no refreshes.
	night atomic.Pointer[pipeline.Config]
	inbox *inbox
	// exists is an error when the warehouse is not there.
	exists func() error
}

func (s *service) newHooks(wh *warehouse.Warehouse) (*hooks, error) {
	h := &hooks{log: s.log, turn: make(chan struct{}, 1)}
	h.refresher = pipeline.NewRefresher(s.log, refreshWindow, h.refreshTargets)
	dir, err := wh.Folder.MakeInbox()
	if err != nil {
		return nil, err
	}
	h.exists = wh.Folder.Exists
	h.inbox = &inbox{freeBytes: wh.Folder.FreeBytes, now: s.g.now}
	h.receiver, err = webhook.New(webhook.Config{Dir: dir, Stored: h.queueRefresh, MaxInbox: h.inbox.limit}, s.log, s.g.now)
	return h, err
}

// applyConfig puts a configuration in force. One whose secrets are refused changes
// nothing.
func (h *hooks) applyConfig(cfg config.Config, night pipeline.Config) error {
	var secrets []string
	for _, one := range cfg.Serve.WebhookSecrets {
		secrets = append(secrets, one.Reveal())
	}
	if err := h.receiver.Reload(secrets, cfg.Serve.WebhookMaxAge); err != nil {
		return err
	}
	h.inbox.most.Store(cfg.Serve.InboxMaxBytes())
	h.inbox.sender.Store(command.NewNotifier(cfg.Notify, version, h.log))
	if !cfg.Serve.RefreshOnEvent {
		h.night.Store(nil)
		return nil
	}
	h.night.Store(&night)
	return nil
}

// httpHandler is nil without a secret: then there is no endpoint.
func (h *hooks) httpHandler(cfg config.Config) http.Handler {
	if len(cfg.Serve.WebhookSecrets) == 0 {
		return nil
	}
	return h.receiver
}

func (h *hooks) queueRefresh(e stream.Event) {
	if h.night.Load() != nil {
		t := webhook.EventTargets(e)
		h.refresher.Add(t.Article, t.Campaign)
	}
}

func (h *hooks) refreshTargets(ctx context.Context, t pipeline.Targets) error {
	night := h.night.Load()
	if night == nil {
		return nil // switched off meanwhile
	}
	return h.inTurn(ctx, func() error {
		if err := h.requireWarehouse(); err != nil {
			return err
		}
		res, err := pipeline.Refresh(ctx, *night, t)
		if err == nil {
			h.log.Info("refreshed", "run", res.Run.ID, "outcome", res.Run.Outcome, "articles", len(t.Articles),
				"campaigns", len(t.Campaigns), "took", res.Run.EndedAt.Sub(res.Run.StartedAt))
		}
		return err
	})
}

// requireWarehouse returns an error when the warehouse is gone: serve has made its folders
// at its start, and what is made now would be below the mount of its disk.
func (h *hooks) requireWarehouse() error {
	if err := h.exists(); err != nil {
		return fmt.Errorf("the warehouse is gone: is its disk mounted? %w", err)
	}
	return nil
}

// inTurn waits until no night or refresh runs, then runs this one, unless ctx has
// ended.
func (h *hooks) inTurn(ctx context.Context, do func() error) error {
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.turn }()
	if ctx.Err() != nil { // the turn and the end came at once
		return context.Cause(ctx)
	}
	return do()
}

// runAround runs serve while the receiver runs. The receiver stops last, so that it
// stores what the server still accepts. When it cannot start, since another process
// holds the inbox, serve does not run.
func (h *hooks) runAround(ctx context.Context, serve func(context.Context) error) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	receiving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	received := make(chan error, 1)
	go func() {
		err := h.receiver.Run(receiving)
		stop(err)
		received <- err
	}()
	refreshed := make(chan struct{})
	go func() {
		h.refresher.Run(inner)
		close(refreshed)
	}()
	stopAlerts := callEvery(inboxAlertsEvery, func() { h.inbox.sendAlert(inner, h.receiver.Inbox()) })
	defer stopAlerts()
	var err error
	select {
	case <-h.receiver.Ready():
		err = serve(inner)
	case <-inner.Done():
	}
	stop(nil)
	<-refreshed
	end()
	return errors.Join(err, <-received)
}
