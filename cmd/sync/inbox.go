package main

import (
	"context"
	"sync/atomic"
	"time"

	"placementsync/internal/notify"
	"placementsync/internal/webhook"
)

// inboxAlertInterval is the interval at which "serve" checks whether the inbox is full.
const inboxAlertInterval = 10 * time.Second

// defaultInboxLimit returns the limit of the inbox if serve.inbox_max is not set: a tenth of the
// disk space that would be free without the inbox, at most 1 GB. freeBytes is negative if the free
// space is unknown.
func defaultInboxLimit(inboxBytes, freeBytes int64) (limitBytes int64) {
	const divisor, maxLimit = 10, 1_000_000_000
	if freeBytes < 0 {
		return maxLimit
	}
	return max(1, min(maxLimit, (freeBytes+inboxBytes)/divisor))
}

// inboxAlerts sends an alert when the inbox becomes full, and another when it has room again.
type inboxAlerts struct {
	now    func() time.Time
	sender atomic.Pointer[notify.Notifier]
	// reportedFullSince is InboxState.FullSince of the newest sent alert. Zero means that this alert
	// reported room, or that no alert was sent.
	reportedFullSince time.Time
	// retryAt is the earliest time of the next attempt after an alert could not be sent.
	retryAt time.Time
}

// send sends an alert if the state of the inbox differs from the newest sent alert.
func (a *inboxAlerts) send(ctx context.Context, inbox webhook.InboxState) {
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
	if !a.sender.Load().Alert(ctx, alert) {
		a.retryAt = a.now().Add(retryAfter)
		return
	}
	a.reportedFullSince = inbox.FullSince
}
