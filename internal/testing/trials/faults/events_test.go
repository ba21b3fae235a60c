package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/webhook"
)

// TestTrialEventsAreInTheNextSnapshot delivers valid and invalid events, and checks their rows in
// the next snapshots.
func TestTrialEventsAreInTheNextSnapshot(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.RichWorld(), trials.StreamsWithEvents()...)
	first := m.GoodNight()
	m.RequireStream(first.Run, "article_status_events", stream.Skipped, "no webhook delivery was received yet")
	article := m.ArticleWithComment()
	m.Deliver(m.Service.StatusChange(article))
	m.Deliver(m.Service.CommentChange(webhook.CommentUpdated, article, 0))
	m.Deliver(trials.RawDelivery("odd", "order.paid", `{"order": 1}`))
	m.Deliver(trials.RawDelivery("bad", webhook.StatusChanged, `{"status": {}}`))
	m.Deliver(trials.RawDelivery("worse", webhook.CommentCreated, `<xml/>`))
	m.Deliver(trials.RawDelivery("misfit", webhook.StatusChanged, `{"article_id":"gone","changed_at":"soon","more":1.50}`))

	second := m.GoodNight()
	m.RequireStream(second.Run, "article_status_events", stream.BestEffort, "")
	m.RequireLines("SELECT concat_ws(' ', event_id, topic, outcome, body) FROM meta.webhook_events WHERE event_id NOT LIKE 'evt%' ORDER BY 1",
		`bad article.status_changed rejected {"status": {}}`, `misfit article.status_changed stored {"article_id":"gone","changed_at":"soon","more":1.50}`,
		`odd order.paid unknown_topic {"order": 1}`, "worse comment.created rejected <xml/>")
	m.RequireLines("SELECT concat_ws(' ', table_name, key, column_name, raw) FROM meta.rejects WHERE table_name LIKE '%events' ORDER BY 1",
		"article_comment_events worse <xml/>", `article_status_events bad {"status": {}}`, `article_status_events misfit changed_at "soon"`)
	m.RequireLines("SELECT concat_ws(' ', article_id, extra) FROM article_status_events WHERE event_id = 'misfit'", `gone {"more":1.50}`)
	if got := m.Count("article_status_events e JOIN articles a ON a.id = e.article_id AND a.status_prefix = e.status_prefix",
		"e.article_id = ? AND e.source = 'demo' AND e.sent_at IS NOT NULL AND changed_at IS NOT NULL", article); got != 1 {
		t.Errorf("%d status events of article %s have the status of the article, want 1", got, article)
	}
	if got := m.Count("article_comment_events e JOIN article_comments c ON c.id = e.comment_id",
		"e.topic = 'comment.updated' AND (e.content->>'type') = 'doc' AND e.author_name = c.author_name AND e.content_text <> ''"); got != 1 {
		t.Errorf("%d comment events refer to their comment, want 1", got)
	}
	if _, err := os.Stat(m.Path("parquet", "article_status_events", "snapshot_date="+second.Run.SnapshotAt.Format("2006-01-02"))); err != nil {
		t.Errorf("parquet/ lacks article_status_events of the night: %v", err)
	}

	eventsBefore := m.Lines("SELECT event_id || run_id || coalesce(body, '') FROM meta.webhook_events ORDER BY 1")
	countsBefore := m.RowCounts()
	m.SameDayNight()
	m.Deliver(trials.RawDelivery("odd", "order.paid", `{"order": 1}`))
	m.GoodNight()
	if diff := cmp.Diff(eventsBefore, m.Lines("SELECT event_id || run_id || coalesce(body, '') FROM meta.webhook_events ORDER BY 1")); diff != "" {
		t.Errorf("later nights changed the events (-before +after):\n%s", diff)
	}
	for _, table := range []string{"article_status_events", "article_comment_events"} {
		if got := m.RowCounts()[table]; got != countsBefore[table] {
			t.Errorf("%s has %s rows, want %s as before", table, got, countsBefore[table])
		}
	}
	if got := m.Count("meta.rejects", "table_name LIKE '%events'"); got != 3 {
		t.Errorf("meta.rejects has %d rows about events, want 3", got)
	}
}

// TestTrialEventMakesItsRecordsLive delivers an event about a settled article. The next night must
// request the article and its campaign, and the following night must not.
func TestTrialEventMakesItsRecordsLive(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.RichWorld(), trials.StreamsWithEvents()...)
	m.Config.Details, m.Config.LiveDays, m.Config.Recheck = "changed", 1, 0
	m.GoodNight()
	article := m.QueryOne(`SELECT min(a.id) FROM articles a JOIN campaigns c ON c.id = a.campaign_id
		WHERE a.live_url <> '' AND c.updated_at < now()::TIMESTAMPTZ AND a.id IN (SELECT article_id FROM article_comments)
		AND NOT EXISTS (FROM campaign_articles ca WHERE ca.campaign_id = c.id AND coalesce(ca.live_url, '') = '')`)
	if article == "" {
		t.Skip("the world has no settled article with comments")
	}
	campaign := m.QueryOne("SELECT campaign_id FROM articles WHERE id = ?", article)
	requestedPaths := watchRequests(m, article, campaign)
	m.SameDayNight()
	if got := requestedPaths(); len(got) != 0 {
		t.Fatalf("%v were requested without an event", got)
	}
	m.Deliver(m.Service.CommentChange(webhook.CommentArchived, article, 0))
	m.At = m.At.Add(time.Minute)
	m.SameDayNight()
	want := []string{"/articles/A", "/articles/A/comments", "/campaigns/C", "/campaigns/C/articles", "/campaigns/C/articles/status-count"}
	if diff := cmp.Diff(want, requestedPaths()); diff != "" {
		t.Errorf("requests after the event (-want +got):\n%s", diff)
	}
	m.SameDayNight()
	if got := requestedPaths(); len(got) != 0 {
		t.Errorf("%v were requested again one night later", got)
	}
}

// watchRequests returns a function that lists the requested paths of an article and a campaign
// since the last call of the function. The ids are replaced by A and C.
func watchRequests(m trials.WebhookHarness, article, campaign string) func() []string {
	var mu sync.Mutex
	var requestedPaths []string
	m.OnRequest(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(r.URL.Path, article) || strings.Contains(r.URL.Path, campaign) {
			requestedPaths = append(requestedPaths, strings.NewReplacer(article, "A", campaign, "C").Replace(r.URL.Path))
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(requestedPaths)
		paths := slices.Compact(requestedPaths)
		requestedPaths = nil
		return paths
	}
}

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
