package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"placementsync/internal/html"
)

// stalledAfter is the longest time between two calls of startDueJobs in a healthy process.
const stalledAfter = 3 * maxSleep

// Supervisors restart an unhealthy process.
func (d *Daemon) serveHealthz(w http.ResponseWriter, _ *http.Request) {
	st := d.state.read()
	if idle := st.At.Sub(st.ActiveAt); !st.ActiveAt.IsZero() && !st.Stopping && idle > stalledAfter {
		writeText(w, http.StatusServiceUnavailable, fmt.Sprintf("the scheduler has not run for %s", idle.Round(time.Second)))
		return
	}
	writeText(w, http.StatusOK, "ok")
}

// serveReadyz reports whether readers find recent data. If not, a restart would not help.
func (d *Daemon) serveReadyz(w http.ResponseWriter, _ *http.Request) {
	if reasons := d.unreadyReasons(d.state.read()); len(reasons) > 0 {
		writeText(w, http.StatusServiceUnavailable, "not ready: "+strings.Join(reasons, "; "))
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func (d *Daemon) unreadyReasons(st status) []string {
	var reasons []string
	if st.Stopping {
		reasons = append(reasons, "the process is stopping")
	}
	if st.LedgerErr != nil {
		// The error contains paths, and probes may be public.
		reasons = append(reasons, "the ledger cannot be read: see the log")
	}
	night, ok := st.lastSuccess()
	if !ok {
		return append(reasons, "no night has succeeded yet")
	}
	limit := 2 * d.settings().Schedule.Interval(night.StartedAt)
	if age := st.At.Sub(night.EndedAt); age > limit {
		reasons = append(reasons, fmt.Sprintf("the last successful night, %s, ended %s ago, more than twice the interval of the schedule (%s)",
			night.ID, html.Duration(age), html.Duration(limit/2)))
	}
	return reasons
}

// Kinds of probes. ProbeHealth requests /healthz, ProbeReady /readyz.
const (
	ProbeHealth = "health"
	ProbeReady  = "ready"
)

const (
	// probeTimeout is shorter than the timeout of most supervisors, which kill the probe
	// without an error message.
	probeTimeout = 4 * time.Second
	maxResponse  = 4096 // bytes; the daemon sends less, but another server can send more
)

// Probe probes the daemon that listens on an address (serve.listen), and returns its response. It
// returns an error if the daemon is unhealthy or not ready, if it does not respond, or if
// another program responds. An empty token is not sent.
func Probe(ctx context.Context, listen, kind, token string) (string, error) {
	path, want := "/healthz", "ok"
	if kind == ProbeReady {
		path, want = "/readyz", "ready"
	}
	host, port, err := net.SplitHostPort(listen)
	switch {
	case err != nil:
		return "", fmt.Errorf("probe %q: %w", listen, err)
	case port == "0":
		return "", errors.New("probe the daemon: serve.listen has port 0, so the port is unknown: set a fixed port")
	}
	// A connection to 0.0.0.0 reaches this machine.
	address := url.URL{Scheme: "http", Host: net.JoinHostPort(cmp.Or(host, "0.0.0.0"), port), Path: path}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", fmt.Errorf("probe the daemon: %w", err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // without a proxy
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	var body []byte
	if err == nil {
		defer res.Body.Close()
		body, err = io.ReadAll(io.LimitReader(res.Body, maxResponse))
	}
	response := strings.TrimSpace(string(body))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("probe the daemon: %s: no response within %s", &address, probeTimeout)
	case err != nil:
		return "", fmt.Errorf("probe the daemon: %w", err)
	case res.StatusCode != http.StatusOK:
		return "", fmt.Errorf("probe the daemon: %s returned status %d: %s", &address, res.StatusCode, response)
	case response != want:
		return "", fmt.Errorf("probe the daemon: %s returned %q, so another program listens there", &address, response)
	}
	return response, nil
}
