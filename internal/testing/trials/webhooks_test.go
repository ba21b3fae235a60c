package trials_test

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

const hookSecret = "whsec-of-the-trials"

// webhookHarness is a harness that receives webhooks over HTTP.
type webhookHarness struct {
	*harness
	url    string
	client *http.Client
}

// newWebhookHarness returns a harness that receives events. Its nights read the streams of events
// (stream.Events) and the named streams, or all streams if no names are given.
func newWebhookHarness(t *testing.T, opts sim.Options, names ...string) webhookHarness {
	t.Helper()
	h := newHarness(t, opts, names...)
	h.cfg.Streams = slices.DeleteFunc(stream.AllWithEvents(), func(s stream.Stream) bool {
		return len(names) > 0 && len(s.Topics) == 0 && !slices.Contains(names, s.Name)
	})
	h.cfg.Warehouse.Tables = stream.Tables(h.cfg.Streams)
	h.at = h.service.Now()
	wh := warehouseOf(t, h.cfg)
	receiver := webhook.New(webhook.Config{Dir: wh.Folder.InboxPath()},
		slog.New(slog.DiscardHandler), func() time.Time { return h.at })
	testharness.Must(t, errors.Join(receiver.Reload(webhook.Policy{Secrets: []string{hookSecret}, Prefixes: []string{"x-hook-"}}), receiver.Open()))
	server := httptest.NewServer(receiver)
	t.Cleanup(func() {
		server.Close()
		testharness.Must(t, receiver.Close())
	})
	return webhookHarness{h, server.URL, server.Client()}
}

// deliver sends a delivery, which must be accepted. d and err are the results of a function such as
// StatusChange.
func (m webhookHarness) deliver(d sim.Delivery, err error) {
	m.t.Helper()
	testharness.Must(m.t, err)
	status, err := sim.Deliver(m.t.Context(), m.client, m.url, d, hookSecret)
	testharness.Must(m.t, err)
	if status != http.StatusNoContent {
		m.t.Fatalf("the response to event %s has status %d, want 204", d.ID, status)
	}
}

func rawDelivery(id, topic, body string) (sim.Delivery, error) {
	return sim.Delivery{ID: id, Topic: topic, Body: []byte(body)}, nil
}

func (m webhookHarness) articleWithComment() string {
	m.t.Helper()
	return m.queryOne("SELECT min(article_id) FROM article_comments WHERE parent_comment_id IS NULL")
}
