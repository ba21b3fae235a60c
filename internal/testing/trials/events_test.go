package trials_test

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

	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/webhook"
)

// TestTrialEventsAreInTheNextSnapshot delivers valid and invalid events, and checks their rows in
// the next snapshots.
func TestTrialEventsAreInTheNextSnapshot(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	m := newWebhookHarness(t, richWorld(), streamsWithEvents()...)
	first := m.goodNight()
	m.requireStream(first.Run, "article_status_events", stream.Skipped, "no webhook delivery was received yet")
	article := m.articleWithComment()
	m.deliver(m.service.StatusChange(article))
	m.deliver(m.service.CommentChange(webhook.CommentUpdated, article, 0))
	m.deliver(rawDelivery("odd", "order.paid", `{"order": 1}`))
	m.deliver(rawDelivery("bad", webhook.StatusChanged, `{"status": {}}`))
	m.deliver(rawDelivery("worse", webhook.CommentCreated, `<xml/>`))
	m.deliver(rawDelivery("misfit", webhook.StatusChanged, `{"article_id":"gone","changed_at":"soon","more":1.50}`))

	second := m.goodNight()
	m.requireStream(second.Run, "article_status_events", stream.BestEffort, "")
	m.requireLines("SELECT concat_ws(' ', event_id, topic, outcome, body) FROM meta.webhook_events WHERE event_id NOT LIKE 'evt%' ORDER BY 1",
		`bad article.status_changed rejected {"status": {}}`, `misfit article.status_changed stored {"article_id":"gone","changed_at":"soon","more":1.50}`,
		`odd order.paid unknown_topic {"order": 1}`, "worse comment.created rejected <xml/>")
	m.requireLines("SELECT concat_ws(' ', table_name, key, column_name, raw) FROM meta.rejects WHERE table_name LIKE '%events' ORDER BY 1",
		"article_comment_events worse <xml/>", `article_status_events bad {"status": {}}`, `article_status_events misfit changed_at "soon"`)
	m.requireLines("SELECT concat_ws(' ', article_id, extra) FROM article_status_events WHERE event_id = 'misfit'", `gone {"more":1.50}`)
	if got := m.count("article_status_events e JOIN articles a ON a.id = e.article_id AND a.status_prefix = e.status_prefix",
		"e.article_id = ? AND e.source = 'demo' AND e.sent_at IS NOT NULL AND changed_at IS NOT NULL", article); got != 1 {
		t.Errorf("%d status events of article %s have the status of the article, want 1", got, article)
	}
	if got := m.count("article_comment_events e JOIN article_comments c ON c.id = e.comment_id",
		"e.topic = 'comment.updated' AND (e.content->>'type') = 'doc' AND e.author_name = c.author_name AND e.content_text <> ''"); got != 1 {
		t.Errorf("%d comment events refer to their comment, want 1", got)
	}
	if _, err := os.Stat(m.path("parquet", "article_status_events", "snapshot_date="+second.Run.SnapshotAt.Format("2006-01-02"))); err != nil {
		t.Errorf("parquet/ lacks article_status_events of the night: %v", err)
	}

	eventsBefore := m.lines("SELECT event_id || run_id || coalesce(body, '') FROM meta.webhook_events ORDER BY 1")
	countsBefore := m.rowCounts()
	m.sameDayNight()
	m.deliver(rawDelivery("odd", "order.paid", `{"order": 1}`))
	m.goodNight()
	if diff := cmp.Diff(eventsBefore, m.lines("SELECT event_id || run_id || coalesce(body, '') FROM meta.webhook_events ORDER BY 1")); diff != "" {
		t.Errorf("later nights changed the events (-before +after):\n%s", diff)
	}
	for _, table := range []string{"article_status_events", "article_comment_events"} {
		if got := m.rowCounts()[table]; got != countsBefore[table] {
			t.Errorf("%s has %s rows, want %s as before", table, got, countsBefore[table])
		}
	}
	if got := m.count("meta.rejects", "table_name LIKE '%events'"); got != 3 {
		t.Errorf("meta.rejects has %d rows about events, want 3", got)
	}
}

// TestTrialEventMakesItsRecordsLive delivers an event about a settled article. The next night must
// request the article and its campaign, and the following night must not.
func TestTrialEventMakesItsRecordsLive(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	m := newWebhookHarness(t, richWorld(), streamsWithEvents()...)
	m.cfg.Details, m.cfg.LiveDays, m.cfg.Recheck = "changed", 1, 0
	m.goodNight()
	article := m.queryOne(`SELECT min(a.id) FROM articles a JOIN campaigns c ON c.id = a.campaign_id
		WHERE a.live_url <> '' AND c.updated_at < now()::TIMESTAMPTZ AND a.id IN (SELECT article_id FROM article_comments)
		AND NOT EXISTS (FROM campaign_articles ca WHERE ca.campaign_id = c.id AND coalesce(ca.live_url, '') = '')`)
	if article == "" {
		t.Skip("the world has no settled article with comments")
	}
	campaign := m.queryOne("SELECT campaign_id FROM articles WHERE id = ?", article)
	requestedPaths := watchRequests(m, article, campaign)
	m.sameDayNight()
	if got := requestedPaths(); len(got) != 0 {
		t.Fatalf("%v were requested without an event", got)
	}
	m.deliver(m.service.CommentChange(webhook.CommentArchived, article, 0))
	m.at = m.at.Add(time.Minute)
	m.sameDayNight()
	want := []string{"/articles/A", "/articles/A/comments", "/campaigns/C", "/campaigns/C/articles", "/campaigns/C/articles/status-count"}
	if diff := cmp.Diff(want, requestedPaths()); diff != "" {
		t.Errorf("requests after the event (-want +got):\n%s", diff)
	}
	m.sameDayNight()
	if got := requestedPaths(); len(got) != 0 {
		t.Errorf("%v were requested again one night later", got)
	}
}

// watchRequests returns a function that lists the requested paths of an article and a campaign
// since the last call of the function. The ids are replaced by A and C.
func watchRequests(m webhookHarness, article, campaign string) func() []string {
	var mu sync.Mutex
	var requestedPaths []string
	m.onRequest(func(r *http.Request) {
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

func TestTrialFailedNightKeepsTheEvents(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	m := newWebhookHarness(t, smallWorld(), streamsWithEvents()...)
	m.goodNight()
	m.deliver(rawDelivery("e", webhook.StatusChanged, `{"article_id":"a"}`))
	m.service.SetToken("pc_other")
	m.failedNight(t.Context(), exitFailed)
	m.service.SetToken(token)
	m.goodNight()
	m.requireLines("SELECT event_id FROM article_status_events", "e")
}

func TestTrialEventsOutliveRollbackReplayAndRebuild(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	m := newWebhookHarness(t, smallWorld(), streamsWithEvents()...)
	m.goodNight()
	m.deliver(rawDelivery("a", webhook.StatusChanged, `{"article_id":"1"}`))
	second := m.goodNight()
	m.deliver(rawDelivery("b", webhook.StatusChanged, `{"article_id":"2"}`))
	requireEvents := func(want ...string) {
		t.Helper()
		m.requireLines("SELECT event_id FROM article_status_events ORDER BY 1", want...)
		m.requireLines("SELECT event_id FROM meta.webhook_events ORDER BY 1", want...)
	}
	_, err := pipeline.Replay(t.Context(), m.cfg, second.Run.ID)
	testharness.Must(t, err)
	requireEvents("a")
	m.goodNight()
	requireEvents("a", "b")
	wh := warehouseOf(t, m.cfg)
	versions, err := wh.Versions.List()
	testharness.Must(t, err)
	_, err = wh.Rollback(versions[0], m.at)
	testharness.Must(t, err)
	requireEvents()
	m.goodNight()
	requireEvents("a", "b")
	m.at = m.at.Add(time.Second)
	_, err = repair.Rebuild(t.Context(), repairConfig(m.cfg), false)
	testharness.Must(t, err)
	requireEvents("a", "b")
	m.goodNight()
	requireEvents("a", "b")
}

func TestPrivateColumnsAreRemovedFromEvents(t *testing.T) {
	t.Parallel()
	for name, privateColumns := range map[string]struct{ drop, hash []string }{
		"dropped in the table of events":  {[]string{"article_comment_events.content", "article_comment_events.author_name", "article_comment_events.extra"}, nil},
		"dropped in the table of records": {[]string{"article_comments.content", "article_comments.author_name", "article_comments.author_email"}, nil},
		"hashed in the table of records":  {nil, []string{"article_comments.content", "article_comments.author_name", "article_comments.author_email"}},
		"dropped in the table of records and hashed in the table of events": {[]string{"article_comments.content", "article_comments.author_email"},
			[]string{"article_comment_events.author_name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newWebhookHarness(t, smallWorld(), streamsWithEvents()...)
			m.cfg.Privacy.Drop, m.cfg.Privacy.Hash, m.cfg.Privacy.Key = privateColumns.drop, privateColumns.hash, []byte("key")
			m.deliver(rawDelivery("c", webhook.CommentCreated, `{"id":"c1","content":{"type":"doc","content":[{"type":"text","text":"s3cret"}]},
				"author":{"name":"s3cret","email":"s3cret@example.com"}}`))
			m.deliver(rawDelivery("bad", webhook.CommentCreated, `{"content":"s3cret"}`))
			m.deliver(rawDelivery("new", "comment.moved", `{"content":"s3cret"}`))
			m.goodNight()
			for _, table := range []string{"article_comment_events", "meta.webhook_events", "meta.rejects", "meta.drift"} {
				for _, line := range m.lines(fmt.Sprintf("SELECT to_json(t)::VARCHAR FROM %s t", table)) {
					if strings.Contains(line, "s3cret") {
						t.Errorf("%s contains the private text s3cret: %s", table, line)
					}
				}
			}
			if got := m.count("article_comment_events", "comment_id = 'c1'"); got != 1 {
				t.Errorf("the comment has %d rows, want 1", got)
			}
		})
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
			otherReceiver := newWebhookHarness(t, smallWorld(), streamsWithEvents()...)
			otherReceiver.deliver(rawDelivery("a", webhook.StatusChanged, `{"article_id":"2"}`))

			m := newWebhookHarness(t, smallWorld(), streamsWithEvents()...)
			if reversed {
				slices.Reverse(m.cfg.Streams[slices.IndexFunc(m.cfg.Streams, stream.Stream.IsEvents):][:len(stream.Events())])
			}
			m.deliver(rawDelivery("a", webhook.StatusChanged, `{"article_id":"1"}`))
			m.deliver(rawDelivery("c", webhook.CommentCreated, `{"id":"c1"}`))
			files, err := filepath.Glob(otherReceiver.path("state", "inbox", "2*.log"))
			testharness.Must(t, err)
			if len(files) != 1 {
				t.Fatalf("%d files are in the inbox, want 1 with the second delivery of the event a", len(files))
			}
			text, err := os.ReadFile(files[0])
			testharness.Must(t, err)
			testharness.Must(t, os.WriteFile(m.path("state", "inbox", "29990101T000000.000000000Z-0123456789abcdef.log"), text, 0o600))
			m.goodNight()
			m.requireLines("SELECT event_id || ' ' || article_id FROM article_status_events", "a 1")
			m.requireLines("SELECT event_id || ' ' || comment_id FROM article_comment_events", "c c1")
			m.requireLines("SELECT event_id || ' ' || body FROM meta.webhook_events ORDER BY 1", `a {"article_id":"1"}`, `c {"id":"c1"}`)
		})
	}
}

// TestNightEmptiesTheInbox checks that a published night removes the events of the inbox, and that a dry run
// removes none.
func TestNightEmptiesTheInbox(t *testing.T) {
	t.Parallel()
	m := newWebhookHarness(t, smallWorld(), streamsWithEvents()...)
	for i := range 5 {
		m.deliver(rawDelivery(fmt.Sprint(i), "x", fmt.Sprint(i)))
	}
	files := func() int {
		matches, err := filepath.Glob(m.path("state", "inbox", "2*"))
		testharness.Must(t, err)
		return len(matches)
	}
	if got := files(); got != 5 {
		t.Fatalf("%d files exist, want 5", got)
	}
	m.cfg.DryRun = true
	_, err := m.night()
	testharness.Must(t, err)
	if got := files(); got != 5 {
		t.Errorf("after a dry run %d files exist, want 5", got)
	}
	m.cfg.DryRun = false
	m.goodNight()
	if got := files(); got != 0 {
		t.Errorf("after the night %d files exist, want none", got)
	}
}
