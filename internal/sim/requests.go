package sim

import (
	"maps"
	"slices"
	"sync"
)

// maxLogged limits the list of requests. The counts have no limit.
const maxLogged = 1 << 20

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

// Stats are counts of requests since the start or the last ResetRequests.
type Stats struct {
	// Total counts all requests.
	Total int
	// Bytes is the size of all bodies after compression. A truncated body counts with its full
	// size.
	Bytes int64
	// Routes counts the requests by the pattern of their route.
	Routes map[string]int
}

// requestLog lists and counts the requests.
type requestLog struct {
	mu    sync.Mutex
	log   []Request
	stats Stats
}

// logRequest counts a request and adds it to the list, up to maxLogged.
func (q *requestLog) logRequest(request Request, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.log) < maxLogged {
		q.log = append(q.log, request)
	}
	q.stats.Total++
	q.stats.Bytes += int64(bytes)
	if request.Route != "" {
		q.stats.Routes[request.Route]++
	}
}

// Requests returns the listed requests, in the order of their responses.
func (q *requestLog) Requests() []Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.log)
}

// Stats returns the counts so far.
func (q *requestLog) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.stats
	out.Routes = maps.Clone(out.Routes)
	return out
}

// ResetRequests clears the list and all counts.
func (q *requestLog) ResetRequests() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.log = nil
	q.stats = Stats{Routes: map[string]int{}}
}
