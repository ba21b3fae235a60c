package pipeline

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
)

// TestTimeLeft uses a limit of 8 hours, of which 2 hours can be reserved for details.
func TestTimeLeft(t *testing.T) {
	const limit, hour = 8 * time.Hour, time.Hour
	for name, c := range map[string]struct {
		limit, elapsed, listsEnded time.Duration
		isDetail, hasReserve       bool
		want                       time.Duration
		hasLimit                   bool
	}{
		"without a limit":                            {elapsed: 99 * hour, hasReserve: true},
		"a list":                                     {limit: limit, elapsed: hour, want: 7 * hour, hasLimit: true},
		"a list, no time left":                       {limit: limit, elapsed: limit, want: 0, hasLimit: true},
		"a detail":                                   {limit: limit, elapsed: 7 * hour, listsEnded: 7 * hour, isDetail: true, want: hour, hasLimit: true},
		"a detail after the limit":                   {limit: limit, elapsed: 9 * hour, listsEnded: 9 * hour, isDetail: true, want: -hour, hasLimit: true},
		"a list with a reserve":                      {limit: limit, elapsed: 5 * hour, hasReserve: true, want: hour, hasLimit: true},
		"a list, only the reserve left":              {limit: limit, elapsed: 6 * hour, hasReserve: true, want: 0, hasLimit: true},
		"a detail in the reserve":                    {limit: limit, elapsed: 6 * hour, listsEnded: 6 * hour, isDetail: true, hasReserve: true, want: 2 * hour, hasLimit: true},
		"a detail after late lists, with a reserve":  {limit: limit, elapsed: 9 * hour, listsEnded: 9 * hour, isDetail: true, hasReserve: true, want: 2 * hour, hasLimit: true},
		"a detail after early lists, with a reserve": {limit: limit, elapsed: 2 * hour, listsEnded: hour, isDetail: true, hasReserve: true, want: 6 * hour, hasLimit: true},
	} {
		left, hasLimit := timeLeft(c.limit, c.elapsed, c.listsEnded, c.isDetail, c.hasReserve)
		if left != c.want || hasLimit != c.hasLimit {
			t.Errorf("%s: got left %v, hasLimit %t, want %v, %t", name, left, hasLimit, c.want, c.hasLimit)
		}
	}
}

// TestIsTimeOver calls isTimeOver every half second, for nights and replays with and without limits.
func TestIsTimeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			kind               string
			limit, streamLimit time.Duration
			isDetail           bool
			// overAfter is the time after which isTimeOver is true, or -1 for never.
			overAfter time.Duration
		}{
			"a limit":                      {ledger.Night, 3 * time.Second, 0, true, 3 * time.Second},
			"no limit":                     {ledger.Night, 0, 0, true, -1},
			"a replay":                     {ledger.Replay, 0, 0, true, 0},
			"a replay with a limit":        {ledger.Replay, time.Hour, 0, false, 0},
			"a stream limit, for a detail": {ledger.Night, 3 * time.Second, 2 * time.Second, true, 2 * time.Second},
			"a stream limit, for a list":   {ledger.Night, 3 * time.Second, 2 * time.Second, false, 3 * time.Second},
			"only a stream limit":          {ledger.Night, 0, 2 * time.Second, true, 2 * time.Second},
		} {
			r := &reader{night: &night{cfg: Config{MaxDuration: c.limit}, mode: runMode{kind: c.kind}}, began: time.Now(), streamLimit: c.streamLimit}
			for elapsed := time.Duration(0); elapsed <= 4*time.Second; elapsed += time.Second / 2 {
				if want := c.overAfter >= 0 && elapsed >= c.overAfter; r.isTimeOver(c.isDetail) != want {
					t.Errorf("%s: isTimeOver after %v returned %t, want %t", name, elapsed, !want, want)
				}
				time.Sleep(time.Second / 2)
			}
		}
	})
}

// TestFirstRounds checks the first rounds of a night whose last night read all ids, left ids unread, or made
// no progress.
func TestFirstRounds(t *testing.T) {
	run := func(unread, nightsLeft int64) ledger.Run {
		return ledger.Run{ID: "last", NightsLeft: nightsLeft, Streams: []ledger.Stream{{Stream: "a"}, {Stream: "b", Unread: unread}}}
	}
	changedFirst := []load.Priority{load.PriorityChanged, load.PriorityNew}
	neverReadFirst := []load.Priority{load.NeverRead, load.OldestFirst, load.PriorityChanged, load.PriorityNew}
	for name, c := range map[string]struct {
		lastNight ledger.Run
		details   Details
		want      []load.Priority
	}{
		"the first night":                             {ledger.Run{}, ChangedDetails, changedFirst},
		"the last night read all ids":                 {run(0, 0), ChangedDetails, nil},
		"all details are requested":                   {run(0, 0), AllDetails, changedFirst},
		"one id is unread":                            {run(1, 1), ChangedDetails, changedFirst},
		"one id is unread, without progress":          {run(1, 0), ChangedDetails, neverReadFirst},
		"all details are requested, without progress": {run(9, 0), AllDetails, neverReadFirst},
	} {
		if got := firstRounds(c.lastNight, c.details); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
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

func TestForecast(t *testing.T) {
	for name, c := range map[string]struct {
		unread []int64
		pace   int64
		want   []int64 // nights of each stream, 0 without a forecast
	}{
		"no id is unread":                {[]int64{0, 0}, 5, []int64{0, 0}},
		"a pace of 0":                    {[]int64{7}, 0, []int64{0}},
		"one id":                         {[]int64{1}, 5, []int64{1}},
		"exactly one night":              {[]int64{5}, 5, []int64{1}},
		"more ids than one night reads":  {[]int64{6}, 5, []int64{2}},
		"earlier streams are read first": {[]int64{5, 0, 5, 1}, 5, []int64{1, 0, 2, 3}},
	} {
		finished := results{}
		for _, n := range c.unread {
			finished = append(finished, streamResult{unread: n, evidence: fetch.Evidence{Reason: "why"}})
		}
		nights := finished.forecast(c.pace)
		for i, want := range c.want {
			reason := map[int64]string{0: "why", 1: "why; about 1 more night", 2: "why; about 2 more nights", 3: "why; about 3 more nights"}[want]
			if finished[i].evidence.Reason != reason {
				t.Errorf("%s: stream %d has the reason %q, want %q", name, i, finished[i].evidence.Reason, reason)
			}
		}
		if want := slices.Max(c.want); nights != want {
			t.Errorf("%s: forecast returned %d nights, want %d", name, nights, want)
		}
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
