package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// serveURL reads the address of "serve" in the background from its log.
func serveURL(ts *testscript.TestScript) string {
	b := scriptEnvOf(ts).program
	requireUsage(ts, b != nil, "start placementsync serve (before this command)")
	address := regexp.MustCompile(`msg=serving address=(\S+)`).FindStringSubmatch(b.stderr.String())
	requireUsage(ts, address != nil, "await serving (before this command)")
	return "http://" + address[1]
}

// get requests a page from "serve" in the background.
func get(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) >= 1 && len(args) <= 3, "get PATH [TOKEN [HOST]]")
	r, err := http.NewRequest(http.MethodGet, serveURL(ts)+args[0], nil)
	ts.Check(err)
	if len(args) > 1 {
		r.Header.Set("Authorization", "Bearer "+args[1])
	}
	if len(args) > 2 {
		r.Host = args[2]
	}
	res, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s", res.StatusCode, body)
}

// statement runs SQL on the page "SQL" of "serve" in the background.
func statement(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) == 1, "statement SQL")
	page := serveURL(ts) + "/explore/sql"
	res, err := http.Get(page)
	ts.Check(err)
	body, err := io.ReadAll(res.Body)
	ts.Check(errors.Join(err, res.Body.Close()))
	token := regexp.MustCompile(`name="token" value="(\w+)"`).FindSubmatch(body)
	if token == nil {
		ts.Fatalf("the page has no token:\n%s", body)
	}
	res, err = http.PostForm(page, url.Values{"sql": args, "token": {string(token[1])}})
	ts.Check(err)
	body, err = io.ReadAll(res.Body)
	ts.Check(errors.Join(err, res.Body.Close()))
	fmt.Fprintf(ts.Stdout(), "%d\n%s", res.StatusCode, body)
}

func hangup(ts *testscript.TestScript, neg bool, args []string) {
	b := scriptEnvOf(ts).program
	requireUsage(ts, !neg && len(args) == 0 && b != nil, "hangup (after start)")
	ts.Check(b.cmd.Process.Signal(syscall.SIGHUP))
}

// receiver records the requests to RECEIVER_URL, one line each. It rejects requests below
// /refused.
type receiver struct{ got output }

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)                                                // a request that was cut off is recorded too
	_, _ = fmt.Fprintf(&r.got, "%s %s %s\n", q.Method, q.URL.Path, string(body)) // writing to a buffer cannot fail
	if strings.HasPrefix(q.URL.Path, "/refused/") {
		http.Error(w, "s3cret", http.StatusForbidden) // the program must not log the body
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func receive(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptEnvOf(ts)
	requireUsage(ts, !neg && len(args) == 0 && s.receiver == nil, "receive")
	s.receiver = &receiver{got: output{more: make(chan struct{}, 1)}}
	server := httptest.NewServer(s.receiver)
	ts.Defer(server.Close)
	ts.Setenv("RECEIVER_URL", server.URL)
}

// received checks the requests so far. It does not wait, because a program sends its notifications before it ends.
func received(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptEnvOf(ts)
	requireUsage(ts, len(args) == 1 && s.receiver != nil, "received REGEXP (after receive)")
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	if got := s.receiver.got.String(); pattern.MatchString(got) == neg {
		ts.Fatalf("a request matches %s: %t, want %t; the receiver got\n%s", args[0], neg, !neg, strings.TrimSpace(got))
	}
}

// deliver sends a webhook to "serve" in the background and checks the status.
func deliver(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) == 5, "deliver SECRET ID TOPIC BODY STATUS")
	d := sim.Delivery{ID: args[1], Topic: args[2], SentAt: time.Now(), Body: []byte(args[3])}
	status, err := sim.Deliver(context.Background(), http.DefaultClient, serveURL(ts)+"/hooks", d, args[0])
	ts.Check(err)
	if got := fmt.Sprint(status); got != args[4] {
		ts.Fatalf("the status is %s, want %s", got, args[4])
	}
}

// TestReloadKeepsFixedSettings reloads a configuration with another folder, address and choice of SQL. They need a
// restart, so the token that the old address needs must not be lost.
func TestReloadKeepsFixedSettings(t *testing.T) {
	t.Parallel()
	const token = "auth_token: a-long-token-of-the-page"
	log := &output{more: make(chan struct{}, 1)}
	g := newLoggingGlobals(t, io.Discard, log, "serve: {listen: '0.0.0.0:8090', "+token+"}\n")
	dir := filepath.Join(filepath.Dir(g.Config), "warehouse")
	harness.Must(t, os.Chmod(g.Config, 0o600)) // no warning about the token
	s, _ := newTestSettings(t, g)
	changed := strings.NewReplacer("./warehouse", "./other", "0.0.0.0:8090", "127.0.0.1:1", token, "sql: false, "+token,
		"threads: 1", "threads: 2").Replace(read(t, g.Config)) + "schedule: {retries: [7m]}\n"
	harness.Must(t, os.WriteFile(g.Config, []byte(strings.Replace(changed, ", "+token, "", 1)), 0o600))
	if _, err := s.Reload(); err == nil || !strings.Contains(err.Error(), "serve.auth_token") {
		t.Errorf("a reload without the token that 0.0.0.0:8090 needs ended with %v, want an error", err)
	}
	harness.Must(t, os.WriteFile(g.Config, []byte(changed), 0o600))
	before := len(log.String())
	settings, err := s.Reload()
	harness.Must(t, err)
	var warnings []string
	for _, line := range logLines(t, log.String()[before:]) {
		text := fmt.Sprint(line["msg"], ": ", line["setting"], " ", line["in_use"], " ", line["configured"])
		warnings = append(warnings, text)
	}
	wantWarnings := []string{
		"changed setting needs a restart: warehouse.dir " + dir + " " + filepath.Join(filepath.Dir(dir), "other"),
		"changed setting needs a restart: serve.listen 0.0.0.0:8090 127.0.0.1:1",
		"changed setting needs a restart: serve.sql true false",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	j := settings.Jobs.(*jobs)
	if j.cfg.Warehouse.Dir != dir || j.cfg.Serve.Listen != "0.0.0.0:8090" || j.night.Warehouse.Dir != dir ||
		j.cfg.Warehouse.Threads != 2 || !slices.Equal(settings.Retries, []time.Duration{7 * time.Minute}) ||
		s.hooks.current.Load() != j {
		t.Errorf("after the reload the jobs use %+v, want the old folder and address, and the other new settings", j.cfg)
	}

	harness.Must(t, os.RemoveAll(dir))
	if runs, err := s.Runs(); err == nil {
		t.Errorf("without its disk the ledger is %v, want an error", runs)
	}
}

// TestServeRunsUnderSystemd receives the messages to the service manager, gets pages, and starts a second server on
// the same address.
func TestServeRunsUnderSystemd(t *testing.T) {
	t.Parallel()
	log := &output{more: make(chan struct{}, 1)}
	g := newLoggingGlobals(t, io.Discard, log,
		"serve: {listen: '127.0.0.1:0'}\nschedule: {cron: '0 0 1 1 *', catch_up: false}\n")
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	harness.Must(t, err)
	defer manager.Close()
	g.LookupEnv = func(name string) (string, bool) {
		value, ok := map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "100000"}[name]
		return value, ok
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runServe(ctx, g) }()
	harness.Must(t, manager.SetReadDeadline(time.Now().Add(20*time.Second)))
	for _, want := range []string{"READY=1", "WATCHDOG=1"} {
		for got := ""; got != want; {
			message := make([]byte, 100)
			n, err := manager.Read(message)
			if err != nil {
				t.Fatalf("the service manager did not get %q: %v\n%s", want, err, log)
			}
			got, _, _ = strings.Cut(string(message[:n]), "\n")
		}
	}
	harness.Must(t, manager.SetReadDeadline(time.Time{}))
	go io.Copy(io.Discard, manager) // a full socket would stop the daemon
	address := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(log.String())[1]
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable,
		"/explore/": http.StatusServiceUnavailable, "/held": http.StatusNotFound, "/report": http.StatusNotFound,
		"/hooks": http.StatusNotFound} {
		response, err := http.Get("http://" + address + path)
		harness.Must(t, err)
		harness.Must(t, response.Body.Close())
		if response.StatusCode != want {
			t.Errorf("%s returned %d, want %d", path, response.StatusCode, want)
		}
	}
	second := newLoggingGlobals(t, io.Discard, io.Discard, "serve: {listen: '"+address+"'}\n")
	err = runServe(t.Context(), second)
	if err == nil || !strings.HasPrefix(err.Error(), "serve on "+address+" (serve.listen): ") {
		t.Errorf("a second server ended with %v, want an error that names its address and the setting", err)
	}
	stop(errors.New("the reason"))
	harness.Must(t, <-ended)
	if lines := linesWith(logLines(t, log.String()), "stopped"); len(lines) != 1 || lines[0]["reason"] != "the reason" {
		t.Errorf("the log is\n%s\nwant one line with the reason of the stop", log)
	}
}
