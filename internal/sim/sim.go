// Package sim is the demo service: a marketplace in memory that answers every
// readable endpoint of the service's specification, for the demo, for tests
// and for benchmarks.
//
// It is a second, independent reading of docs/service.md and must not import
// anything of this project: nobody would see a mistake that the client and its
// test partner share. Its world is a function of a seed and of the number of
// simulated days, and contains every oddity that the specification allows.
package sim

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Service is the demo service: an http.Handler around a simulated world. All
// methods are safe for concurrent use.
type Service struct {
	requestLog
	opts    Options
	router  router
	buffers sync.Pool
	faults  faults
	limiter *rate.Limiter
	packer  *packer

	mu    sync.RWMutex // guards token and world
	token string
	world *world
}

// New makes the service on its day 0.
func New(opts Options) *Service {
	opts = opts.withDefaults()
	w := newWorld(opts)
	s := &Service{opts: opts, router: newRouter(w.routes()), token: opts.Token, world: w, packer: newPacker(opts)}
	if opts.Scopes == nil {
		w.opts.Scopes = s.router.allScopes()
	}
	s.opts.Scopes = w.opts.Scopes
	s.buffers.New = func() any { return &enc{s: seed(opts.Seed)} }
	s.faults.seed, s.faults.program = seed(opts.Seed), opts.FaultFunc
	s.faults.setRules(opts.Faults)
	s.ResetRequests()
	if opts.RateLimit > 0 {
		s.limiter = rate.NewLimiter(rate.Limit(opts.RateLimit), opts.RateBurst)
	}
	return s
}

// Advance simulates so many days. Two days at once are the same as twice one
// day.
func (s *Service) Advance(days int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range days {
		s.world.stepDay()
	}
}

// Day is the number of simulated days since the start.
func (s *Service) Day() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.world.calendar.day
}

// Now is the simulated instant, in UTC. All records are older, except those that
// churn inserted.
func (s *Service) Now() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.world.calendar.now()
}

// TeamID is the id of the partner's team, which GET /auth/token returns.
func (s *Service) TeamID() string { return seed(s.opts.Seed).id(kindTeam, 0) }

// SetToken rotates the token: requests with the old one get 401 from now on.
func (s *Service) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// SetFaults replaces the rules of Options.Faults and starts their counts anew.
func (s *Service) SetFaults(rules ...Fault) { s.faults.setRules(rules) }

// SetValueFaults replaces Options.ValueFaults.
func (s *Service) SetValueFaults(faults ...ValueFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.opts.ValueFaults = slices.Clone(faults)
}

// Routes are the patterns of all endpoints that answer GET, as spec 4.2 writes
// them.
func (s *Service) Routes() []string {
	var out []string
	for _, rt := range s.router.routes {
		out = append(out, rt.pattern)
	}
	return out
}

// Records are the records that a full walk of a list endpoint would see at
// this moment, in listing order and byte for byte as they are served. The path
// is for example /orders or /campaigns/<id>/articles; a path that is unknown or
// that answers an object has none.
func (s *Service) Records(path string) []json.RawMessage {
	rt, id := s.router.find(path)
	if rt == nil || rt.list == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := rt.list(id)
	if !ok {
		return nil
	}
	out := make([]json.RawMessage, 0, v.len())
	e := enc{s: s.world.seed}
	for i := range v.len() {
		e.b = e.b[:0]
		v.render(&e, v.at(i))
		e.trim()
		out = append(out, s.world.distort(slices.Clone(e.b), rt))
	}
	return out
}

// Object is what GET of an object endpoint answers at this moment, byte for
// byte; false if it answers 404 or a list. The path may have a query.
func (s *Service) Object(path string) (json.RawMessage, bool) {
	path, rawQuery, _ := strings.Cut(path, "?")
	rt, id := s.router.find(path)
	query, err := url.ParseQuery(rawQuery)
	if rt == nil || rt.object == nil || err != nil {
		return nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := enc{s: s.world.seed}
	if !rt.object(&e, id, query) {
		return nil, false
	}
	e.trim()
	return s.world.distort(e.b, rt), true
}

// MarkStart stores which records the top-level lists hold now, for Survivors.
func (s *Service) MarkStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.world.topLists() {
		l.mark()
	}
}

// Survivors are the ids of the records of a top-level list, for example of
// /orders, that have been listed since MarkStart without a break: a complete
// walk in between cannot miss them. No record returns after its removal.
func (s *Service) Survivors(path string) []string {
	rt, _ := s.router.find(path)
	if rt == nil || rt.top == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, _ := rt.list("")
	var out []string
	for _, n := range v.numbers() {
		if rt.top.marked[n] {
			out = append(out, s.world.seed.id(v.kind, n))
		}
	}
	return out
}

// Churned is how many records churn inserted into a top-level list and deleted
// from it so far.
func (s *Service) Churned(path string) (inserted, deleted int) {
	rt, _ := s.router.find(path)
	if rt == nil || rt.top == nil {
		return 0, 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return rt.top.inserted, rt.top.deleted
}
