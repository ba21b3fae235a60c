package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/notify"
	"placementsync/internal/webhook"
)

func TestTheInboxMayHaveAPartOfTheDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		most, bytes, free, want int64
		err                     error
	}{
		{"a large disk", 0, 5, 1e12, 1e9, nil},
		{"a small disk", 0, 0, 1e9, 1e8, nil},
		{"a small disk, of which the inbox has some", 0, 5e8, 5e8, 1e8, nil},
		{"a full disk", 0, 0, 0, 1, nil},
		{"a disk that does not say", 0, 0, -1, 1e9, nil},
		{"a disk that cannot be asked", 0, 0, 0, 1e9, errors.New("no")},
		{"as configured", 5e7, 0, 1e6, 5e7, nil},
	} {
		i := &inbox{freeBytes: func() (int64, error) { return c.free, c.err }}
		i.most.Store(c.most)
		if got := i.limit(c.bytes); got != c.want {
			t.Errorf("%s: got %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// TestAnAlertThatDoesNotArriveIsSentAgain after some minutes, and what was never reported
// has not recovered.
func TestAnAlertThatDoesNotArriveIsSentAgain(t *testing.T) {
	t.Parallel()
	status := http.StatusNotFound // is not tried again at once
	var events []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a notify.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		events = append(events, a.Event)
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	now := time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)
	i := &inbox{now: func() time.Time { return now }}
	i.sender.Store(command.NewNotifier(config.Notify{FailureURL: config.Secret(receiver.URL)}, "test", slog.New(slog.DiscardHandler)))
	full, room := webhook.InboxState{FullSince: now}, webhook.InboxState{}
	for n, step := range []struct {
		wait  time.Duration
		state webhook.InboxState
		works bool
		want  string
	}{
		{0, full, false, notify.Full},
		{time.Minute, full, true, ""},
		{time.Minute, room, true, ""},
		{3 * time.Minute, full, false, notify.Full},
		{5 * time.Minute, full, true, notify.Full},
		{time.Minute, room, false, notify.Recovered},
		{time.Minute, room, true, ""},
		{4 * time.Minute, room, true, notify.Recovered},
		{time.Hour, room, true, ""},
	} {
		now, events = now.Add(step.wait), nil
		if status = http.StatusNotFound; step.works {
			status = http.StatusNoContent
		}
		i.sendAlert(t.Context(), step.state)
		if got := strings.Join(events, " "); got != step.want {
			t.Errorf("step %d sent %q, want %q", n, got, step.want)
		}
	}
}

// TestAnAlertOfAFullInbox comes once, however often it is looked at and refused, and
// once when there is room.
func TestAnAlertOfAFullInbox(t *testing.T) {
	t.Parallel()
	var alerts []notify.Alert
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a notify.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		alerts = append(alerts, a)
	}))
	defer receiver.Close()
	since := time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC)
	i := &inbox{now: func() time.Time { return since.Add(time.Hour) }}
	i.sender.Store(command.NewNotifier(config.Notify{FailureURL: config.Secret(receiver.URL)}, "test", slog.New(slog.DiscardHandler)))
	full, room := webhook.InboxState{FullSince: since}, webhook.InboxState{}
	for n, step := range []struct {
		state webhook.InboxState
		event string
		text  string
	}{
		{room, "", ""},
		{full, notify.Full, "placementsync: the webhook inbox is full: events are refused\nSince 2026-11-20 14:05 UTC. What was accepted is kept, and the service sends the rest again.\n" +
			"To do: see placementsync runs for why no night succeeds, since a night empties it, or raise serve.inbox_max."},
		{full, "", ""},
		{webhook.InboxState{FullSince: since.Add(time.Minute)}, "", ""},
		{room, notify.Recovered, "placementsync: the webhook inbox has room again: events are accepted\nIt was full since 2026-11-20 14:05 UTC.\nTo do: nothing."},
		{room, "", ""},
		{full, notify.Full, ""},
	} {
		alerts = nil
		i.sendAlert(t.Context(), step.state)
		switch {
		case step.event == "" && len(alerts) == 0:
		case len(alerts) != 1 || alerts[0].Event != step.event || alerts[0].Work != notify.Inbox || alerts[0].ExitCode != 0:
			t.Errorf("step %d sent %+v, want %q", n, alerts, step.event)
		case step.text != "" && alerts[0].Text != step.text:
			t.Errorf("step %d says %q, want %q", n, alerts[0].Text, step.text)
		}
	}
}
