package daemon_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"placementsync/internal/daemon"
)

// TestProbe checks all forms of serve.listen. The daemon has an auth token. It allows only
// requests to IP addresses and localhost.
func TestProbe(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.settings.AuthToken = "opensesame"
	h.settings.Hosts = daemon.NewHostList("0.0.0.0:8080", nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(serve(t, h), "http://"), ":")
	for _, c := range []struct{ name, listen, kind, token, response, problem string }{
		{"health", "127.0.0.1:" + port, daemon.ProbeHealth, "opensesame", "ok", ""},
		{"health needs no token", "127.0.0.1:" + port, daemon.ProbeHealth, "", "ok", ""},
		{"all addresses", "0.0.0.0:" + port, daemon.ProbeHealth, "", "ok", ""},
		{"no host", ":" + port, daemon.ProbeHealth, "", "ok", ""},
		{"localhost", "localhost:" + port, daemon.ProbeHealth, "", "ok", ""},
		{"readiness before a night", "0.0.0.0:" + port, daemon.ProbeReady, "opensesame", "", "returned status 503: not ready: no night has succeeded yet"},
		{"readiness with another token", "0.0.0.0:" + port, daemon.ProbeReady, "sesame", "", "returned status 401: send serve.auth_token"},
		{"port 0", "127.0.0.1:0", daemon.ProbeHealth, "", "", "set a fixed port"},
		{"no port", "127.0.0.1", daemon.ProbeHealth, "", "", "missing port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			response, err := daemon.Probe(t.Context(), c.listen, c.kind, c.token)
			if response != c.response || (err == nil) != (c.problem == "") {
				t.Fatalf("the probe of %s returned %q, %v, want %q", c.listen, response, err, c.response)
			}
			if err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("the error is %q, want an error with %q", err, c.problem)
			}
		})
	}
}

// TestProbeRejectsOtherPrograms probes other programs at the address of the daemon.
func TestProbeRejectsOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, respond := range map[string]http.HandlerFunc{
		"another text": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>ok</html>")) },
		"a redirect to ok": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				http.Redirect(w, r, "/ok", http.StatusFound)
				return
			}
			_, _ = w.Write([]byte("ok"))
		},
		"an endless response": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		},
		"a long response": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("ok ", 1<<16))) },
	} {
		other := httptest.NewServer(respond)
		text, err := daemon.Probe(t.Context(), other.Listener.Addr().String(), daemon.ProbeHealth, "")
		other.Close()
		if err == nil || strings.Contains(err.Error(), "no response") {
			t.Errorf("%s: the probe returned %q and %v, want an error about the response", name, text, err)
		}
		if _, err := daemon.Probe(t.Context(), other.Listener.Addr().String(), daemon.ProbeHealth, ""); err == nil {
			t.Errorf("%s: the probe of a stopped server succeeded", name)
		}
	}
}

// TestProbeWithoutResponse probes a server that does not respond, and an IPv6 address with
// a zone.
func TestProbeWithoutResponse(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	defer other.Close()
	defer close(ended)
	for listen, want := range map[string]string{
		other.Listener.Addr().String(): "/healthz: no response within 4s",
		"[::1%none0]:1":                "dial tcp",
	} {
		if _, err := daemon.Probe(t.Context(), listen, daemon.ProbeHealth, ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "parse") {
			t.Errorf("%s: got %v, want %q", listen, err, want)
		}
	}
}
