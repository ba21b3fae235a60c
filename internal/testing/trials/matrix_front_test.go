package trials_test

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
)

// faultSelector decides which requests are affected by the fault.
type faultSelector struct {
	mu     sync.Mutex
	random *rand.Rand
	// share is the share of all requests that are affected.
	share float64
	// pattern overrides share: all requests whose path matches it are affected, and no
	// others. Empty means that share applies.
	pattern string

	requests, affected int
}

// set changes which requests are affected. The counts are kept.
func (w *faultSelector) set(share float64, pattern string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.share, w.pattern = share, pattern
}

func (w *faultSelector) affects(r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	hit := w.random.Float64() < w.share
	if w.pattern != "" {
		hit, _ = path.Match(w.pattern, r.URL.Path)
	}
	if hit {
		w.affected++
	}
	return hit
}

func (w *faultSelector) counts() (requests, affected int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests, w.affected
}

// faultProxy is a handler in front of a service that changes its responses.
type faultProxy struct {
	service       *sim.Service
	faultSelector *faultSelector
	spoil         func(rw http.ResponseWriter, body []byte)
}

func (f faultProxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if f.spoil == nil || !f.faultSelector.affects(r) {
		f.service.ServeHTTP(rw, r)
		return
	}
	recorder := httptest.NewRecorder()
	f.service.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusOK {
		http.Error(rw, recorder.Body.String(), recorder.Code)
		return
	}
	f.spoil(rw, recorder.Body.Bytes())
}

// detour sends the affected requests to another address.
type detour struct {
	*http.Transport
	faultSelector *faultSelector
	to            *url.URL
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.faultSelector.affects(r) {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = d.to.Scheme, d.to.Host
	}
	return d.Transport.RoundTrip(r)
}

// closedPort returns an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
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
