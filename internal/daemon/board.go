package daemon

import (
	"placementsync/internal/ledger"
	"sync"
	"time"
)

// ledgerAge is how long the ledger is believed, since other processes write to it.
const ledgerAge = 30 * time.Second

// board is what the page, the metrics and the probes read while nights come and go.
type board struct {
	now    func() time.Time
	ledger func() ([]ledger.Run, error)

	mu       sync.Mutex
	next     time.Time // the slot that comes
	running  time.Time // when the night began that runs now; zero: none does
	stopping bool
	beat     time.Time // when the schedule was last looked at
	missed   map[string]int
	nights   []ledger.Run
	current  ledger.Run // what readers see
	readAt   time.Time
	readErr  error
}

// snapshot is the board at one moment.
type snapshot struct {
	At            time.Time
	Next, Running time.Time
	Stopping      bool
	Beat          time.Time
	Missed        map[string]int
	// Nights are oldest first, and not to be changed.
	Nights []ledger.Run
	// Current is what changed last what readers see: a night, a refresh, a rollback or
	// a rebuild; zero: nothing did.
	Current   ledger.Run
	LedgerErr error
}

// readSnapshot takes the board as it is, with a ledger that is not older than ledgerAge.
func (b *board) readSnapshot() snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.readAt.IsZero() || now.Sub(b.readAt) >= ledgerAge || now.Before(b.readAt) {
		runs, err := b.ledger()
		if b.readAt, b.readErr = now, err; err == nil {
			b.sortRuns(runs)
		}
	}
	missed := make(map[string]int, len(b.missed))
	for why, n := range b.missed {
		missed[why] = n
	}
	return snapshot{At: now, Next: b.next, Running: b.running, Stopping: b.stopping, Beat: b.beat,
		Missed: missed, Nights: b.nights, Current: b.current, LedgerErr: b.readErr}
}

// sortRuns keeps the nights, and of all entries the last that changed what readers see.
func (b *board) sortRuns(runs []ledger.Run) {
	b.nights, b.current = []ledger.Run{}, ledger.Run{}
	for _, r := range runs {
		if r.IsNight() {
			b.nights = append(b.nights, r)
		}
		if r.Published() {
			b.current = r
		}
	}
}

// update writes to the board.
func (b *board) update(write func(b *board)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	write(b)
}

// addMissed counts slots without a night, by the reason.
func (b *board) addMissed(why string, n int) {
	b.update(func(b *board) {
		if b.missed == nil {
			b.missed = map[string]int{}
		}
		b.missed[why] += n
	})
}

// lastPublished returns the newest night that has given readers a snapshot.
func (s snapshot) lastPublished() (ledger.Run, bool) {
	for i := len(s.Nights) - 1; i >= 0; i-- {
		if s.Nights[i].Published() {
			return s.Nights[i], true
		}
	}
	return ledger.Run{}, false
}

// currentRun returns the entry whose snapshot readers see.
func (s snapshot) currentRun() (ledger.Run, bool) { return s.Current, s.Current.Published() }

// lastNight returns the newest night, however it ended.
func (s snapshot) lastNight() (ledger.Run, bool) {
	if len(s.Nights) == 0 {
		return ledger.Run{}, false
	}
	return s.Nights[len(s.Nights)-1], true
}
