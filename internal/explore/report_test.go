package explore_test

import (
	"net/http"
	"strings"
	"testing"

	"placementsync/internal/report"
)

// testReport checks that the page has the content of the report, and only scripts that its content security policy allows.
func testReport(t *testing.T, s *site) {
	s.notices = []report.Notice{{Title: "A night is held:", Lines: []string{"check a failed in 2 rows"}, Alarm: true}}
	body := s.get(t, "/report", http.StatusOK)
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
