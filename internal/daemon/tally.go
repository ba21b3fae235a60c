package daemon

import (
	"maps"
	"time"

	"placementsync/internal/ledger"
)

// tally counts since the start of the process, for counters. Runs are counted from the
// ledger, so that those of other processes are, and once each.
type tally struct {
	since           time.Time // the first reading of the ledger
	seen            map[string]bool
	runs, refreshes map[ledger.Outcome]int
	streams         map[string]streamTally
	readErrors      map[string]int
}

// streamTally sums up what a stream cost.
type streamTally struct {
	requests, retries, rejects int64
	throttledSeconds           float64
}

// newTally has a zero for everything that can be counted: a rate over a series that
// appears with its first event misses that event.
func newTally(streams []string) tally {
	t := tally{seen: map[string]bool{}, runs: map[ledger.Outcome]int{}, refreshes: map[ledger.Outcome]int{},
		streams: map[string]streamTally{}, readErrors: map[string]int{}}
	for _, outcome := range runOutcomes() {
		t.runs[outcome], t.refreshes[outcome] = 0, 0
	}
	t.runs[ledger.Held] = 0
	for _, name := range streams {
		t.streams[name] = streamTally{}
	}
	for _, name := range readNames() {
		t.readErrors[name] = 0
	}
	return t
}

// runOutcomes are how a run in the ledger can have ended.
func runOutcomes() []ledger.Outcome {
	return []ledger.Outcome{ledger.Complete, ledger.Partial, ledger.Failed, ledger.Interrupted, ledger.Killed}
}

func (t tally) clone() tally {
	t.runs, t.refreshes = maps.Clone(t.runs), maps.Clone(t.refreshes)
	t.streams, t.readErrors = maps.Clone(t.streams), maps.Clone(t.readErrors)
	return t
}

// endKey tells the ends of runs apart: one that is resumed ends more than once.
func endKey(r ledger.Run) string { return r.ID + " " + r.EndedAt.UTC().Format(time.RFC3339Nano) }

// skipKilled leaves out the runs that were killed before this process began. When they
// ended is not known: later ones count when they are first seen.
func (t tally) skipKilled(runs []ledger.Run) {
	for _, r := range runs {
		if r.EndedAt.IsZero() {
			t.seen[endKey(r)] = true
		}
	}
}

// countRun adds a run that ended in the time of this process, unless it is counted. One
// without an id is in no ledger.
func (t tally) countRun(r ledger.Run) {
	if !r.EndedAt.IsZero() && r.EndedAt.Before(t.since) {
		return
	}
	key := endKey(r)
	if t.seen[key] && r.ID != "" {
		return
	}
	t.seen[key] = true
	switch {
	case r.Kind == ledger.Refresh:
		t.refreshes[r.Outcome]++
	case !r.IsNight() || r.Kind == ledger.Replay: // it asks the service for nothing
		return
	default:
		t.runs[r.Outcome]++
	}
	for _, s := range r.Streams {
		sum := t.streams[s.Stream]
		sum.requests += s.Requests
		sum.retries += s.Retries
		sum.rejects += s.Rejects
		sum.throttledSeconds += s.RetryAfterSeconds
		t.streams[s.Stream] = sum
	}
}
