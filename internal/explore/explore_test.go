package explore_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"placementsync/internal/explore"
)

// TestPagesAreFramed holds the headers and what every page says of its snapshot.
func TestPagesAreFramed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "listings.sql")
	res, body, err := s.fetch(t.Context(), "/snapshot")
	fatal(t, err)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	wantTexts(t, body, "Snapshot of 2026-11-01 02:00 UTC , run 20261101T020000Z , complete", "1 not read , 1 proven", "missing scope")
	if res, _, err = s.fetch(t.Context(), "/"); err != nil || res.StatusCode != http.StatusSeeOther {
		t.Errorf("the start answered %v, %v", res.Status, err)
	}
	for _, name := range []string{"page.css", "records.css", "page.js", "htmx.min.js", "NOTICE"} {
		s.get(t, "/assets/"+name, http.StatusOK)
	}
	s.get(t, "/assets/layout.html", http.StatusNotFound)
}

// TestErrorsArePages holds status and advice of what cannot be shown.
func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, "listings.sql")
	wantTexts(t, s.get(t, "/nothing", http.StatusNotFound), "find no page at this address", "Choose one above.")
	wantTexts(t, s.get(t, "/snapshot?as_of=yesterday", http.StatusBadRequest), `"yesterday" is not a time`)
	wantTexts(t, s.get(t, "/snapshot?as_of=2026-10-01", http.StatusBadRequest), "before the first snapshot")
	wantTexts(t, s.get(t, "/snapshot?as_of=2026-11-01", http.StatusOK), "This is an earlier snapshot")
	s.publish(explore.Version{})
	wantTexts(t, s.get(t, "/snapshot", http.StatusServiceUnavailable), "nothing is published yet: start a night")
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := s.fetch(gone, "/snapshot"); err == nil {
		t.Error("a browser that went away was answered")
	}
}

// TestPagesFollowTheNewestVersion publishes another version while the first is open.
func TestPagesFollowTheNewestVersion(t *testing.T) {
	t.Parallel()
	first := newCatalog(t, "listings.sql")
	s := newSiteOf(t, first)
	s.get(t, "/snapshot", http.StatusOK)
	data, err := os.ReadFile(first)
	fatal(t, err)
	second := strings.TrimSuffix(first, ".duckdb") + "2.duckdb"
	fatal(t, os.WriteFile(second, data, 0o600))
	s.publish(explore.Version{Run: "20261102T020000Z", Catalog: second})
	s.get(t, "/snapshot", http.StatusOK)
	fatal(t, os.Remove(first)) // as retention does
	s.get(t, "/snapshot", http.StatusOK)
	if log := s.logged(); !strings.Contains(log, "snapshot replaced") || strings.Contains(log, "not closed") {
		t.Errorf("the log says:\n%s", log)
	}
}
