package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// Plan describes the warehouse and the next night.
type Plan struct {
	Token        Token
	Latency      time.Duration // of the token request
	PublishedRun string        // the run that readers see; empty before the first night
	// FreeBytes is the free space on the warehouse's disk. NeedBytes is the space that a night may need:
	// twice the size of the newest version, or 0 before the first version.
	FreeBytes, NeedBytes int64
	// MissingErr means that the folder contains no warehouse, so that only a run with Config.NewWarehouse can start.
	MissingErr error
	WriteErr   error // of a test write
	// Damage lists the damage that is visible in the names and sizes of files. It is empty if
	// a run holds the lock, because PlanNight then skips this test.
	Damage     []repair.Damage
	StoppedRun *ledger.Run            // the last run if a gate stopped it, or nil
	LockedErr  *warehouse.LockedError // describes the run that holds the lock, or nil
	Streams    []StreamPlan
	// Requests estimates the requests of the next night: the sum of LastRequests of the
	// streams that the night would read. It is 0 before the first night. NeverRead counts the streams that
	// the night would read for the first time. Requests does not include them.
	Requests  int64
	NeverRead int
	Renamed   []transform.RenamedField
	LastNight ledger.Run // the newest night with a snapshot; without an id before the first night
}

// StreamPlan is the plan for one stream.
type StreamPlan struct {
	Name       string
	SkipReason string // empty means that the stream would be read
	// IsLost means that an earlier night read the stream, that the next night may not read it, and that the
	// configuration does not exclude it. The next night would be partial.
	IsLost bool
	// LastRequests is the number of requests in the last run that read the stream, including those whose
	// response was stored in an earlier attempt. It is -1 if no run has read the stream.
	LastRequests int64
}

// PlanNight reads the token info and one page of each list from the service, checks the warehouse and plans the next
// night. To test whether a run could write, it creates files and removes them. It makes no other changes.
func PlanNight(ctx context.Context, cfg Config) (Plan, error) {
	wh := warehouse.New(cfg.Warehouse)
	cfg.Fetch.Patience = 0 // the user waits for the plan
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
	p.Latency = time.Since(start)
	if p.PublishedRun, _, err = wh.Versions.Latest(); err != nil {
		return p, err
	}
	if err := wh.Versions.CheckFormat(); err != nil {
		return p, err
	}
	if p.FreeBytes, err = wh.Folder.FreeBytes(); err != nil {
		return p, err
	}
	if p.NeedBytes, err = wh.Versions.NextNightBytes(); err != nil {
		return p, err
	}
	err = wh.Folder.CheckUnlocked()
	if locked, ok := errors.AsType[*warehouse.LockedError](err); ok {
		p.LockedErr = locked
	} else if err != nil {
		return p, err
	}
	p.WriteErr = wh.Folder.CheckWritable()
	if p.LockedErr == nil {
		report, err := repair.Check(ctx, wh, false)
		switch {
		case errors.As(err, new(*warehouse.NoWarehouseError)):
			p.MissingErr = err
		case err != nil:
			return p, err
		}
		p.Damage = report.Damage
	}
	runs, err := wh.RunLog.Runs()
	if err != nil {
		return p, err
	}
	if n := len(runs); n > 0 && len(runs[n-1].Losses) > 0 {
		p.StoppedRun = &runs[n-1]
	}
	p.LastNight = lastPublishedNight(runs)
	for _, s := range cfg.Streams {
		if s.IsEvents() {
			continue // events need no requests
		}
		planned := StreamPlan{Name: s.Name, SkipReason: cfg.skipReason(p.Token, s), LastRequests: lastRequests(runs, s.Name)}
		isExcluded := planned.SkipReason == ledger.ReasonNotChosen || planned.SkipReason == ledger.ReasonNoDetails
		planned.IsLost = planned.SkipReason != "" && !isExcluded && hasRows(p.LastNight, s.Name)
		if planned.SkipReason == "" {
			p.Requests += max(0, planned.LastRequests)
			if planned.LastRequests < 0 {
				p.NeverRead++
			}
		}
		p.Streams = append(p.Streams, planned)
	}
	p.Renamed, err = findRenamedFields(ctx, client, cfg, p.Token)
	return p, err
}

// TooFull reports whether the disk is certainly too full for the draft of a night, or for the
// smallest first night.
func (p Plan) TooFull() bool {
	const minBytes = 16 << 20
	return p.FreeBytes < max(minBytes, p.NeedBytes/2)
}

// hasRows reports whether the snapshot of a night contains the result of a stream, of this night or of an earlier one.
func hasRows(night ledger.Run, stream string) bool {
	return slices.ContainsFunc(night.Streams, func(s ledger.Stream) bool {
		return s.Stream == stream && ledger.StandingOf(s.Grade) != ledger.NotRead
	})
}

// findRenamedFields reads one page of each list. A list that cannot be read is left out: a night reports it.
func findRenamedFields(ctx context.Context, client *fetch.Client, cfg Config, token Token) ([]transform.RenamedField, error) {
	definitions, _ := schema.Definitions()
	definitions = stream.WithOtherNames(definitions, cfg.OtherNames)
	private, err := PrivateColumns(cfg.Privacy)
	if err != nil {
		return nil, err
	}
	var all []transform.RenamedField
	for _, s := range cfg.Streams {
		if s.IsEvents() || s.IsDetail() || s.Path == tokenPath || cfg.skipReason(token, s) != "" {
			continue
		}
		binding, err := transform.Bind(s, definitions, cfg.Privacy)
		if err != nil {
			return nil, err
		}
		decoder := binding.NewDecoder()
		facts, err := client.ReadFirstPage(ctx, s, token.pathParam(s), func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
			return decoder.Decode(r.Body, transform.Origin{Seq: 1, Param: r.Param, Team: token.TeamID})
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			all = append(all, transform.RenamedFields(facts.Records, decoder.Findings().Drift, decoder.Flush(), private)...)
		}
	}
	return all, nil
}
