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
	"placementsync/internal/webhook"
)

// HookSecret signs the deliveries.
const HookSecret = "whsec-of-the-trials"

// WebhookHarness is a harness that receives webhooks over HTTP.
type WebhookHarness struct {
	*Harness
	url    string
	client *http.Client
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
	wh := WarehouseOf(h.Config)
	receiver := webhook.New(webhook.Config{Dir: wh.Folder.InboxPath()},
		slog.New(slog.DiscardHandler), func() time.Time { return h.At })
	testharness.Must(t, errors.Join(receiver.Reload(webhook.Policy{Secrets: []string{HookSecret}, Prefixes: []string{"x-hook-"}}), receiver.Open()))
	server := httptest.NewServer(receiver)
	t.Cleanup(func() {
		server.Close()
		testharness.Must(t, receiver.Close())
	})
	return WebhookHarness{h, server.URL, server.Client()}
}

// Deliver sends a delivery, which must be accepted. d and err are the results of a function such as
// StatusChange.
func (m WebhookHarness) Deliver(d sim.Delivery, err error) {
	m.T.Helper()
	testharness.Must(m.T, err)
	status, err := sim.Deliver(m.T.Context(), m.client, m.url, d, HookSecret)
	testharness.Must(m.T, err)
	if status != http.StatusNoContent {
		m.T.Fatalf("the response to event %s has status %d, want 204", d.ID, status)
	}
}

// RawDelivery returns a delivery with any body, as the arguments of [WebhookHarness.Deliver].
func RawDelivery(id, topic, body string) (sim.Delivery, error) {
	return sim.Delivery{ID: id, Topic: topic, Body: []byte(body)}, nil
}

// ArticleWithComment returns the id of an article that has a comment.
func (m WebhookHarness) ArticleWithComment() string {
	m.T.Helper()
	return m.QueryOne("SELECT min(article_id) FROM article_comments WHERE parent_comment_id IS NULL")
}
