//go:build unix

package trials

import (
	"net/http"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"placementsync/internal/pipeline"
)

// limitDisk limits the size of the files that this process writes, as the job requires. A write
// beyond the limit fails as on a full disk. restore removes the limit.
func (j Job) limitDisk(cfg *pipeline.Config) (restore func() error, err error) {
	var original unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &original); err != nil {
		return nil, err
	}
	restore = func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &original) }
	if j.MaxFileBytes == 0 {
		return restore, nil
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise the first failing write ends the process
	limit := func() error {
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(j.MaxFileBytes), Max: original.Max})
	}
	if j.LimitedDetail == 0 {
		return restore, limit()
	}
	// The transport removes the limit at the next request. Requests run one at a time, so the limit
	// applies only while the response of this detail is stored.
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &limitingTransport{left: j.LimitedDetail, limit: limit, restore: restore,
		inner: &http.Transport{DisableKeepAlives: true}}
	return restore, nil
}

// limitingTransport sets the limit after it has received a number of order details, and removes the
// limit at the next request. Between these requests, the night writes only the response.
type limitingTransport struct {
	mu sync.Mutex
	// left is the number of order details to receive until the limit is set.
	left           int
	limit, restore func() error
	inner          http.RoundTripper
}

func (m *limitingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.restore(); err != nil {
		return nil, err
	}
	res, err := m.inner.RoundTrip(r)
	if err == nil && strings.Contains(r.URL.Path, "/orders/") {
		if m.left--; m.left == 0 {
			err = m.limit()
		}
	}
	return res, err
}
