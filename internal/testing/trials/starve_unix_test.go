//go:build unix

package trials_test

import (
	"net/http"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"placementsync/internal/pipeline"
)

// limitDisk limits the file size of this process as the job requires. restore removes the
// limit. A write beyond it fails as on a full disk. Setting it needs no privileges.
func (j job) limitDisk(t *testing.T, cfg *pipeline.Config) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	restore = func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was)) }
	if j.MaxFileBytes == 0 {
		return restore
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise the first failing write ends the process
	limit := func() {
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(j.MaxFileBytes), Max: was.Max}))
	}
	if j.LimitedDetail == 0 {
		limit()
		return restore
	}
	// With one request at a time, no response is stored after the limit is removed for the
	// next request.
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &limitingTransport{left: j.LimitedDetail, limit: limit, restore: restore,
		inner: &http.Transport{DisableKeepAlives: true}}
	return restore
}

// limitingTransport sets the limit when an order detail has arrived, and removes it at the next
// request. While details are requested, no other files are written.
type limitingTransport struct {
	mu sync.Mutex
	// left is the number of order details until the limit is set.
	left           int
	limit, restore func()
	inner          http.RoundTripper
}

func (m *limitingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restore()
	answer, err := m.inner.RoundTrip(r)
	if strings.Contains(r.URL.Path, "/orders/") {
		if m.left--; m.left == 0 {
			m.limit()
		}
	}
	return answer, err
}
