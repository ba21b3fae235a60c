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
	"sync"
	"testing"
	"time"
)

// GatewayProgram is the real server of the trials, in the one version that they use.
const GatewayProgram = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// Region is that of the gateway, which accepts the keys of a Server.
const Region = "eu-test-1"

// Gateway is a server in a process of its own, which checks signatures and checksums as
// those of providers do, behind a proxy that can fail.
type Gateway struct {
	// URL is that of the proxy.
	URL string
	// Files is the folder whose folders are the buckets.
	Files string

	mu   sync.Mutex
	fail func(w http.ResponseWriter, r *http.Request) bool
	// requests counts by method.
	requests map[string]int
}

// StartGateway serves empty buckets on loopback until the test ends.
func StartGateway(t testing.TB, program string, buckets ...string) *Gateway {
	t.Helper()
	g := &Gateway{Files: t.TempDir(), requests: map[string]int{}}
	for _, name := range buckets {
		require(t, os.Mkdir(filepath.Join(g.Files, name), 0o755))
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	require(t, err)
	address := probe.Addr().String()
	require(t, probe.Close())
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
		r.Out.Host = r.In.Host // it is signed
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.fails(w, r) {
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

// awaitServer waits until somebody listens at an address.
func awaitServer(t testing.TB, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			require(t, conn.Close())
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gateway does not answer: %v", err)
		}
	}
}

// SetFailure lets a function answer requests in place of the server, where it reports that
// it did; nil: none. Requests are counted anew.
func (g *Gateway) SetFailure(fail func(w http.ResponseWriter, r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail, g.requests = fail, map[string]int{}
}

// CountRequests returns how many requests of a method there were since the last failure
// was set.
func (g *Gateway) CountRequests(method string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[method]
}

func (g *Gateway) fails(w http.ResponseWriter, r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock() // also when fail panics, which resets the connection
	g.requests[r.Method]++
	return g.fail != nil && g.fail(w, r)
}
