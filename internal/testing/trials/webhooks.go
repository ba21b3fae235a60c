package trials

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// HookSecret signs the deliveries.
const HookSecret = "whsec-of-the-trials"

// Receiver receives webhooks over HTTP into the inbox of a warehouse.
type Receiver struct {
	t        *testing.T
	receiver *webhook.Receiver
	server   *httptest.Server
}

// NewReceiver returns a receiver, which the caller must close. It creates a missing warehouse.
func NewReceiver(t *testing.T, w *warehouse.Warehouse, now func() time.Time) *Receiver {
	t.Helper()
	testharness.Must(t, w.Folder.Create(nil))
	inbox, err := w.Folder.MakeInbox()
	testharness.Must(t, err)
	receiver := webhook.New(webhook.Config{Dir: inbox, Disk: w.Folder.Disk()}, slog.New(slog.DiscardHandler), now)
	testharness.Must(t, errors.Join(receiver.Reload(webhook.Policy{Secrets: []string{HookSecret}, Prefixes: []string{"x-hook-"}}), receiver.Open()))
	return &Receiver{t, receiver, httptest.NewServer(receiver)}
}

// Deliver sends a delivery, which must be accepted. d and err are the results of a function such as StatusChange.
func (r *Receiver) Deliver(d sim.Delivery, err error) {
	r.t.Helper()
	testharness.Must(r.t, err)
	status, err := sim.Deliver(r.t.Context(), r.server.Client(), r.server.URL, d, HookSecret)
	testharness.Must(r.t, err)
	if status != http.StatusNoContent {
		r.t.Fatalf("the response to event %s has status %d, want 204", d.ID, status)
	}
}

// Close ends the receiver.
func (r *Receiver) Close() {
	r.server.Close()
	testharness.Must(r.t, r.receiver.Close())
}

// WebhookHarness is a harness that receives webhooks.
type WebhookHarness struct {
	*Harness
	*Receiver
}

// NewWebhookHarness returns a harness that receives events. Its nights read the streams of events
// (stream.Events) and the named streams, or all streams if no names are given.
func NewWebhookHarness(t *testing.T, opts sim.Options, names ...string) WebhookHarness {
	t.Helper()
	h := NewHarness(t, opts, names...)
	SetStreams(&h.Config, slices.DeleteFunc(stream.AllWithEvents(), func(s stream.Stream) bool {
		return len(names) > 0 && len(s.Topics) == 0 && !slices.Contains(names, s.Name)
	}))
	h.At = h.Service.Now()
	r := NewReceiver(t, WarehouseOf(h.Config), func() time.Time { return h.At })
	t.Cleanup(r.Close)
	return WebhookHarness{h, r}
}

// RawDelivery returns a delivery with any body, as the arguments of [Receiver.Deliver].
func RawDelivery(id, topic, body string) (sim.Delivery, error) {
	return sim.Delivery{ID: id, Topic: topic, Body: []byte(body)}, nil
}

// ArticleWithComment returns the id of an article that has a comment.
func (h *Harness) ArticleWithComment() string {
	h.T.Helper()
	return h.QueryOne("SELECT min(article_id) FROM article_comments WHERE parent_comment_id IS NULL")
}
