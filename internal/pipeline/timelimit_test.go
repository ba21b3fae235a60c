package pipeline

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// TestANightEndsAfterTheDefaultDuration calls isTimeOver before and after six hours.
func TestANightEndsAfterTheDefaultDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reader{night: &night{cfg: Config{MaxDuration: config.Default().Run.MaxDuration}, mode: runMode{kind: ledger.Night}}, began: time.Now()}
		time.Sleep(6*time.Hour - time.Second)
		if r.isTimeOver() {
			t.Error("the time of a night is over after less than six hours")
		}
		time.Sleep(time.Second)
		if !r.isTimeOver() {
			t.Error("the time of a night is not over after six hours")
		}
	})
}

// TestIsTimeOver calls isTimeOver every half second, for nights and replays with and without limits.
func TestIsTimeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			kind  string
			limit time.Duration
			// overAfter is the time after which isTimeOver is true, or -1 for never.
			overAfter time.Duration
		}{
			"a limit":               {ledger.Night, 3 * time.Second, 3 * time.Second},
			"no limit":              {ledger.Night, 0, -1},
			"a replay":              {ledger.Replay, 0, 0},
			"a replay with a limit": {ledger.Replay, time.Hour, 0},
		} {
			r := &reader{night: &night{cfg: Config{MaxDuration: c.limit}, mode: runMode{kind: c.kind}}, began: time.Now()}
			for elapsed := time.Duration(0); elapsed <= 4*time.Second; elapsed += time.Second / 2 {
				if want := c.overAfter >= 0 && elapsed >= c.overAfter; r.isTimeOver() != want {
					t.Errorf("%s: isTimeOver after %v returned %t, want %t", name, elapsed, !want, want)
				}
				time.Sleep(time.Second / 2)
			}
		}
	})
}

func TestUnreadListsComeFirst(t *testing.T) {
	lastNight := ledger.Run{Streams: []ledger.Stream{
		{Stream: "orders", Grade: "exact", Incomplete: false},
		{Stream: "files", Grade: "carried_forward", Incomplete: true},
		{Stream: "folders", Grade: "skipped", Incomplete: true},
		{Stream: "tags", Grade: "skipped"}, // not chosen
		{Stream: "profiles", Grade: "best_effort", Incomplete: true},
		{Stream: "articles", Grade: "carried_forward", Incomplete: true},
	}}
	names := func(streams []stream.Stream) (all []string) {
		for _, s := range streams {
			all = append(all, s.Name)
		}
		return all
	}
	allStreams := stream.AllWithEvents()
	if got, want := names(unreadListsFirst(allStreams, ledger.Run{})), names(allStreams); !slices.Equal(got, want) {
		t.Errorf("without a last night: got %v, want %v", got, want)
	}
	got := names(unreadListsFirst(allStreams, lastNight))
	want := append([]string{"files", "folders"}, slices.DeleteFunc(names(allStreams), func(n string) bool { return n == "files" || n == "folders" })...)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.Equal(names(allStreams), names(stream.AllWithEvents())) {
		t.Error("unreadListsFirst changed its argument, want a new slice")
	}
}

func TestUnreadErrorMessages(t *testing.T) {
	for d, want := range map[time.Duration]string{6 * time.Hour: "6h", 90 * time.Minute: "1h30m", time.Second: "1s", 1500 * time.Millisecond: "1.5s",
		10 * time.Minute: "10m", time.Hour + time.Second: "1h0m1s", 0: "0s", 100 * time.Hour: "100h"} {
		if got := formatDuration(d); got != want {
			t.Errorf("%d ns is formatted as %q, want %q", d, got, want)
		}
	}
	for _, c := range []struct {
		kind            string
		unread, planned int64
		want            string
	}{
		{ledger.Night, 0, 0, "the list was not read within run.max_duration (1h); rows of earlier nights are kept"},
		{ledger.Replay, 0, 0, "the list was not read by the run that is replayed; rows of earlier nights are kept"},
		{ledger.Night, 1, 1, "1 of 1 id were not read within run.max_duration (1h)"},
		{ledger.Replay, 1200, 1300, "1,200 of 1,300 ids were not read by the run that is replayed"},
	} {
		r := &reader{night: &night{cfg: Config{MaxDuration: time.Hour}, mode: runMode{kind: c.kind}}}
		if got, want := r.unreadErr(c.unread, c.planned).Error(), c.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
