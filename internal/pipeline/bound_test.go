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
	const bound, hour = 8 * time.Hour, time.Hour
	for name, c := range map[string]struct {
		bound, elapsed, listsEnded time.Duration
		detail, reserve            bool
		want                       time.Duration
		hasEnd                     bool
	}{
		"without a bound":            {elapsed: 99 * hour, reserve: true},
		"a list":                     {bound: bound, elapsed: hour, want: 7 * hour, hasEnd: true},
		"a list at the end":          {bound: bound, elapsed: bound, want: 0, hasEnd: true},
		"a detail":                   {bound: bound, elapsed: 7 * hour, listsEnded: 7 * hour, detail: true, want: hour, hasEnd: true},
		"a detail after late lists":  {bound: bound, elapsed: 9 * hour, listsEnded: 9 * hour, detail: true, want: -hour, hasEnd: true},
		"a list with a reserve":      {bound: bound, elapsed: 5 * hour, reserve: true, want: hour, hasEnd: true},
		"a list at the reserve":      {bound: bound, elapsed: 6 * hour, reserve: true, want: 0, hasEnd: true},
		"a detail in the reserve":    {bound: bound, elapsed: 6 * hour, listsEnded: 6 * hour, detail: true, reserve: true, want: 2 * hour, hasEnd: true},
		"a detail after a late list": {bound: bound, elapsed: 9 * hour, listsEnded: 9 * hour, detail: true, reserve: true, want: 2 * hour, hasEnd: true},
		"a detail after early lists": {bound: bound, elapsed: 2 * hour, listsEnded: hour, detail: true, reserve: true, want: 6 * hour, hasEnd: true},
	} {
		left, hasEnd := timeLeft(c.bound, c.elapsed, c.listsEnded, c.detail, c.reserve)
		if left != c.want || hasEnd != c.hasEnd {
			t.Errorf("%s: got %v left, has an end %t, want %v, %t", name, left, hasEnd, c.want, c.hasEnd)
		}
	}
}

// TestIsOver calls isOver every half second, for nights and replays with and without limits.
func TestIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			kind               string
			bound, streamLimit time.Duration
			detail             bool
			// over is the time after which isOver is true, or -1 for never.
			over time.Duration
		}{
			"a night":             {ledger.Night, 3 * time.Second, 0, true, 3 * time.Second},
			"no bound":            {ledger.Night, 0, 0, true, -1},
			"a replay":            {ledger.Replay, 0, 0, true, 0},
			"a replay with time":  {ledger.Replay, time.Hour, 0, false, 0},
			"a share":             {ledger.Night, 3 * time.Second, 2 * time.Second, true, 2 * time.Second},
			"a share, for a list": {ledger.Night, 3 * time.Second, 2 * time.Second, false, 3 * time.Second},
			"a share, no bound":   {ledger.Night, 0, 2 * time.Second, true, 2 * time.Second},
		} {
			r := &reader{night: &night{cfg: Config{MaxDuration: c.bound}, mode: runMode{kind: c.kind}}, began: time.Now(), streamLimit: c.streamLimit}
			for elapsed := time.Duration(0); elapsed <= 4*time.Second; elapsed += time.Second / 2 {
				if want := c.over >= 0 && elapsed >= c.over; r.isOver(c.detail) != want {
					t.Errorf("%s: isOver after %v returned %t, want %t", name, elapsed, !want, want)
				}
				time.Sleep(time.Second / 2)
			}
		}
	})
}

// TestFirstRounds checks the rounds after nights that read all ids, left ids, or made no progress.
func TestFirstRounds(t *testing.T) {
	run := func(unread, nights int64) ledger.Run {
		return ledger.Run{NightsLeft: nights, Streams: []ledger.Stream{{Stream: "a"}, {Stream: "b", Unread: unread}}}
	}
	normal := []load.Priority{load.PriorityChanged, load.PriorityNew}
	neverReadFirst := []load.Priority{load.NeverRead, load.OldestFirst, load.PriorityChanged, load.PriorityNew}
	for name, c := range map[string]struct {
		last    ledger.Run
		hasLast bool
		details Details
		want    []load.Priority
	}{
		"the first night":                   {ledger.Run{}, false, ChangedDetails, normal},
		"the last night read all":           {run(0, 0), true, ChangedDetails, nil},
		"all details are chosen":            {run(0, 0), true, AllDetails, normal},
		"one id was left":                   {run(1, 1), true, ChangedDetails, normal},
		"one id was left, without progress": {run(1, 0), true, ChangedDetails, neverReadFirst},
		"all details, without progress":     {run(9, 0), true, AllDetails, neverReadFirst},
	} {
		if got := firstRounds(c.last, c.hasLast, c.details); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestUnreadListsComeFirst(t *testing.T) {
	last := ledger.Run{Streams: []ledger.Stream{
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
	known := stream.AllWithEvents()
	if got, want := names(orderStreams(known, ledger.Run{})), names(known); !slices.Equal(got, want) {
		t.Errorf("without a last night: got %v, want %v", got, want)
	}
	got := names(orderStreams(known, last))
	want := append([]string{"files", "folders"}, slices.DeleteFunc(names(known), func(n string) bool { return n == "files" || n == "folders" })...)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !slices.Equal(names(known), names(stream.AllWithEvents())) {
		t.Error("orderStreams changed its argument, want a new slice")
	}
}

func TestForecast(t *testing.T) {
	for name, c := range map[string]struct {
		unread []int64
		pace   int64
		want   []int64 // nights of each stream, 0 without a forecast
	}{
		"no id is left":              {[]int64{0, 0}, 5, []int64{0, 0}},
		"no pace":                    {[]int64{7}, 0, []int64{0}},
		"one id":                     {[]int64{1}, 5, []int64{1}},
		"exactly one night":          {[]int64{5}, 5, []int64{1}},
		"one id more than one night": {[]int64{6}, 5, []int64{2}},
		"streams wait for others":    {[]int64{5, 0, 5, 1}, 5, []int64{1, 0, 2, 3}},
	} {
		done := results{}
		for _, n := range c.unread {
			done = append(done, streamResult{unread: n, evidence: fetch.Evidence{Reason: "why"}})
		}
		last := done.forecast(c.pace)
		for i, want := range c.want {
			reason := map[int64]string{0: "why", 1: "why; about 1 more night", 2: "why; about 2 more nights", 3: "why; about 3 more nights"}[want]
			if done[i].evidence.Reason != reason {
				t.Errorf("%s: stream %d has the reason %q, want %q", name, i, done[i].evidence.Reason, reason)
			}
		}
		if want := slices.Max(c.want); last != want {
			t.Errorf("%s: forecast returned %d nights, want %d", name, last, want)
		}
	}
}

func TestUnreadErrorMessages(t *testing.T) {
	for d, want := range map[time.Duration]string{6 * time.Hour: "6h", 90 * time.Minute: "1h30m", time.Second: "1s", 1500 * time.Millisecond: "1.5s",
		10 * time.Minute: "10m", time.Hour + time.Second: "1h0m1s", 0: "0s", 100 * time.Hour: "100h"} {
		if got := formatDuration(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
	for e, want := range map[UnreadError]string{
		{Bound: time.Hour}: "the list was not read within run.max_duration (1h): it was not begun, its last rows are kept",
		{}:                 "the list was not read by the run that is replayed: it was not begun, its last rows are kept",
		{Unread: 1, Planned: 1, Bound: time.Hour}: "1 of 1 id were not read within run.max_duration (1h)",
		{Unread: 1200, Planned: 1300, Bound: 0}:   "1,200 of 1,300 ids were not read by the run that is replayed",
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
