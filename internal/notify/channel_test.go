package notify_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/notify"
	"placementsync/internal/testing/harness"
)

// newNotifier returns a notifier with the given timeout and almost no pause between
// attempts.
func newNotifier(timeout time.Duration) *notify.Notifier {
	return notify.New(notify.Config{UserAgent: "test", Timeout: timeout, Backoff: time.Millisecond}, slog.New(slog.DiscardHandler))
}

const (
	longTimeout  = 20 * time.Second       // never reached by a receiver that responds
	shortTimeout = 100 * time.Millisecond // for receivers that never respond
)

func testMessage() notify.Message {
	return notify.Message{ID: "0123abcd", Subject: "placementsync: bills: 2 new findings", Text: "bills: 2 new findings\n- a\n.\n- ä <b>&", Body: []byte(`{"id":"0123abcd"}`)}
}

// TestDeliverByHTTP checks the requests to a webhook and to Slack. The text for Slack contains links
// and mentions, which must be escaped.
func TestDeliverByHTTP(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), string(body)}, " "))
		if r.UserAgent() != "test" || !r.Close {
			t.Errorf("the user agent is %q and the connection is closed: %t, want test and true", r.UserAgent(), r.Close)
		}
	}))
	defer server.Close()
	hostile := testMessage()
	hostile.Text = "see <https://evil.example|here> & <!channel>\n*all* @all,@here a1@b.example c@b.example ![](https://evil.example) [a][b] [c] d"
	for _, c := range []struct {
		kind string
		m    notify.Message
	}{{notify.Webhook, testMessage()}, {notify.Slack, hostile}} {
		if err := newNotifier(longTimeout).Deliver(t.Context(), notify.Channel{Kind: c.kind, URL: server.URL + "/s3cret"}, c.m); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`POST /s3cret 0123abcd application/json {"id":"0123abcd"}`,
		`POST /s3cret 0123abcd application/json {"mrkdwn":false,"text":"see \u0026lt;https://evil.example|here\u0026gt; \u0026amp; \u0026lt;!channel\u0026gt;\n` +
			"*all* @\u200ball,@\u200bhere a1@b.example c@b.example ![]\u200b(https://evil.example) [a]\u200b[b] [c] d" +
			`","unfurl_links":false,"unfurl_media":false}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received requests (-want +got):\n%s", diff)
	}
	if err := newNotifier(longTimeout).Deliver(t.Context(), notify.Channel{Kind: "fax"}, testMessage()); err == nil {
		t.Error("Deliver accepted the unknown channel kind fax")
	}
}

// TestDeliverToFailingReceivers checks that each kind of failure ends in bounded time with
// an error that does not contain the address.
func TestDeliverToFailingReceivers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		respond http.HandlerFunc
		calls   int64
		want    string
		timeout time.Duration
	}{
		"status 404":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, 1, "the receiver returned 404 Not Found", longTimeout},
		"status 500":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 3, "the receiver returned 500", longTimeout},
		"no response":       {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 3, "reach the receiver: ", shortTimeout},
		"connection closed": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, 3, "reach the receiver: EOF", longTimeout},
		"status 200 with an endless body": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 1, "", shortTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				c.respond(w, r)
			}))
			defer server.Close()
			err := newNotifier(c.timeout).Deliver(t.Context(), notify.Channel{Kind: notify.Webhook, URL: server.URL + "/s3cret"}, testMessage())
			if isRefused := errors.As(err, new(*notify.RefusedError)); isRefused != (name == "status 404") {
				t.Errorf("got %v, a RefusedError: %t, want %t", err, isRefused, !isRefused)
			}
			if c.want == "" != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")) || calls.Load() != c.calls {
				t.Errorf("got %d requests and the error %v, want %d and %q", calls.Load(), err, c.calls, c.want)
			}
		})
	}
}

// TestProxyIsUsed sends an alert to a host that only the proxy knows.
func TestProxyIsUsed(t *testing.T) {
	t.Parallel()
	var requested string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { requested = r.URL.String() }))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	harness.Must(t, err)
	notifier := notify.New(notify.Config{FailureURL: "http://receiver.test/alerts", Proxy: http.ProxyURL(address)}, slog.New(slog.DiscardHandler))
	if !notifier.Alert(t.Context(), notify.Alert{Event: notify.Failed}) || requested != "http://receiver.test/alerts" {
		t.Errorf("the proxy got a request for %q, want one for the receiver", requested)
	}
}
