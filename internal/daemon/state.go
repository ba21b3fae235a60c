package daemon

import (
	"maps"
	"slices"
	"sync"
	"time"

	"placementsync/internal/ledger"
)

// maxLedgerAge is the age up to which a reading of the ledger is used. Other processes write to
// the ledger too.
const maxLedgerAge = 30 * time.Second

// state is shared by the scheduler, the page, the metrics and the probes.
type state struct {
	d *Daemon

	mu sync.Mutex
	status
	// lastOwnNight is the last night of this process. The page shows this night even if the ledger line
	// could not be written, for example on a full disk.
	lastOwnNight  ledger.Run
	ledgerReadAt  time.Time // zero makes the next state.read read the ledger
	hasReadLedger bool
}

// status is the part of the state that is shown.
type status struct {
	At                time.Time // time of this copy, see state.read
	NextNight         time.Time
	NextVerify        time.Time // zero means never
	RunningSince      time.Time // start of the running night, or zero
	Stopping          bool
	ActiveAt          time.Time      // time when the scheduler was last active
	Missed            map[string]int // number of missed slots, by reason
	LastReloadRefused bool
	counts            counts
	ledgerSummary
	LedgerErr error
	// Inspection is zero in a copy if the inspection is older than maxInspectionAge.
	Inspection Inspection
	StuckSince time.Time // start of an inspection that has been running for too long, or zero
}

type ledgerSummary struct {
	// Nights contains nights and replays, oldest first. The slice is shared and must not be changed.
	Nights []ledger.Run
	// CurrentRun is the run of the current snapshot: a night, a refresh, a rollback or a
	// rebuild. It is zero before the first snapshot.
	CurrentRun      ledger.Run
	LastRefresh     ledger.Run // zero before the first refresh
	RefreshFailures int        // since the last success
	FollowUps       []ledger.FollowUp
}

func summarizeLedger(runs []ledger.Run) ledgerSummary {
	summary := ledgerSummary{FollowUps: ledger.FollowUps(runs)}
	for _, r := range runs {
		if r.IsFollowUp() {
			continue
		}
		if r.IsNight() {
			summary.Nights = append(summary.Nights, r)
		}
		if r.Kind == ledger.Refresh {
			summary.LastRefresh = r
			switch {
			case r.IsPublished():
				summary.RefreshFailures = 0
			case r.Outcome != ledger.Interrupted:
				summary.RefreshFailures++
			}
		}
		if r.IsPublished() {
			summary.CurrentRun = r
		}
	}
	return summary
}

// read copies the status. It reads the ledger if the last reading is older than maxLedgerAge.
func (s *state) read() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.d.cfg.Now()
	if now.Sub(s.ledgerReadAt).Abs() >= maxLedgerAge {
		s.readLedger(now)
	}
	copied := s.status
	copied.At, copied.Missed, copied.counts.values = now, maps.Clone(s.Missed), maps.Clone(s.counts.values)
	if now.Sub(s.Inspection.At) >= maxInspectionAge {
		copied.Inspection = Inspection{}
	}
	kinds := s.d.settings().FollowUpKinds
	copied.FollowUps = slices.DeleteFunc(slices.Clone(s.FollowUps), func(f ledger.FollowUp) bool { return !slices.Contains(kinds, f.Last.Kind) })
	return copied
}

// readLedger reads the ledger and counts new runs. After an error the summary of the last reading
// is kept.
func (s *state) readLedger(now time.Time) {
	runs, err := s.d.cfg.Program.Runs()
	previousErr := s.LedgerErr
	s.ledgerReadAt, s.LedgerErr = now, err
	if err != nil {
		s.counts.add(readErrorsTotal, SourceLedger, 1)
		if previousErr == nil {
			s.d.cfg.Log.Warn("the ledger cannot be read", "error", err)
		}
		return
	}
	if previousErr != nil {
		s.d.cfg.Log.Info("the ledger can be read again")
	}
	for _, r := range runs {
		if !s.hasReadLedger || s.isOwnNightKilled(r) { // the run ended before this process started, or endNight has counted it
			s.counts.seen[endKey(r)] = true
		}
		s.counts.addRun(r)
	}
	s.hasReadLedger = true
	s.ledgerSummary = summarizeLedger(runs)
	s.addOwnNight()
}

// addOwnNight adds the last night of this process to the summary if the ledger lacks its line. It replaces the
// line of an earlier attempt at the same run.
func (s *state) addOwnNight() {
	own := s.lastOwnNight
	if own.StartedAt.IsZero() {
		return
	}
	if i := slices.IndexFunc(s.Nights, func(r ledger.Run) bool { return r.ID == own.ID }); i >= 0 {
		if s.Nights[i].Attempts >= own.Attempts && !s.isOwnNightKilled(s.Nights[i]) {
			return
		}
		s.Nights = slices.Delete(s.Nights, i, i+1)
	}
	at := slices.IndexFunc(s.Nights, func(r ledger.Run) bool { return r.StartedAt.After(own.StartedAt) })
	if at < 0 {
		at = len(s.Nights)
	}
	s.Nights = slices.Insert(s.Nights, at, own)
}

// isOwnNightKilled reports whether a run of the ledger is the last night of this process, which is still alive. The
// ledger shows a night as killed if the night could not write its line.
func (s *state) isOwnNightKilled(r ledger.Run) bool {
	own := s.lastOwnNight
	return r.Outcome == ledger.Killed && r.ID == own.ID && r.Attempts == own.Attempts
}

func (s *state) update(write func(s *state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write(s)
}

func (s status) lastPublishedNight() (ledger.Run, bool) { return s.findLast(ledger.Run.IsPublished) }

// lastSuccess is lastPublishedNight, but a replay, which reads nothing, gets the time of its snapshot.
func (s status) lastSuccess() (ledger.Run, bool) {
	night, ok := s.lastPublishedNight()
	if night.Kind == ledger.Replay {
		night.StartedAt, night.EndedAt = night.SnapshotAt, night.SnapshotAt
	}
	return night, ok
}

func (s status) lastNight() (ledger.Run, bool) {
	return s.findLast(func(ledger.Run) bool { return true })
}

func (s status) findLast(meets func(ledger.Run) bool) (ledger.Run, bool) {
	for _, night := range slices.Backward(s.Nights) {
		if meets(night) {
			return night, true
		}
	}
	return ledger.Run{}, false
}

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
