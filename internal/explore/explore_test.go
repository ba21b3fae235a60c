package explore_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/explore"
	"placementsync/internal/testing/fixture"
	"placementsync/internal/testing/harness"
)

// testLayout checks the response headers, the footer and the assets.
func testLayout(t *testing.T, s *site) {
	res, body, err := s.fetch(t.Context(), "/snapshot")
	harness.Must(t, err)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("the header %s is %q, want %q", name, got, want)
		}
	}
	wantTexts(t, body, "Snapshot of 2026-11-01 02:00 UTC , run 20261101T020000Z , complete", "1 not read , 1 proven", "missing scope", "proven (exact)", "not read (skipped)")
	for _, start := range []string{"", "/"} {
		res, _, err = s.fetch(t.Context(), start)
		if err != nil || res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/explore/catalog" {
			t.Errorf("the start page /explore%s returned %v (%v), want a redirect to the catalog", start, res, err)
		}
	}
	const tabs = "Catalog Outlets Orders Campaigns Articles Profiles Questions SQL Schema Report Snapshot"
	wantTexts(t, body, tabs)
	for path, tab := range map[string]string{"/snapshot": "Snapshot", "/listings/a": "Catalog", "/outlets/o1": "Outlets",
		"/outlets": "Outlets", "/sql": "SQL", "/questions/margins": "Questions"} {
		_, current, _ := strings.Cut(s.get(t, path, http.StatusOK), ` aria-current="page">`)
		if current, _, _ = strings.Cut(current, "<"); current != tab {
			t.Errorf("%s: the tab %q is marked, want %q", path, current, tab)
		}
	}
	for _, name := range []string{"page.css", "page.js", "charts.js", "echarts.min.js", "htmx.min.js", "editor.min.js", "sql.js", "NOTICE"} {
		s.get(t, "/assets/"+name, http.StatusOK)
	}
	for _, name := range []string{"layout.html", "echarts.entry.js"} {
		s.get(t, "/assets/"+name, http.StatusNotFound)
	}
}

// TestErrorPages checks the status and the text of error pages.
func TestErrorPages(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSite(t, "listings.sql")
	wantTexts(t, s.get(t, "/nothing", http.StatusNotFound), "Not found No page has this address Choose a page above.")
	wantTexts(t, s.get(t, "/snapshot?as_of=yesterday", http.StatusBadRequest), `Invalid address "yesterday" is not a time`)
	wantTexts(t, s.get(t, "/snapshot?as_of=2026-10-01", http.StatusBadRequest), "before the first snapshot")
	wantTexts(t, s.get(t, "/snapshot?as_of=+2026-11-01", http.StatusOK), "This is the snapshot of 2026-11-01 02:00 UTC. Show the newest")
	s.publish(explore.Version{})
	wantTexts(t, s.get(t, "/snapshot", http.StatusServiceUnavailable), "The page cannot be shown now Open catalog: nothing is published yet: start a night")
	s.publish(explore.Version{Run: "r1", Catalog: "/none"})
	wantTexts(t, s.get(t, "/snapshot", http.StatusInternalServerError),
		"The page cannot be shown now Open snapshot r1: stat /none:",
		`Run "placementsync verify" to check the warehouse for damage.`)
	const logged = `level=ERROR msg="page not shown" url=/explore/snapshot error="open snapshot r1:`
	if log := s.logText(); !strings.Contains(log, logged) {
		t.Errorf("the log lacks the error of the page:\n%s", log)
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := s.fetch(cancelled, "/snapshot"); err == nil {
		t.Error("a cancelled request returned a response")
	}
}

// testUnknownParameters checks that unknown, repeated and unreadable parameters are errors. For example,
// a page that ignored as_of would show the newest snapshot instead of an earlier one.
func testUnknownParameters(t *testing.T, s *site) {
	for address, want := range map[string]string{
		"/orders?as_of=2026-10-01;x":                                    "Read the address: invalid semicolon",
		"/orders?as_of=%zz":                                             "Read the address: invalid URL escape",
		"/snapshot?as_of=2026-11-01&as_of=2026-10-01":                   `The parameter "as_of" is given 2 times`,
		"/questions/price_by_segment/csv?p.currency=USD&p.currency=EUR": `The parameter "p.currency" is given 2 times`,
	} {
		wantTexts(t, s.get(t, address, http.StatusBadRequest), want)
	}
	s.get(t, "/nothing?x=1", http.StatusNotFound)
	// Other sites add parameters to a link. They are ignored, and the links of the page do not repeat them.
	for _, address := range []string{"/catalog", "/orders", "/listings/a", "/questions", "/questions/price_by_segment", "/sql", "/snapshot"} {
		if body := s.get(t, address+"?utm_source=mail&utm_source=news", http.StatusOK); strings.Contains(body, "utm_source") {
			t.Errorf("%s: the page repeats the parameter utm_source", address)
		}
	}
}

// deadlineRecorder records the write deadline of a response.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (r *deadlineRecorder) SetWriteDeadline(at time.Time) error {
	r.deadline = at
	return nil
}

// testWriteDeadlines checks that a download may be written for as long as its query may run. The client has gone, so
// that no page is built.
func testWriteDeadlines(t *testing.T, s *site) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	for path, limit := range map[string]time.Duration{"/explore/orders": 20 * time.Second,
		"/explore/catalog.csv": time.Minute, "/explore/outlets.csv": time.Minute,
		"/explore/outlets/o1/listings/csv": time.Minute, "/explore/sql": time.Minute, "/explore/report": time.Minute} {
		w, begin := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}, time.Now()
		s.explorer.Handler().ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, s.URL+path, nil))
		if w.deadline.Before(begin.Add(limit + 10*time.Second)) {
			t.Errorf("%s is cut off after %v, want ten seconds more than the time limit of %v", path, w.deadline.Sub(begin), limit)
		}
	}
}

// TestNewVersionsAreOpened publishes a second version while the first is open. Requests must read the
// second version, and the file of the first must be closed.
func TestNewVersionsAreOpened(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	first := newCatalog(t, "listings.sql")
	s := newSiteOf(t, first)
	s.get(t, "/snapshot", http.StatusOK)
	data, err := os.ReadFile(first)
	harness.Must(t, err)
	second := strings.TrimSuffix(first, ".duckdb") + "2.duckdb"
	harness.Must(t, os.WriteFile(second, data, 0o600))
	s.publish(explore.Version{Run: "20261102T020000Z", Catalog: second})
	s.get(t, "/snapshot", http.StatusOK)
	harness.Must(t, os.Remove(first)) // as retention does
	s.get(t, "/snapshot", http.StatusOK)
	if log := s.logText(); !strings.Contains(log, "snapshot replaced") || strings.Contains(log, "not closed") {
		t.Errorf("the log lacks \"snapshot replaced\", or contains \"not closed\":\n%s", log)
	}
}

// TestReplacedCatalogsAreOpened replaces the catalog of a version while it is open, as a rebuild does, which keeps the
// id of the run.
func TestReplacedCatalogsAreOpened(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	catalog := newCatalog(t)
	s := newSiteOf(t, catalog)
	listings := func() int { return len(s.csv(t, "/catalog.csv")) - 1 }
	if n := listings(); n != 0 {
		t.Fatalf("the first catalog has %d listings, want none", n)
	}
	harness.Must(t, os.Rename(newCatalog(t, "listings.sql"), catalog))
	if listings() == 0 {
		t.Error("the page shows the replaced catalog")
	}
}

// TestEarlierSnapshotsAreReadFromTheNewestVersion requests the snapshot of a time before and after a second
// version is published. The second response must show the snapshot of the second version.
func TestEarlierSnapshotsAreReadFromTheNewestVersion(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	s := newSite(t, "listings.sql")
	const endOfMonth = "/snapshot?as_of=2026-11-30"
	wantTexts(t, s.get(t, endOfMonth, http.StatusOK), "This is the snapshot of 2026-11-01 02:00 UTC")
	s.publish(explore.Version{Run: "20261103T020000Z", Catalog: newCatalog(t, "records.sql")})
	wantTexts(t, s.get(t, endOfMonth, http.StatusOK), "This is the snapshot of 2026-11-03 02:00 UTC")
}

// TestSnapshotsOfEarlierReleases opens pages that read tables and columns which an earlier release did not have.
func TestSnapshotsOfEarlierReleases(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSiteOf(t, fixture.NewEmptyCatalog(t).Fill(t, `DROP TABLE main.profiles; DROP TABLE meta.checks; DROP VIEW mart.outlet_names;
		INSERT INTO meta.runs (run_id, snapshot_at, outcome) VALUES ('`+firstRun+`', '2026-11-01 02:00:00+00', 'complete');
		INSERT INTO main.product_listings (id, name) VALUES ('L1', 'Guest post')`))
	s.queriesDir = t.TempDir()
	harness.Must(t, os.WriteFile(filepath.Join(s.queriesDir, "named.sql"),
		[]byte("-- title: Named\nSELECT 'P1' AS profile_id, 'O1' AS outlet_id, NULL::VARCHAR AS outlet_name, 1 AS n"), 0o600))
	wantTexts(t, s.get(t, "/profiles", http.StatusInternalServerError), "Table with name profiles does not exist",
		"An earlier version of the program created this snapshot. The next night adds the missing tables and columns.")
	wantTexts(t, s.get(t, "/listings/L1", http.StatusOK), "Guest post",
		"Orders Line items with this product, newest first.",
		"This snapshot lacks a table that the query reads. The next night adds it.")
	wantTexts(t, s.get(t, "/questions/orders_open", http.StatusOK), "This snapshot lacks a table or column that the query reads. The next night adds it.")
	wantTexts(t, s.get(t, "/questions/named", http.StatusOK), "1 row", "Outlet N Profile ID O1 1 P1")
	wantTexts(t, s.get(t, "/snapshot", http.StatusOK), "Snapshot of 2026-11-01 02:00 UTC")
}

// TestDownloadsMayTakeLongerThanPages downloads results that take longer than the time limit of a page.
func TestDownloadsMayTakeLongerThanPages(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	s := newSiteOf(t, newCatalog(t), func(cfg *explore.Config) { cfg.Timeout = 200 * time.Millisecond })
	s.queriesDir = t.TempDir()
	const slow = "SELECT count(*) AS n FROM range(150000000) AS t(i) WHERE i % 7 = 3"
	harness.Must(t, os.WriteFile(filepath.Join(s.queriesDir, "slow.sql"), []byte("-- title: Slow\n"+slow), 0o600))
	want := [][]string{{"n"}, {"21428571"}}
	if got := s.csv(t, "/questions/slow/csv"); !cmp.Equal(want, got) {
		t.Errorf("the file of a question has %v, want %v", got, want)
	}
	short := newSiteOf(t, s.version.Catalog, func(cfg *explore.Config) { cfg.Timeout = time.Nanosecond })
	res, body, err := short.fetch(t.Context(), "/snapshot")
	harness.Must(t, err)
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "20" {
		t.Errorf("a page that takes too long: got %s and Retry-After %q, want 503 and 20 seconds", res.Status,
			res.Header.Get("Retry-After"))
	}
	wantTexts(t, body, "The page took too long and was stopped Narrow the request")
	if got := s.runSQL(t, slow, http.StatusOK, "format", "csv", "bom", "no"); got != "n\r\n21428571\r\n" {
		t.Errorf("the file of typed SQL has %q, want %v", got, want)
	}
}
