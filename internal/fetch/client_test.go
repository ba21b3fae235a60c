package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// script is a service that handles the nth request with step n, and further requests with
// the last step.
type script struct {
	steps []http.HandlerFunc
	n     atomic.Int64 // number of requests so far
}

func newScript(steps ...http.HandlerFunc) *script { return &script{steps: steps} }

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := int(s.n.Add(1)) - 1
	s.steps[min(i, len(s.steps)-1)](w, r)
}

// statusWithToken responds with a body that contains the token. Errors must not contain the token.
func statusWithToken(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintf(w, "status %d for %s", code, token)
	}
}

func textBody(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

func respondWith(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, text)
	}
}

// truncatedBody sends less than its Content-Length and closes the connection.
func truncatedBody(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `{"id":"`)
	panic(http.ErrAbortHandler)
}

func resetConnection(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// requestTokenInfo requests /auth/token with the secret query parameter access_token=hidden. Errors
// must not contain "hidden".
func requestTokenInfo(t *testing.T, c *fetch.Client) error {
	t.Helper()
	var got collector
	_, err := c.Get(t.Context(), fetch.Request{Stream: "token", Path: "/auth/token", Query: "access_token=hidden&x=1"}, got.read)
	return err
}

func TestRetries(t *testing.T) {
	good := textBody(`{"id":"a"}`)
	cases := []struct {
		name     string
		steps    []http.HandlerFunc
		requests int64
		want     string // part of the error; empty means success
	}{
		{"429 is retried", []http.HandlerFunc{statusWithToken(429), good}, 2, ""},
		{"500 is retried", []http.HandlerFunc{statusWithToken(500), good}, 2, ""},
		{"502 is retried", []http.HandlerFunc{statusWithToken(502), good}, 2, ""},
		{"503 is retried", []http.HandlerFunc{statusWithToken(503), good}, 2, ""},
		{"504 is retried", []http.HandlerFunc{statusWithToken(504), good}, 2, ""},
		{"a reset is retried", []http.HandlerFunc{resetConnection, good}, 2, ""},
		{"a truncated body is retried", []http.HandlerFunc{truncatedBody, good}, 2, ""},
		{"HTML is retried", []http.HandlerFunc{textBody("<html>"), good}, 2, ""},
		{"an empty body is retried", []http.HandlerFunc{textBody(""), good}, 2, ""},
		{"203 is accepted", []http.HandlerFunc{respondWith(203, `{"id":"a"}`)}, 1, ""},
		{"201 is retried", []http.HandlerFunc{respondWith(201, `{"id":"a"}`), good}, 2, ""},
		{"202 is retried", []http.HandlerFunc{respondWith(202, `{"id":"a"}`), good}, 2, ""},
		{"204 is retried", []http.HandlerFunc{respondWith(204, ""), good}, 2, ""},
		{"206 is retried", []http.HandlerFunc{respondWith(206, `{"id":"a"}`), good}, 2, ""},
		{"a persistent 206 is reported", []http.HandlerFunc{respondWith(206, `{"id":"a"}`)}, 3, "answered 206 Partial Content after 3 attempts"},
		{"400 is final", []http.HandlerFunc{statusWithToken(400), good}, 1, "answered 400 Bad Request"},
		{"403 with HTML of a proxy is retried", []http.HandlerFunc{respondWith(403, "<html>"), good}, 2, ""},
		{"401 is final", []http.HandlerFunc{statusWithToken(401), good}, 1, "put a valid token into api.token or its file"},
		{"403 is final", []http.HandlerFunc{statusWithToken(403), good}, 1, "refuses this endpoint"},
		{"404 is final", []http.HandlerFunc{statusWithToken(404), good}, 1, "the service has no such endpoint: check api.base_url"},
		{"501 is final", []http.HandlerFunc{statusWithToken(501), good}, 1, "answered 501 Not Implemented"},
		{"505 is final", []http.HandlerFunc{statusWithToken(505), good}, 1, "answered 505"},
		{"retries are limited", []http.HandlerFunc{statusWithToken(503)}, 3, "after 3 attempts"},
		{"persistent HTML is reported", []http.HandlerFunc{textBody("<html>\x1b[31m")}, 3, `body begins "<html>[31m"`},
		{"a body as long as the limit is accepted", []http.HandlerFunc{textBody(`{"id":"a"}` + strings.Repeat(" ", 4096-10))}, 1, ""},
		{"a body one byte longer is final", []http.HandlerFunc{textBody(`{"id":"a"}` + strings.Repeat(" ", 4097-10))}, 1, "exceeds the limit"},
		{"a body beyond the limit is final", []http.HandlerFunc{textBody(strings.Repeat("x", 5000))}, 1, "exceeds the limit"},
	}
	// Proxies and content networks send these in place of the service.
	for _, code := range []int{408, 425, 520, 521, 522, 523, 524, 525, 526, 527, 529, 530} {
		retried := cases[0]
		retried.name = fmt.Sprintf("%d of a proxy is retried", code)
		retried.steps = []http.HandlerFunc{statusWithToken(code), good}
		cases = append(cases, retried)
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			service := newScript(tc.steps...)
			cfg := serverConfig(t, service)
			cfg.MaxBody = 4096
			err := requestTokenInfo(t, newClient(t, cfg, nil))
			if n := service.n.Load(); n != tc.requests {
				t.Errorf("made %d requests, want %d", n, tc.requests)
			}
			checkError(t, err, tc.want)
		})
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want != "" && err == nil:
		t.Errorf("got no error, want %q", want)
	case err != nil && !strings.Contains(err.Error(), want):
		t.Errorf("got error %q, want it to contain %q", err, want)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if text := err.Error(); strings.Contains(text, token) || strings.Contains(text, "hidden") {
			t.Errorf("the error contains a secret: %q", text)
		}
	}
}

// TestErrorSummary checks that the summary contains no host, no query and no JSON.
func TestErrorSummary(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"status":503,"message":"say \"later\""}}`: `GET /v1/auth/token answered 400 Bad Request: say "later"`,
		`{"error":"invalid","detail":"too ` + token + `"}`:   "GET /v1/auth/token answered 400 Bad Request: too <secret>",
		`{"error":"invalid"}`:                                "GET /v1/auth/token answered 400 Bad Request: invalid",
		`{"error_description":"expired","error":"invalid"}`:  "GET /v1/auth/token answered 400 Bad Request: expired",
		`{"title":"Not valid","code":5}`:                     "GET /v1/auth/token answered 400 Bad Request: Not valid",
		`{"code":5}`:                                         "GET /v1/auth/token answered 400 Bad Request with JSON that has no message",
		"<!DOCTYPE html><title>later</title>":                "GET /v1/auth/token answered 400 Bad Request with a page of HTML",
		"no such\nthing":                                     "GET /v1/auth/token answered 400 Bad Request: no such thing",
		"":                                                   "GET /v1/auth/token answered 400 Bad Request",
	} {
		err := requestTokenInfo(t, newClient(t, testConfig(newScript(respondWith(http.StatusBadRequest, body))), nil))
		failed, ok := errors.AsType[*fetch.StatusError](err)
		if !ok || failed.Summary() != want || failed.Stream != "token" || failed.IsHTML != strings.HasPrefix(body, "<") {
			t.Errorf("body %s\ngot  %+v\nwant the stream \"token\" and the summary %s", body, failed, want)
		}
	}
}

// TestErrorBodiesAreLimited answers with an error page of a mebibyte, of which only the beginning is received.
func TestErrorBodiesAreLimited(t *testing.T) {
	c := newClient(t, testConfig(respondWith(http.StatusBadRequest, strings.Repeat("x", 1<<20))), nil)
	checkError(t, requestTokenInfo(t, c), "answered 400")
	if got := c.Telemetry()[0].Bytes; got != 64<<10 {
		t.Errorf("%d bytes of an error page were received, want 64 KiB", got)
	}
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestRequestHeaders(t *testing.T) {
	var seen *http.Request
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		io.WriteString(w, `{"id":"a"}`)
	}))
	cfg.UserAgent = "placementsync/1"
	harness.Must(t, requestTokenInfo(t, newClient(t, cfg, nil)))
	for name, want := range map[string]string{
		"Authorization": "Bearer " + token, "Accept": "application/json",
		"Accept-Encoding": "zstd, gzip", "User-Agent": "placementsync/1",
	} {
		if got := seen.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if seen.Method != http.MethodGet {
		t.Errorf("method is %s, want GET", seen.Method)
	}
}

func TestTokenIsReadAgainOnlyAfterItsRejection(t *testing.T) {
	reads := 0
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer pc_new" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, `{"id":"a"}`)
	}))
	cfg.Token = func(context.Context) (string, error) {
		reads++
		if reads == 1 {
			return "pc_old", nil
		}
		return "pc_new\n", nil
	}
	c := newClient(t, cfg, nil)
	for range 3 {
		harness.Must(t, requestTokenInfo(t, c))
	}
	if reads != 2 {
		t.Errorf("read the token %d times, want 2", reads)
	}
}

// TestTokenIsReplacedTwice rejects two tokens. While patience is left, each new token is tried.
func TestTokenIsReplacedTwice(t *testing.T) {
	for patience, want := range map[time.Duration]int{0: 2, time.Hour: 3} {
		reads := 0
		cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer pc_token3" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			io.WriteString(w, `{"id":"a"}`)
		}))
		cfg.Patience = patience
		cfg.Token = func(context.Context) (string, error) {
			reads++
			return fmt.Sprint("pc_token", min(reads, want)), nil
		}
		err := requestTokenInfo(t, newClient(t, cfg, nil))
		if isRejected := errors.Is(err, fetch.ErrAuth); isRejected != (patience == 0) || reads != want {
			t.Errorf("with a patience of %v: got %v after %d reads, want %d", patience, err, reads, want)
		}
	}
}

func TestEmptyTokenIsAuthError(t *testing.T) {
	service := newScript(statusWithToken(200))
	cfg := testConfig(service)
	cfg.Token = func(context.Context) (string, error) { return " ", nil }
	err := requestTokenInfo(t, newClient(t, cfg, nil))
	failed, _ := errors.AsType[*fetch.StatusError](err)
	if !errors.Is(err, fetch.ErrAuth) || service.n.Load() != 0 || failed.Attempts != 0 {
		t.Errorf("got %v after %d requests, want ErrAuth, no request and no attempt", err, service.n.Load())
	}
}

// TestUnreadableTokenError makes reading the token fail after goodReads successful reads. The error
// must mention a 401 only if the service responded with 401.
func TestUnreadableTokenError(t *testing.T) {
	cfg := testConfig(statusWithToken(401))
	reads := 0
	cfg.Token = func(context.Context) (string, error) {
		reads++
		if reads > 1 {
			return " ", nil
		}
		return token, nil
	}
	checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), "read the token: the file or variable is empty")
	for name, goodReads := range map[string]int{"on the first read": 0, "after a 401": 1} {
		reads = 0
		cfg.Token = func(context.Context) (string, error) {
			reads++
			if reads > goodReads {
				return "", errors.New("open token: permission denied")
			}
			return "pc_old", nil
		}
		err := requestTokenInfo(t, newClient(t, cfg, nil))
		if !errors.Is(err, fetch.ErrAuth) || !strings.Contains(err.Error(), "read the token: open token: permission denied") || !strings.Contains(err.Error(), "; the token cannot be read") {
			t.Errorf("%s: got %v, want ErrAuth with the cause", name, err)
		}
		if reads != goodReads+1 {
			t.Errorf("%s: the token was read %d times, want %d", name, reads, goodReads+1)
		}
		if mentions401 := strings.Contains(err.Error(), "answered 401"); mentions401 != (goodReads > 0) {
			t.Errorf("%s: the error mentions a 401: %v, want %v: %v", name, mentions401, goodReads > 0, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	otherService := newScript(textBody(`{"id":"stolen"}`))
	other := httptest.NewServer(otherService)
	t.Cleanup(other.Close)
	redirectTo := func(target string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }
	}
	t.Run("a redirect to another host is not followed", func(t *testing.T) {
		checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, redirectTo(other.URL+"/?token="+token)), nil)), "that host would receive the token")
		if otherService.n.Load() != 0 {
			t.Error("the other host received a request, want none")
		}
	})
	t.Run("a redirect within the host is followed", func(t *testing.T) {
		checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, newScript(redirectTo("/moved"), textBody(`{"id":"a"}`))), nil)), "")
	})
	t.Run("a redirect from https to http is not followed", func(t *testing.T) {
		plainRequests := 0
		cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Scheme == "http" {
				plainRequests++
			}
			http.Redirect(w, r, "http://service.test/v1/auth/token", http.StatusFound)
		}))
		cfg.BaseURL = "https://service.test/v1"
		checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), `the redirect to "http://service.test" was not followed`)
		if plainRequests > 0 {
			t.Errorf("%d requests were sent over http with the token, want none", plainRequests)
		}
	})
	t.Run("the token in the name of the host is not shown", func(t *testing.T) {
		target := redirectTo("http://" + token + ".other.test/")
		checkError(t, requestTokenInfo(t, newClient(t, testConfig(target), nil)), `the redirect to "http://<secret>.other.test" was not followed`)
	})
	t.Run("a redirect without a target is not followed", func(t *testing.T) {
		checkError(t, requestTokenInfo(t, newClient(t, testConfig(respondWith(http.StatusNotModified, "")), nil)), "because it has no target: correct api.base_url")
	})
	t.Run("five redirects are followed", func(t *testing.T) {
		again := redirectTo("/again")
		service := newScript(again, again, again, again, again, textBody(`{"id":"a"}`))
		checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, service), nil)), "")
	})
	t.Run("a redirect loop ends", func(t *testing.T) {
		checkError(t, requestTokenInfo(t, newClient(t, serverConfig(t, redirectTo("/again")), nil)), "there were more than 5 redirects")
	})
}

func TestTimeoutIncludesTheBody(t *testing.T) {
	trickle := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "{")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	cfg := serverConfig(t, newScript(trickle))
	cfg.Timeout, cfg.Retry.MaxRetries = 20*time.Millisecond, 1
	checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), "after 2 attempts: the attempt timed out (20ms)")
}

func TestCancelAbortsRequestsInFlight(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	cfg := serverConfig(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(stop)
		<-r.Context().Done()
	}))
	cfg.Retry.MaxRetries = 0
	var got collector
	d, err := newClient(t, cfg, nil).Details(ctx, outletDetail, numberedIDs(1), got.read)
	if !errors.Is(err, stop) || d.Failed > 0 {
		t.Errorf("got %v and %d failed ids, want the cause of the cancellation and no failed id", err, d.Failed)
	}
}

// idleTransport records that idle connections were closed.
type idleTransport struct {
	handlerTransport
	isClosed bool
}

func (i *idleTransport) CloseIdleConnections() { i.isClosed = true }

// TestCloseClosesIdleConnections closes a client. A daemon makes one for every night.
func TestCloseClosesIdleConnections(t *testing.T) {
	cfg := testConfig(nil)
	transport := &idleTransport{}
	cfg.Transport = transport
	c, err := fetch.New(cfg, nil, nil)
	harness.Must(t, err)
	c.Close()
	if !transport.isClosed {
		t.Error("the idle connections are open after Close")
	}
}

// TestTokensAreRemovedFromOtherBodies removes the token from the body of a webhook, before the first request. Without a
// token, the body stays as it is.
func TestTokensAreRemovedFromOtherBodies(t *testing.T) {
	cfg := testConfig(nil)
	body := []byte(`{"echo":"` + token + `"}`)
	if got := newClient(t, cfg, nil).RemoveTokens(t.Context(), body); string(got) != `{"echo":"<secret>"}` {
		t.Errorf("got %s, want the body without the token", got)
	}
	cfg.Token = func(context.Context) (string, error) { return "", errors.New("no token") }
	if got := newClient(t, cfg, nil).RemoveTokens(t.Context(), body); string(got) != string(body) {
		t.Errorf("got %s, want the body", got)
	}
}

// TestRequestedURLs checks the requested URLs of single records and lists. The base URL ends with a slash.
func TestRequestedURLs(t *testing.T) {
	var requested []string
	cfg := testConfig(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.RequestURI())
		io.WriteString(w, `{"id":"a"}`)
	}))
	cfg.BaseURL, cfg.Concurrency = "http://service.test/v1/", 1
	c := newClient(t, cfg, nil)
	var got collector
	detailWithQuery, listWithQuery := outletDetail, articleLists
	detailWithQuery.Query, listWithQuery.Query = "all=true", "all=true"
	for _, s := range []stream.Stream{outletDetail, detailWithQuery, articleLists, listWithQuery} {
		_, err := c.Walk(t.Context(), s, "a/b ?", got.read)
		harness.Must(t, err)
	}
	want := []string{"/v1/outlets/a%2Fb%20%3F", "/v1/outlets/a%2Fb%20%3F?all=true",
		"/v1/campaigns/a%2Fb%20%3F/articles?limit=10&page=1", "/v1/campaigns/a%2Fb%20%3F/articles?all=true&limit=10&page=1"}
	if diff := cmp.Diff(want, requested); diff != "" {
		t.Errorf("requested URLs (-want +got):\n%s", diff)
	}
}

// TestAdviceOfRefusals refuses requests with 403. Only the refusal of a whole endpoint is a reason to exclude its stream.
func TestAdviceOfRefusals(t *testing.T) {
	c := newClient(t, testConfig(statusWithToken(http.StatusForbidden)), nil)
	const endpoint, part = "the service refuses this endpoint to the token", "the service refuses this part of the stream to the token"
	for _, tc := range []struct {
		request fetch.Request
		want    string
	}{
		{fetch.Request{Path: "/orders"}, endpoint},
		{fetch.Request{Path: "/orders", Page: 1}, endpoint},
		{fetch.Request{Path: "/orders", Page: 2}, part},
		{fetch.Request{Path: "/orders/{id}", Param: "a"}, part},
	} {
		var got collector
		_, err := c.Get(t.Context(), tc.request, got.read)
		checkError(t, err, tc.want)
	}
}
