package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/pipeline"
	"placementsync/internal/warehouse"
)

// refreshed is one call of a collector's refresh.
type refreshed struct {
	At      time.Duration
	Targets pipeline.Targets
}

// told is an event, so long after the one before it.
type told struct {
	after             time.Duration
	article, campaign string
}

// collect has a collector with a window of 30 s told of events; each refresh
// takes a minute and answers with the next error.
func collect(t *testing.T, answers []error, events ...told) []refreshed {
	t.Helper()
	var calls []refreshed
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		busy := false
		r := pipeline.NewRefresher(slog.New(slog.DiscardHandler), 30*time.Second, func(_ context.Context, targets pipeline.Targets) error {
			if busy {
				t.Error("two refreshes at once")
			}
			busy = true
			calls = append(calls, refreshed{time.Since(start), targets})
			time.Sleep(time.Minute)
			busy = false
			if len(answers) < len(calls) {
				return nil
			}
			return answers[len(calls)-1]
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.Run(ctx); close(ended) }()
		for _, e := range events {
			time.Sleep(e.after)
			r.Add(e.article, e.campaign)
		}
		time.Sleep(time.Hour)
		cancel()
		<-ended
	})
	return calls
}

func TestRefresher(t *testing.T) {
	held := fmt.Errorf("refresh: %w", &warehouse.HeldError{Run: "night"})
	one := pipeline.Targets{Articles: []string{"a"}, Campaigns: []string{"c"}}
	event := told{0, "a", "c"}
	cases := []struct {
		name    string
		answers []error
		events  []told
		want    []refreshed
	}{
		{"one event", nil, []told{event}, []refreshed{{30 * time.Second, one}}},
		{"an event without ids", nil, []told{{}}, nil},
		{"events within the window are one refresh", nil, []told{{0, "b", "c"}, {29 * time.Second, "a", ""}, {0, "b", "c"}},
			[]refreshed{{30 * time.Second, pipeline.Targets{Articles: []string{"a", "b"}, Campaigns: []string{"c"}}}}},
		{"an event while one runs waits for the next", nil, []told{event, {45 * time.Second, "b", ""}},
			[]refreshed{{30 * time.Second, one}, {2 * time.Minute, pipeline.Targets{Articles: []string{"b"}}}}},
		{"a night is at work", []error{held, pipeline.ErrPending}, []told{event},
			[]refreshed{{30 * time.Second, one}, {2 * time.Minute, one}, {3*time.Minute + 30*time.Second, one}}},
		{"a refresh that fails is left to the night", []error{errors.New("no")}, []told{event}, []refreshed{{30 * time.Second, one}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, collect(t, c.answers, c.events...)); diff != "" {
				t.Errorf("refreshes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARefresherIsBounded(t *testing.T) {
	var events []told
	for i := range 2000 {
		events = append(events, told{0, fmt.Sprint("a", i), fmt.Sprint("c", i)})
	}
	calls := collect(t, nil, events...)
	if len(calls) != 1 || len(calls[0].Targets.Articles) != 500 || len(calls[0].Targets.Campaigns) != 500 {
		t.Errorf("%d refreshes", len(calls))
	}
}
