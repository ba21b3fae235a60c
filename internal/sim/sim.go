// Package sim is the demo service: an in-memory marketplace with every readable endpoint of
// the spec, docs/service.md. The demo, tests and benchmarks use it.
//
// It is written from the spec alone and must not import other packages of this project: tests
// cannot find a mistake that client and demo service share. Unless Options.ChurnEvery is set, the
// simulated world depends only on the options and the number of simulated days. Unless
// Options.Realistic is set, it contains every oddity that the spec allows.
package sim

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Service is the demo service: an http.Handler for a simulated world. All methods are safe
// for concurrent use.
type Service struct {
	opts   *Options // those of the world
	routes []route
	faults faults
	zstd   *zstd.Encoder // set if Options.Encodings is not empty

	mu    sync.RWMutex // guards world
	world *world

	logMu sync.Mutex // guards log
	log   []Request
}

// New returns a service on day 0.
func New(options Options) *Service {
	w := newWorld(options.withDefaults())
	opts := &w.opts
	s := &Service{opts: opts, routes: w.routes(), world: w}
	if len(opts.Encodings) > 0 {
		s.zstd = newZstdEncoder()
	}
	if opts.Scopes == nil {
		for _, rt := range s.routes {
			for _, scope := range rt.scopes {
				if !slices.Contains(opts.Scopes, scope) {
					opts.Scopes = append(opts.Scopes, scope)
				}
			}
		}
	}
	return s
}

// Advance simulates days. Advancing by two days equals advancing twice by one.
func (s *Service) Advance(days int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range days {
		s.world.stepDay()
	}
}

// Day returns the current day. A new service is on day 0.
func (s *Service) Day() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.world.day
}

// Now returns the simulated time in UTC. Only churn creates records at this time or later.
func (s *Service) Now() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.world.now()
}

// TeamID returns the id of the partner's team, as in GET /auth/token.
func (s *Service) TeamID() string { return seed(s.opts.Seed).id(kindTeam, 0) }

// SetFaults replaces the faults, which select requests and break their responses. If several faults
// apply to a request, only the first is used. Earlier requests do not count for Skip and Times.
func (s *Service) SetFaults(faults ...Fault) {
	f := &s.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = slices.Clone(faults)
	f.matched = make([]int, len(faults))
}

// SetValueFaults replaces the value faults. Each fault applies on its day.
func (s *Service) SetValueFaults(faults ...ValueFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.valueFaults = faults
}

// SetChurn replaces Options.ChurnEvery.
func (s *Service) SetChurn(every int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.opts.ChurnEvery = every
}

// Records returns the records that all pages of a list endpoint would contain now, in listing
// order and byte for byte as served. Examples for path are /orders and /campaigns/<id>/articles.
// It returns nil for an unknown path, for an unknown parent and for the path of an object.
func (s *Service) Records(path string) []json.RawMessage {
	rt, id := s.findRoute(path)
	if rt == nil || !rt.isList() {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	n, ok := s.world.recordInPath(rt, id)
	if !ok {
		return nil
	}
	v := rt.viewOf(n)
	records := make([]json.RawMessage, 0, len(v.numbers))
	e := enc{seed: s.world.seed, words: s.world.words, realistic: s.opts.Realistic}
	for i := range len(v.numbers) {
		e.b = e.b[:0]
		v.render(&e, v.at(i))
		records = append(records, s.world.applyValueFaults(slices.Clone(e.document()), rt))
	}
	return records
}

// Object returns the current response of an object endpoint, byte for byte. The path may have a
// query. Object returns false for a 404, a list or an invalid query.
func (s *Service) Object(path string) (json.RawMessage, bool) {
	path, rawQuery, _ := strings.Cut(path, "?")
	rt, id := s.findRoute(path)
	query, err := url.ParseQuery(rawQuery)
	if rt == nil || rt.isList() || err != nil {
		return nil, false
	}
	reply := s.renderReply(query, rt, id, &Fault{})
	return reply.body, reply.status == http.StatusOK
}

// Churned returns how many records churn has inserted into a list and deleted from it.
func (s *Service) Churned(path string) (inserted, deleted int) {
	rt, _ := s.findRoute(path)
	if rt == nil || rt.whole == nil {
		return 0, 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return rt.whole.inserted, rt.whole.deleted
}

// Request is one request that the service received.
type Request struct {
	Method string
	// Path is the requested path with the query.
	Path string
	// Route is the pattern of spec 4.2, or empty for an unknown path.
	Route string
	// Status is the status of the response, or 0 if a fault reset the connection before it.
	Status int
}

// Requests returns the requests since the last ResetRequests, in the order of their responses.
func (s *Service) Requests() []Request {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return slices.Clone(s.log)
}

// RequestsByRoute counts the logged requests by the pattern of their route.
func (s *Service) RequestsByRoute() map[string]int {
	counts := map[string]int{}
	for _, r := range s.Requests() {
		counts[r.Route]++
	}
	return counts
}

// ResetRequests clears the log of requests.
func (s *Service) ResetRequests() {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	s.log = nil
}
