package trials

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// RandomTransport returns responses of the service in random order. Each response takes a random
// time on the virtual clock and has a random content encoding. One response in twenty has status
// 503.
type RandomTransport struct {
	Service http.Handler
	mu      sync.Mutex
	// Random is the source of all random choices. If it is nil, responses take no time and are
	// neither encoded nor replaced.
	Random *rand.Rand
	// RequestsLeft counts down the requests. At 0 the transport calls interrupt. If RequestsLeft is set
	// to 0 or less, the transport never calls interrupt.
	RequestsLeft int
	Interrupt    context.CancelFunc
}

func (d *RandomTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	delay, busy, encoding := d.nextResponse()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	w := httptest.NewRecorder()
	if busy {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		withEncoding := r.Clone(r.Context())
		withEncoding.Header.Set("Accept-Encoding", encoding)
		d.Service.ServeHTTP(w, withEncoding)
	}
	return w.Result(), nil
}

func (d *RandomTransport) nextResponse() (delay time.Duration, busy bool, encoding string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.RequestsLeft--
	if d.RequestsLeft == 0 {
		d.Interrupt()
	}
	if d.Random == nil {
		return 0, false, "identity"
	}
	return time.Duration(d.Random.IntN(1000)) * time.Millisecond, d.Random.IntN(20) == 0, []string{"identity", "gzip", "zstd"}[d.Random.IntN(3)]
}
