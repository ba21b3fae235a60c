package trials

import (
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"sync"
	"testing"

	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
)

// FaultSelector selects the requests that a fault affects, and counts them.
type FaultSelector struct {
	mu     sync.Mutex
	Random *rand.Rand
	// share is the share of affected requests. It applies only if pattern is empty.
	share float64
	// pattern selects the requests whose path matches it, as in path.Match.
	pattern string

	requests, affected int
}

// Set replaces share and pattern. It keeps the counts.
func (s *FaultSelector) Set(share float64, pattern string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share, s.pattern = share, pattern
}

// Affects reports whether a request gets the fault, and counts the request.
func (s *FaultSelector) Affects(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	isAffected := s.Random.Float64() < s.share
	if s.pattern != "" {
		isAffected, _ = path.Match(s.pattern, r.URL.Path)
	}
	if isAffected {
		s.affected++
	}
	return isAffected
}

// Counts returns the numbers of requests and of affected requests.
func (s *FaultSelector) Counts() (requests, affected int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests, s.affected
}

// FaultProxy is a handler in front of a service. It replaces the bodies of affected responses.
type FaultProxy struct {
	Service       *sim.Service
	FaultSelector *FaultSelector
	Spoil         func(rw http.ResponseWriter, body []byte)
}

func (f FaultProxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if f.Spoil == nil || !f.FaultSelector.Affects(r) {
		f.Service.ServeHTTP(rw, r)
		return
	}
	recorder := httptest.NewRecorder()
	f.Service.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusOK {
		http.Error(rw, recorder.Body.String(), recorder.Code)
		return
	}
	f.Spoil(rw, recorder.Body.Bytes())
}

// DetourTransport sends the affected requests to another address.
type DetourTransport struct {
	*http.Transport
	FaultSelector *FaultSelector
	To            *url.URL
}

func (d DetourTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.FaultSelector.Affects(r) {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = d.To.Scheme, d.To.Host
	}
	return d.Transport.RoundTrip(r)
}

// closedAddress returns an address without a listener.
func closedAddress(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	testharness.Must(t, err)
	testharness.Must(t, l.Close())
	return "http://" + l.Addr().String()
}

// untrustedServer returns the address of a server with an untrusted certificate.
func untrustedServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was sent to a server without a valid certificate", r.URL.Path)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
