package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/integrity"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Plan is what a night would do.
type Plan struct {
	Token Token
	// Took is how long the service took to say who we are.
	Took time.Duration
	// Latest is the run that readers see; empty before the first.
	Latest string
	// FreeBytes is the room on the warehouse's disk; -1: unknown. NeedBytes is
	// what a night may take of it: what the newest version takes, and as much
	// again for the draft that becomes the next one; 0 before the first.
	FreeBytes, NeedBytes int64
	// Unwritable says why a run could not write; nil: it could.
	Unwritable error
	// Damage is what structure and sizes of the warehouse show to be damaged. While
	// a run is at work nothing is looked at.
	Damage []integrity.Damage
	// Stopped is the last run, if a gate stopped it; nil: none did.
	Stopped *ledger.Run
	// Held says which run is at work now; nil: none.
	Held    *warehouse.HeldError
	Streams []Planned
	// Requests is how many the last night made for the streams that would
	// run now; 0 before the first. Unknown counts those that were never read.
	Requests int64
	Unknown  int
	// Unread counts the ids that the last night had no time for, in so many
	// streams, which takes about NightsLeft nights more; 0: unknown.
	Unread        int64
	UnreadStreams int
	NightsLeft    int64
}

// Planned is the plan for one stream.
type Planned struct {
	Name string
	// Skip is why it would not be read; empty: it would.
	Skip string
	// LastRequests is what it took in the last run that read it, answers that
	// had landed before included; -1: never.
	LastRequests int64
}

// Check asks the service who we are, looks at the warehouse and says what a night would
// do. It changes nothing: where a run would write it makes a file and removes it.
func Check(ctx context.Context, cfg Config) (Plan, error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return Plan{}, err
	}
	client, err := fetch.New(cfg.Fetch, nil, cfg.Log)
	if err != nil {
		return Plan{}, err
	}
	defer client.Close()
	var p Plan
	start := time.Now()
	if p.Token, err = checkToken(ctx, client, cfg.TeamID); err != nil {
		return p, err
	}
	p.Took = time.Since(start)
	if p.Latest, _, err = wh.Versions.Latest(); err != nil {
		return p, err
	}
	if err := wh.Versions.CheckFormat(); err != nil {
		return p, err
	}
	if p.FreeBytes, err = wh.Folder.FreeBytes(); err != nil {
		return p, err
	}
	if p.NeedBytes, err = wh.Versions.MeasureNext(); err != nil {
		return p, err
	}
	if err := wh.Folder.Held(); err != nil && !errors.As(err, &p.Held) {
		return p, err
	}
	p.Unwritable = wh.Folder.CheckWritable()
	if p.Held == nil {
		found, err := integrity.Check(ctx, wh, false)
		if err != nil && !errors.As(err, new(*warehouse.NoneError)) {
			return p, err
		}
		p.Damage = found.Damage
	}
	return p, p.planStreams(cfg, wh)
}

// TooFull reports whether the disk is surely too full for a night: for the draft, or
// for what a first night takes at least.
func (p Plan) TooFull() bool {
	const least = 16 << 20
	return p.FreeBytes >= 0 && p.FreeBytes < max(least, p.NeedBytes/2)
}

func (p *Plan) planStreams(cfg Config, wh *warehouse.Warehouse) error {
	runs, err := wh.Ledger.Runs()
	if err != nil {
		return err
	}
	if n := len(runs); n > 0 && len(runs[n-1].Losses) > 0 {
		p.Stopped = &runs[n-1]
	}
	if last, ok := lastSnapshot(runs); ok {
		p.Unread, p.UnreadStreams = last.Unread()
		p.NightsLeft = last.NightsLeft
	}
	for _, s := range cfg.Streams {
		if s.IsEvents() {
			continue // nothing is asked for
		}
		one := Planned{Name: s.Name, Skip: cfg.skipReason(p.Token, s), LastRequests: lastRequests(runs, s.Name)}
		if one.Skip == "" {
			p.Requests += max(0, one.LastRequests)
			if one.LastRequests < 0 {
				p.Unknown++
			}
		}
		p.Streams = append(p.Streams, one)
	}
	return nil
}

// lastSnapshot is the newest night with a snapshot.
func lastSnapshot(runs []ledger.Run) (last ledger.Run, ok bool) {
	for _, r := range slices.Backward(runs) {
		if r.IsNight() && !r.SnapshotAt.IsZero() {
			return r, true
		}
	}
	return last, false
}

// lastRequests is how many requests a stream took when it was last read; -1: never.
func lastRequests(runs []ledger.Run, stream string) int64 {
	for _, r := range slices.Backward(runs) {
		for _, s := range r.Streams {
			if n := s.Requests + s.Landed; s.Stream == stream && n > 0 {
				return n
			}
		}
	}
	return -1
}
