package daemon_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"placementsync/internal/daemon"
	fixtures "placementsync/internal/testing/harness"
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

// sendRaw sends the bytes of a request, because Go's client does not send unusual hosts.
func sendRaw(t *testing.T, server *httptest.Server, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	fixtures.Must(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	fixtures.Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	fixtures.Must(t, err)
	return res, string(body)
}

func TestGuardRejectsForeignHosts(t *testing.T) {
	t.Parallel()
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an error shortens the body, which the test compares
		_, _ = fmt.Fprintf(w, "received %s", body)
	})
	var logged bytes.Buffer
	server := httptest.NewServer(daemon.GuardHosts(inner, func() daemon.HostList { return daemon.NewHostList("127.0.0.1:0", nil) }, slog.New(slog.NewTextHandler(&logged, nil))))
	defer server.Close()
	const rejection = `this server does not serve the host "evil.example.com": use localhost or an IP address, or add the name to serve.hosts` + "\n"
	for _, c := range []struct {
		name, request string
		code          int
		body          string
	}{
		{"a foreign name", "GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", 421, rejection},
		{"a POST to a foreign name", "POST /hooks HTTP/1.1\r\nHost: evil.example.com:80\r\nContent-Length: 2\r\n\r\nhi", 421, rejection},
		{"a foreign name in the request line", "GET http://evil.example.com/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421, rejection},
		{"a foreign name with X-Forwarded-Host, which any client can set", "GET / HTTP/1.1\r\nHost: evil.example.com\r\nX-Forwarded-Host: localhost\r\n\r\n", 421, rejection},
		{"HTTP/1.0 without a host", "GET / HTTP/1.0\r\n\r\n", 200, "received "},
		{"an IP address", "POST / HTTP/1.1\r\nHost: 10.1.2.3:8080\r\nContent-Length: 2\r\n\r\nhi", 200, "received hi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, body := sendRaw(t, server, c.request)
			if res.StatusCode != c.code || body != c.body {
				t.Errorf("got %d %q, want %d %q", res.StatusCode, body, c.code, c.body)
			}
			if c.body == rejection && res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("the rejection has the header %v, want nosniff, because it repeats the host", res.Header)
			}
		})
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 1 || !strings.Contains(logged.String(), "host=evil.example.com") {
		t.Errorf("four rejections within a minute were logged as\n%s\nwant one line", logged.String())
	}
}
