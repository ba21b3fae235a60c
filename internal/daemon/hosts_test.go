package daemon_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"placementsync/internal/daemon"
)

func TestHostListAllows(t *testing.T) {
	t.Parallel()
	onLoopback := daemon.NewHostList("127.0.0.1:8080", nil)
	onAll := daemon.NewHostList("0.0.0.0:8080", []string{"Status.Example.com"})
	onName := daemon.NewHostList("warehouse.internal:8080", nil)
	for _, c := range []struct {
		name string
		list daemon.HostList
		host string
		want bool
	}{
		{"an IP address", onLoopback, "127.0.0.1:8080", true},
		{"an IP address without port", onLoopback, "127.0.0.1", true},
		{"the IPv6 loopback address", onLoopback, "[::1]:8080", true},
		{"the IPv6 loopback address without port", onLoopback, "[::1]", true},
		{"the address of another machine that forwards a port", onLoopback, "192.0.2.7:9000", true},
		{"localhost", onLoopback, "localhost:8080", true},
		{"localhost in capitals with a trailing dot", onLoopback, "LocalHost.:8080", true},
		{"no host, as in HTTP/1.0", onLoopback, "", true},
		{"a foreign name", onLoopback, "evil.example.com", false},
		{"a foreign name that begins like an address", onLoopback, "127.0.0.1.evil.example.com", false},
		{"a foreign name that begins with localhost", onLoopback, "localhost.evil.example.com:8080", false},
		{"a hexadecimal address, which browsers never send", onLoopback, "0x7f000001:8080", false},
		{"a name from another list", onLoopback, "status.example.com", false},
		{"a listed name", onAll, "status.example.com", true},
		{"a listed name with port, capitals and dot", onAll, "STATUS.example.com.:443", true},
		{"a subdomain of a listed name", onAll, "a.status.example.com", false},
		{"a foreign name on all interfaces", onAll, "evil.example.com", false},
		{"an IPv6 address on all interfaces", onAll, "[2001:db8::5]:8080", true},
		{"the name in the listen address", onName, "warehouse.internal:8080", true},
		{"a port without a host", onAll, ":8080", true},
		{"the zero value", daemon.HostList{}, "evil.example.com", false},
	} {
		if got := c.list.Allows(c.host); got != c.want {
			t.Errorf("%s: Allows(%q) = %v, want %v", c.name, c.host, got, c.want)
		}
	}
}

func TestGuardRejectsForeignHosts(t *testing.T) {
	t.Parallel()
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	var logged bytes.Buffer
	guard := daemon.GuardHosts(inner, func() daemon.HostList { return daemon.NewHostList("127.0.0.1:0", nil) }, slog.New(slog.NewTextHandler(&logged, nil)))
	const rejection = `this server does not serve the host "evil.example.com": use localhost or an IP address, or add the name to serve.hosts` + "\n"
	for _, c := range []struct {
		host, body string
		code       int
	}{
		{"evil.example.com", rejection, 421},
		{"evil.example.com:80", rejection, 421},
		{"", "hi", 200}, // as in HTTP/1.0
		{"10.1.2.3:8080", "hi", 200},
	} {
		r, w := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader("hi")), httptest.NewRecorder()
		r.Host = c.host
		r.Header.Set("X-Forwarded-Host", "localhost") // any client can set this header
		guard.ServeHTTP(w, r)
		if w.Code != c.code || w.Body.String() != c.body {
			t.Errorf("the host %q got %d %q, want %d %q", c.host, w.Code, w.Body, c.code, c.body)
		}
		if c.code == 421 && w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the rejection has the header %v, want nosniff, because it repeats the host", w.Header())
		}
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 1 || !strings.Contains(logged.String(), "host=evil.example.com") {
		t.Errorf("two rejections within a minute were logged as\n%s\nwant one line", logged.String())
	}
}
