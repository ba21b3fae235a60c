package daemon_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	fixtures "placementsync/internal/testing/harness"
)

// serve runs a daemon on a real listener and returns its URL.
func serve(t *testing.T, h *harness) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fixtures.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.sharedDaemon().Run(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the daemon ended with %v, want no error", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + l.Addr().String()
}

// sendRequest sends a request with an Authorization header and returns the response and its body.
func sendRequest(t *testing.T, method, url, authorization string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	fixtures.Must(t, err)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(r)
	fixtures.Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fixtures.Must(t, err)
	return res, string(body)
}

func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.settings.AuthToken = "opensesame"
	h.cfg.Explore = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	base := serve(t, h)
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("anyone:"+password))
	}
	for _, c := range []struct {
		name, path, authorization string
		want                      int
	}{
		{"no token", "/", "", 401},
		{"no token for the metrics", "/metrics", "", 401},
		{"no token for an unknown page", "/nosuch", "", 401},
		{"wrong token", "/metrics", "Bearer opensesam", 401},
		{"empty token", "/metrics", "Bearer ", 401},
		{"wrong password", "/", basic("sesame"), 401},
		{"no token for explore", "/explore", "", 401},
		{"no token for a page of explore", "/explore/catalog.csv", "", 401},
		{"a wrong password for explore", "/explore/", basic("sesame"), 401},
		{"a page of explore", "/explore/catalog.csv", basic("opensesame"), 202},
		{"as a bearer token", "/metrics", "Bearer opensesame", 200},
		{"as a password", "/", basic("opensesame"), 200},
		{"the scheme in lower case", "/", "bearer opensesame", 200},
		{"another scheme", "/", "Token opensesame", 401},
		{"health needs no token", "/healthz", "", 200},
		{"readiness needs a token", "/readyz", "", 401},
		{"no token for hooks", "/hooks", "", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _ := sendRequest(t, http.MethodGet, base+c.path, c.authorization)
			if res.StatusCode != c.want {
				t.Errorf("GET %s returned %d, want %d", c.path, res.StatusCode, c.want)
			}
			if c.want == 401 && res.Header.Get("WWW-Authenticate") == "" {
				t.Error("the response does not make a browser ask for a password")
			}
		})
	}
}

// TestWrongTokensAreLoggedOnceAMinute sends requests with no token and with wrong tokens for two minutes.
func TestWrongTokensAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.settings.AuthToken = "opensesame"
		handler := h.sharedDaemon().Handler()
		request := func(authorization string) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Host, r.RemoteAddr = "localhost", "192.0.2.7:4711"
			r.Header.Set("Authorization", authorization)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Fatalf("the authorization %q returned %d, want 401", authorization, w.Code)
			}
		}
		const line = `msg="request rejected: wrong token" remote=192.0.2.7:4711`
		request("")
		if text := h.log.String(); strings.Contains(text, "wrong token") {
			t.Errorf("a request without a token is logged:\n%s", text)
		}
		for range 120 {
			request("Bearer sesame")
			time.Sleep(time.Second)
		}
		if text := h.log.String(); strings.Count(text, line) != 2 || strings.Contains(text, "sesame") {
			t.Errorf("the log of two minutes is\n%swant two lines without the token:\n%s", text, line)
		}
	})
}

// TestEveryEndpointRejectsForeignHosts checks requests with the token, before and after a
// reload that changes the list of hosts.
func TestEveryEndpointRejectsForeignHosts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.settings.AuthToken = "opensesame"
	h.settings.Hosts = daemon.NewHostList("0.0.0.0:8080", []string{"status.example.com"})
	accept := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	h.cfg.Hooks, h.cfg.Explore, h.cfg.Held = accept, accept, accept
	hangups, reloaded := make(chan os.Signal), make(chan struct{}, 1)
	h.cfg.Hangups = hangups
	h.reload = func() (daemon.Settings, error) {
		settings := h.settings
		settings.Hosts = daemon.NewHostList("0.0.0.0:8080", []string{"other.example.com"})
		reloaded <- struct{}{}
		return settings, nil
	}
	base := serve(t, h)
	status := func(method, path, host string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
		fixtures.Must(t, err)
		r.Host = host
		r.Header.Set("Authorization", "Bearer opensesame")
		res, err := http.DefaultClient.Do(r)
		fixtures.Must(t, err)
		defer res.Body.Close()
		if csp := res.Header.Get("Content-Security-Policy"); csp == "" {
			t.Errorf("the response to %s %s for %q has no policy", method, path, host)
		}
		return res.StatusCode
	}
	// In want, "*" is the status of every path that is not listed.
	wantStatuses := func(host string, want map[string]int) {
		t.Helper()
		for _, path := range []string{"/", "/page.css", "/metrics", "/healthz", "/readyz", "/report", "/held", "/hooks", "/explore", "/explore/catalog", "/nosuch"} {
			method := http.MethodGet
			if path == "/hooks" {
				method = http.MethodPost
			}
			code, known := want[path]
			if !known {
				code = want["*"]
			}
			if got := status(method, path, host); got != code {
				t.Errorf("%s %s for %q returned %d, want %d", method, path, host, got, code)
			}
		}
	}
	rejected := map[string]int{"*": 421}
	served := map[string]int{"*": 200, "/readyz": 503, "/report": 404, "/hooks": 202, "/held": 202, "/explore": 202, "/explore/catalog": 202, "/nosuch": 404}
	wantStatuses("evil.example.com", rejected)
	wantStatuses("other.example.com:8080", rejected)
	wantStatuses("status.example.com", served)
	wantStatuses("10.1.2.3:9090", served) // a probe, or Prometheus
	wantStatuses("localhost:8080", served)
	hangups <- syscall.SIGHUP
	<-reloaded
	hangups <- syscall.SIGHUP // received only when the first reload has ended
	<-reloaded
	wantStatuses("status.example.com", rejected)
	wantStatuses("other.example.com:8080", served)
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	base := serve(t, newHarness(t, nil))
	res, _ := sendRequest(t, http.MethodGet, base+"/", "Bearer unneeded") // no token is configured
	if res.StatusCode != http.StatusOK {
		t.Errorf("an unneeded token is answered with %d, want 200", res.StatusCode)
	}
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	} {
		if got := res.Header.Get(header); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	for path, want := range map[string]string{"/": "text/html; charset=utf-8", "/healthz": "text/plain; charset=utf-8"} {
		if res, _ := sendRequest(t, http.MethodGet, base+path, ""); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != want {
			t.Errorf("%s has the status %d and the type %q, want 200 and %s", path, res.StatusCode, res.Header.Get("Content-Type"), want)
		}
	}
	if res, _ := sendRequest(t, http.MethodGet, base+"/"+strings.Repeat("a", 64<<10), ""); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("the status of a request of 64 KiB is %d, want 431", res.StatusCode)
	}
	if res, _ := sendRequest(t, http.MethodPost, base+"/", ""); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST / returned %d, want 405", res.StatusCode)
	}
	if res, body := sendRequest(t, http.MethodGet, base+"/page.css", ""); res.StatusCode != 200 || !strings.Contains(body, "light-dark(") {
		t.Errorf("GET /page.css returned %d %q, want 200 and a style sheet", res.StatusCode, body)
	}
}

// TestServerLimitsTimes protects a public address from clients that keep connections open.
func TestServerLimitsTimes(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := daemon.NewServer(http.NotFoundHandler(), slog.New(slog.NewTextHandler(&log, nil)))
	if s.ErrorLog == nil {
		t.Fatal("the server has no log")
	}
	s.ErrorLog.Print("a crash")
	if !strings.Contains(log.String(), `level=WARN msg="a crash"`) {
		t.Errorf("the log is %q, want the errors of the server", &log)
	}
	for name, limit := range map[string]time.Duration{"headers": s.ReadHeaderTimeout, "requests": s.ReadTimeout,
		"responses": s.WriteTimeout, "idle connections": s.IdleTimeout} {
		if limit <= 0 || limit > time.Minute {
			t.Errorf("the time of %s is limited to %s, want at most a minute", name, limit)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	file := filepath.Join(t.TempDir(), "report.html")
	h.cfg.ReportFile = file
	base := serve(t, h)
	if res, _ := sendRequest(t, http.MethodGet, base+"/report", ""); res.StatusCode != 404 {
		t.Errorf("without a report GET /report returned %d, want 404", res.StatusCode)
	}
	if _, page := sendRequest(t, http.MethodGet, base+"/", ""); strings.Contains(page, `href="report"`) {
		t.Error("the page links to a missing report")
	}
	fixtures.Must(t, os.Mkdir(file, 0o700))
	if res, _ := sendRequest(t, http.MethodGet, base+"/report", ""); res.StatusCode != 404 {
		t.Errorf("with a folder of the name of the report GET /report returned %d, want 404", res.StatusCode)
	}
	fixtures.Must(t, os.Remove(file))
	fixtures.Must(t, os.WriteFile(file, []byte("<!doctype html><title>prices</title>"), 0o600))
	res, body := sendRequest(t, http.MethodGet, base+"/report", "")
	if res.StatusCode != 200 || !strings.Contains(body, "prices") || !strings.Contains(res.Header.Get("Content-Security-Policy"), "script-src 'unsafe-inline'") {
		t.Errorf("GET /report returned %d %q with the policy %q, want 200, the report, and a policy that allows its scripts", res.StatusCode, body,
			res.Header.Get("Content-Security-Policy"))
	}
	if _, page := sendRequest(t, http.MethodGet, base+"/", ""); !strings.Contains(page, `href="report"`) {
		t.Error("the page does not link to the report")
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	now := parseTime(t, "2026-11-20T12:00:00Z")
	night := func(outcome ledger.Outcome, ago time.Duration) ledger.Run {
		entry := ledger.Run{Outcome: outcome, StartedAt: now.Add(-ago), EndedAt: now.Add(-ago)}
		entry.ID = entry.StartedAt.Format("20060102T150405Z")
		if outcome != ledger.Failed {
			entry.SnapshotAt = entry.StartedAt
		}
		return entry
	}
	long := night(ledger.Complete, 50*time.Hour)
	long.EndedAt = now.Add(-47 * time.Hour)
	replayOf := func(entry ledger.Run) ledger.Run {
		entry.Kind, entry.StartedAt, entry.EndedAt = ledger.Replay, now.Add(-time.Hour), now.Add(-time.Hour)
		return entry
	}
	for _, c := range []struct {
		name   string
		ledger []ledger.Run
		code   int
		body   string
	}{
		{"before the first night", nil, 503, "no night has succeeded yet"},
		{"after a success", []ledger.Run{night(ledger.Complete, 10*time.Hour)}, 200, "ready"},
		{"two intervals after the start of a long night, but not after its end", []ledger.Run{long}, 200, "ready"},
		{"after a partial night", []ledger.Run{night(ledger.Partial, 10*time.Hour)}, 200, "ready"},
		{"a failure after a success", []ledger.Run{night(ledger.Complete, 34*time.Hour), night(ledger.Failed, 10*time.Hour)}, 200, "ready"},
		{"no success for two intervals", []ledger.Run{night(ledger.Complete, 58*time.Hour), night(ledger.Failed, 10*time.Hour)}, 503,
			"the last successful night, 20261118T020000Z, ended 2 d 10 h ago, more than twice the interval of the schedule (1 d 0 h)"},
		{"only failures", []ledger.Run{night(ledger.Failed, time.Hour)}, 503, "no night has succeeded yet"},
		{"a replay of an old night", []ledger.Run{night(ledger.Complete, 58*time.Hour), replayOf(night(ledger.Complete, 58*time.Hour))}, 503,
			"the last successful night, 20261118T020000Z, ended 2 d 10 h ago, more than twice the interval of the schedule (1 d 0 h)"},
		{"a replay of the last night, which failed", []ledger.Run{night(ledger.Complete, 58*time.Hour), night(ledger.Failed, 10*time.Hour), replayOf(night(ledger.Complete, 10*time.Hour))},
			200, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			h.cfg.Now, h.ledger = func() time.Time { return now }, c.ledger
			w := h.get("/readyz")
			if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("/readyz returned %d %q, want %d %q", w.Code, w.Body, c.code, c.body)
			}
			if got := h.metric("ready") == "1"; got != (c.code == 200) {
				t.Errorf("the metric \"ready\" is %v, want %v", got, c.code == 200)
			}
		})
	}
}

// TestStalledScheduleIsUnhealthy blocks the scheduler in a reload.
func TestStalledScheduleIsUnhealthy(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	hangups, arrived, release := make(chan os.Signal), make(chan struct{}), make(chan struct{})
	offset := make(chan time.Duration, 1) // contains the offset of the daemon's clock from the real clock
	offset <- 0
	h.cfg.Now = func() time.Time {
		d := <-offset
		offset <- d
		return time.Now().Add(d)
	}
	h.cfg.Hangups = hangups
	h.reload = func() (daemon.Settings, error) {
		close(arrived)
		<-release
		return h.settings, nil
	}
	base := serve(t, h)
	defer close(release)
	hangups <- syscall.SIGHUP
	<-arrived
	if res, _ := sendRequest(t, http.MethodGet, base+"/healthz", ""); res.StatusCode != 200 {
		t.Errorf("at first /healthz returned %d, want 200", res.StatusCode)
	}
	<-offset
	offset <- 10 * time.Minute
	if res, body := sendRequest(t, http.MethodGet, base+"/healthz", ""); res.StatusCode != 503 {
		t.Errorf("after ten minutes /healthz returned %d %q, want 503", res.StatusCode, body)
	}
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	if daemon.Notifier("") != nil {
		t.Error("Notifier returned a function for an empty socket, want nil")
	}
	dir, err := os.MkdirTemp("", "n") // the path of t.TempDir is too long for a socket
	fixtures.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Skipf("no datagram sockets here: %v", err)
	}
	defer socket.Close()
	fixtures.Must(t, daemon.Notifier(path)("READY=1"))
	text := make([]byte, 64)
	n, err := socket.Read(text)
	if err != nil || string(text[:n]) != "READY=1" {
		t.Errorf("the socket received %q (%v), want READY=1", text[:n], err)
	}
}

func TestHandlerBeforeRun(t *testing.T) {
	t.Parallel()
	if w := newHarness(t, nil).get("/healthz"); w.Code != 200 {
		t.Errorf("before Run /healthz returned %d, want 200", w.Code)
	}
}

// TestStopServerEndsRunningRequests stops a server during a request that does not end.
func TestStopServerEndsRunningRequests(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fixtures.Must(t, err)
	began, served, answered := make(chan struct{}), make(chan error, 1), make(chan error, 1)
	server := daemon.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}), slog.New(slog.DiscardHandler))
	go func() { served <- server.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	go func() {
		res, err := client.Get("http://" + l.Addr().String())
		if err == nil {
			err = res.Body.Close()
		}
		answered <- err
	}()
	<-began
	if err := daemon.StopServer(server, time.Millisecond); err == nil || !strings.Contains(err.Error(), "shut down the HTTP server") {
		t.Errorf("got %v, want an error that the server did not stop in time", err)
	}
	if err := <-answered; err == nil || os.IsTimeout(err) {
		t.Errorf("the request ended with %v, want a closed connection at once", err)
	}
	<-served
}
