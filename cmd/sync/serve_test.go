package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/sim"
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
