//go:build unix

package trials_test

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
// beyond the limit fails as on a full disk. No privileges are needed. restore removes the limit.
func (j job) limitDisk(cfg *pipeline.Config) (restore func() error, err error) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return nil, err
	}
	restore = func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &was) }
	if j.MaxFileBytes == 0 {
		return restore, nil
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise the first failing write ends the process
	limit := func() error {
		return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(j.MaxFileBytes), Max: was.Max})
	}
	if j.LimitedDetail == 0 {
		return restore, limit()
	}
	// With one request at a time, no response is stored after the limit is removed for the
	// next request.
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &limitingTransport{left: j.LimitedDetail, limit: limit, restore: restore,
		inner: &http.Transport{DisableKeepAlives: true}}
	return restore, nil
}

// limitingTransport sets the limit when an order detail has arrived, and removes it at the next
// request. While details are requested, no other files are written.
type limitingTransport struct {
	mu sync.Mutex
	// left is the number of order details until the limit is set.
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
