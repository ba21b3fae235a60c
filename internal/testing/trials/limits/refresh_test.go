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

// refresh advances the world by a day, and runs a refresh of an article one hour after the previous run.
func refresh(m trials.WebhookHarness) {
	m.T.Helper()
	m.Service.Advance(1)
	m.At = m.At.Add(time.Hour)
	m.MustComplete(pipeline.Refresh(m.T.Context(), m.Config, pipeline.Targets{Articles: m.Lines("SELECT min(id) FROM articles")}))
}

// TestTrialRefreshDoesNotCountAsNight checks that refreshes do not count as nights for the number of kept versions.
func TestTrialRefreshDoesNotCountAsNight(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
	m.Config.Warehouse.KeepVersions = 2
	m.GoodNight()
	second := m.GoodNight()
	for range 3 {
		refresh(m)
	}
	wh := trials.WarehouseOf(m.Config)
	if versions, err := wh.Versions.List(); err != nil || !slices.Contains(versions, second.Run.ID) || len(versions) != 2 {
		t.Errorf("versions %v are kept (%v), want the night %s and a refresh", versions, err, second.Run.ID)
	}
	third := m.GoodNight()
	if versions, err := wh.Versions.List(); err != nil || !slices.Equal(versions, []string{second.Run.ID, third.Run.ID}) {
		t.Errorf("versions %v are kept (%v), want the nights %s and %s", versions, err, second.Run.ID, third.Run.ID)
	}
}

// TestTrialRemainingEventsAreStoredOnce restores files of the inbox that a night and a refresh have removed, as if
// these runs had been killed before the removal. The next run must not store their events again.
func TestTrialRemainingEventsAreStoredOnce(t *testing.T) {
	testharness.Long(t)
	t.Parallel()
	m := trials.NewWebhookHarness(t, trials.SmallWorld(), trials.StreamsWithEvents()...)
	m.GoodNight()
	m.Deliver(trials.RawDelivery("a", "article.status_changed", `{"article_id":"1"}`))
	m.Deliver(trials.RawDelivery("b", "article.status_changed", `{"article_id":"2"}`))
	m.Deliver(trials.RawDelivery("c", "other.topic", `{}`))
	files, err := filepath.Glob(m.Path("state", "inbox", "*.log"))
	testharness.Must(t, err)
	if len(files) != 3 {
		t.Fatalf("the inbox has %d files, want 3", len(files))
	}
	saved := t.TempDir()
	for _, file := range files {
		testharness.Must(t, os.Link(file, filepath.Join(saved, filepath.Base(file))))
	}
	for i, run := range []func(){func() { m.GoodNight() }, func() { refresh(m) }, func() { m.GoodNight() }} {
		run()
		m.RequireLines("SELECT event_id FROM article_status_events ORDER BY 1", "a", "b")
		m.RequireLines("SELECT event_id FROM meta.webhook_events ORDER BY 1", "a", "b", "c")
		for _, file := range files {
			if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("run %d: the file %s still exists (%v), want it removed", i, file, err)
			}
			testharness.Must(t, os.Link(filepath.Join(saved, filepath.Base(file)), file))
		}
	}
}
