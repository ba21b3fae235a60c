package explore_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"placementsync/internal/explore"
)

// testPagesAreFramed holds the headers and what every page says of its snapshot.
func testPagesAreFramed(t *testing.T, s *site) {
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
	wantTexts(t, body, "Snapshot of 2026-11-01 02:00 UTC , run 20261101T020000Z , complete", "1 not read , 1 proven", "missing scope", "proven (exact)", "not read (skipped)")
	if res, _, err = s.fetch(t.Context(), "/"); err != nil || res.StatusCode != http.StatusSeeOther {
		t.Errorf("the start answered %v, %v", res.Status, err)
	}
	for _, name := range []string{"page.css", "page.js", "charts.js", "echarts.min.js", "htmx.min.js", "NOTICE"} {
		s.get(t, "/assets/"+name, http.StatusOK)
	}
	for _, name := range []string{"layout.html", "echarts.entry.js"} {
		s.get(t, "/assets/"+name, http.StatusNotFound)
	}
}

// TestErrorsArePages holds status and advice of what cannot be shown.
func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, "listings.sql")
	wantTexts(t, s.get(t, "/nothing", http.StatusNotFound), "find no page at this address", "Choose one above.")
	wantTexts(t, s.get(t, "/snapshot?as_of=yesterday", http.StatusBadRequest), `"yesterday" is not a time`)
	wantTexts(t, s.get(t, "/snapshot?as_of=2026-10-01", http.StatusBadRequest), "before the first snapshot")
	wantTexts(t, s.get(t, "/snapshot?as_of=2026-11-01", http.StatusOK), "This is the snapshot of 2026-11-01 02:00 UTC, as the address asks.")
	s.publish(explore.Version{})
	wantTexts(t, s.get(t, "/snapshot", http.StatusServiceUnavailable), "nothing is published yet: start a night")
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := s.fetch(gone, "/snapshot"); err == nil {
		t.Error("a browser that went away was answered")
	}
}

// testAddressesAreReadWhole: what a page cannot read or does not know is refused. Left out,
// the newest snapshot would stand for an earlier one, and all rows for some.
func testAddressesAreReadWhole(t *testing.T, s *site) {
	for address, want := range map[string]string{
		"/orders?as_of=2026-10-01;x":                                    "read the address: invalid semicolon",
		"/orders?as_of=%zz":                                             "read the address: invalid URL escape",
		"/snapshot?as_of=2026-11-01&as_of=2026-10-01":                   `refuse the parameter "as_of": it is given 2 times`,
		"/orders?search=x":                                              `refuse the parameter "search": this page does not know it`,
		"/listings/a?q=x":                                               `refuse the parameter "q"`,
		"/questions?p.currency=USD":                                     `refuse the parameter "p.currency"`,
		"/questions/price_by_segment?currency=USD":                      `refuse the parameter "currency"`,
		"/questions/price_by_segment/csv?p.currency=USD&p.currency=EUR": `refuse the parameter "p.currency": it is given 2 times`,
	} {
		wantTexts(t, s.get(t, address, http.StatusBadRequest), want)
	}
	s.get(t, "/nothing?x=1", http.StatusNotFound)
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

// TestEarlierSnapshotsAreThoseOfTheNewestVersion asks for a time that only the second
// version knows, when nobody has asked for the newest snapshot.
func TestEarlierSnapshotsAreThoseOfTheNewestVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t, "listings.sql")
	const later = "/snapshot?as_of=2026-11-30"
	wantTexts(t, s.get(t, later, http.StatusOK), "This is the snapshot of 2026-11-01 02:00 UTC")
	s.publish(explore.Version{Run: "20261103T020000Z", Catalog: newCatalog(t, "records.sql")})
	wantTexts(t, s.get(t, later, http.StatusOK), "This is the snapshot of 2026-11-03 02:00 UTC")
}
