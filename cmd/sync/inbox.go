package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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

// sendAlert reports once that the inbox is full, and once that it has room again.
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
	i.reported = now.FullSince
	i.sender.Load().Alert(ctx, alert)
}

// registerInbox exports how full the inbox is.
func registerInbox(registry prometheus.Registerer, state func() webhook.InboxState) {
	gauge := func(name, help string, value func(webhook.InboxState) float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "placementsync_inbox_" + name, Help: help},
			func() float64 { return value(state()) }))
	}
	gauge("bytes", "Bytes of webhook events that wait for a night.", func(s webhook.InboxState) float64 { return float64(s.Bytes) })
	gauge("limit_bytes", "How many bytes may wait; beyond it deliveries are answered 503.", func(s webhook.InboxState) float64 { return float64(s.Limit) })
	gauge("full_since_timestamp_seconds", "Since when deliveries are refused for want of room; 0: they are not.", func(s webhook.InboxState) float64 {
		if s.FullSince.IsZero() {
			return 0
		}
		return float64(s.FullSince.UnixMilli()) / 1e3
	})
}
