package sim

import "slices"

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
