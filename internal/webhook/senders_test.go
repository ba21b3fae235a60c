package webhook_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

func post(t *testing.T, url string, body []byte, headers map[string]string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	harness.Must(t, err)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	harness.Must(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	harness.Must(t, err)
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

func storedEvent(t *testing.T, dir, id string) stream.Event {
	t.Helper()
	for e, err := range webhook.Read(dir) {
		harness.Must(t, err)
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("the inbox lacks the event %s", id)
	return stream.Event{}
}

// TestDeliveryOfAnotherSender sends deliveries as the sender of spec 6.6 does during a rotation of secrets. The receiver
// knows only the previous secret. It belongs to the second signature.
func TestDeliveryOfAnotherSender(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	d.startStrict(5 * time.Minute)
	body := `{"article_id":"a"}`
	for name, c := range map[string]struct{ prefix, timestamp, sent string }{
		"seconds":      {"x-outpost-", fmt.Sprint(d.now.Unix()), "2026-11-20T02:00:00Z"},
		"milliseconds": {"x-outpost-", fmt.Sprint(d.now.UnixMilli() + 5), "2026-11-20T02:00:00.005Z"},
		"text":         {"X-Outpost-", "2026-11-20T03:00:00+01:00", "2026-11-20T03:00:00+01:00"},
		"first prefix": {"x-hook-", "2026-11-20T02:00:00Z", "2026-11-20T02:00:00Z"},
	} {
		status, text := post(t, d.url, []byte(body), map[string]string{
			c.prefix + "event-id": name, c.prefix + "topic": webhook.StatusChanged, c.prefix + "source": name + " source", c.prefix + "timestamp": c.timestamp,
			c.prefix + "signature": sign("new", body) + "," + strings.TrimPrefix(sign(secret, body), "v0="),
		})
		body += " " // so that the next event is no repetition
		if status != http.StatusNoContent {
			t.Errorf("%s: got status %d (%s), want 204", name, status, text)
			continue
		}
		want := stream.Event{ID: name, Topic: webhook.StatusChanged, Source: name + " source", Sent: c.sent, Received: d.now}
		got := storedEvent(t, d.dir, name)
		got.Body = nil
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
	}
}

// TestEnvelopeHasOnePrefix checks that headers of two prefixes are not mixed.
func TestEnvelopeHasOnePrefix(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	status, _ := post(t, d.url, []byte("{}"), map[string]string{"x-hook-event-id": "h", "x-hook-topic": "th",
		"x-outpost-event-id": "o", "x-outpost-topic": "to", "x-outpost-signature": sign(secret, "{}")})
	if status != http.StatusNoContent {
		t.Fatalf("got status %d, want 204", status)
	}
	if e := storedEvent(t, d.dir, "o"); e.Topic != "to" {
		t.Errorf("the topic is %q, want that of the signed prefix, %q", e.Topic, "to")
	}
}

func TestPrefixesAreReloaded(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	harness.Must(t, d.receiver.Reload(webhook.Policy{Secrets: []string{secret}, Prefixes: []string{"Sender_"}}))
	if status, _ := post(t, d.url, []byte("{}"), map[string]string{"sender_event-id": "s", "sender_signature": sign(secret, "{}")}); status != http.StatusNoContent {
		t.Errorf("a delivery with the new prefix got status %d, want 204", status)
	}
	if status := d.send(newDelivery("h")); status != http.StatusUnauthorized {
		t.Errorf("a delivery with the old prefix got status %d, want 401", status)
	}
}

func compress(t *testing.T, content string) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(content))
	harness.Must(t, err)
	harness.Must(t, w.Close())
	return packed.String()
}

// signedBody is a delivery with the headers of its body.
type signedBody struct {
	name, contentType, encoding string
	body                        string
	signature                   string // defaults to that of the body
	want                        int
	stored                      string // with the status 204
}

func (d *fixture) checkBodies(t *testing.T, bodies []signedBody) {
	t.Helper()
	for _, c := range bodies {
		t.Run(c.name, func(t *testing.T) {
			headers := map[string]string{
				"x-hook-event-id": c.name, "x-hook-topic": c.name, "Content-Type": c.contentType, "Content-Encoding": c.encoding,
				"x-hook-signature": cmp.Or(c.signature, sign(secret, c.body)),
			}
			status, text := post(t, d.url, []byte(c.body), headers)
			if status != c.want {
				t.Fatalf("got status %d (%s), want %d", status, text, c.want)
			}
			if c.want != http.StatusNoContent {
				return
			}
			if diff := gocmp.Diff(c.stored, string(storedEvent(t, d.dir, c.name).Body)); diff != "" {
				t.Errorf("stored body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeclaredCharsets signs bodies in several charsets. They are stored in UTF-8.
func TestDeclaredCharsets(t *testing.T) {
	const limit, content = 40, `{"author":"Zoë"}`
	const latin1 = "{\"author\":\"Zo\xeb\"}"
	d := newFixture(t, webhook.Config{MaxBody: limit}).start()
	d.checkBodies(t, []signedBody{
		{name: "latin 1", want: 204, contentType: "application/json; charset=ISO-8859-1", body: latin1, stored: content},
		{name: "packed", want: 204, contentType: "application/json; charset=iso-8859-1", encoding: "gzip", body: compress(t, latin1), stored: content},
		{name: "not declared", want: 204, contentType: "application/json", body: latin1, stored: latin1},
		{name: "larger than the limit", want: 413, contentType: "application/json; charset=iso-8859-1", body: `"` + strings.Repeat("\xeb", 30) + `"`},
	})
}

func TestPackedBodies(t *testing.T) {
	const limit = 1000
	content := `{"article_id":"` + strings.Repeat("a", limit-len(`{"article_id":""}`)) + `"}`
	packed := compress(t, content)
	cut := packed[:len(packed)-4]
	damaged := packed[:len(packed)-1] + string(packed[len(packed)-1]^1)
	d := newFixture(t, webhook.Config{MaxBody: limit}).start()
	d.checkBodies(t, []signedBody{
		{name: "gzip", want: 204, encoding: "gzip", body: packed, stored: content},
		{name: "gzip in capitals", want: 204, encoding: "X-GZIP", body: compress(t, "{}"), stored: "{}"},
		{name: "two parts", want: 204, encoding: "gzip", body: compress(t, "[1,") + compress(t, "2]"), stored: "[1,2]"},
		{name: "signed before it was packed", want: 401, encoding: "gzip", body: packed, signature: sign(secret, content)},
		{name: "unpacked by a proxy", want: 204, encoding: "gzip", body: `{"n":1}`, stored: `{"n":1}`},
		{name: "without the header", want: 204, body: compress(t, "[]"), stored: compress(t, "[]")},
		{name: "cut", want: 204, encoding: "gzip", body: cut, stored: cut},
		{name: "damaged", want: 204, encoding: "gzip", body: damaged, stored: damaged},
		{name: "larger than the limit", want: 413, encoding: "gzip", body: compress(t, content+" ")},
		{name: "unsigned and much larger", want: 401, encoding: "gzip", body: compress(t, strings.Repeat(" ", 900_000)), signature: sign("wrong", "x")},
		{name: "much larger than the limit", want: 413, encoding: "gzip", body: compress(t, strings.Repeat(" ", 900_000))},
	})
}

// TestUnpackedBodyUsesTheMemoryBudget sends a small body whose content is larger than the budget.
func TestUnpackedBodyUsesTheMemoryBudget(t *testing.T) {
	d := newFixture(t, webhook.Config{MaxInFlight: 4096}).start()
	packed := compress(t, strings.Repeat(" ", 5000))
	for range 2 {
		status, _ := post(t, d.url, []byte(packed), map[string]string{"Content-Encoding": "gzip", "x-hook-signature": sign(secret, packed)})
		if status != http.StatusServiceUnavailable {
			t.Errorf("got status %d, want 503", status)
		}
	}
	if status := d.send(delivery{id: "1", body: strings.Repeat(" ", 4000)}); status != http.StatusNoContent {
		t.Errorf("afterwards a body within the budget got status %d, want 204", status)
	}
}

// TestMissingHeadersAreNamed checks the log line and the response of deliveries without a header.
func TestMissingHeadersAreNamed(t *testing.T) {
	many := map[string]string{"X-Sender-Event-Id": "hidden-id", "Authorization": "hidden-token", "User-Agent": "hidden-agent",
		"X-" + strings.Repeat("Long", 100): "hidden-long"}
	for i := range 50 {
		many[fmt.Sprintf("Z-%02d", i)] = "hidden"
	}
	for _, c := range []struct {
		name      string
		headers   map[string]string
		response  string
		log       []string
		forbidden []string
	}{
		{"no signature", map[string]string{"X-Sender-Signature": "hidden-signature", "X-Sender-Topic": "hidden-topic"},
			"no header x-hook-signature or x-outpost-signature",
			[]string{"no header x-hook-signature or x-outpost-signature: if this was the service, compare serve.webhook_prefixes with the received headers (x-sender-signature, x-sender-topic)"}, nil},
		{"many headers", many, "no header x-hook-signature or x-outpost-signature",
			[]string{"authorization, ", "x-sender-event-id", ", …)"}, []string{"z-49", strings.Repeat("long", 30)}},
		{"no timestamp", map[string]string{"x-outpost-signature": sign(secret, "{}"), "X-Outpost-Timestamp-Ms": "1795140000000"},
			"no header x-outpost-timestamp", []string{"no header x-outpost-timestamp: ", "x-outpost-timestamp-ms"}, nil},
		{"an old timestamp", map[string]string{"x-hook-signature": sign(secret, "{}"), "x-hook-timestamp": "2026-11-20T01:00:00Z"},
			"timestamp too far from now", []string{"compare the clocks"}, []string{"no header"}},
		{"a wrong secret", map[string]string{"x-hook-signature": sign("other", "{}")},
			"no valid signature", []string{"compare the signing secrets"}, []string{"no header"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			receiver := webhook.New(webhook.Config{Dir: filepath.Join(t.TempDir(), "inbox")}, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
			policy := policyOf(secret)
			policy.MaxAge = time.Hour
			harness.Must(t, receiver.Reload(policy))
			harness.Must(t, receiver.Open())
			req := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader("{}"))
			for name, value := range c.headers {
				req.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			receiver.ServeHTTP(w, req)
			harness.Must(t, receiver.Close())
			if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusUnauthorized || got != c.response {
				t.Errorf("got status %d and %q, want 401 and %q", w.Code, got, c.response)
			}
			for _, want := range c.log {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q:\n%s", want, &log)
				}
			}
			for _, bad := range append(c.forbidden, "hidden", sign(secret, "{}")) {
				if strings.Contains(log.String(), bad) {
					t.Errorf("the log contains %q:\n%s", bad, &log)
				}
			}
		})
	}
}
