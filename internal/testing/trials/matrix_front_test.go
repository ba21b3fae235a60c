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

// weather decides which requests meet the fault.
type weather struct {
	mu     sync.Mutex
	random *rand.Rand
	// share of all requests, or all for the endpoints of a pattern, are struck.
	share float64
	at    string

	asked, struck int
}

// set changes the weather; the counts go on.
func (w *weather) set(share float64, at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.share, w.at = share, at
}

func (w *weather) strikes(r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	hit := w.random.Float64() < w.share
	if w.at != "" {
		hit, _ = path.Match(w.at, r.URL.Path)
	}
	if hit {
		w.struck++
	}
	return hit
}

func (w *weather) counts() (asked, struck int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked, w.struck
}

// front stands before a service and spoils its answers on their way.
type front struct {
	service *sim.Service
	weather *weather
	spoil   func(rw http.ResponseWriter, body []byte)
}

func (f front) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if f.spoil == nil || !f.weather.strikes(r) {
		f.service.ServeHTTP(rw, r)
		return
	}
	answer := httptest.NewRecorder()
	f.service.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		http.Error(rw, answer.Body.String(), answer.Code)
		return
	}
	f.spoil(rw, answer.Body.Bytes())
}

// detour sends the requests that are struck to another address.
type detour struct {
	*http.Transport
	weather *weather
	to      *url.URL
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.weather.strikes(r) {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = d.to.Scheme, d.to.Host
	}
	return d.Transport.RoundTrip(r)
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return "http://" + l.Addr().String()
}

// strangersDoor is a server whose certificate nobody has vouched for.
func strangersDoor(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was sent to a server without a valid certificate", r.URL.Path)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
