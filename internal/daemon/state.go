package daemon

import (
	"maps"
	"slices"
	"sync"
	"time"

	"placementsync/internal/ledger"
)

// ledgerAge is how long a reading of the ledger is used. Other processes write to it too.
const ledgerAge = 30 * time.Second

// state is shared by the scheduler, the page, the metrics and the probes.
type state struct {
	d *Daemon

	mu         sync.Mutex
	next       time.Time // the next slot
	nextVerify time.Time // zero means never
	running    time.Time // start of the running night, or zero
	stopping   bool
	checkedAt  time.Time // last check of the schedule
	missed     map[string]int
	counts     counts
	// lastOwn is the last night of this process. It is shown even if a full disk has no
	// room for its ledger entry.
	lastOwn    ledger.Run
	inspection Inspection
	// stuckSince is the start of an inspection that has been running for too long, or
	// zero.
	stuckSince time.Time
	entries    entries
	readAt     time.Time
	readErr    error
}

// entries is a digest of the ledger.
type entries struct {
	// Nights are oldest first. They are shared: do not change them.
	Nights []ledger.Run
	// Current is the run of the current snapshot: a night, a refresh, a rollback or a
	// rebuild. It is zero before the first snapshot.
	Current ledger.Run
	// LastRefresh is zero before the first refresh. RefreshFailures counts the failures
	// since the last success.
	LastRefresh     ledger.Run
	RefreshFailures int
	// Follows contains the last work after nights of each kind, such as backups.
	Follows []ledger.Follow
}

func newEntries(all []ledger.Run) entries {
	e := entries{Follows: ledger.Follows(all)}
	for _, r := range all {
		if r.IsFollow() {
			continue
		}
		if r.IsNight() {
			e.Nights = append(e.Nights, r)
		}
		if r.Kind == ledger.Refresh {
			e.LastRefresh = r
			switch {
			case r.IsPublished():
				e.RefreshFailures = 0
			case r.Outcome != ledger.Interrupted:
				e.RefreshFailures++
			}
		}
		if r.IsPublished() {
			e.Current = r
		}
	}
	return e
}

// status is a copy of the state at one time.
type status struct {
	At            time.Time
	Next, Running time.Time
	NextVerify    time.Time
	Stopping      bool
	CheckedAt     time.Time
	Missed        map[string]int
	entries
	// Inspection is zero if the last one is older than inspectionAge.
	Inspection Inspection
	StuckSince time.Time
	LedgerErr  error
	counts     counts
}

// read copies the state. It reads the ledger if the last reading is older than ledgerAge.
func (s *state) read() status {
	copied, before := s.readLocked()
	// Logging may be slow, so it is done without the lock.
	switch {
	case before == nil && copied.LedgerErr != nil:
		s.d.cfg.Log.Warn("the ledger cannot be read", "error", copied.LedgerErr)
	case before != nil && copied.LedgerErr == nil:
		s.d.cfg.Log.Info("the ledger can be read again")
	}
	return copied
}

// readLocked also returns the error of the ledger before this call.
func (s *state) readLocked() (copied status, before error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.d.cfg.Now()
	before = s.readErr
	if s.readAt.IsZero() || now.Sub(s.readAt) >= ledgerAge || now.Before(s.readAt) {
		s.readLedger(now)
	}
	copied = status{At: now, Next: s.next, Running: s.running, NextVerify: s.nextVerify, Stopping: s.stopping, CheckedAt: s.checkedAt,
		Missed: maps.Clone(s.missed), entries: s.entries, LedgerErr: s.readErr, counts: s.counts.clone(), StuckSince: s.stuckSince}
	if now.Sub(s.inspection.At) < inspectionAge {
		copied.Inspection = s.inspection
	}
	kinds := s.d.settings().Follows
	copied.Follows = slices.DeleteFunc(slices.Clone(copied.Follows), func(f ledger.Follow) bool { return !slices.Contains(kinds, f.Last.Kind) })
	return copied, before
}

// readLedger reads the ledger and counts new entries. After an error the last reading is
// kept.
func (s *state) readLedger(now time.Time) {
	all, err := s.d.cfg.Program.Runs()
	if s.readAt, s.readErr = now, err; err != nil {
		s.counts.readErrors[SourceLedger]++
		return
	}
	if s.counts.since.IsZero() {
		s.counts.skipKilled(all)
		s.counts.since = now
	}
	for _, r := range all {
		s.counts.addRun(r)
	}
	s.entries = newEntries(all)
	if own := s.lastOwn; !own.StartedAt.IsZero() && !slices.ContainsFunc(s.entries.Nights, s.supersedesOwn) {
		at := slices.IndexFunc(s.entries.Nights, func(r ledger.Run) bool { return r.StartedAt.After(own.StartedAt) })
		if at < 0 {
			at = len(s.entries.Nights)
		}
		s.entries.Nights = slices.Insert(s.entries.Nights, at, own)
	}
}

// supersedesOwn reports whether r is the entry of lastOwn, or of another process that
// resumed it.
func (s *state) supersedesOwn(r ledger.Run) bool {
	return s.lastOwn.ID != "" && r.ID == s.lastOwn.ID && (r.Outcome == ledger.Killed || !r.EndedAt.Before(s.lastOwn.EndedAt))
}

func (s *state) update(write func(s *state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write(s)
}

// lastPublished returns the newest night that published a snapshot.
func (s status) lastPublished() (ledger.Run, bool) {
	for _, night := range slices.Backward(s.Nights) {
		if night.IsPublished() {
			return night, true
		}
	}
	return ledger.Run{}, false
}

// lastAudited returns the newest night whose checks ran to the end.
func (s status) lastAudited() (ledger.Run, bool) {
	for _, night := range slices.Backward(s.Nights) {
		if night.Held || night.IsPublished() {
			return night, true
		}
	}
	return ledger.Run{}, false
}

// lastNight returns the newest night with any outcome.
func (s status) lastNight() (ledger.Run, bool) {
	if len(s.Nights) == 0 {
		return ledger.Run{}, false
	}
	return s.Nights[len(s.Nights)-1], true
}
