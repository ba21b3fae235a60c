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

// limitDisk limits the file size of this process as its job requires, and returns a function
// that removes the limit. The limit needs no privileges, and a write fails as on a full
// disk.
func (j job) limitDisk(t *testing.T, cfg *pipeline.Config) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	restore = func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was)) }
	if j.Room == 0 {
		return restore
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise the first failing write ends the process
	narrow := func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(j.Room), Max: was.Max})) }
	if j.LimitedDetail == 0 {
		narrow()
		return restore
	}
	// One request at a time, so that the next request is made after the limit is removed.
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &shortage{left: j.LimitedDetail, narrow: narrow, restore: restore,
		inner: &http.Transport{DisableKeepAlives: true}}
	return restore
}

// shortage sets the limit when the detail with a number has arrived, and removes it at the
// next request. While details are requested, no other files are written.
type shortage struct {
	mu              sync.Mutex
	left            int
	narrow, restore func()
	inner           http.RoundTripper
}

func (m *shortage) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restore()
	answer, err := m.inner.RoundTrip(r)
	if strings.Contains(r.URL.Path, "/orders/") {
		if m.left--; m.left == 0 {
			m.narrow()
		}
	}
	return answer, err
}
