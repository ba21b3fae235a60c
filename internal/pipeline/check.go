package pipeline

import (
	"context"
	"errors"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/warehouse"
)

// Plan is what a night would do.
type Plan struct {
	Token Token
	// Took is how long the service took to say who we are.
	Took time.Duration
	// Latest is the run that readers see; empty before the first.
	Latest string
	// FreeBytes is the room on the warehouse's disk.
	FreeBytes int64
	// Held says which run is at work now; nil: none.
	Held    *warehouse.HeldError
	Streams []Planned
	// Requests is how many the last night made for the streams that would
	// run now; 0 before the first.
	Requests int64
}

// Planned is the plan for one stream.
type Planned struct {
	Name string
	// Skip is why it would not be read; empty: it would.
	Skip string
	// LastRequests is what it took in the last run that read it; -1: never.
	LastRequests int64
}

// Check asks the service who we are and says what a night would do. It writes
// nothing.
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
	if p.Token, err = preflight(ctx, client, cfg.TeamID); err != nil {
		return p, err
	}
	p.Took = time.Since(start)
	if p.Latest, _, err = wh.Latest(); err != nil {
		return p, err
	}
	if err := wh.CheckFormat(); err != nil {
		return p, err
	}
	if p.FreeBytes, err = wh.Free(); err != nil {
		return p, err
	}
	if err := wh.Held(); err != nil && !errors.As(err, &p.Held) {
		return p, err
	}
	return p, p.planStreams(cfg, wh)
}

func (p *Plan) planStreams(cfg Config, wh *warehouse.Warehouse) error {
	runs, err := wh.Runs()
	if err != nil {
		return err
	}
	for _, s := range cfg.Streams {
		one := Planned{Name: s.Name, Skip: cfg.skipReason(p.Token, s), LastRequests: lastRequests(runs, s.Name)}
		if one.Skip == "" {
			p.Requests += max(0, one.LastRequests)
		}
		p.Streams = append(p.Streams, one)
	}
	return nil
}

func lastRequests(runs []warehouse.Run, stream string) int64 {
	for i := len(runs) - 1; i >= 0; i-- {
		for _, s := range runs[i].Streams {
			if s.Stream == stream && s.Requests > 0 {
				return s.Requests
			}
		}
	}
	return -1
}
