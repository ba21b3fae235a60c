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
	if s.ledgerReadAt, s.LedgerErr = now, err; err != nil {
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
		if s.hasReadLedger {
			s.counts.addRun(r)
		} else { // the run ended before this process started
			s.counts.seen[endKey(r)] = true
		}
	}
	s.hasReadLedger = true
	s.ledgerSummary = summarizeLedger(runs)
	own := s.lastOwnNight
	isInLedger := slices.ContainsFunc(s.Nights, func(r ledger.Run) bool { // the line of own, or of a later attempt at the same run
		return own.ID != "" && r.ID == own.ID && (r.Outcome == ledger.Killed || !r.EndedAt.Before(own.EndedAt))
	})
	if !own.StartedAt.IsZero() && !isInLedger {
		at := slices.IndexFunc(s.Nights, func(r ledger.Run) bool { return r.StartedAt.After(own.StartedAt) })
		if at < 0 {
			at = len(s.Nights)
		}
		s.Nights = slices.Insert(s.Nights, at, own)
	}
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
