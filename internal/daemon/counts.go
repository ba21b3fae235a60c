package daemon

import (
	"time"

	"placementsync/internal/ledger"
)

// Names of counters with one label.
const (
	runsTotal       = "runs_total"
	refreshesTotal  = "refreshes_total"
	requestsTotal   = "stream_requests_total"
	retriesTotal    = "stream_retries_total"
	throttledTotal  = "stream_throttled_seconds_total"
	rejectsTotal    = "stream_rejects_total"
	readErrorsTotal = "read_errors_total"
	reloadsTotal    = "config_reloads_total"
)

// counts are the values of the counters since the start of the process. Runs are counted
// from the ledger, so that runs of other processes are included.
type counts struct {
	seen   map[string]bool // ends of runs that must not be counted again, by endKey
	values map[timeSeries]float64
}

// timeSeries names a counter and the value of its label.
type timeSeries struct{ counter, label string }

// newCounts sets every known counter to zero. If a time series appeared only with its first event,
// the function rate() of Prometheus would miss that event.
func newCounts(streams []string) counts {
	c := counts{seen: map[string]bool{}, values: map[timeSeries]float64{}}
	for counter, labels := range map[string][]string{
		runsTotal: {string(ledger.Locked)}, readErrorsTotal: sources(), reloadsTotal: {"applied", "refused"},
		requestsTotal: streams, retriesTotal: streams, throttledTotal: streams, rejectsTotal: streams,
	} {
		for _, label := range labels {
			c.add(counter, label, 0)
		}
	}
	for _, outcome := range runOutcomes() {
		c.add(runsTotal, string(outcome), 0)
		c.add(refreshesTotal, string(outcome), 0)
	}
	return c
}

func (c counts) add(counter, label string, value float64) {
	c.values[timeSeries{counter, label}] += value
}

func runOutcomes() []ledger.Outcome {
	return []ledger.Outcome{ledger.Complete, ledger.Partial, ledger.Failed, ledger.Interrupted, ledger.Killed}
}

// endKey identifies one end of a run. A resumed run ends several times.
func endKey(r ledger.Run) string { return r.ID + " " + r.EndedAt.UTC().Format(time.RFC3339Nano) }

// addRun counts each end of a night or a refresh once. It does not count replays. The ledger line of a killed
// run has no end time and is counted once too.
func (c counts) addRun(r ledger.Run) {
	key := endKey(r)
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	switch {
	case r.Kind == ledger.Refresh:
		c.add(refreshesTotal, string(r.Outcome), 1)
	case !r.IsNight() || r.Kind == ledger.Replay:
		return
	default:
		c.add(runsTotal, string(r.Outcome), 1)
	}
	for _, s := range r.Streams {
		c.add(requestsTotal, s.Stream, float64(s.Requests))
		c.add(retriesTotal, s.Stream, float64(s.Retries))
		c.add(rejectsTotal, s.Stream, float64(s.Rejects))
		c.add(throttledTotal, s.Stream, s.RetryAfterSeconds)
	}
}
