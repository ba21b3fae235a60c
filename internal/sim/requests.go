package sim

import (
	"slices"
	"sync"
)

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

// Stats are counts of requests. Routes counts them by the pattern of their route.
type Stats struct {
	Total  int
	Routes map[string]int
}

type requestLog struct {
	mu  sync.Mutex
	log []Request
}

// Requests returns the listed requests, in the order of their responses.
func (q *requestLog) Requests() []Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.log)
}

// Stats returns the counts of the listed requests.
func (q *requestLog) Stats() Stats {
	requests := q.Requests()
	out := Stats{Total: len(requests), Routes: map[string]int{}}
	for _, r := range requests {
		if r.Route != "" {
			out.Routes[r.Route]++
		}
	}
	return out
}

// ResetRequests clears the list.
func (q *requestLog) ResetRequests() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.log = nil
}
