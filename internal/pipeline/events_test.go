package pipeline_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// statusEvent returns an event about an article.
func statusEvent(id, article string) delivery {
	return delivery{id, webhook.StatusChanged, `{"article_id":"` + article + `"}`}
}

// articleStreamNames returns the names of the streams of campaigns and articles, and of the streams of their
// events.
func articleStreamNames() []string {
	return []string{"campaigns", "campaign_details", "campaign_articles", "campaign_status_counts", "articles", "article_comments", "article_status_events", "article_comment_events"}
}

// eventStreamNames returns the names of the streams of events, and of a list, because a night without data fails.
func eventStreamNames() []string {
	return []string{"tags", "article_status_events", "article_comment_events"}
}

// TestEventsJoinTheSnapshot delivers valid and invalid events, events with an unknown topic, one of them with a byte that
// is no UTF-8, and an event that was delivered before.
func TestEventsJoinTheSnapshot(t *testing.T) {
	h := newHarness(t, smallWorld(), eventStreamNames()...)
	h.cfg.BatchRows = 2
	res := h.requireComplete(h.night())
	h.requireStream(res.Run, "article_status_events", stream.Skipped, ledger.ReasonNoDelivery, false)
	h.deliver(statusEvent("a", "1"), statusEvent("b", "2"), delivery{"c", "comment.created", `{"id":"c1"}`},
		delivery{"d", webhook.StatusChanged, `{}`}, delivery{"e", "order.paid", `{"id":7}`}, statusEvent("f", "5"), delivery{"g", "order.paid", "{\"id\":\"\xff\"}"})
	h.cfg.DryRun = true
	h.requireComplete(h.night())
	h.cfg.DryRun = false
	res = h.requireComplete(h.night())
	s := h.requireStream(res.Run, "article_status_events", stream.BestEffort, "built from received webhook deliveries", false)
	if s.Rows != 3 || s.RowsOld != 0 {
		t.Errorf("the stream of events is %+v, want 3 rows and no old ones", s)
	}
	requireStoredEvents := func() {
		t.Helper()
		h.requireLines("SELECT event_id, topic, outcome, body FROM meta.webhook_events ORDER BY 1",
			`a article.status_changed stored {"article_id":"1"}`, `b article.status_changed stored {"article_id":"2"}`, `c comment.created stored {"id":"c1"}`,
			`d article.status_changed rejected {}`, `e order.paid unknown_topic {"id":7}`, `f article.status_changed stored {"article_id":"5"}`,
			`g order.paid unknown_topic {"id":"�"}`)
		h.requireLines("SELECT event_id, article_id FROM article_status_events ORDER BY 1", "a 1", "b 2", "f 5")
		h.requireLines("SELECT event_id, comment_id FROM article_comment_events", "c c1")
		h.requireLines("SELECT table_name, key, raw FROM meta.rejects", "article_status_events d {}")
		// The hash is that of the received body, although the catalog stores only valid UTF-8.
		sum := sha256.Sum256([]byte("{\"id\":\"\xff\"}"))
		h.requireLines("SELECT body_sha256 FROM meta.webhook_events WHERE event_id = 'g'", hex.EncodeToString(sum[:]))
	}
	requireStoredEvents()
	if events, damaged, err := webhook.CountEvents(h.warehouse().Folder.InboxPath()); err != nil || events+damaged != 0 {
		t.Errorf("%d events remain in the inbox (%v), want 0", events+damaged, err)
	}
	// Only the first delivery of an event counts, and later nights keep the events.
	h.deliver(statusEvent("a", "changed"))
	h.requireComplete(h.night())
	requireStoredEvents()
	// After a rollback to the first night, the next night reads them from the folders of the later nights.
	_, err := h.warehouse().Rollback(testharness.MustValue(h.warehouse().Versions.List())[0], h.at)
	testharness.Must(t, err)
	last := h.requireComplete(h.night())
	requireStoredEvents()
	h.at = h.at.Add(time.Minute)
	h.requireComplete(pipeline.Replay(t.Context(), h.cfg, last.Run.ID))
	requireStoredEvents()
}

// TestManyEvents delivers more events than one batch contains.
func TestManyEvents(t *testing.T) {
	h := newHarness(t, smallWorld(), eventStreamNames()...)
	var events []delivery
	for i := range 1002 {
		events = append(events, statusEvent(fmt.Sprintf("e%04d", i), fmt.Sprint(i)))
	}
	h.deliver(events...)
	h.requireComplete(h.night())
	h.requireLines("SELECT count(*), count(DISTINCT event_id), min(event_id), max(event_id) FROM article_status_events WHERE article_id = right(event_id, 4)::INT::VARCHAR", "1002 1002 e0000 e1001")
}

// TestEventsOutliveFailures delivers events before a failed night, a rollback, a replay and a
// rebuild. No event may be lost or stored twice.
func TestEventsOutliveFailures(t *testing.T) {
	h := newRaceHarness(t, smallWorld(), eventStreamNames()...)
	requireEvents := func(want ...string) {
		t.Helper()
		h.requireLines("SELECT event_id FROM article_status_events ORDER BY 1", want...)
		h.requireLines("SELECT event_id FROM meta.webhook_events ORDER BY 1", want...)
	}
	h.requireComplete(h.night())
	h.deliver(statusEvent("a", "1"))
	h.service.SetFaults(statusFault("/tags", 401))
	h.failedNight()
	h.service.SetFaults()
	wholeSeconds := h.cfg.Now
	h.cfg.Now = func() time.Time { return h.at.Add(123_456 * time.Microsecond) } // the id of a run has whole seconds
	second := h.requireComplete(h.night())
	h.cfg.Now = wholeSeconds
	requireEvents("a")
	h.deliver(statusEvent("b", "2"))
	h.at = h.at.Add(time.Minute)
	replayed, err := pipeline.Replay(t.Context(), h.cfg, second.Run.ID)
	h.requireComplete(replayed, err)
	requireEvents("a")
	if !replayed.Run.SnapshotAt.Equal(second.Run.SnapshotAt) || replayed.Run.Requests != 0 || replayed.Run.Responses != 0 || replayed.Run.ID == second.Run.ID {
		t.Errorf("the replay is %+v, want a new run with the snapshot time %v, no requests and no stored responses", replayed.Run, second.Run.SnapshotAt)
	}
	h.requireComplete(h.night())
	requireEvents("a", "b")
	versions, err := h.warehouse().Versions.List()
	testharness.Must(t, err)
	_, err = h.warehouse().Rollback(versions[0], h.at)
	testharness.Must(t, err)
	requireEvents()
	h.requireComplete(h.night())
	requireEvents("a", "b")
	h.at = h.at.Add(time.Minute)
	_, err = repair.Rebuild(t.Context(), repairConfig(h.cfg), false)
	testharness.Must(t, err)
	requireEvents("a", "b")
}

// TestPrivateEvents delivers events with private values. The configuration names only columns of
// article_comments. The same values in events must be private too.
func TestPrivateEvents(t *testing.T) {
	h := newHarness(t, smallWorld(), eventStreamNames()...)
	h.cfg.Privacy.Drop, h.cfg.Privacy.Hash, h.cfg.Privacy.Key = []string{"article_comments.content"}, []string{"article_comments.author_name"}, []byte("key")
	h.cfg.Warehouse.DiscardRaw = true
	h.deliver(delivery{"c", "comment.created", `{"id":"c1","content":{"type":"doc","content":[{"type":"text","text":"s3cret"}]},"author":{"name":"s3cret"}}`},
		delivery{"d", "comment.created", `{"content":"s3cret"}`}, delivery{"e", "comment.moved", `{"content":"s3cret"}`}, statusEvent("f", "1"))
	h.requireComplete(h.night())
	for _, table := range []string{"article_comment_events", "meta.webhook_events", "meta.rejects", "meta.drift"} {
		if text := strings.Join(h.lines("SELECT to_json(x)::VARCHAR FROM "+table+" x"), "\n"); strings.Contains(text, "s3cret") {
			t.Errorf("%s contains the private value s3cret:\n%s", table, text)
		}
	}
	h.requireLines("SELECT comment_id, content, author_name IS NULL FROM article_comment_events", "c1 NULL false")
	h.requireLines("SELECT raw FROM meta.rejects", `"(withheld: the event may contain private columns)"`)
	if runs, err := h.warehouse().Folder.RunsWithResponses(); err != nil || len(runs) > 0 {
		t.Errorf("the responses and events of the runs %v (%v) are still stored, want none after the publish", runs, err)
	}
	// Events without private columns are stored unchanged.
	h.requireLines("SELECT body FROM meta.webhook_events WHERE event_id = 'f'", `{"article_id":"1"}`)
}

// TestRefresh reads an article and its campaign again. All other rows and grades must stay as the night
// left them.
func TestRefresh(t *testing.T) {
	h := newHarness(t, smallWorld(), append(articleStreamNames(), "tags")...)
	targets := pipeline.Targets{}
	if _, err := pipeline.Refresh(t.Context(), h.cfg, targets); !errors.Is(err, pipeline.ErrPostponed) {
		t.Fatalf("a refresh before the first night ended with %v, want ErrPostponed", err)
	}
	night := h.requireComplete(h.night())
	targets.Articles = h.lines("SELECT min(article_id) FROM article_comments")
	targets.Campaigns = h.lines("SELECT campaign_id FROM articles WHERE id = '" + targets.Articles[0] + "'")
	grades := h.lines("SELECT stream, grade, coalesce(reason, '') FROM meta.streams WHERE stream NOT LIKE '%events' ORDER BY 1")
	var mu sync.Mutex
	var requested []string
	hook := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requested = append(requested, strings.NewReplacer(targets.Articles[0], "A", targets.Campaigns[0], "C").Replace(r.URL.Path))
	}
	h.onRequest.Store(&hook)
	h.deliver(statusEvent("a", targets.Articles[0]))
	h.at = h.at.Add(time.Hour)
	res := h.requireComplete(pipeline.Refresh(t.Context(), h.cfg, targets))
	slices.Sort(requested)
	want := []string{"/articles/A", "/articles/A/comments", "/auth/token", "/campaigns/C", "/campaigns/C/articles", "/campaigns/C/articles/status-count"}
	if diff := cmp.Diff(want, requested); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if res.Run.IsNight() || res.Manifest.Kind != ledger.Refresh || h.latest() != res.Run.ID {
		t.Errorf("the refresh is %+v and readers see %s, want a published refresh", res.Run, h.latest())
	}
	if _, err := os.Stat(h.warehouse().RunLog.UnresumableRunPath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for the unfinished-run file of a complete refresh, want no file", err)
	}
	h.requireLines("SELECT event_id FROM article_status_events", "a")
	h.requireStream(res.Run, "article_status_events", stream.BestEffort, "built from received webhook deliveries", false)
	h.requireLines("SELECT kind FROM meta.runs ORDER BY run_id", "night", "refresh")
	gradesAfter := h.lines("SELECT stream, grade, coalesce(reason, '') FROM meta.streams WHERE stream NOT LIKE '%events' AND run_id = '" + res.Run.ID + "' ORDER BY 1")
	if diff := cmp.Diff(grades, gradesAfter); diff != "" {
		t.Errorf("grades (-before the refresh +after):\n%s", diff)
	}
	for _, name := range []string{"tags", "campaigns", "articles"} {
		if s := streamOf(t, res.Run, name); !s.AgeSince.Equal(night.Run.SnapshotAt) {
			t.Errorf("the oldest rows of %s are from %v, want %v", name, s.AgeSince, night.Run.SnapshotAt)
		}
	}
	h.requireIDs("campaigns", "/campaigns")

	// If the request for a detail fails, the refresh is partial, and the other details are published.
	h.service.SetFaults(statusFault("/articles/{id}", 500))
	h.at = h.at.Add(time.Hour)
	failed := h.requirePartial(pipeline.Refresh(t.Context(), h.cfg, targets))
	h.requireStream(failed.Run, "articles", stream.BestEffort, "1 of 1 id failed", true)
	h.requireStream(failed.Run, "article_status_events", stream.BestEffort, "built from received webhook deliveries", false)
	h.service.SetFaults()
	// A failed refresh is not resumed.
	h.service.SetFaults(statusFault("/auth/token", 500))
	h.at = h.at.Add(time.Hour)
	if _, err := pipeline.Refresh(t.Context(), h.cfg, targets); err == nil || h.latest() != failed.Run.ID {
		t.Errorf("the refresh ended with %v and readers see %s, want an error and %s", err, h.latest(), failed.Run.ID)
	}
	if _, isUnfinished, err := h.warehouse().RunLog.ResumableRun(); err != nil || isUnfinished {
		t.Errorf("the failed refresh can be resumed (%v), want no unfinished run", err)
	}
	// While a night can be resumed, a refresh is refused. After ResumeMaxAge it is accepted.
	h.cfg.ResumeMaxAge = time.Hour
	h.failedNight()
	h.service.SetFaults()
	h.at = h.at.Add(time.Hour)
	if _, err := pipeline.Refresh(t.Context(), h.cfg, targets); !errors.Is(err, pipeline.ErrPostponed) {
		t.Errorf("a refresh before the resumed night ended with %v, want ErrPostponed", err)
	}
	h.at = h.at.Add(time.Second)
	refreshed := h.requireComplete(pipeline.Refresh(t.Context(), h.cfg, targets))
	if _, err := pipeline.Replay(t.Context(), h.cfg, refreshed.Run.ID); err == nil || !strings.Contains(err.Error(), "this run is a refresh") {
		t.Errorf("the replay of a refresh ended with %v, want an error that the run is a refresh", err)
	}
}

// TestUnrecordedRefreshIsRecordedLater refreshes a campaign with a rejected token and a full disk. The line of the refresh
// cannot be written into the ledger, so that the next run writes one.
func TestUnrecordedRefreshIsRecordedLater(t *testing.T) {
	h := newHarness(t, smallWorld(), "campaigns", "campaign_articles")
	h.requireComplete(h.night())
	diskFull := errors.New("no space left on device")
	h.cfg.Warehouse.Step = func(_, path string) error {
		if filepath.Base(path) == "runs.jsonl" {
			return diskFull
		}
		return nil
	}
	h.service.SetFaults(statusFault("/auth/token", http.StatusUnauthorized))
	h.at = h.at.Add(time.Minute)
	refreshed, err := pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{Campaigns: []string{"any"}})
	if !errors.Is(err, fetch.ErrAuth) || !errors.Is(err, diskFull) {
		t.Fatalf("the refresh ended with %v, want the errors of the token and of the disk", err)
	}
	h.cfg.Warehouse.Step = nil
	h.service.SetFaults()
	h.at = h.at.Add(time.Minute)
	_, err = pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{Campaigns: h.listedIDs("/campaigns")[:1]})
	testharness.Must(t, err)
	runs, err := h.warehouse().RunLog.Runs()
	testharness.Must(t, err)
	if r := ledger.Find(runs, refreshed.Run.ID); r.Kind != ledger.Refresh || r.Outcome != ledger.Killed || r.Program != "test" {
		t.Errorf("the ledger has %+v for the refresh %s, want a killed refresh of the program test", r, refreshed.Run.ID)
	}
}

// TestRefreshKeepsAWorseGrade refreshes one article after a night in which another article failed. The
// other article is still old, so the grade and the age of the stream must stay.
func TestRefreshKeepsAWorseGrade(t *testing.T) {
	h := newHarness(t, smallWorld(), "campaigns", "campaign_articles", "articles")
	first := h.requireComplete(h.night())
	articles := h.lines("SELECT id FROM articles ORDER BY id LIMIT 2")
	h.service.SetFaults(sim.Fault{Path: "/articles/" + articles[0], Kind: sim.FaultStatus, Status: 500})
	night := h.requirePartial(h.night())
	before := h.requireStream(night.Run, "articles", stream.BestEffort, "failed", true)
	if s := streamOf(t, night.Run, "campaigns"); !s.AgeSince.IsZero() {
		t.Errorf("the oldest campaign is from %v, want no age: all campaigns were read", s.AgeSince)
	}
	refresh := func(reason string, isIncomplete bool) {
		t.Helper()
		h.at = h.at.Add(time.Hour)
		res, err := pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{Articles: articles[1:]})
		testharness.Must(t, err)
		after := h.requireStream(res.Run, "articles", stream.BestEffort, reason, isIncomplete)
		if !after.AgeSince.Equal(first.Run.SnapshotAt) {
			t.Errorf("the oldest article is from %v, want %v", after.AgeSince, first.Run.SnapshotAt)
		}
	}
	h.service.SetFaults()
	refresh(before.Reason, false)
	h.service.SetFaults(statusFault("/articles/{id}", 500))
	refresh("1 of 1 id failed", true)
}

// TestRefreshOfUnreadDetailsProvesNothing refreshes one article after a night that read no details. The other
// articles were never read, so the refresh must not grade them as proven.
func TestRefreshOfUnreadDetailsProvesNothing(t *testing.T) {
	for name, isKnown := range map[string]bool{"without details": true, "with a program that did not know the stream": false} {
		t.Run(name, func(t *testing.T) { checkRefreshOfUnreadDetails(t, isKnown) })
	}
}

func checkRefreshOfUnreadDetails(t *testing.T, isKnown bool) {
	t.Helper()
	h := newHarness(t, smallWorld(), "campaigns", "campaign_articles")
	h.cfg.Details = pipeline.NoDetails
	all := h.cfg.Streams
	if !isKnown {
		h.cfg.Streams = slices.DeleteFunc(slices.Clone(all), func(s stream.Stream) bool { return s.Name == "campaign_articles" })
	}
	night := h.requireComplete(h.night())
	if isKnown {
		h.requireStream(night.Run, "campaign_articles", stream.Skipped, ledger.ReasonNoDetails, false)
	}
	h.cfg.Streams, h.cfg.Details = all, pipeline.AllDetails
	h.at = h.at.Add(time.Hour)
	// A webhook may send an id in another case than the list.
	campaigns := h.lines("SELECT upper(min(id)) FROM campaigns")
	res := h.requireComplete(pipeline.Refresh(t.Context(), h.cfg, pipeline.Targets{Campaigns: campaigns}))
	h.requireStream(res.Run, "campaign_articles", stream.BestEffort, "only the records named by webhook events were read", false)
	h.requireLines("SELECT DISTINCT campaign_id FROM campaign_articles", h.lines("SELECT min(id) FROM campaigns")...)
	i := slices.IndexFunc(res.Manifest.Tables, func(t warehouse.ManifestTable) bool { return t.Name == "campaign_articles" })
	if got := res.Manifest.Tables[i].Grade; got != stream.BestEffort {
		t.Errorf("the table campaign_articles is graded %s, want best_effort", got)
	}
}

// TestEventsContainNoToken delivers events that contain the token of the service, unchanged and escaped.
func TestEventsContainNoToken(t *testing.T) {
	h := newHarness(t, smallWorld(), eventStreamNames()...)
	escaped := fmt.Sprintf(`\u%04x%s`, token[0], token[1:])
	h.deliver(delivery{"a", webhook.StatusChanged, `{"article_id":"1","note":"` + token + `"}`},
		delivery{"b", "order.paid", `{"note":"` + escaped + `"}`}, delivery{"c", webhook.StatusChanged, `{"note":"` + escaped + `"}`})
	h.requireComplete(h.night())
	h.requireLines("SELECT event_id, body FROM meta.webhook_events ORDER BY 1",
		`a {"article_id":"1","note":"<secret>"}`, `b {"note":"<secret>"}`, `c {"note":"<secret>"}`)
	h.requireLines("SELECT raw FROM meta.rejects", `{"note":"<secret>"}`)
	h.requireLines("SELECT extra FROM article_status_events", `{"note":"<secret>"}`)
}
