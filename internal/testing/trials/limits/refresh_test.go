package limits_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

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
