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

// collect runs a collector with a window of 30 s over a script; each refresh takes a minute
// and answers with the next error.
func collect(t *testing.T, answers []error, script func(*pipeline.Refresher)) []refreshed {
	t.Helper()
	start := time.Now()
	var calls []refreshed
	busy := false
	r := pipeline.NewRefresher(slog.New(slog.DiscardHandler), 30*time.Second, func(ctx context.Context, targets pipeline.Targets) error {
		if busy {
			t.Error("two refreshes at once")
		}
		busy = true
		defer func() { busy = false }()
		calls = append(calls, refreshed{time.Since(start), targets})
		time.Sleep(time.Minute)
		if len(answers) < len(calls) {
			return nil
		}
		return answers[len(calls)-1]
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	script(r)
	time.Sleep(time.Hour)
	cancel()
	<-ended
	return calls
}

func TestRefresher(t *testing.T) {
	held := fmt.Errorf("refresh: %w", &warehouse.HeldError{Run: "night"})
	one := pipeline.Targets{Articles: []string{"a"}, Campaigns: []string{"c"}}
	cases := []struct {
		name    string
		answers []error
		script  func(*pipeline.Refresher)
		want    []refreshed
	}{
		{"one event", nil, func(r *pipeline.Refresher) { r.Add("a", "c") }, []refreshed{{30 * time.Second, one}}},
		{"an event without ids", nil, func(r *pipeline.Refresher) { r.Add("", "") }, nil},
		{"events within the window are one refresh", nil, func(r *pipeline.Refresher) {
			r.Add("b", "c")
			time.Sleep(29 * time.Second)
			r.Add("a", "")
			r.Add("b", "c")
		}, []refreshed{{30 * time.Second, pipeline.Targets{Articles: []string{"a", "b"}, Campaigns: []string{"c"}}}}},
		{"an event while one runs waits for the next", nil, func(r *pipeline.Refresher) {
			r.Add("a", "c")
			time.Sleep(45 * time.Second)
			r.Add("b", "")
		}, []refreshed{{30 * time.Second, one}, {2 * time.Minute, pipeline.Targets{Articles: []string{"b"}}}}},
		{"a night is at work", []error{held, pipeline.ErrPending}, func(r *pipeline.Refresher) { r.Add("a", "c") },
			[]refreshed{{30 * time.Second, one}, {2 * time.Minute, one}, {3*time.Minute + 30*time.Second, one}}},
		{"a refresh that fails is left to the night", []error{errors.New("no")}, func(r *pipeline.Refresher) { r.Add("a", "c") },
			[]refreshed{{30 * time.Second, one}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(c.want, collect(t, c.answers, c.script)); diff != "" {
					t.Errorf("refreshes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestARefresherIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := collect(t, nil, func(r *pipeline.Refresher) {
			for i := range 10_000 {
				r.Add(fmt.Sprint("a", i), fmt.Sprint("c", i))
			}
		})
		if len(calls) != 1 || len(calls[0].Targets.Articles) != 500 || len(calls[0].Targets.Campaigns) != 500 {
			t.Errorf("%d refreshes", len(calls))
		}
	})
}
