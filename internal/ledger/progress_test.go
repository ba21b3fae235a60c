package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
)

// TestEstimateRemaining checks the expected requests and the remaining time at every state of a run.
func TestEstimateRemaining(t *testing.T) {
	progressOf := func(state string, done, total, requests int64, rate float64) ledger.StreamProgress {
		return ledger.StreamProgress{State: state, Done: done, Total: total, Requests: requests, PerSecond: rate}
	}
	for name, c := range map[string]struct {
		streams                  []ledger.StreamProgress
		requestsBefore           []int64 // requests of the last night, by stream
		requests                 int64
		runRate, allowed         float64 // requests per second
		wantExpected             int64
		wantLeft, wantStreamLeft time.Duration
		wantRate                 float64
	}{
		"a list with a known number of pages": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 2, 10, 2, 4)}, requestsBefore: []int64{50},
			requests: 3, runRate: 1, allowed: 9, wantExpected: 11, wantLeft: 2 * time.Second, wantStreamLeft: 2 * time.Second, wantRate: 4},
		"a list without a known number of pages": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 2, 0)}, requestsBefore: []int64{12},
			requests: 2, runRate: 5, allowed: 9, wantExpected: 12, wantLeft: 2 * time.Second, wantStreamLeft: 2 * time.Second, wantRate: 5},
		"in the first second": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 2, 0)}, requestsBefore: []int64{12},
			requests: 2, allowed: 10, wantExpected: 12, wantLeft: time.Second, wantStreamLeft: time.Second},
		"a waiting stream that was never read": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 2, 2), progressOf(ledger.Waiting, 0, 0, 0, 0)}, requestsBefore: []int64{12, -1},
			requests: 2, wantStreamLeft: 5 * time.Second, wantRate: 2},
		"a stream that was never read, before a known one": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 2, 2), progressOf(ledger.Waiting, 0, 0, 0, 0)}, requestsBefore: []int64{-1, 12},
			requests: 2, wantRate: 2},
		"a waiting stream that was read last night": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 2, 2), progressOf(ledger.Waiting, 0, 0, 0, 0)}, requestsBefore: []int64{12, 4},
			requests: 2, wantExpected: 16, wantLeft: 7 * time.Second, wantStreamLeft: 5 * time.Second, wantRate: 2},
		"all streams are read": {streams: []ledger.StreamProgress{progressOf(ledger.Read, 9, 10, 9, 0)}, requestsBefore: []int64{50},
			requests: 9, runRate: 3, wantExpected: 9},
		"more requests than last night": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 20, 2)}, requestsBefore: []int64{12},
			requests: 20, wantExpected: 20, wantRate: 2},
		"without a rate": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 2, 10, 2, 0)}, requestsBefore: []int64{50},
			requests: 2, wantExpected: 10},
		"a waiting stream that needed no request": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 0, 2, 2),
			progressOf(ledger.Waiting, 0, 0, 0, 0)}, requestsBefore: []int64{12, 0},
			requests: 2, wantExpected: 12, wantLeft: 5 * time.Second, wantStreamLeft: 5 * time.Second, wantRate: 2},
		"a list of one page, at half a request per second": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 0, 1, 3, 0.5)},
			requestsBefore: []int64{50}, requests: 3, wantExpected: 4, wantLeft: 2 * time.Second, wantStreamLeft: 2 * time.Second, wantRate: 0.5},
		"a list that grew": {streams: []ledger.StreamProgress{progressOf(ledger.Reading, 12, 10, 12, 2)}, requestsBefore: []int64{12},
			requests: 12, wantExpected: 12, wantRate: 2},
	} {
		p := ledger.Progress{Streams: c.streams, Requests: c.requests, AllowedPerSecond: c.allowed}
		p.EstimateRemaining(c.requestsBefore, c.runRate)
		want := ledger.Progress{Streams: slices.Clone(p.Streams), Requests: c.requests, AllowedPerSecond: c.allowed,
			Expected: c.wantExpected, Left: c.wantLeft, PerSecond: c.wantRate}
		want.Streams[0].Left = c.wantStreamLeft
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDescribeWait(t *testing.T) {
	p := ledger.Progress{WaitingFor: "answered 503", WaitingUntil: time.Date(2026, time.November, 19, 3, 5, 7, 0, time.FixedZone("", 3600))}
	if got, want := p.DescribeWait(), "waiting for the service until 02:05:07 UTC: answered 503"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.WaitingFor = ""
	if got := p.DescribeWait(); got != "" {
		t.Errorf("got %q although the service answers", got)
	}
}
