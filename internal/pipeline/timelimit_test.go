package pipeline

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

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
			p := &prepared{locked: &locked{cfg: Config{MaxDuration: c.limit}, mode: runMode{kind: c.kind}}, began: time.Now()}
			for elapsed := time.Duration(0); elapsed <= 4*time.Second; elapsed += time.Second / 2 {
				if want := c.overAfter >= 0 && elapsed >= c.overAfter; p.isTimeOver() != want {
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
	read := func(lastNight ledger.Run) []string {
		lists, events, details := inReadingOrder(allStreams, lastNight)
		return names(slices.Concat(lists, events, details))
	}
	if diff := cmp.Diff(names(allStreams), read(ledger.Run{})); diff != "" {
		t.Errorf("without a last night (-want +got):\n%s", diff)
	}
	isFirst := func(n string) bool { return n == "files" || n == "folders" }
	want := append([]string{"files", "folders"}, slices.DeleteFunc(names(allStreams), isFirst)...)
	if diff := cmp.Diff(want, read(lastNight)); diff != "" {
		t.Errorf("after a night with unread lists (-want +got):\n%s", diff)
	}
}

func TestUnreadErrorMessages(t *testing.T) {
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
		p := &prepared{locked: &locked{cfg: Config{MaxDuration: time.Hour}, mode: runMode{kind: c.kind}}}
		if got, want := p.unreadErr(c.unread, c.planned).Error(), c.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
