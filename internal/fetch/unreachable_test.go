package fetch_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/testing/harness"
)

// failingDNS returns a transport whose DNS resolver returns a response code for every query.
func failingDNS(t *testing.T, code byte) http.RoundTripper {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		message := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			// The query is returned as a response with the code.
			message[2], message[3] = message[2]|0x80, 0x80|code
			_, _ = server.WriteTo(message[:n], from)
		}
	}()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	return &http.Transport{DialContext: (&net.Dialer{Resolver: resolver}).DialContext}
}

// TestUnreachableService checks the retries if the host name does not exist, its port is closed or a
// request fails otherwise, with and without FailUnreachable.
func TestUnreachableService(t *testing.T) {
	const noSuchName, queryRefused = 3, 5 // DNS response codes
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	closed.Close()
	closedPort := testConfig(nil)
	closedPort.BaseURL, closedPort.Transport = "http://"+closed.Addr().String(), nil
	unknownName, failingResolver := testConfig(nil), testConfig(nil)
	unknownName.BaseURL, unknownName.Transport = "http://nosuch.example.", failingDNS(t, noSuchName)
	failingResolver.BaseURL, failingResolver.Transport = "http://failing.example.", failingDNS(t, queryRefused)
	for name, c := range map[string]struct {
		cfg         fetch.Config
		failFast    bool
		want        string
		unreachable bool
		retries     int
	}{
		"unknown name":                {unknownName, false, "after 3 attempts: dial tcp: lookup nosuch.example.", true, 2},
		"unknown name, fail fast":     {unknownName, true, "no such host; the service cannot be reached: check the network, and api.base_url in the configuration", true, 0},
		"closed port":                 {closedPort, false, "after 3 attempts: dial tcp " + closed.Addr().String(), true, 2},
		"closed port, fail fast":      {closedPort, true, "connection refused; the service cannot be reached", true, 0},
		"failing resolver, fail fast": {failingResolver, true, "after 3 attempts: dial tcp: lookup failing.example.", false, 2},
		"failing service, fail fast":  {serverConfig(t, newScript(statusWithToken(503))), true, "answered 503", false, 2},
		"connection reset, fail fast": {serverConfig(t, newScript(resetConnection)), true, "after 3 attempts", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			c.cfg.FailUnreachable = c.failFast
			client, err := fetch.New(c.cfg, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			harness.Must(t, err)
			defer client.Close()
			err = requestTokenInfo(t, client)
			checkError(t, err, c.want)
			if got := errors.Is(err, fetch.ErrUnreachable); got != c.unreachable {
				t.Errorf("unreachable is %t, want %t: %v", got, c.unreachable, err)
			}
			if got := strings.Count(log.String(), "request is repeated"); got != c.retries {
				t.Errorf("the log contains %d retries, want %d:\n%s", got, c.retries, &log)
			}
		})
	}
}
