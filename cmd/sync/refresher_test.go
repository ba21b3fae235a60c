package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/pipeline"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// refreshCall is one call of the refresh function.
type refreshCall struct {
	At      time.Duration
	Targets pipeline.Targets
}

// event is a webhook event for an article and a campaign. It arrives some time after the previous event.
type event struct {
	after             time.Duration
	article, campaign string
}

// runRefresher sends events to a refresher with a window of 30 s, and returns the calls of
// refresh. Each call takes a minute and returns the next of the given errors.
func runRefresher(t *testing.T, errs []error, events ...event) []refreshCall {
	t.Helper()
	var calls []refreshCall
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		busy := false
		refresh := func(_ context.Context, targets pipeline.Targets) error {
			if busy {
				t.Error("two refreshes ran at the same time")
			}
			busy = true
			calls = append(calls, refreshCall{time.Since(start), targets})
			time.Sleep(time.Minute)
			busy = false
			if len(errs) < len(calls) {
				return nil
			}
			return errs[len(calls)-1]
		}
		r := newRefresher(slog.New(slog.DiscardHandler), 30*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.run(ctx, refresh); close(ended) }()
		for _, e := range events {
			time.Sleep(e.after)
			r.add(e.article, e.campaign)
		}
		time.Sleep(time.Hour)
		cancel()
		<-ended
	})
	return calls
}

func TestRefresher(t *testing.T) {
	locked := fmt.Errorf("refresh: %w", &warehouse.LockedError{Run: "night"})
	targets := pipeline.Targets{Articles: []string{"a"}, Campaigns: []string{"c"}}
	first := event{0, "a", "c"}
	cases := []struct {
		name   string
		errs   []error
		events []event
		want   []refreshCall
	}{
		{"one event", nil, []event{first}, []refreshCall{{30 * time.Second, targets}}},
		{"an event without ids", nil, []event{{}}, nil},
		{"events within the window are one refresh", nil, []event{{0, "b", "c"}, {29 * time.Second, "a", ""}, {0, "b", "c"}},
			[]refreshCall{{30 * time.Second, pipeline.Targets{Articles: []string{"a", "b"}, Campaigns: []string{"c"}}}}},
		{"an event during a refresh waits for the next refresh", nil, []event{first, {45 * time.Second, "b", ""}},
			[]refreshCall{{30 * time.Second, targets}, {2 * time.Minute, pipeline.Targets{Articles: []string{"b"}}}}},
		{"a night holds the lock, then can be resumed", []error{locked, pipeline.ErrPostponed}, []event{first},
			[]refreshCall{{30 * time.Second, targets}, {2 * time.Minute, targets}, {3*time.Minute + 30*time.Second, targets}}},
		{"a failed refresh is not repeated", []error{errors.New("no")}, []event{first}, []refreshCall{{30 * time.Second, targets}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, runRefresher(t, c.errs, c.events...)); diff != "" {
				t.Errorf("refreshes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefresherIsBounded adds more records than one refresh reads.
func TestRefresherIsBounded(t *testing.T) {
	var events []event
	for i := range 2000 {
		events = append(events, event{0, fmt.Sprint("a", i), fmt.Sprint("c", i)})
	}
	calls := runRefresher(t, nil, events...)
	if len(calls) != 1 || len(calls[0].Targets.Articles) != 500 || len(calls[0].Targets.Campaigns) != 500 {
		t.Errorf("got %d refreshes, want one with 500 articles and 500 campaigns: %v", len(calls), calls)
	}
}

// TestRefreshesAreSwitchedOff reloads a configuration without refreshes while records wait for one.
func TestRefreshesAreSwitchedOff(t *testing.T) {
	h := &hooks{turn: make(chan struct{}, 1)}
	h.current.Store(&jobs{})
	if err := h.refreshTargets(t.Context(), pipeline.Targets{Articles: []string{"a"}}); err != nil {
		t.Errorf("the refresh ended with %v, want none to run", err)
	}
}

// TestDeliveriesFollowTheConfiguration sends events before and after changes of the configuration.
func TestDeliveriesFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "warehouse")
	createWarehouse(t, dir)
	now := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	wh := warehouse.New(warehouse.Config{Dir: dir})
	h, err := newHooks(wh, slog.New(slog.DiscardHandler), func() time.Time { return now })
	harness.Must(t, err)
	apply := func(secret, prefix string, isRefreshed bool) error {
		return h.apply(&jobs{cfg: config.Config{Serve: config.Serve{
			WebhookSecrets: []config.Secret{"first", config.Secret(secret)}, WebhookPrefixes: []string{prefix},
			WebhookMaxAge: time.Hour, RefreshOnEvent: isRefreshed}}})
	}
	harness.Must(t, apply("second", "x-hook-", true))
	harness.Must(t, h.receiver.Open())
	t.Cleanup(func() { harness.Must(t, h.receiver.Close()) })
	send := func(secret, prefix, article string, at time.Time) {
		body := fmt.Sprintf(`{"article_id": %q, "campaign_id": "c"}`, article)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		for name, value := range map[string]string{"event-id": article, "topic": webhook.StatusChanged,
			"timestamp": at.Format(time.RFC3339), "signature": "v0=" + hex.EncodeToString(mac.Sum(nil))} {
			r.Header.Set(prefix+name, value)
		}
		h.receiver.ServeHTTP(httptest.NewRecorder(), r)
	}
	send("second", "x-hook-", "a1", now.Add(-time.Minute))
	send("second", "x-hook-", "old", now.Add(-2*time.Hour))
	send("second", "x-other-", "other prefix", now)
	send("third", "x-hook-", "other secret", now)
	if err := apply("", "x-other-", false); err == nil {
		t.Error("an empty secret was accepted")
	}
	send("first", "x-hook-", "a2", now)
	harness.Must(t, apply("third", "x-other-", false))
	send("third", "x-other-", "without a refresh", now)
	want := map[string]uint64{webhook.Stored: 3, webhook.Stale: 1, webhook.Unsigned: 2}
	got := h.receiver.Counts()
	for result, n := range got {
		if n != want[result] {
			t.Errorf("%d deliveries are %s, want %d: %v", n, result, want[result], got)
		}
	}
	wantWaiting := pipeline.Targets{Articles: []string{"a1", "a2"}, Campaigns: []string{"c"}}
	if diff := cmp.Diff(wantWaiting, h.refresher.waiting); diff != "" {
		t.Errorf("records that wait for a refresh (-want +got):\n%s", diff)
	}
}
