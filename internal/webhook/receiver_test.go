package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

const secret = "whsec-of-the-test"

// fixture is a receiver behind an HTTP server.
type fixture struct {
	t        testing.TB
	receiver *webhook.Receiver
	url      string
	dir      string
	now      time.Time
	stop     func()
}

// policyOf returns a policy without a limit for timestamps.
func policyOf(secrets ...string) webhook.Policy {
	return webhook.Policy{Secrets: secrets, Prefixes: []string{"x-hook-", "x-outpost-"}}
}

// owner is a webhook.Owner that calls the functions in its fields. If limit is nil, there is no
// limit.
type owner struct {
	limit  func(bytes int64) int64
	stored func(stream.Event)
}

// InboxLimit implements webhook.Owner.
func (o owner) InboxLimit(bytes int64) int64 {
	if o.limit == nil {
		return 0
	}
	return o.limit(bytes)
}

// EventStored implements webhook.Owner.
func (o owner) EventStored(e stream.Event) {
	if o.stored != nil {
		o.stored(e)
	}
}

// newFixture starts an HTTP server with a receiver that knows the secret. The method start opens the receiver.
func newFixture(t testing.TB, cfg webhook.Config) *fixture {
	t.Helper()
	d := &fixture{t: t, dir: cfg.Dir, now: time.Date(2026, 11, 20, 3, 0, 0, 0, time.FixedZone("", 3600))}
	if d.dir == "" {
		d.dir = filepath.Join(t.TempDir(), "inbox")
	}
	cfg.Dir = d.dir
	d.receiver = webhook.New(cfg, slog.New(slog.DiscardHandler), func() time.Time { return d.now })
	harness.Must(t, d.receiver.Reload(policyOf(secret)))
	server := httptest.NewServer(d.receiver)
	d.url = server.URL
	d.stop = sync.OnceFunc(func() { server.Close() })
	t.Cleanup(d.stop)
	return d
}

// start opens the receiver and sends one event. d.stop closes the receiver.
func (d *fixture) start() *fixture {
	d.t.Helper()
	harness.Must(d.t, d.receiver.Open())
	closeServer := d.stop
	d.stop = sync.OnceFunc(func() {
		closeServer()
		harness.Must(d.t, d.receiver.Close())
	})
	d.t.Cleanup(d.stop)
	if status := d.send(delivery{id: "hello", topic: "hello", body: "{}"}); status != http.StatusNoContent {
		d.t.Fatalf("the first delivery got status %d, want 204", status)
	}
	return d
}

// delivery is one request. An empty method means POST. An empty signature means a valid signature.
// Other empty headers are omitted.
type delivery struct {
	method, id, topic, body string
	signature               string
	timestamp               string
	source                  string
}

// newDelivery returns a delivery with a unique body.
func newDelivery(id string) delivery { return delivery{id: id, body: fmt.Sprintf("{%q:1}", id)} }

func sign(key, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// unsigned is the signature of a delivery without the signature header.
const unsigned = "none"

func (d *fixture) request(hook delivery) *http.Request {
	method := hook.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequest(method, d.url, strings.NewReader(hook.body))
	if err != nil {
		d.t.Fatal(err)
	}
	if hook.signature == "" {
		hook.signature = sign(secret, hook.body)
	}
	if hook.signature != unsigned {
		req.Header.Set("x-hook-signature", hook.signature)
	}
	for name, value := range map[string]string{"x-hook-event-id": hook.id, "x-hook-topic": hook.topic,
		"x-hook-timestamp": hook.timestamp, "x-hook-source": hook.source} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req
}

// send returns the status of the response.
func (d *fixture) send(hook delivery) int {
	d.t.Helper()
	status, _ := d.do(d.request(hook))
	return status
}

// do returns the status and the headers of the response.
func (d *fixture) do(req *http.Request) (int, http.Header) {
	d.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	harness.Must(d.t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

// storedIDs returns the ids of the events in a folder, without the event that fixture.start sends.
func storedIDs(t testing.TB, dir string) []string {
	t.Helper()
	var ids []string
	for e, err := range webhook.Read(dir) {
		harness.Must(t, err)
		if e.ID != "hello" {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func TestOnlySignedDeliveriesAreStored(t *testing.T) {
	const body = `{"a": 1}`
	good := sign(secret, body)
	cases := []struct {
		name, signature string
		want            int
	}{
		{"valid", good, http.StatusNoContent},
		{"upper case digits", "v0=" + strings.ToUpper(good[3:]), http.StatusNoContent},
		{"the second of two is valid", "v0=" + strings.Repeat("0", 64) + "," + good, http.StatusNoContent},
		{"the first of two is valid", good + ", " + sign("other", body), http.StatusNoContent},
		{"valid under the second secret", sign("second", body), http.StatusNoContent},
		{"valid beside another scheme", "v1=abc," + good, http.StatusNoContent},
		{"one v0= for two signatures, the first is valid", good + "," + sign("other", body)[3:], http.StatusNoContent},
		{"one v0= for three signatures, the last is valid", sign("other", body) + ",00, " + good[3:], http.StatusNoContent},
		{"one v1= for two signatures, the last is valid", "v1=" + strings.Repeat("0", 64) + "," + good[3:], http.StatusUnauthorized},
		{"valid under v1= after a wrong one under v0=", sign("other", body) + ",v1=00," + good[3:], http.StatusUnauthorized},
		{"valid before v0=", good[3:] + "," + sign("other", body), http.StatusUnauthorized},
		{"signature of another body", sign(secret, body+" "), http.StatusUnauthorized},
		{"signed with an unknown secret", sign("other", body), http.StatusUnauthorized},
		{"signed with the empty secret", sign("", body), http.StatusUnauthorized},
		{"only commas", ",,,", http.StatusUnauthorized},
		{"without the scheme", good[3:], http.StatusUnauthorized},
		{"cut short", good[:len(good)-2], http.StatusUnauthorized},
		{"too long", good + "00", http.StatusUnauthorized},
	}
	d := newFixture(t, webhook.Config{}).start()
	harness.Must(t, d.receiver.Reload(policyOf(secret, "second")))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := d.send(delivery{id: c.name, body: body, signature: c.signature}); got != c.want {
				t.Errorf("got status %d, want %d", got, c.want)
			}
		})
	}
	if counts := d.receiver.Counts(); counts[webhook.Stored] != 2 || counts[webhook.Repeated] != 7 { // start stores one event
		t.Errorf("counts are %v, want one stored and its 7 signed repetitions", counts)
	}
}

func TestSeveralSignatureHeadersCountAsOne(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	req := d.request(delivery{id: "1", body: "{}", signature: sign("other", "{}")})
	req.Header.Add("x-hook-signature", sign(secret, "{}"))
	if status, _ := d.do(req); status != http.StatusNoContent {
		t.Errorf("got status %d, want 204", status)
	}
}

func TestNoSecretMeansNoEndpoint(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	before := httptest.NewRecorder()
	webhook.New(webhook.Config{}, nil, nil).ServeHTTP(before, d.request(delivery{body: "{}"}))
	if before.Code != http.StatusNotFound {
		t.Errorf("before the first Reload, a delivery got status %d, want 404", before.Code)
	}
	harness.Must(t, d.receiver.Reload(policyOf()))
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if got := d.send(delivery{method: method, body: "{}", signature: sign("", "{}")}); got != http.StatusNotFound {
			t.Errorf("%s got status %d, want 404", method, got)
		}
	}
}

func TestEmptySecretIsRejected(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	for _, secrets := range [][]string{{""}, {secret, ""}} {
		if d.receiver.Reload(policyOf(secrets...)) == nil {
			t.Errorf("Reload accepted an empty secret in %q", secrets)
		}
	}
	if got := d.send(delivery{id: "1", body: "{}"}); got != http.StatusNoContent {
		t.Errorf("after the failed Reload, a signed delivery got status %d, want 204", got)
	}
}

func TestReloadRotatesTheSecret(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	harness.Must(t, d.receiver.Reload(policyOf("new")))
	if got := d.send(delivery{id: "1", body: "{}"}); got != http.StatusUnauthorized {
		t.Errorf("a signature with the old secret got status %d, want 401", got)
	}
	if got := d.send(delivery{id: "1", body: "{}", signature: sign("new", "{}")}); got != http.StatusNoContent {
		t.Errorf("a signature with the new secret got status %d, want 204", got)
	}
}

func TestOnlyPostedBodiesOfAllowedSizeAreStored(t *testing.T) {
	d := newFixture(t, webhook.Config{MaxBody: 100}).start()
	long := strings.Repeat("x", 101)
	cases := []struct {
		name string
		hook delivery
		want int
	}{
		{"a GET", delivery{method: http.MethodGet}, http.StatusMethodNotAllowed},
		{"a PUT", delivery{method: http.MethodPut, body: "{}"}, http.StatusMethodNotAllowed},
		{"a body that is too large", delivery{body: long}, http.StatusRequestEntityTooLarge},
		{"a body as large as allowed", delivery{id: "1", body: long[1:]}, http.StatusNoContent},
		{"not JSON", delivery{id: "2", topic: webhook.StatusChanged, body: "<xml/>"}, http.StatusNoContent},
		{"an empty body", delivery{id: "3", topic: "comment.created"}, http.StatusNoContent},
		{"an unknown topic", delivery{id: "4", topic: "order.paid", body: "{}"}, http.StatusNoContent},
		{"no topic", delivery{id: "5", body: "[]"}, http.StatusNoContent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d.now = d.now.Add(time.Nanosecond)
			if got := d.send(c.hook); got != c.want {
				t.Errorf("got status %d, want %d", got, c.want)
			}
		})
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5"}, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
	_, header := d.do(d.request(delivery{method: http.MethodGet}))
	if allow := header.Get("Allow"); allow != http.MethodPost {
		t.Errorf("a GET is told to use %q, want POST", allow)
	}
}

func TestOnlyFreshDeliveriesAreAccepted(t *testing.T) {
	d := newFixture(t, webhook.Config{})
	d.startStrict(config.Default().Serve.WebhookMaxAge)
	at := func(offset time.Duration) string { return d.now.Add(offset).Format(time.RFC3339Nano) }
	cases := []struct {
		name, timestamp string
		want            int
	}{
		{"now", at(0), http.StatusNoContent},
		{"as old as allowed", at(-5 * time.Minute), http.StatusNoContent},
		{"in another zone", d.now.In(time.FixedZone("", 3*3600)).Format(time.RFC3339), http.StatusNoContent},
		{"without a zone", d.now.UTC().Format("2006-01-02T15:04:05.999"), http.StatusNoContent},
		{"the service's clock is ahead", at(4 * time.Minute), http.StatusNoContent},
		{"older than allowed", at(-5*time.Minute - time.Millisecond), http.StatusUnauthorized},
		{"too far in the future", at(6 * time.Minute), http.StatusUnauthorized},
		{"no timestamp", "", http.StatusUnauthorized},
		{"not a time", "yesterday", http.StatusUnauthorized},
		{"seconds since 1970", fmt.Sprint(d.now.Unix()), http.StatusNoContent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := d.send(delivery{id: c.name, body: "{}", timestamp: c.timestamp}); got != c.want {
				t.Errorf("got status %d, want %d", got, c.want)
			}
		})
	}
	t.Run("a late retry of a known event", func(t *testing.T) {
		if got := d.send(delivery{id: "now", body: "{}", timestamp: at(-48 * time.Hour)}); got != http.StatusNoContent {
			t.Errorf("got status %d, after which the service would repeat the delivery; want 204", got)
		}
	})
}

// startStrict is like start. It sets the limit for timestamps afterwards, because the first event has
// no timestamp.
func (d *fixture) startStrict(maxAge time.Duration) {
	harness.Must(d.t, d.receiver.Reload(policyOf(secret)))
	d.start()
	policy := policyOf(secret)
	policy.MaxAge = maxAge
	harness.Must(d.t, d.receiver.Reload(policy))
}

func TestARepeatedDeliveryIsStoredOnce(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	hook := delivery{id: "e1", topic: "no text\xff", body: `{"n": 1}`} // the topic is stored as text
	for range 3 {
		if got := d.send(hook); got != http.StatusNoContent {
			t.Fatalf("got status %d, want 204", got)
		}
	}
	d.stop()
	notified := 0
	restarted := newFixture(t, webhook.Config{Dir: d.dir, Owner: owner{stored: func(stream.Event) { notified++ }}}).start()
	for _, id := range []string{"e1", "e2"} { // e2 is the same event under another id
		hook.id = id
		if got := restarted.send(hook); got != http.StatusNoContent {
			t.Fatalf("id %s got status %d after a restart, want 204", id, got)
		}
	}
	if diff := cmp.Diff([]string{"e1"}, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
	want := map[string]uint64{}
	for _, result := range webhook.Results() {
		want[result] = 0
	}
	want[webhook.Replayed] = 2 // the event that fixture.start sends, and e1
	want[webhook.Repeated] = 1 // e2
	if notified > 0 {
		t.Errorf("EventStored was called %d times for events that are known, want never", notified)
	}
	if diff := cmp.Diff(want, restarted.receiver.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestConcurrentRepetitionsAreStoredOnce(t *testing.T) {
	var mu sync.Mutex
	stored := map[string]int{}
	d := newFixture(t, webhook.Config{Owner: owner{stored: func(e stream.Event) {
		mu.Lock()
		defer mu.Unlock()
		stored[e.ID]++
	}}}).start()
	var senders sync.WaitGroup
	for i := range 200 {
		senders.Go(func() {
			if got := d.send(newDelivery(fmt.Sprint("e", i%20))); got != http.StatusNoContent {
				t.Errorf("got status %d, want 204", got)
			}
		})
	}
	senders.Wait()
	d.stop()
	http.DefaultClient.CloseIdleConnections()
	if got := storedIDs(t, d.dir); len(got) != 20 {
		t.Errorf("%d events are stored, want 20", len(got))
	}
	delete(stored, "hello")
	for i := range 20 {
		if id := fmt.Sprint("e", i); stored[id] != 1 {
			t.Errorf("EventStored was called %d times for %s, want once", stored[id], id)
		}
	}
}

func TestMissingAndLongIDsBecomeHashes(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	longest, long := strings.Repeat("long", 64), strings.Repeat("long", 64)+"."
	for _, hook := range []delivery{{topic: "a", body: "{}"}, {topic: "a", body: "{}"}, {topic: "b", body: "{}"}, {topic: "a", body: "[]"},
		{id: longest, topic: "c", body: "{}"}, {id: long, topic: "d", body: "{}"}, {id: "no text\xff", topic: "e", body: "{}"}} {
		d.now = d.now.Add(time.Nanosecond)
		if got := d.send(hook); got != http.StatusNoContent {
			t.Fatalf("got status %d, want 204", got)
		}
	}
	want := []string{"body:" + hash("a\x00{}"), "body:" + hash("b\x00{}"), "body:" + hash("a\x00[]"), longest, "id:" + hash(long), "id:" + hash("no text\xff")}
	if diff := cmp.Diff(want, storedIDs(t, d.dir)); diff != "" {
		t.Errorf("stored ids (-want +got):\n%s", diff)
	}
}

func TestOneInboxHasOneReceiver(t *testing.T) {
	d := newFixture(t, webhook.Config{}).start()
	second := newFixture(t, webhook.Config{Dir: d.dir})
	if err := second.receiver.Open(); err == nil || !strings.Contains(err.Error(), "another process receives into "+d.dir) {
		t.Errorf("a second receiver ended with %v, want an error that the inbox is in use", err)
	}
	status, header := second.do(second.request(delivery{id: "1", body: "{}"}))
	if wait := header.Get("Retry-After"); status != http.StatusServiceUnavailable || wait != "1" {
		t.Errorf("the second receiver responds with %d and Retry-After %q, want 503 and 1", status, wait)
	}
	harness.Must(t, d.receiver.Close())
	if got := d.send(newDelivery("1")); got != http.StatusServiceUnavailable {
		t.Errorf("after Close, a delivery got status %d, want 503", got)
	}
	harness.Must(t, d.receiver.Open())
	harness.Must(t, second.receiver.Reload(policyOf(secret)))
	if err := second.receiver.Open(); err == nil {
		t.Error("a second receiver opened an inbox that was opened again")
	}
}
