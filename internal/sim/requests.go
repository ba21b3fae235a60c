package sim

import (
	"maps"
	"slices"
	"sync"
)

// maxLogged limits the list of requests; the counters have no limit.
const maxLogged = 1 << 20

// Request is one request that the service received.
type Request struct {
	Method string
	// Path is path and query as they were sent.
	Path string
	// Route is the pattern of spec 4.2 that answered; empty when none did.
	Route string
	// Status is that of the answer; 0 if a fault broke the connection.
	Status int
}

// Stats are counts over all requests since the start or the last
// ResetRequests.
type Stats struct {
	// Total is all requests.
	Total int
	// Throttled is the answers 429 of the rate limit, not those of faults.
	Throttled int
	// Spoilt is the requests with a fault.
	Spoilt int
	// Bytes is the length of all bodies as they are sent, also of those that a fault cut.
	Bytes int64
	// Routes counts by pattern of spec 4.2, Methods by HTTP method.
	Routes, Methods map[string]int
}

// requestLog lists and counts the requests.
type requestLog struct {
	mu    sync.Mutex
	log   []Request
	stats Stats
}

// logRequest counts a request and, within bounds, lists it.
func (q *requestLog) logRequest(request Request, bytes int, throttled, spoilt bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.log) < maxLogged {
		q.log = append(q.log, request)
	}
	q.stats.Total++
	q.stats.Bytes += int64(bytes)
	q.stats.Methods[request.Method]++
	if request.Route != "" {
		q.stats.Routes[request.Route]++
	}
	if throttled {
		q.stats.Throttled++
	}
	if spoilt {
		q.stats.Spoilt++
	}
}

// Requests lists the requests received so far, in the order of their answers.
func (q *requestLog) Requests() []Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.log)
}

// Stats counts the requests received so far.
func (q *requestLog) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.stats
	out.Routes, out.Methods = maps.Clone(out.Routes), maps.Clone(out.Methods)
	return out
}

// ResetRequests empties the list and sets all counts to zero.
func (q *requestLog) ResetRequests() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.log = nil
	q.stats = Stats{Routes: map[string]int{}, Methods: map[string]int{}}
}
