package pipeline

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Progress is how far a night is, at one moment.
type Progress struct {
	Run       string
	StartedAt time.Time
	// Phase says what is being done, for people.
	Phase string
	// Requests and Retries are those of this attempt at the run so far.
	Requests, Retries int64
	// Expected is how many requests the whole night may take, from the last
	// night and from what the lists have told so far; 0: unknown.
	Expected int64
	// PerSecond is the rate at which the current stream is asked for, or, in its
	// first second, that of the night so far; Allowed is the configured one; 0:
	// no limit.
	PerSecond, Allowed float64
	// Left is the time that the rest will take at that rate; 0: unknown.
	Left time.Duration
	// Streams are in the order in which they are read.
	Streams []StreamProgress
}

// States of a stream.
const (
	Waiting = "waiting"
	Reading = "reading"
	Read    = "read"
)

// StreamProgress is how far a stream is.
type StreamProgress struct {
	Name  string
	State string
	// Done of Total: pages of the pass over a list, or ids that are asked for.
	// Total is 0 until the service has told.
	Done, Total int64
	// Pass counts the passes over a list.
	Pass int
	Rows int64
	// Requests and Retries include what was not worth an answer.
	Requests, Retries int64
	PerSecond         float64
	// Left is the time that the rest of it will take; 0: unknown.
	Left time.Duration
	// Grade and Reason are empty until it is read.
	Grade  fetch.Grade
	Reason string

	byID bool
}

// Watch lets others see how far a night is. The zero value is ready, and safe for
// concurrent use; it sees one night after the other. A nil Watch sees nothing.
type Watch struct {
	mu       sync.Mutex
	client   *fetch.Client // nil: no night is at work
	now      Progress
	expected []int64 // requests of each stream in the last night; -1: never read
}

// Progress tells how far the night is that runs now; false: none does.
func (w *Watch) Progress() (Progress, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		return Progress{}, false
	}
	p := w.now
	p.Streams = slices.Clone(w.now.Streams)
	var all fetch.Telemetry
	for _, t := range w.client.Telemetry() {
		if t.Requests > 0 && (all.First.IsZero() || t.First.Before(all.First)) {
			all.First = t.First
		}
		all.Requests += t.Requests
		p.Requests += t.Requests
		p.Retries += t.Retries
		if s := p.find(t.Stream); s != nil {
			s.Requests, s.Retries = t.Requests, t.Retries
			s.PerSecond = perSecond(t, time.Now())
		}
	}
	p.estimate(w.expected, perSecond(all, time.Now()))
	return p, true
}

// perSecond is the rate since the first request; 0 in its first second, which shows
// the burst and not the rate.
func perSecond(t fetch.Telemetry, now time.Time) float64 {
	span := now.Sub(t.First)
	if t.Requests == 0 || span < time.Second {
		return 0
	}
	return float64(t.Requests) / span.Seconds()
}

// estimate says what is left to ask for, and how long that takes. Overall is the
// rate of the night so far: most streams are shorter than what a rate takes.
func (p *Progress) estimate(expected []int64, overall float64) {
	left, known := int64(0), true
	for i := range p.Streams {
		s := &p.Streams[i]
		rest := s.rest(expected[i])
		known = known && rest >= 0
		left += max(rest, 0)
		if s.State == Reading {
			p.PerSecond = cmp.Or(s.PerSecond, overall)
			s.Left = lasting(rest, cmp.Or(p.PerSecond, p.Allowed))
		}
	}
	if known {
		p.Expected, p.Left = p.Requests+left, lasting(left, cmp.Or(p.PerSecond, p.Allowed))
	}
}

// rest is how many requests a stream will still need; -1: unknown.
func (s StreamProgress) rest(expected int64) int64 {
	switch {
	case s.State == Read:
		return 0
	case s.Total > 0:
		return max(0, s.Total-s.Done)
	case expected < 0:
		return -1
	}
	return max(0, expected-s.Requests)
}

func lasting(requests int64, perSecond float64) time.Duration {
	if requests <= 0 || perSecond <= 0 {
		return 0
	}
	return time.Duration(float64(requests) / perSecond * float64(time.Second))
}

func (p *Progress) find(name string) *StreamProgress {
	i := slices.IndexFunc(p.Streams, func(s StreamProgress) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Streams[i]
}

// begin shows a night to w.
func (w *Watch) begin(n *night, runs []warehouse.Run) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client, w.expected = n.client, nil
	w.now = Progress{Run: n.run.ID, StartedAt: n.run.StartedAt, Phase: "checking the token", Allowed: n.cfg.Fetch.RequestsPerSecond}
	for _, s := range n.cfg.Streams {
		w.now.Streams = append(w.now.Streams, StreamProgress{Name: s.Name, State: Waiting})
		w.expected = append(w.expected, lastRequests(runs, s.Name))
	}
}

// end takes the night away.
func (w *Watch) end() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client = nil
}

func (w *Watch) phase(text string) { w.change("", func(*StreamProgress) { w.now.Phase = text }) }

// change writes to a stream, or to none.
func (w *Watch) change(name string, write func(s *StreamProgress)) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.now.find(name)
	if s != nil || name == "" {
		write(s)
	}
}

func (w *Watch) reading(s stream.Stream) {
	w.change(s.Name, func(p *StreamProgress) {
		p.State, w.now.Phase = Reading, "reading "+s.Name
	})
}

// waiting says that a stream is read further when its turn comes again.
func (w *Watch) waiting(s stream.Stream) {
	w.change(s.Name, func(p *StreamProgress) { p.State = Waiting })
}

// asking says how many single records a stream will be asked for.
func (w *Watch) asking(s stream.Stream, total int64) {
	w.change(s.Name, func(p *StreamProgress) { p.Total, p.byID = total, true })
}

// answered counts an answer. Each pass over a list begins anew.
func (w *Watch) answered(r fetch.Response, page stream.Page) {
	w.change(r.Stream, func(p *StreamProgress) {
		switch {
		case p.byID:
			if r.Pass <= 1 && r.Page <= 1 { // what belongs to one id may have pages
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

func (w *Watch) read(r streamResult) {
	w.change(r.stream.Name, func(p *StreamProgress) {
		p.State, p.Rows, p.Left, p.Grade, p.Reason = Read, r.rows, 0, r.evidence.Grade, r.evidence.Reason
	})
}
