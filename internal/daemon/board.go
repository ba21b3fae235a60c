package daemon

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"placementsync/internal/ledger"
)

// ledgerAge is how long a reading of the ledger is used: other processes write to it.
const ledgerAge = 30 * time.Second

// board is the state that the page, the metrics and the probes read.
type board struct {
	now    func() time.Time
	ledger func() ([]ledger.Run, error)
	log    *slog.Logger
	// follows are the kinds of work after nights that are shown; nil: all.
	follows func() []string

	mu       sync.Mutex
	next     time.Time // the next slot
	verify   time.Time // the next verification; zero: none is due
	running  time.Time // start of the night that runs; zero: none
	stopping bool
	beat     time.Time // when the schedule was last checked
	missed   map[string]int
	tally    tally
	// own is the last night that this process ran: a full disk has no room for its line.
	own        ledger.Run
	inspection Inspection
	// deaf is since when a look at the warehouse gets no answer; zero: it gets one.
	deaf    time.Time
	entries entries
	readAt  time.Time
	readErr error
}

// entries is what the board keeps of a reading of the ledger.
type entries struct {
	// Nights are oldest first; do not change them.
	Nights []ledger.Run
	// Current is the run whose snapshot readers see: a night, a refresh, a rollback
	// or a rebuild; zero: none.
	Current ledger.Run
	// LastRefresh is the newest one; zero: there was none. RefreshFailures counts those
	// that failed since one last succeeded.
	LastRefresh     ledger.Run
	RefreshFailures int
	// Follows is how far the work after nights has come, such as backups.
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

// snapshot is the board at one moment.
type snapshot struct {
	At            time.Time
	Next, Running time.Time
	NextVerify    time.Time
	Stopping      bool
	Beat          time.Time
	Missed        map[string]int
	entries
	// Inspection is the last look at the warehouse; zero: there is none of late.
	Inspection Inspection
	Deaf       time.Time
	LedgerErr  error
	tally      tally
}

// readSnapshot copies the board. It reads the ledger if the last reading is older than
// ledgerAge.
func (b *board) readSnapshot() snapshot {
	s, tell := b.copyBoard()
	tell() // the log may be slow
	return s
}

// copyBoard is readSnapshot but for the line of the log, which tell writes.
func (b *board) copyBoard() (s snapshot, tell func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, before := b.now(), b.readErr
	if b.readAt.IsZero() || now.Sub(b.readAt) >= ledgerAge || now.Before(b.readAt) {
		b.readLedger(now)
	}
	s = snapshot{At: now, Next: b.next, Running: b.running, NextVerify: b.verify, Stopping: b.stopping, Beat: b.beat,
		Missed: maps.Clone(b.missed), entries: b.entries, LedgerErr: b.readErr, tally: b.tally.clone(), Deaf: b.deaf}
	if now.Sub(b.inspection.At) < inspectionAge {
		s.Inspection = b.inspection
	}
	if kinds := b.follows(); kinds != nil {
		s.Follows = slices.DeleteFunc(slices.Clone(s.Follows), func(f ledger.Follow) bool { return !slices.Contains(kinds, f.Last.Kind) })
	}
	after := b.readErr
	return s, func() {
		switch {
		case before == nil && after != nil:
			b.log.Warn("the ledger cannot be read", "error", after)
		case before != nil && after == nil:
			b.log.Info("the ledger can be read again")
		}
	}
}

// readLedger reads the ledger and counts what is new. The last reading stays when it
// fails.
func (b *board) readLedger(now time.Time) {
	all, err := b.ledger()
	if b.readAt, b.readErr = now, err; err != nil {
		b.tally.readErrors[ReadLedger]++
		return
	}
	if b.tally.since.IsZero() {
		b.tally.skipKilled(all)
		b.tally.since = now
	}
	for _, r := range all {
		b.tally.countRun(r)
	}
	b.entries = newEntries(all)
	if !b.own.StartedAt.IsZero() && !slices.ContainsFunc(b.entries.Nights, b.isOwn) {
		at := slices.IndexFunc(b.entries.Nights, func(r ledger.Run) bool { return r.StartedAt.After(b.own.StartedAt) })
		if at < 0 {
			at = len(b.entries.Nights)
		}
		b.entries.Nights = slices.Insert(b.entries.Nights, at, b.own)
	}
}

// isOwn reports whether an entry says how the last night of this process ended, or how
// another process resumed it.
func (b *board) isOwn(r ledger.Run) bool {
	return b.own.ID != "" && r.ID == b.own.ID && (r.Outcome == ledger.Killed || !r.EndedAt.Before(b.own.EndedAt))
}

// update changes the board under its lock.
func (b *board) update(write func(b *board)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	write(b)
}

// lastPublished returns the newest night that published a snapshot.
func (s snapshot) lastPublished() (ledger.Run, bool) {
	for _, night := range slices.Backward(s.Nights) {
		if night.IsPublished() {
			return night, true
		}
	}
	return ledger.Run{}, false
}

// currentRun returns the entry of the snapshot that readers see.
func (s snapshot) currentRun() (ledger.Run, bool) { return s.Current, s.Current.IsPublished() }

// lastNight returns the newest night, however it ended.
func (s snapshot) lastNight() (ledger.Run, bool) {
	if len(s.Nights) == 0 {
		return ledger.Run{}, false
	}
	return s.Nights[len(s.Nights)-1], true
}
