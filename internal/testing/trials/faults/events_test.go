package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/webhook"
)

// TestFirstDeliveryOfAnEventIsStored puts two deliveries with the same id into the inbox. A receiver stores
// both of them if it no longer has the id of the first delivery. The night must store the first delivery,
// also if the streams of events are in reverse order.
func TestFirstDeliveryOfAnEventIsStored(t *testing.T) {
	t.Parallel()
	for _, reversed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streams in reverse order %t", reversed), func(t *testing.T) {
			t.Parallel()
			otherReceiver := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
			otherReceiver.Deliver(trials.RawDelivery("a", webhook.StatusChanged, `{"article_id":"2"}`))

			m := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
			if reversed {
				slices.Reverse(m.Config.Streams[slices.IndexFunc(m.Config.Streams, stream.Stream.IsEvents):][:len(stream.Events())])
			}
			m.Deliver(trials.RawDelivery("a", webhook.StatusChanged, `{"article_id":"1"}`))
			m.Deliver(trials.RawDelivery("c", webhook.CommentCreated, `{"id":"c1"}`))
			files, err := filepath.Glob(otherReceiver.Path("state", "inbox", "2*.log"))
			testharness.Must(t, err)
			if len(files) != 1 {
				t.Fatalf("%d files are in the inbox, want 1 with the second delivery of the event a", len(files))
			}
			text, err := os.ReadFile(files[0])
			testharness.Must(t, err)
			testharness.Must(t, os.WriteFile(m.Path("state", "inbox", "29990101T000000.000000000Z-0123456789abcdef.log"), text, 0o600))
			m.GoodNight()
			m.RequireLines("SELECT event_id || ' ' || article_id FROM article_status_events", "a 1")
			m.RequireLines("SELECT event_id || ' ' || comment_id FROM article_comment_events", "c c1")
			m.RequireLines("SELECT event_id || ' ' || body FROM meta.webhook_events ORDER BY 1", `a {"article_id":"1"}`, `c {"id":"c1"}`)
		})
	}
}
