package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// failingService is a demo service whose lists fail. The responses differ in their status or beginning, and each
// contains a private value.
type failingService struct {
	*sim.Service
	failures atomic.Int64
}

const privateValue = "guest-4711@example.com"

func (s *failingService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/auth/token" || strings.HasPrefix(r.URL.Path, "/outlets") {
		s.Service.ServeHTTP(w, r)
		return
	}
	statuses := []int{200, 500, 203, 400, 206, 429, 202, 404, 503, 403, 201, 302, 418, 502, 409, 422, 504}
	prefixes := []string{"", " \n", "[", "\ufeff", ")]}',\n", "callback(", "\x00", "<!--", "while(1);", "\xff", "1", "guest_email=" + privateValue}
	n := int(s.failures.Add(1))
	w.WriteHeader(statuses[n%len(statuses)])
	// The object is not closed, so that no body is a valid record.
	fmt.Fprintf(w, `%s{"id":"a","guest_email":"%s","client_secret":"%s"`, prefixes[n%len(prefixes)], privateValue, privateValue)
}

// TestFailedResponsesPublishNoPrivateValue runs a night of "serve" whose responses are invalid and contain a
// private value. It looks for the value in everything that the night writes or sends.
func TestFailedResponsesPublishNoPrivateValue(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	service := &failingService{Service: sim.New(smallWorld)}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	alerts := make(chan string, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		alerts <- string(body)
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	createWarehouse(t, filepath.Join(dir, "warehouse"))
	file := filepath.Join(dir, "config.yaml")
	harness.Must(t, os.WriteFile(file, fmt.Appendf(nil, `api: {base_url: '%s', token: '%s', requests_per_second: 0, retry: {max_retries: 3, base: 1ms, max: 1ms}}
warehouse: {dir: ./warehouse, threads: 1}
privacy: {hash: [orders.guest_email]}
schedule: {cron: '@every 1s'}
serve: {listen: '127.0.0.1:0'}
notify: {failure_url: '%s'}
`, server.URL, demoToken, receiver.URL), 0o600))
	log := &output{more: make(chan struct{}, 1)}
	lookup := func(name string) (string, bool) { return "k", name == "PLACEMENTSYNC_HASH_KEY" }
	g := &globals{process: process{stdout: io.Discard, stderr: log, Host: cli.Host{LookupEnv: lookup, Now: time.Now}},
		Flags: cli.Flags{Config: file, LogFormat: "json", Verbose: true}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runServe(ctx, g) }()
	for !strings.Contains(log.String(), `"night ended"`) { // the status page then shows the night
		select {
		case <-log.more:
		case err := <-ended:
			t.Fatalf("serve ended with %v:\n%s", err, log)
		}
	}
	address := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(log.String())
	response, err := http.Get("http://" + address[1] + "/")
	harness.Must(t, err)
	page, err := io.ReadAll(response.Body)
	harness.Must(t, errors.Join(err, response.Body.Close()))
	stop()
	harness.Must(t, <-ended)

	var streams, runs bytes.Buffer
	g.stdout = &streams
	harness.Must(t, runQuery(t.Context(), g, queryOptions{output: outputOptions{format: "json"}}, []string{"FROM meta.streams"}))
	g.stdout = &runs
	harness.Must(t, runRuns(g, "json"))
	logLines(t, log.String())
	sinks := map[string]string{"the log": log.String(), "the alert": <-alerts, "the status page": string(page), "meta.streams": streams.String(), "runs": runs.String()}
	for name, text := range sinks {
		if !strings.Contains(text, "answered ") || !strings.Contains(text, "may contain private values") {
			t.Errorf("%s does not describe the failed responses:\n%s", name, text)
		}
	}
	harness.Must(t, filepath.WalkDir(filepath.Join(dir, "warehouse"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		sinks[path] = string(data)
		return err
	}))
	for name, text := range sinks {
		if strings.Contains(name, "/raw/") {
			continue // stored responses keep private values
		}
		if i := strings.Index(text, "guest-4711"); i >= 0 {
			t.Errorf("%s contains a private value: %q", name, text[max(0, i-200):i+10])
		}
	}
}

// TestBytesAfterResponsesAreNotPrinted runs the program on a service whose bodies are longer than their stated
// length. net/http writes such bytes to the global log.
func TestBytesAfterResponsesAreNotPrinted(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		const body = `{"token_type":"full_access","scopes":[],"team_id":1}`
		_, _ = fmt.Fprintf(buffered, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s%s", len(body), body, privateValue)
		_ = buffered.Flush()
		_, _ = io.Copy(io.Discard, buffered) // until the program closes the connection
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	createWarehouse(t, filepath.Join(dir, "warehouse"))
	file := filepath.Join(dir, "config.yaml")
	harness.Must(t, os.WriteFile(file, fmt.Appendf(nil, "api: {base_url: '%s', token: %s}\nwarehouse: {dir: ./warehouse}\n", server.URL, demoToken), 0o600))
	printed, err := exec.CommandContext(t.Context(), "placementsync", "check", "--config", file).CombinedOutput()
	if err != nil {
		t.Fatalf("check ended with %v:\n%s", err, printed)
	}
	if bytes.Contains(printed, []byte("guest-4711")) {
		t.Errorf("the program prints bytes of a response:\n%s", printed)
	}
}
