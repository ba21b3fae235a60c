package daemon

import (
	"time"

	"placementsync/internal/ledger"
)

// counts are the values of the counters since the start of the process. Runs are counted
// from the ledger, so that runs of other processes are included.
type counts struct {
	seen              map[string]bool // ends of runs that must not be counted again, by endKey
	nights, refreshes map[ledger.Outcome]int
	streams           map[string]streamCounts
	readErrors        map[string]int
}

type streamCounts struct {
	requests, retries, rejects int64
	throttledSeconds           float64
}

// newCounts sets every known counter to zero. If a time series appeared only with its first event,
// the function rate() of Prometheus would miss that event.
func newCounts(streams []string) counts {
	c := counts{seen: map[string]bool{}, nights: map[ledger.Outcome]int{}, refreshes: map[ledger.Outcome]int{},
		streams: map[string]streamCounts{}, readErrors: map[string]int{}}
	for _, outcome := range runOutcomes() {
		c.nights[outcome], c.refreshes[outcome] = 0, 0
	}
	c.nights[ledger.Locked] = 0
	for _, name := range streams {
		c.streams[name] = streamCounts{}
	}
	for _, name := range sources() {
		c.readErrors[name] = 0
	}
	return c
}

func runOutcomes() []ledger.Outcome {
	return []ledger.Outcome{ledger.Complete, ledger.Partial, ledger.Failed, ledger.Interrupted, ledger.Killed}
}

// endKey identifies one end of a run. A resumed run ends several times.
func endKey(r ledger.Run) string { return r.ID + " " + r.EndedAt.UTC().Format(time.RFC3339Nano) }

// addRun counts each end of a night or a refresh once. It does not count replays. The entry of a killed
// run has no end time and is counted once too. A run without an id is not in the ledger and is always
// counted.
func (c counts) addRun(r ledger.Run) {
	key := endKey(r)
	if c.seen[key] && r.ID != "" {
		return
	}
	c.seen[key] = true
	switch {
	case r.Kind == ledger.Refresh:
		c.refreshes[r.Outcome]++
	case !r.IsNight() || r.Kind == ledger.Replay:
		return
	default:
		c.nights[r.Outcome]++
	}
	for _, s := range r.Streams {
		sum := c.streams[s.Stream]
		sum.requests += s.Requests
		sum.retries += s.Retries
		sum.rejects += s.Rejects
		sum.throttledSeconds += s.RetryAfterSeconds
		c.streams[s.Stream] = sum
	}
}
