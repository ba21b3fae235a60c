package notify_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/notify"
)

// sender delivers without a pause between attempts, each within a time.
func sender(timeout time.Duration) *notify.Notifier {
	return notify.New(notify.Config{UserAgent: "test", Timeout: timeout, Backoff: time.Millisecond}, slog.New(slog.DiscardHandler))
}

const (
	patient = 20 * time.Second      // whoever answers does so earlier
	hasty   = 20 * time.Millisecond // for those who never do
)

func letter() notify.Message {
	return notify.Message{ID: "0123abcd", Subject: "placementsync: bills: 2 new findings", Text: "bills: 2 new findings\n- a\n.\n- ä <b>&", Body: []byte(`{"id":"0123abcd"}`)}
}

func TestChannelsByHTTP(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), string(body)}, " "))
	}))
	defer server.Close()
	hostile := letter()
	hostile.Text = "see <https://evil.example|here> & <!channel>\n*all* @all,@here a@b.example ![](https://evil.example) [a][b]"
	for _, c := range []struct {
		kind string
		m    notify.Message
	}{{notify.Webhook, letter()}, {notify.Slack, hostile}} {
		if err := sender(patient).Deliver(t.Context(), notify.Channel{Kind: c.kind, URL: server.URL + "/s3cret"}, c.m); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`POST /s3cret 0123abcd application/json {"id":"0123abcd"}`,
		`POST /s3cret 0123abcd application/json {"text":"see \u0026lt;https://evil.example|here\u0026gt; \u0026amp; \u0026lt;!channel\u0026gt;\n*all* @` + "\u200b" + `all,@` + "\u200b" + `here a@b.example ![]` + "\u200b" + `(https://evil.example) [a]` + "\u200b" + `[b]","mrkdwn":false,"unfurl_links":false,"unfurl_media":false}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
	var slack struct{ Text string }
	_, body, _ := strings.Cut(got[1], "json ")
	if err := json.Unmarshal([]byte(body), &slack); err != nil || slack.Text != "see &lt;https://evil.example|here&gt; &amp; &lt;!channel&gt;\n*all* @\u200ball,@\u200bhere a@b.example ![]\u200b(https://evil.example) [a]\u200b[b]" {
		t.Errorf("Slack reads %q (%v)", slack.Text, err)
	}
	if err := sender(patient).Deliver(t.Context(), notify.Channel{Kind: "fax"}, letter()); err == nil {
		t.Error("a kind that is none was taken")
	}
}

// TestReceiversThatFail: each fails in its way, in bounded time, and the error shows no
// address.
func TestReceiversThatFail(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		calls  int64
		want   string
		within time.Duration
	}{
		"refuses":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, 1, "the receiver answered 404 Not Found", patient},
		"fails":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 3, "the receiver answered 500", patient},
		"hangs":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 3, "reach the receiver: ", hasty},
		"hangs up": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, 3, "reach the receiver: EOF", patient},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, 1, "", hasty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				c.answer(w, r)
			}))
			defer server.Close()
			err := sender(c.within).Deliver(t.Context(), notify.Channel{Kind: notify.Webhook, URL: server.URL + "/s3cret"}, letter())
			if refused := errors.As(err, new(*notify.RefusedError)); refused != (name == "refuses") {
				t.Errorf("refused is %t (%v)", refused, err)
			}
			if c.want == "" != (err == nil) || err != nil && (!strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret")) || calls.Load() != c.calls {
				t.Errorf("%d calls, %v; want %d, %q", calls.Load(), err, c.calls, c.want)
			}
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sender(patient).Deliver(t.Context(), notify.Channel{Kind: notify.Slack, URL: "http://" + address + "/s3cret"}, letter()); err == nil ||
		!strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("nobody listens: %v", err)
	}
}
