package main

import (
	"context"
	"sync/atomic"
	"time"

	"placementsync/internal/notify"
	"placementsync/internal/webhook"
)

const (
	// mostInbox is how many bytes the inbox may have by default, unless a share of the
	// disk is less.
	mostInbox = 1_000_000_000
	// inboxShare is the part of the free disk that the inbox may have by default.
	inboxShare = 10
	// inboxAlertsEvery is how often serve looks whether the inbox is full.
	inboxAlertsEvery = 10 * time.Second
	// alertAgainAfter is how long an alert waits that could not be sent.
	alertAgainAfter = 5 * time.Minute
)

// inbox bounds what waits for a night, and reports when that is too much.
type inbox struct {
	freeBytes func() (int64, error)
	now       func() time.Time
	// most is serve.inbox_max in bytes, 0: the default; sender is for alerts. Both are
	// those of the configuration in force.
	most   atomic.Int64
	sender atomic.Pointer[notify.Notifier]
	// reported is since when the inbox was full in the last alert; zero: it had room.
	reported time.Time
	// again is when an alert may be sent after one that was not.
	again time.Time
}

// limit is how many bytes the inbox may have, of which it has so many.
func (i *inbox) limit(bytes int64) int64 {
	if most := i.most.Load(); most > 0 {
		return most
	}
	free, err := i.freeBytes()
	if err != nil || free < 0 { // it is not known
		return mostInbox
	}
	return max(1, min(mostInbox, (free+bytes)/inboxShare))
}

// sendAlert reports once that the inbox is full, and once that it has room again. What
// could not be sent is sent later, if it is still so.
func (i *inbox) sendAlert(ctx context.Context, now webhook.InboxState) {
	alert := notify.Alert{Work: notify.Inbox, EndedAt: i.now(), Program: version}
	switch {
	case i.reported.IsZero() && !now.FullSince.IsZero():
		alert.Event, alert.StartedAt = notify.Full, now.FullSince
	case !i.reported.IsZero() && now.FullSince.IsZero():
		alert.Event, alert.StartedAt = notify.Recovered, i.reported
	default:
		return
	}
	if alert.EndedAt.Before(i.again) {
		return
	}
	if !i.sender.Load().Alert(ctx, alert) {
		i.again = i.now().Add(alertAgainAfter)
		return
	}
	i.reported = now.FullSince
}
