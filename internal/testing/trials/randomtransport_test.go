package trials_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// randomTransport returns responses of the service in random order. Each response takes a random
// time on the virtual clock and has a random content encoding. One response in twenty has status
// 503.
type randomTransport struct {
	service http.Handler
	mu      sync.Mutex
	// random is the source of all random choices. If it is nil, responses take no time and are
	// neither encoded nor replaced.
	random *rand.Rand
	// requestsLeft counts down the requests. At 0 the transport calls interrupt. If requestsLeft is set
	// to 0 or less, the transport never calls interrupt.
	requestsLeft int
	interrupt    context.CancelFunc
}

func (d *randomTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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
		d.service.ServeHTTP(w, withEncoding)
	}
	return w.Result(), nil
}

func (d *randomTransport) nextResponse() (delay time.Duration, busy bool, encoding string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.requestsLeft--; d.requestsLeft == 0 {
		d.interrupt()
	}
	if d.random == nil {
		return 0, false, "identity"
	}
	return time.Duration(d.random.IntN(1000)) * time.Millisecond, d.random.IntN(20) == 0, []string{"identity", "gzip", "zstd"}[d.random.IntN(3)]
}
