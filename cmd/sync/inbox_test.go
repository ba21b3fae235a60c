package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/config"
	"placementsync/internal/notify"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

func TestDefaultInboxLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                        string
		inboxBytes, freeBytes, want int64
	}{
		{"a large disk", 5, 1e12, 1e9},
		{"a small disk", 0, 1e9, 1e8},
		{"a small disk with a used inbox", 5e8, 5e8, 1e8},
		{"a full disk", 0, 0, 1},
	} {
		if got := defaultInboxLimit(c.inboxBytes, c.freeBytes); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// TestConfiguredInboxLimit checks that serve.inbox_max is used unchanged, and that without this key
// the limit on an unreadable disk is 1 GB.
func TestConfiguredInboxLimit(t *testing.T) {
	t.Parallel()
	wh := warehouse.New(warehouse.Config{Dir: filepath.Join(t.TempDir(), "missing"), KeepVersions: 1})
	h := &hooks{wh: wh}
	h.current.Store(&jobs{})
	if got := h.InboxLimit(0); got != 1e9 {
		t.Errorf("on an unreadable disk: got %d bytes, want 1e9", got)
	}
	h.current.Store(&jobs{cfg: config.Config{Serve: config.Serve{InboxMax: "50MB"}}})
	if got := h.InboxLimit(0); got != 5e7 {
		t.Errorf("as configured: got %d bytes, want 5e7", got)
	}
}

// TestInboxAlerts checks that a full inbox is reported once, and its recovery once. An unsent alert is sent again after
// some minutes, and a recovery is reported only if the full inbox was reported.
func TestInboxAlerts(t *testing.T) {
	t.Parallel()
	status := http.StatusNotFound // after this status the notifier does not repeat the request
	var sent []notify.Alert
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a notify.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		sent = append(sent, a)
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	since := time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)
	now := since
	alerts := &inboxAlerts{now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	full, fullLater, room := webhook.InboxState{FullSince: since}, webhook.InboxState{FullSince: since.Add(time.Minute)}, webhook.InboxState{}
	for n, step := range []struct {
		wait     time.Duration
		state    webhook.InboxState
		accepted bool // whether the receiver accepts the alert
		want     string
	}{
		{0, room, true, ""},
		{0, full, false, notify.Full},
		{time.Minute, full, true, ""},
		{time.Minute, room, true, ""},
		{3 * time.Minute, full, false, notify.Full},
		{5 * time.Minute, full, true, notify.Full},
		{time.Minute, full, true, ""},
		{0, fullLater, true, ""},
		{time.Minute, room, false, notify.Recovered},
		{time.Minute, room, true, ""},
		{4 * time.Minute, room, true, notify.Recovered},
		{time.Hour, room, true, ""},
		{0, full, true, notify.Full},
	} {
		now, sent = now.Add(step.wait), nil
		status = http.StatusNotFound
		if step.accepted {
			status = http.StatusNoContent
		}
		alerts.send(t.Context(), config.Notify{FailureURL: config.Secret(receiver.URL)}, step.state)
		var want []notify.Alert
		if step.want != "" {
			want = []notify.Alert{{Event: step.want, Work: notify.Inbox, StartedAt: since, EndedAt: now, Program: version}}
		}
		if diff := cmp.Diff(want, sent, cmpopts.IgnoreFields(notify.Alert{}, "Text", "Advice", "Since", "Streak", "Streams")); diff != "" {
			t.Errorf("alerts of step %d (-want +got):\n%s", n, diff)
		}
	}
}
