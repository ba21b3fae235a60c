package webhook_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

// deadlineRecorder records the read deadline of a request.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *deadlineRecorder) SetReadDeadline(at time.Time) error {
	r.deadline = at
	return nil
}

// unreadBody is the body of a request that must be refused before it is read.
type unreadBody struct{ t *testing.T }

func (b unreadBody) Read([]byte) (int, error) {
	b.t.Error("the body was read, want a refusal before")
	return 0, io.EOF
}

// openReceiver returns a receiver with its log.
func openReceiver(t *testing.T) (*webhook.Receiver, *strings.Builder, string) {
	t.Helper()
	var log strings.Builder
	dir := filepath.Join(t.TempDir(), "inbox")
	now := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	r := webhook.New(webhook.Config{Dir: dir}, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	harness.Must(t, errors.Join(r.Reload(policyOf(secret)), r.Open()))
	t.Cleanup(func() { harness.Must(t, r.Close()) })
	return r, &log, dir
}

func deliver(r *webhook.Receiver, signature string, body io.Reader) *deadlineRecorder {
	req := httptest.NewRequest(http.MethodPost, "/hooks", body)
	if signature != unsigned {
		req.Header.Set("x-hook-signature", signature)
	}
	w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
	r.ServeHTTP(w, req)
	return w
}

// TestBodiesHaveATimeLimit checks that a slow sender of a body does not occupy the receiver. The event has no timestamp,
// which it needs only if Policy.MaxAge is set, so there is nothing to log.
func TestBodiesHaveATimeLimit(t *testing.T) {
	r, log, _ := openReceiver(t)
	w := deliver(r, sign(secret, "{}"), strings.NewReader("{}"))
	if left := time.Until(w.deadline); w.Code != http.StatusNoContent || left <= 0 || left > 10*time.Second {
		t.Errorf("status %d, and the body must arrive within %s, want 204 and at most 10 s", w.Code, left)
	}
	if log.Len() > 0 {
		t.Errorf("the log is %q, want no line", log)
	}
}

// TestBodiesWithoutASignatureAreNotRead sends no header, headers that contain no signature of the scheme, and a header
// with more signatures than a rotation of secrets needs.
func TestBodiesWithoutASignatureAreNotRead(t *testing.T) {
	r, _, dir := openReceiver(t)
	for name, header := range map[string]string{
		"no header":           unsigned,
		"another scheme":      strings.Replace(sign(secret, "{}"), "v0=", "v1=", 1),
		"no digits":           "v0=",
		"too many signatures": strings.Repeat(sign(secret, "{}")+",", 62),
		"no hex digits":       "v0=" + strings.Repeat("xy", 32),
	} {
		if w := deliver(r, header, unreadBody{t}); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, w.Code)
		}
	}
	if w := deliver(r, strings.Repeat(sign("old", "{}")+",", 59)+sign(secret, "{}"), strings.NewReader("{}")); w.Code != http.StatusNoContent {
		t.Errorf("sixty signatures: status %d, want 204", w.Code)
	}
	if got := storedIDs(t, dir); len(got) != 1 {
		t.Errorf("the events %q are stored, want one", got)
	}
}

// TestRefusalsAreLoggedOnceAMinute sends unsigned requests, which anybody can send at any rate.
func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log, _ := openReceiver(t)
		for minute := range 3 {
			for range 6 {
				deliver(r, "v0=", strings.NewReader("{}"))
				<-time.After(10 * time.Second) // the time is virtual (synctest)
			}
			if n := strings.Count(log.String(), "webhook refused"); n != minute+1 {
				t.Errorf("after minute %d the log has %d lines, want one a minute:\n%s", minute+1, n, log)
			}
		}
	})
}

// TestSignedDeliveriesAreLogged sends signed deliveries that an operator should know about, and one after Close.
func TestSignedDeliveriesAreLogged(t *testing.T) {
	var log strings.Builder
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	const maxTopics = 8
	cfg := webhook.Config{Dir: filepath.Join(t.TempDir(), "inbox"), MaxInFlight: 100, MaxEvents: maxTopics}
	r := webhook.New(cfg, logger, time.Now)
	harness.Must(t, errors.Join(r.Reload(policyOf(secret)), r.Open()))
	send := func(id, topic, body string) {
		req := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(body))
		req.Header.Set("x-hook-signature", sign(secret, body))
		req.Header.Set("x-hook-event-id", id)
		req.Header.Set("x-hook-topic", topic)
		r.ServeHTTP(httptest.NewRecorder(), req)
	}
	for i := range maxTopics + 1 {
		send(fmt.Sprint(i), fmt.Sprint("topic ", i), "{}") // the last one is refused
	}
	send("0", "topic 0", "{}") // a retry is no line
	send("other", "topic 0", "{}")
	send("large", "", strings.Repeat(" ", 101))
	send("new", "", "[]")
	harness.Must(t, r.Close())
	send("late", "", "[]")
	want := `level=WARN msg="webhook refused" ` +
		`reason="the same body was sent under many topics, so a delivery was captured: change the signing secret"
level=WARN msg="webhook repeated under another id" ` +
		`reason="the event was stored once; the delivery was repeated by hand, or captured by an attacker: ` +
		`if it was not repeated by hand, change the signing secret"
level=WARN msg="webhook not stored" ` +
		`reason="other deliveries used the memory while the body arrived; the service sends it again"
level=ERROR msg="webhook not stored" reason="the inbox is full until a night succeeds: ` +
		`run placementsync runs to see why nights fail, or raise serve.inbox_max"
level=ERROR msg="webhook not stored" error="receive a webhook: the receiver is not running"
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestLargestBodyByDefault sends bodies of a mebibyte, and of one byte more.
func TestLargestBodyByDefault(t *testing.T) {
	r, _, _ := openReceiver(t)
	for size, want := range map[int]int{1 << 20: http.StatusNoContent, 1<<20 + 1: http.StatusRequestEntityTooLarge} {
		body := bytes.Repeat([]byte{' '}, size)
		if w := deliver(r, sign(secret, string(body)), bytes.NewReader(body)); w.Code != want {
			t.Errorf("a body of %d bytes got status %d, want %d", size, w.Code, want)
		}
	}
}

// TestHeadersAreStoredAsText sends headers that are not UTF-8, and headers whose limit is within a character.
func TestHeadersAreStoredAsText(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	const limit = 256
	long := strings.Repeat("a", limit-1) + "é and more"
	for id, topic := range map[string]string{"invalid": "a\xffb", "long": long} {
		d.send(delivery{id: id, topic: topic, source: topic, timestamp: topic, body: `{"n":"a"}`})
	}
	for e, err := range webhook.Read(d.dir) {
		harness.Must(t, err)
		for _, header := range []string{e.Topic, e.Source, e.Sent} {
			if !utf8.ValidString(header) || len(header) > limit+4 { // an incomplete character is replaced by a longer one
				t.Errorf("the header %q is stored, want at most 256 bytes of text", header)
			}
		}
	}
}
