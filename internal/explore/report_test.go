package explore_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/explore"
	"placementsync/internal/query"
	"placementsync/internal/report"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// testReportEqualsFile compares the report page with the offline file: their contents must be equal.
func testReportEqualsFile(t *testing.T, s *site) {
	earlier, err := query.Open(t.Context(), s.version.Catalog, query.Options{MemoryLimit: "512MB", Threads: 1, AsOf: "2026-11-02T02:00:00Z"})
	harness.Must(t, err)
	defer earlier.Close()
	previous := time.Date(2026, 11, 2, 2, 0, 0, 0, time.UTC)
	ask := func(ctx context.Context, q report.QuerySpec) (query.Result, bool, error) {
		switch {
		case q.AsOf.IsZero():
			return report.AskDB(ctx, s.reference(t), q)
		case q.AsOf.Equal(previous):
			return report.AskDB(ctx, earlier, q)
		}
		t.Fatalf("the report compares the snapshot of %s, want that of %s", q.AsOf, previous)
		return query.Result{}, false, nil
	}
	s.notices = []report.Notice{{Title: "A night is held:", Lines: []string{"check a failed in 2 rows"}, Alarm: true}}
	var file strings.Builder
	harness.Must(t, report.Write(t.Context(), &file, ask, report.Options{Program: "placementsync query", QueryPages: "/explore/questions/", Notices: s.notices}))
	content := func(page string) string {
		_, rest, _ := strings.Cut(page, "<h1>Report</h1>")
		main, _, ended := strings.Cut(rest, "</main>")
		if !ended {
			t.Fatalf("the page has no report:\n%.2000s", page)
		}
		return main
	}
	body := s.get(t, "/report", http.StatusOK)
	if diff := cmp.Diff(content(file.String()), content(body)); diff != "" {
		t.Errorf("the page differs from the file (-file +page):\n%s", diff)
	}
	wantTexts(t, body, "Compared with the previous snapshot 2026-11-02 02:00 UTC",
		"A night is held: check a failed in 2 rows", "Median price, Standard", "no change (same 1 listing)")
	wantLinks(t, body, "/explore/questions/report_headlines", "/explore/orders", "#prices")
	for _, name := range []string{"page.js", "charts.js", "echarts.min.js", "report.js"} {
		if !strings.Contains(body, `<script src="/explore/assets/`+name+`" defer></script>`) {
			t.Errorf("the page lacks the script %s", name)
		}
		s.get(t, "/assets/"+name, http.StatusOK)
	}
	for _, bad := range []string{"<style", "<script>", "style="} {
		if strings.Contains(body, bad) {
			t.Errorf("the page contains %s, which its content security policy forbids", bad)
		}
	}
	wantTexts(t, s.get(t, "/report?as_of=2026-11-01", http.StatusBadRequest), "this page shows only the newest snapshot")
}

// TestReportMarksTheWeekOfTheConfiguredTimeZone shows the night of Monday, 2 November. On the clock of the configuration,
// it is Sunday, and the week has not ended.
func TestReportMarksTheWeekOfTheConfiguredTimeZone(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	catalog := fixture.NewEmptyCatalog(t).Fill(t, `
INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('20261101T020000Z', '2026-11-02 02:00:00+00', 'complete');
INSERT INTO meta.streams (run_id, stream, grade) SELECT '20261101T020000Z', unnest(['campaigns', 'campaign_articles', 'articles']), 'exact';
INSERT INTO campaign_articles (id, campaign_id, created_at) VALUES ('A1', 'C1', '2026-10-20 12:00:00+00');
CHECKPOINT`)
	s := newSiteOf(t, catalog, func(cfg *explore.Config) { cfg.Settings = query.Settings{query.ScheduleTimezone: "Pacific/Honolulu"} })
	if body := s.get(t, "/report", http.StatusOK); !strings.Contains(body, "2026-10-26 so far") {
		t.Errorf("the report does not mark the week of 26 October:\n%s", body)
	}
}
