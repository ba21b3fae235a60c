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

// starve takes the room on the disk away from this process, as its job says,
// and returns what gives it back. A bound on the size of files needs no rights
// and fails a write as a full disk does.
func (j job) starve(t *testing.T, cfg *pipeline.Config) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &was))
	restore = func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &was)) }
	if j.Room == 0 {
		return restore
	}
	signal.Ignore(syscall.SIGXFSZ) // or the first such write ends the process
	narrow := func() { must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(j.Room), Max: was.Max})) }
	if j.Moment == 0 {
		narrow()
		return restore
	}
	// One request at a time, so that the one behind finds the room again.
	cfg.Fetch.Concurrency = 1
	cfg.Fetch.Transport = &shortage{left: j.Moment, narrow: narrow, restore: restore,
		inner: &http.Transport{DisableKeepAlives: true}}
	return restore
}

// shortage narrows the disk when the detail of a number has come, and gives the
// room back when the next is asked for. When details are asked for, nothing else
// is written at the same time.
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
