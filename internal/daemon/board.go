package daemon

import (
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

	mu       sync.Mutex
	next     time.Time // the next slot
	running  time.Time // start of the night that runs; zero: none
	stopping bool
	beat     time.Time // when the schedule was last checked
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
	// Nights are oldest first; do not change them.
	Nights []ledger.Run
	// Current is the run whose snapshot readers see: a night, a refresh, a rollback
	// or a rebuild; zero: none.
	Current   ledger.Run
	LedgerErr error
}

// readSnapshot copies the board. It reads the ledger if the last reading is older than
// ledgerAge.
func (b *board) readSnapshot() snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.readAt.IsZero() || now.Sub(b.readAt) >= ledgerAge || now.Before(b.readAt) {
		runs, err := b.ledger()
		if b.readAt, b.readErr = now, err; err == nil {
			b.nights, b.current = []ledger.Run{}, ledger.Run{}
			for _, r := range runs {
				if r.IsNight() {
					b.nights = append(b.nights, r)
				}
				if r.IsPublished() {
					b.current = r
				}
			}
		}
	}
	return snapshot{At: now, Next: b.next, Running: b.running, Stopping: b.stopping, Beat: b.beat,
		Missed: maps.Clone(b.missed), Nights: b.nights, Current: b.current, LedgerErr: b.readErr}
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
