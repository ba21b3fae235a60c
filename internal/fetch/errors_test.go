package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// TestTextOfAStatusError checks the messages that operators read, and the kinds that callers match. The summary has no
// host, no query and no body.
func TestTextOfAStatusError(t *testing.T) {
	t.Parallel()
	const rejectedToken = " answered 401 Unauthorized; the service rejected the token, which was read a second time: put a valid token into api.token or its file"
	const refusedPart = " answered 403 Forbidden; the service refuses this part of the stream to the token: ask the operator of the service"
	const refusedByProxy = " answered 403 Forbidden; the response does not come from the service, but from a proxy or firewall before it: ask its operator to admit this client"
	const noEndpoint = " answered 404 Not Found; the service has no such endpoint: check api.base_url in the configuration"
	const unreadable = ": read the token; the token cannot be read: correct api.token_file or api.token, and allow this user to read the file"
	const tooLarge = ": body exceeds the limit of api.max_body; raise api.max_body to receive larger bodies"
	for name, c := range map[string]struct {
		err             StatusError
		text            string // after the URL
		summary         string // after the path, if it is not text
		isAuth, isScope bool
		isTransient     bool
		isAnswer        bool // the service processed the request
	}{
		"a status with a body": {err: StatusError{Code: 500, Attempts: 3, Body: `body begins "x"`, bodyMessage: "later"},
			text:        ` answered 500 Internal Server Error after 3 attempts: body begins "x"`,
			summary:     " answered 500 Internal Server Error after 3 attempts: later",
			isTransient: true},
		"a status without a name": {err: StatusError{Code: 521, Attempts: 1, bodyKind: "a page of HTML"},
			text: " answered 521", summary: " answered 521 with a page of HTML", isTransient: true},
		"no response": {err: StatusError{Attempts: 1, Err: errors.New("reset"), patienceUsedUp: true},
			text: ": reset; run.patience is used up", isTransient: true},
		"401":              {err: StatusError{Code: http.StatusUnauthorized}, text: rejectedToken, isAuth: true, isAnswer: true},
		"403 for a record": {err: StatusError{Code: http.StatusForbidden, isPart: true}, text: refusedPart, isScope: true, isAnswer: true},
		"403 of a proxy":   {err: StatusError{Code: http.StatusForbidden, fromProxy: true}, text: refusedByProxy, isTransient: true},
		"410 for a record": {err: StatusError{Code: http.StatusGone, isPart: true},
			text: " answered 410 Gone; the service has no such record or endpoint", isAnswer: true},
		"404 for a list":   {err: StatusError{Code: http.StatusNotFound}, text: noEndpoint, isAnswer: true},
		"too large":        {err: StatusError{Err: ErrTooLarge}, text: tooLarge},
		"not stored":       {err: StatusError{Err: ErrNotStored}, text: ": the response is not stored"},
		"unreadable token": {err: StatusError{Err: errTokenUnreadable}, text: unreadable, isAuth: true},
		"a malformed 200":  {err: StatusError{Code: 200, Err: ErrMalformed}, text: " answered 200 OK: malformed body", isTransient: true},
	} {
		e := &c.err
		e.Stream, e.URL = "orders", "https://api.example.com/v1/orders?page=2"
		text, summary := `fetch stream "orders": GET `+e.URL+c.text, "GET /v1/orders"+cmp.Or(c.summary, c.text)
		if e.Error() != text || e.Summary() != summary {
			t.Errorf("%s:\ngot  %s\nwant %s\nand the summary\ngot  %s\nwant %s", name, e.Error(), text, e.Summary(), summary)
		}
		if isAuth, isScope := errors.Is(e, ErrAuth), errors.Is(e, ErrScope); isAuth != c.isAuth || isScope != c.isScope {
			t.Errorf("%s: is ErrAuth %t and ErrScope %t, want %t and %t", name, isAuth, isScope, c.isAuth, c.isScope)
		}
		if e.isTransient() != c.isTransient || e.isAnswer() != c.isAnswer {
			t.Errorf("%s: is transient %t and an answer %t, want %t and %t", name, e.isTransient(), e.isAnswer(), c.isTransient, c.isAnswer)
		}
	}
}

// TestErrorsOfOtherCalls stops a call because another call failed. The failure must not count as one of the stopped call.
func TestErrorsOfOtherCalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := &StatusError{Code: 500}
	cancel(cause)
	stopped := stoppedErr(ctx, "orders")
	if _, isOwn := ownErr(stopped); isOwn {
		t.Errorf("%v counts as a failure of the stopped call", stopped)
	}
	if !errors.Is(stopped, cause) || !endsStream(stopped) {
		t.Errorf("%v ends the stream: %t, want the cause %v and true", stopped, endsStream(stopped), cause)
	}
	for err, want := range map[error]bool{
		cause: false, fmt.Errorf("read: %w", &StatusError{Code: 404}): false, &StatusError{Code: 401}: true, ErrStore: true,
	} {
		if endsStream(err) != want {
			t.Errorf("%v ends the stream: %t, want %t", err, endsStream(err), want)
		}
	}
}

// TestURLsOfRequests checks the path and the query of requests.
func TestURLsOfRequests(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Request{
		"/orders":              {Path: "/orders"},
		"/orders?page=3":       {Path: "/orders", Page: 3},
		"/orders?a=1":          {Path: "/orders", Query: "a=1"},
		"/orders?a=1&page=3":   {Path: "/orders", Query: "a=1", Page: 3},
		"/a/x%2F%3Fy/b?page=1": {Path: "/a/{id}/b", Param: "x/?y", Page: 1},
	} {
		if got, err := r.pathAndQuery(); got != want || err != nil {
			t.Errorf("%+v: got %s (%v), want %s", r, got, err, want)
		}
	}
	for _, param := range []string{"", ".", ".."} {
		_, err := Request{Stream: "articles", Path: "/a/{id}", Param: param}.pathAndQuery()
		want := fmt.Sprintf("fetch stream %q: GET /a/{id}: id %q cannot be used in a path", "articles", param)
		if err == nil || err.Error() != want {
			t.Errorf("id %q: got %v, want %s", param, err, want)
		}
	}
}

// TestDocumentedDefaults checks the defaults in the comments of Config and Retry.
func TestDocumentedDefaults(t *testing.T) {
	t.Parallel()
	c := Config{}.withDefaults()
	got := fmt.Sprintln(c.UserAgent, c.Burst, c.Concurrency, c.PageSize, c.MaxPasses, c.MaxPages, c.Timeout, c.MaxBody, c.Retry.Base, c.Retry.Max,
		c.Allowance != nil)
	if want := "placementsync 1 8 100 4 100000 30s 64000000 250ms 4s true\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	shared := NewAllowance(1, 1)
	if (Config{Allowance: shared}).withDefaults().Allowance != shared {
		t.Error("a shared allowance was replaced")
	}
	if _, err := New(Config{BaseURL: "http://[::1"}, nil, nil); err == nil {
		t.Error("a base URL that is no address was accepted")
	}
}
