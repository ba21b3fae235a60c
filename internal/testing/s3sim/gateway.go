package s3sim

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/testing/pinned"
)

// Region is the region of the gateway.
const Region = "eu-test-1"

// enginesVar is the environment variable that enables the gateway. "make lake-test" sets it.
const enginesVar = "PLACEMENTSYNC_ENGINES"

// Gateway is the S3 server versitygw in a separate process, behind a proxy that can return errors.
// versitygw checks signatures and checksums.
type Gateway struct {
	interceptor
	// URL is the address of the proxy.
	URL string
	// Files is a folder with one subfolder for each bucket. The subfolder contains the objects.
	Files string
}

// StartGateway serves empty buckets on loopback until the test ends. If versitygw is not in the PATH, StartGateway
// builds it, which takes minutes. It skips the test if enginesVar is not set, or if versitygw cannot be built.
func StartGateway(t testing.TB, getenv func(name string) string, buckets ...string) *Gateway {
	t.Helper()
	if getenv(enginesVar) == "" {
		t.Skipf("needs an S3 server: run it with make lake-test or %s=<folder>", enginesVar)
	}
	program, err := pinned.FindGoProgram(t.Context(), t.TempDir(), "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	if err != nil {
		t.Skipf("versitygw is not installed and cannot be built: %v", err)
	}
	g := &Gateway{Files: t.TempDir(), interceptor: interceptor{requests: map[string]int{}}}
	for _, name := range buckets {
		require(t, os.Mkdir(filepath.Join(g.Files, name), 0o755))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require(t, err)
	address := listener.Addr().String()
	require(t, listener.Close())
	server := exec.Command(program, "--port", address, "--region", Region, "--access", AccessKey, "--secret", SecretKey,
		"--quiet", "posix", "--sidecar", t.TempDir(), g.Files)
	require(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	awaitServer(t, address)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host // the signature covers the host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.intercept(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	g.URL = front.URL
	return g
}

func require(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// awaitServer waits until connections to an address succeed.
func awaitServer(t testing.TB, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			require(t, conn.Close())
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gateway accepts no connections: %v", err)
		}
	}
}

// ThrottleWrites responds to the next n PUT requests with the error SlowDown. The returned
// function returns the number of PUT requests that are still to be throttled.
func (g *Gateway) ThrottleWrites(n int) (left func() int) {
	g.FailWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || n == 0 {
			return false
		}
		n--
		Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	})
	return func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return n
	}
}
