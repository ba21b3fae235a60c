package limits_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
)

// refresh advances the world by a day, and runs a refresh one hour after the previous run.
func refresh(m trials.WebhookHarness, targets pipeline.Targets) pipeline.Result {
	m.T.Helper()
	m.Service.Advance(1)
	m.At = m.At.Add(time.Hour)
	return m.MustComplete(pipeline.Refresh(m.T.Context(), m.Config, targets))
}

// TestTrialRefreshReadsOnlyItsTargets refreshes an article and its campaign. The refresh must
// request only these records, and must keep the grades of the night.
func TestTrialRefreshReadsOnlyItsTargets(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.RichWorld())
	m.Config.Details, m.Config.LiveDays, m.Config.Recheck = "changed", 45, 7
	night := m.GoodNight()
	article := m.ArticleWithComment()
	campaign := m.QueryOne("SELECT campaign_id FROM articles WHERE id = ?", article)
	grades := m.Lines("SELECT stream || ' ' || grade || coalesce(reason, '') FROM meta.streams WHERE stream NOT LIKE '%events' ORDER BY 1")
	var mu sync.Mutex
	var requested []string
	m.OnRequest(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requested = append(requested, strings.NewReplacer(article, "A", campaign, "C").Replace(r.URL.Path))
	})
	m.Deliver(m.Service.StatusChange(article))
	res := refresh(m, pipeline.Targets{Articles: []string{article}, Campaigns: []string{campaign}})
	slices.Sort(requested)
	want := []string{"/articles/A", "/articles/A/comments", "/auth/token", "/campaigns/C", "/campaigns/C/articles", "/campaigns/C/articles/status-count"}
	if diff := cmp.Diff(want, slices.Compact(requested)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	m.RequestHook.Store(nil)
	if res.Run.IsNight() || res.Manifest.Kind != ledger.Refresh || m.LatestRun() != res.Run.ID {
		t.Errorf("run %s has the kind %q, its manifest %q, and latest is %s; want a published refresh", res.Run.ID, res.Run.Kind, res.Manifest.Kind, m.LatestRun())
	}
	m.RequireLines("SELECT kind FROM meta.runs ORDER BY run_id", "night", "refresh")
	if diff := cmp.Diff(grades, m.Lines("SELECT stream || ' ' || grade || coalesce(reason, '') FROM meta.streams WHERE run_id = '"+res.Run.ID+"' AND stream NOT LIKE '%events' ORDER BY 1")); diff != "" {
		t.Errorf("grades (-night +refresh):\n%s", diff)
	}
	if got := m.Count("meta.streams s JOIN meta.runs r ON r.run_id = ?", "s.run_id = ? AND s.stream NOT LIKE '%events' AND s.age_since IS DISTINCT FROM r.snapshot_at",
		night.Run.ID, res.Run.ID); got != 0 {
		t.Errorf("%d streams have an age_since that is not the snapshot time of the night, want none", got)
	}
	if got := m.Count("article_status_events", "article_id = ?", article); got != 1 {
		t.Errorf("article_status_events has %d rows of the event, want 1", got)
	}
	for _, table := range []string{"articles", "article_comments", "campaigns", "campaign_articles"} {
		if got := m.Count("meta.tables", "run_id = ? AND table_name = ? AND rows_gone > 3", res.Run.ID, table); got != 0 {
			t.Errorf("the refresh removed more than 3 rows of %s, want at most 3", table)
		}
	}
	record, _ := m.Service.Object("/articles/" + article)
	if prefix := m.QueryOne("SELECT status_prefix FROM articles WHERE id = ?", article); !strings.Contains(string(record), `"`+prefix+`"`) {
		t.Errorf("the warehouse has the status %q, want the status of the article in the service: %s", prefix, record)
	}
}

// TestTrialRefreshDoesNotCountAsNight checks that refreshes do not count as nights for the number of
// kept versions, and that a refresh cannot be replayed. A rollback must go to the previous night.
func TestTrialRefreshDoesNotCountAsNight(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
	m.Config.Details, m.Config.LiveDays, m.Config.Recheck, m.Config.Warehouse.KeepVersions = "changed", 1, 3, 2
	if _, err := pipeline.Refresh(t.Context(), m.Config, pipeline.Targets{Articles: []string{"x"}}); !errors.Is(err, pipeline.ErrPostponed) {
		t.Fatalf("a refresh before the first night: got the error %v, want ErrPostponed", err)
	}
	m.GoodNight()
	second := m.GoodNight()
	targets := pipeline.Targets{Articles: m.Lines("SELECT min(id) FROM articles"), Campaigns: m.Lines("SELECT min(id) FROM campaigns")}
	for range 3 {
		refresh(m, targets)
	}
	wh := trials.WarehouseOf(m.Config)
	if versions, _ := wh.Versions.List(); !slices.Contains(versions, second.Run.ID) || len(versions) != 2 {
		t.Errorf("versions %v are kept, want the night %s and a refresh", versions, second.Run.ID)
	}
	third := m.GoodNight()
	if versions, _ := wh.Versions.List(); !slices.Equal(versions, []string{second.Run.ID, third.Run.ID}) {
		t.Errorf("versions %v are kept, want the nights %s and %s", versions, second.Run.ID, third.Run.ID)
	}
	restored, err := wh.Rollback("", m.At)
	testharness.Must(t, err)
	if restored.RunID != second.Run.ID {
		t.Errorf("the rollback went to %s, want %s, the night before", restored.RunID, second.Run.ID)
	}
	if _, err := pipeline.Replay(t.Context(), m.Config, refresh(m, targets).Run.ID); err == nil {
		t.Error("the replay of a refresh returned no error, want one")
	}
}

// TestTrialRemainingEventsAreStoredOnce restores files of the inbox that a night and a refresh
// have removed, as if these runs had been killed before the removal. The next run must not store
// their events again.
func TestTrialRemainingEventsAreStoredOnce(t *testing.T) {
	trials.SkipIfShort(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
	m.GoodNight()
	targets := pipeline.Targets{Articles: m.Lines("SELECT min(id) FROM articles")}
	m.Deliver(trials.RawDelivery("a", "article.status_changed", `{"article_id":"1"}`))
	m.Deliver(trials.RawDelivery("b", "article.status_changed", `{"article_id":"2"}`))
	m.Deliver(trials.RawDelivery("c", "other.topic", `{}`))
	saved := t.TempDir()
	testharness.Must(t, os.CopyFS(saved, os.DirFS(m.Path("state", "inbox"))))
	restoreFiles := func() {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(saved, "*.log"))
		testharness.Must(t, err)
		if len(files) != 3 {
			t.Fatalf("%d files were saved, want 3", len(files))
		}
		for _, file := range files {
			path := m.Path("state", "inbox", filepath.Base(file))
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("file %s still exists (%v), want it removed", path, err)
			}
			testharness.Must(t, os.Link(file, path))
		}
	}
	requireEachOnce := func() {
		t.Helper()
		m.RequireLines("SELECT event_id FROM article_status_events ORDER BY 1", "a", "b")
		m.RequireLines("SELECT event_id FROM meta.webhook_events ORDER BY 1", "a", "b", "c")
	}
	m.GoodNight()
	requireEachOnce()
	restoreFiles()
	refresh(m, targets)
	requireEachOnce()
	restoreFiles()
	m.GoodNight()
	requireEachOnce()
}
