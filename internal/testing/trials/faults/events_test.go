package faults_test

import (
	"os"
	"path/filepath"
	"testing"

	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/webhook"
)

// TestFirstDeliveryOfAnEventIsStored puts two deliveries with the same id into the inbox. A receiver stores
// both of them if it no longer has the id of the first delivery. The night must store the first delivery.
func TestFirstDeliveryOfAnEventIsStored(t *testing.T) {
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
	m.Deliver(trials.RawDelivery("a", webhook.StatusChanged, `{"article_id":"1"}`))
	m.Deliver(trials.RawDelivery("c", "comment.created", `{"id":"c1"}`))
	otherReceiver := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
	otherReceiver.Deliver(trials.RawDelivery("a", webhook.StatusChanged, `{"article_id":"2"}`))
	files, err := filepath.Glob(otherReceiver.Path("state", "inbox", "2*.log"))
	testharness.Must(t, err)
	if len(files) != 1 {
		t.Fatalf("%d files are in the inbox, want 1 with the second delivery of the event a", len(files))
	}
	// The inbox is read in the order of the file names, which begin with a time. So this is the second delivery.
	testharness.Must(t, os.Rename(files[0], m.Path("state", "inbox", "29990101T000000.000000000Z-0123456789abcdef.log")))
	m.GoodNight()
	m.RequireLines("SELECT event_id || ' ' || article_id FROM article_status_events", "a 1")
	m.RequireLines("SELECT event_id || ' ' || comment_id FROM article_comment_events", "c c1")
	m.RequireLines("SELECT event_id || ' ' || body FROM meta.webhook_events ORDER BY 1", `a {"article_id":"1"}`, `c {"id":"c1"}`)
}
