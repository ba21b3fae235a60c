package pipeline

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Watch shows the progress of the current run. It can be used for several runs, one after the
// other. The zero value is ready and safe for concurrent use. A nil Watch ignores updates.
type Watch struct {
	mu       sync.Mutex
	client   *fetch.Client // nil if no run is in progress
	current  ledger.Progress
	expected []int64         // requests of each stream when it was last read, -1 if it was never read
	byID     map[string]bool // the streams whose progress is counted in ids, not in pages
}

// Progress returns the progress of the current run. It returns false if no run is in progress.
func (w *Watch) Progress() (ledger.Progress, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		return ledger.Progress{}, false
	}
	p := w.current
	p.Streams = slices.Clone(w.current.Streams)
	var overall fetch.Telemetry
	for _, t := range w.client.Telemetry() {
		if t.Requests > 0 && (overall.First.IsZero() || t.First.Before(overall.First)) {
			overall.First = t.First
		}
		overall.Requests += t.Requests
		p.Requests += t.Requests
		p.Retries += t.Retries
		if s := findStream(&p, t.Stream); s != nil {
			s.Requests, s.Retries = t.Requests, t.Retries
			s.PerSecond = perSecond(t, time.Now())
		}
	}
	estimateRest(&p, w.expected, perSecond(overall, time.Now()))
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

// estimateRest sets the expected number of requests of the run, and the remaining time. overall is the
// request rate of the run so far. It is used for a stream that has no rate yet.
func estimateRest(p *ledger.Progress, expected []int64, overall float64) {
	requests, known := int64(0), true
	for i := range p.Streams {
		s, rest := &p.Streams[i], int64(0)
		switch {
		case s.State == ledger.Read:
		case s.Total > 0:
			rest = max(0, s.Total-s.Done)
		case expected[i] < 0:
			known = false
		default:
			rest = max(0, expected[i]-s.Requests)
		}
		requests += rest
		if s.State == ledger.Reading {
			p.PerSecond = cmp.Or(s.PerSecond, overall)
			s.Left = durationAt(rest, cmp.Or(p.PerSecond, p.Allowed))
		}
	}
	if known {
		p.Expected, p.Left = p.Requests+requests, durationAt(requests, cmp.Or(p.PerSecond, p.Allowed))
	}
}

// durationAt returns the time for requests at a rate, or 0 if the rate is unknown.
func durationAt(requests int64, perSecond float64) time.Duration {
	if requests <= 0 || perSecond <= 0 {
		return 0
	}
	return time.Duration(float64(requests) / perSecond * float64(time.Second))
}

func findStream(p *ledger.Progress, name string) *ledger.StreamProgress {
	i := slices.IndexFunc(p.Streams, func(s ledger.StreamProgress) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Streams[i]
}

// beginRun starts to show the progress of a run. runs are the earlier runs.
func (w *Watch) beginRun(client *fetch.Client, n *night, runs []ledger.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client, w.expected, w.byID = client, nil, map[string]bool{}
	w.current = ledger.Progress{Run: n.run.ID, StartedAt: n.run.StartedAt, Phase: "checking the token", Allowed: n.cfg.Fetch.RequestsPerSecond}
	for _, s := range n.cfg.Streams {
		w.current.Streams = append(w.current.Streams, ledger.StreamProgress{Name: s.Name, State: ledger.Waiting})
		w.expected = append(w.expected, lastRequests(runs, s.Name))
	}
}

// endRun ends the progress of the run.
func (w *Watch) endRun() {
	w.update("", func(*ledger.StreamProgress) { w.client = nil })
}

func (w *Watch) setPhase(text string) {
	w.update("", func(*ledger.StreamProgress) { w.current.Phase = text })
}

// update calls write for a stream. With an empty name it calls write(nil), to change the run.
func (w *Watch) update(name string, write func(s *ledger.StreamProgress)) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := findStream(&w.current, name)
	if s != nil || name == "" {
		write(s)
	}
}

func (w *Watch) setReading(s stream.Stream) {
	w.update(s.Name, func(p *ledger.StreamProgress) {
		p.State, w.current.Phase = ledger.Reading, "reading "+s.Name
	})
}

// setPlanned sets the number of details that will be requested.
func (w *Watch) setPlanned(s stream.Stream, total int64) {
	w.update(s.Name, func(p *ledger.StreamProgress) { p.Total, w.byID[s.Name] = total, true })
}

// countAnswer counts an answer. Each pass over a list starts from zero.
func (w *Watch) countAnswer(r fetch.Response, page stream.PageFacts) {
	w.update(r.Stream, func(p *ledger.StreamProgress) {
		switch {
		case w.byID[r.Stream]:
			if r.Pass <= 1 && r.Page <= 1 { // one id may have several pages
				p.Done++
			}
			p.Rows += int64(page.Records)
			return
		case r.Pass > p.Pass:
			p.Pass, p.Done, p.Rows = r.Pass, 0, 0
		}
		if page.Paginated && page.TotalPages > 0 {
			p.Total = page.TotalPages
		}
		p.Done++
		p.Rows += int64(page.Records)
	})
}

func (w *Watch) setRead(r streamResult) {
	w.update(r.stream.Name, func(p *ledger.StreamProgress) {
		p.State, p.Rows, p.Left, p.Grade, p.Reason = ledger.Read, r.rows, 0, string(r.evidence.Grade), r.evidence.Reason
	})
}
