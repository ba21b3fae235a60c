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
)

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
