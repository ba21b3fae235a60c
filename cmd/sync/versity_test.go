package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/s3sim"
)

// versityGateway is the server of these trials, which checks signatures and checksums.
const versityGateway = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// gate is a proxy in front of a server that can fail.
type gate struct {
	mu   sync.Mutex
	fail func(w http.ResponseWriter, r *http.Request) bool
	// requests counts by method.
	requests map[string]int
}

func (g *gate) set(fail func(w http.ResponseWriter, r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail, g.requests = fail, map[string]int{}
}

func (g *gate) handler(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.fails(w, r) {
			to.ServeHTTP(w, r)
		}
	})
}

func (g *gate) fails(w http.ResponseWriter, r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock() // also when fail panics, which resets the connection
	g.requests[r.Method]++
	return g.fail != nil && g.fail(w, r)
}

// startVersity starts a gateway on a loopback port, with a bucket, behind a gate.
func startVersity(t *testing.T) (address string, g *gate, files string) {
	t.Helper()
	program, err := exec.LookPath("versitygw")
	if err != nil && os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skipf("versitygw is not in PATH (go install %s); make torture builds it, which takes minutes", versityGateway)
	}
	if err != nil {
		bin := t.TempDir()
		build := exec.Command("go", "install", versityGateway)
		build.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-mod=mod")
		if out, err := build.CombinedOutput(); err != nil {
			t.Skipf("versitygw is neither in PATH nor to be built: %v: %s", err, out[max(0, len(out)-300):])
		}
		program = filepath.Join(bin, "versitygw")
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	fatal(t, err)
	port := probe.Addr().String()
	fatal(t, probe.Close())
	files = t.TempDir()
	fatal(t, os.Mkdir(filepath.Join(files, "store"), 0o755))
	server := exec.Command(program, "--port", port, "--region", "eu-test-1", "--access", s3sim.AccessKey, "--secret", s3sim.SecretKey, "--quiet", "posix", "--sidecar", t.TempDir(), files)
	server.Stdout, server.Stderr = io.Discard, io.Discard
	fatal(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	target := &url.URL{Scheme: "http", Host: port}
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", port, time.Second)
		if err == nil {
			fatal(t, conn.Close())
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("versitygw does not answer: %v", err)
		}
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}, ErrorLog: nil}
	g = &gate{requests: map[string]int{}}
	front := httptest.NewServer(g.handler(proxy))
	t.Cleanup(front.Close)
	return front.URL, g, files
}

// moveTo lets the warehouse use another server.
func (d *depot) moveTo(t *testing.T, address string) {
	t.Helper()
	text, err := os.ReadFile(d.g.Config)
	fatal(t, err)
	_, rest, _ := strings.Cut(string(text), "endpoint: \"")
	old, _, _ := strings.Cut(rest, "\"")
	fatal(t, os.WriteFile(d.g.Config, []byte(strings.Replace(string(text), old, address, 1)), 0o600))
}

// TestTortureBackupOnAServer runs backups against a server of its own process, which checks
// signatures and checksums as that of a provider does.
func TestTortureBackupOnAServer(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	address, gate, files := startVersity(t)
	d := newDepot(t)
	d.moveTo(t, address)

	began := time.Now()
	fatal(t, d.night(t))
	t.Logf("first night with its backup: %s, requests %v", time.Since(began).Round(time.Millisecond), gate.requests)
	fatal(t, runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}))

	slow := 5
	gate.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && slow > 0 {
			slow--
			s3sim.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		}
		return false
	})
	fatal(t, d.night(t))
	t.Logf("a night with five times SlowDown: requests %v", gate.requests)

	resets := 0
	gate.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && resets < 3 {
			resets++
			_, _ = io.CopyN(io.Discard, r.Body, 100)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	fatal(t, d.night(t))
	fatal(t, runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}))

	d.backUpRefused(t, gate, files)
	fatal(t, runBackup(t.Context(), d.g, backupOptions{}))

	prices := d.prices(t)
	fatal(t, os.RemoveAll(d.dir()))
	later := d.g.now().Add(time.Hour)
	d.g.now = func() time.Time { return later }
	cut := 3
	gate.set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/data/") && cut > 0 {
			cut--
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 100))
			panic(http.ErrAbortHandler)
		}
		return false
	})
	fatal(t, runRebuild(t.Context(), d.g, rebuildOptions{from: "s3://store/night"}))
	if got := d.prices(t); got != prices {
		t.Errorf("what was restored answers\n%s\nwant\n%s", got, prices)
	}
	fatal(t, runVerify(t.Context(), d.g, verifyOptions{readData: true, format: "text"}))
	gate.set(nil)
	fatal(t, runExport(t.Context(), d.g, exportOptions{to: "s3://store/export", format: "parquet"}, []string{"outlets"}))
	if strings.Contains(d.out.String(), s3sim.SecretKey) || strings.Contains(d.out.String(), "another-secret") {
		t.Error("the output contains a key")
	}
}

// backUpRefused runs nights whose backups a server refuses: with wrong keys, and without
// the bucket.
func (d *depot) backUpRefused(t *testing.T, gate *gate, files string) {
	t.Helper()
	secret := filepath.Join(d.root, "secret")
	fatal(t, os.WriteFile(secret, []byte("another-secret"), 0o600))
	gate.set(nil)
	err := d.night(t)
	if code(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "does not accept the keys") || strings.Contains(err.Error(), "another-secret") {
		t.Errorf("the night ended with %d: %v", code(t, err), err)
	}
	if n := gate.requests[http.MethodGet]; n > 2 {
		t.Errorf("wrong keys were tried %d times", n)
	}
	fatal(t, os.WriteFile(secret, []byte(s3sim.SecretKey), 0o600))

	fatal(t, os.Rename(filepath.Join(files, "store"), filepath.Join(files, "gone")))
	err = d.night(t)
	if code(t, err) != ledger.Partial.ExitCode() || !strings.Contains(err.Error(), "the bucket does not exist") {
		t.Errorf("the night ended with %d: %v", code(t, err), err)
	}
	fatal(t, os.Rename(filepath.Join(files, "gone"), filepath.Join(files, "store")))
}

// TestKilledBackupContinues kills the program while it sends, and runs it again.
func TestKilledBackupContinues(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	d := newDepot(t)
	sent := make(chan struct{}, 100)
	puts := 0
	d.store.Fail = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			if puts++; puts > 10 {
				select {
				case sent <- struct{}{}:
				default:
				}
				panic(http.ErrAbortHandler) // nothing more arrives
			}
		}
		return false
	}
	text, err := os.ReadFile(d.g.Config)
	fatal(t, err)
	with := string(text)
	fatal(t, os.WriteFile(d.g.Config, []byte(strings.Replace(with, "backup: s3://store/night", "", 1)), 0o600))
	fatal(t, d.night(t))
	fatal(t, os.WriteFile(d.g.Config, text, 0o600))
	before := d.files(t)
	bin := t.TempDir()
	self, err := os.Executable()
	fatal(t, errors.Join(err, os.Symlink(self, filepath.Join(bin, "placementsync"))))
	cmd := exec.Command(filepath.Join(bin, "placementsync"), "backup", "--config", d.g.Config)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	fatal(t, cmd.Start())
	<-sent
	fatal(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	d.store.Fail = nil
	half := len(d.store.Objects("store"))
	if m := manifestsIn(d.store.Objects("store")); len(m) != 0 || half == 0 {
		t.Errorf("a killed backup left %d objects and the manifests %v: %s", half, m, out.String())
	}
	if got := d.files(t); fmt.Sprint(len(got)) != fmt.Sprint(len(before)) {
		t.Errorf("a killed backup changed the warehouse: %d files, then %d", len(before), len(got))
	}
	start := d.store.Requests()[http.MethodPut]
	fatal(t, runBackup(t.Context(), d.g, backupOptions{}))
	all := len(d.store.Objects("store"))
	if n := d.store.Requests()[http.MethodPut] - start; n != all-half {
		t.Errorf("the second backup sent %d objects, want the %d that were missing", n, all-half)
	}
	fatal(t, runBackup(t.Context(), d.g, backupOptions{verify: true, readData: true}))
}
