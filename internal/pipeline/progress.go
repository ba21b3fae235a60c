package pipeline

import (
	"slices"
	"sync"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// ProgressTracker tracks the progress of the current run. It can be used for several runs, one after
// the other. The zero value is ready and safe for concurrent use. A nil ProgressTracker ignores updates.
type ProgressTracker struct {
	mu      sync.Mutex
	client  *fetch.Client // nil if no run is in progress
	current ledger.Progress
	// requestsBefore contains, for each stream of current, the number of requests of the last run that
	// read the stream, or -1 if it was never read.
	requestsBefore []int64
	countedInIDs   map[string]bool // the streams whose progress is counted in ids, not in pages
}

// Progress returns the progress of the current run. It returns false if no run is in progress.
func (t *ProgressTracker) Progress() (ledger.Progress, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client == nil {
		return ledger.Progress{}, false
	}
	p := t.current
	p.Streams = slices.Clone(t.current.Streams)
	var overall fetch.Telemetry
	for _, counts := range t.client.Telemetry() {
		if counts.Requests > 0 && (overall.First.IsZero() || counts.First.Before(overall.First)) {
			overall.First = counts.First
		}
		overall.Requests += counts.Requests
		p.Requests += counts.Requests
		p.Retries += counts.Retries
		if s := findStream(&p, counts.Stream); s != nil {
			s.Requests, s.Retries = counts.Requests, counts.Retries
			s.PerSecond = perSecond(counts, time.Now())
		}
	}
	if wait, ok := t.client.Waiting(); ok {
		p.WaitingFor, p.WaitingSince, p.WaitingUntil = wait.Reason, wait.Since, wait.Until
	}
	p.EstimateRemaining(t.requestsBefore, perSecond(overall, time.Now()))
	return p, true
}

// perSecond returns the request rate since the first request. It is 0 in the first second, because
// the first requests are sent without waiting.
func perSecond(t fetch.Telemetry, now time.Time) float64 {
	span := now.Sub(t.First)
	if t.Requests == 0 || span < time.Second {
		return 0
	}
	return float64(t.Requests) / span.Seconds()
}

func findStream(p *ledger.Progress, name string) *ledger.StreamProgress {
	i := slices.IndexFunc(p.Streams, func(s ledger.StreamProgress) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Streams[i]
}

func (t *ProgressTracker) beginRun(p *prepared, runs []ledger.Run) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client, t.requestsBefore, t.countedInIDs = p.client, nil, map[string]bool{}
	t.current = ledger.Progress{Run: p.line.ID, StartedAt: p.line.StartedAt, Phase: "checking the token", AllowedPerSecond: p.cfg.Fetch.RequestsPerSecond}
	for _, s := range p.cfg.Streams {
		t.current.Streams = append(t.current.Streams, ledger.StreamProgress{Name: s.Name, State: ledger.Waiting})
		t.requestsBefore = append(t.requestsBefore, lastRequests(runs, s.Name))
	}
}

func (t *ProgressTracker) endRun() {
	t.update("", func(*ledger.StreamProgress) { t.client = nil })
}

func (t *ProgressTracker) setPhase(text string) {
	t.update("", func(*ledger.StreamProgress) { t.current.Phase = text })
}

// update calls write for a stream. With an empty name it calls write(nil), to change the progress of the
// run.
func (t *ProgressTracker) update(name string, write func(s *ledger.StreamProgress)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := findStream(&t.current, name)
	if s != nil || name == "" {
		write(s)
	}
}

func (t *ProgressTracker) setReading(s stream.Stream) {
	t.update(s.Name, func(p *ledger.StreamProgress) {
		p.State, t.current.Phase = ledger.Reading, "reading "+s.Name
	})
}

func (t *ProgressTracker) setPlanned(s stream.Stream, total int64) {
	t.update(s.Name, func(p *ledger.StreamProgress) { p.Total, t.countedInIDs[s.Name] = total, true })
}

func (t *ProgressTracker) countResponse(r fetch.Response, page stream.PageFacts) {
	t.update(r.Stream, func(p *ledger.StreamProgress) {
		if t.countedInIDs[r.Stream] {
			isFirstPage := r.Pass <= 1 && r.Page <= 1 // one id may have several pages
			if isFirstPage {
				p.Done++
			}
			p.Rows += int64(page.Records)
			return
		}
		if r.Pass > p.Pass { // each pass counts the pages and the records again
			p.Pass, p.Done, p.Rows = r.Pass, 0, 0
		}
		if page.Paginated && page.TotalPages > 0 {
			p.Total = page.TotalPages
		}
		p.Done++
		p.Rows += int64(page.Records)
	})
}

func (t *ProgressTracker) setRead(run *streamRun) {
	t.update(run.stream.Name, func(p *ledger.StreamProgress) {
		p.State, p.Rows, p.Left, p.Grade, p.Reason = ledger.Read, run.rows, 0, run.evidence.Grade, run.evidence.Reason
	})
}

// lastRequests returns -1 if the stream was never read.
func lastRequests(runs []ledger.Run, stream string) int64 {
	for _, r := range slices.Backward(runs) {
		for _, s := range r.Streams {
			if n := s.Requests + s.Reused; s.Stream == stream && n > 0 {
				return n
			}
		}
	}
	return -1
}
