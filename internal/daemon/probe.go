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

// The questions of a probe: whether the process works, as /healthz says, and whether
// readers find recent data, as /readyz says.
const (
	ProbeHealth = "health"
	ProbeReady  = "ready"
)

const (
	// probeWithin is shorter than the patience of most supervisors, which would kill the
	// probe and log nothing of it.
	probeWithin = 4 * time.Second
	// longestAnswer of a daemon is some sentences; another server may send anything.
	longestAnswer = 4096
)

// Probe asks the daemon that listens on an address (serve.listen) and returns what it
// answers. It is an error when it is not well, when nobody answers, and when another
// program does. The token, if there is one, goes to that address only.
func Probe(ctx context.Context, listen, question, token string) (string, error) {
	path, want := "/healthz", "ok"
	if question == ProbeReady {
		path, want = "/readyz", "ready"
	}
	host, port, err := net.SplitHostPort(listen)
	switch {
	case err != nil:
		return "", fmt.Errorf("probe %q: %w", listen, err)
	case port == "0":
		return "", errors.New("probe the daemon: serve.listen has port 0, so its port is known from its log only: name a port")
	}
	// Whoever listens on all addresses is dialled on loopback.
	address := url.URL{Scheme: "http", Host: net.JoinHostPort(cmp.Or(host, "0.0.0.0"), port), Path: path}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return "", fmt.Errorf("probe the daemon: %w", err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	status, answer, err := askOnce(r)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("probe the daemon: %s: no answer within %s", &address, probeWithin)
	case err != nil:
		return "", fmt.Errorf("probe the daemon: %w", err)
	case status != http.StatusOK:
		return "", fmt.Errorf("probe the daemon: %s answers %d: %s", &address, status, answer)
	case answer != want:
		return "", fmt.Errorf("probe the daemon: %s answers %q, so another program listens there", &address, answer)
	}
	return answer, nil
}

// askOnce sends a request past any proxy, follows no redirect, and returns the beginning
// of the answer.
func askOnce(r *http.Request) (status int, answer string, err error) {
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, longestAnswer))
	return res.StatusCode, strings.TrimSpace(string(body)), err
}
