package explore_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"placementsync/internal/explore"
	"placementsync/internal/testing/torture"
)

// newOwnSite serves the pages of a catalog with queries of the user, by their names.
func newOwnSite(t *testing.T, timeout time.Duration, own map[string]string) (*site, *explore.Explorer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range own {
		fatal(t, os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600))
	}
	s := &site{version: explore.Version{Run: run, Catalog: newCatalog(t, "records.sql")}, queries: dir}
	pages, err := explore.New(explore.Config{Warehouse: s, MemoryLimit: "512MB", Threads: 1, Program: "placementsync query",
		Timeout: timeout, Log: slog.New(slog.NewTextHandler(s, nil))})
	fatal(t, err)
	s.Server = httptest.NewServer(pages.Handler())
	t.Cleanup(func() { s.Close(); fatal(t, pages.Close()) })
	return s, pages
}

// TestQueriesThatCannotBeStoppedAreFew: DuckDB looks for an interruption between calls of
// a function, not within one. Such a page is answered all the same, its connection stays
// in use, and when there are four nothing more is asked.
func TestQueriesThatCannotBeStoppedAreFew(t *testing.T) {
	torture.RequireTrials(t, os.Getenv)
	s, explorer := newOwnSite(t, 3*time.Second, map[string]string{
		"runaway": "-- title: Runaway\nSELECT levenshtein(repeat('a', 30000), repeat('b', 30000)) AS n"})
	s.get(t, "/snapshot", http.StatusOK)
	var pages sync.WaitGroup
	for range 4 {
		pages.Go(func() {
			began := time.Now()
			res, _, err := s.fetch(t.Context(), "/questions/runaway")
			if err != nil || res.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("a page of a query that cannot be stopped ended with %v %v", res, err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it was answered after %s", took)
			}
		})
	}
	pages.Wait()
	wantTexts(t, s.get(t, "/snapshot", http.StatusServiceUnavailable), "4 queries that took too long cannot be stopped and are still at work")
	for explorer.Stuck() > 0 {
		_, _, err := s.fetch(t.Context(), "/snapshot")
		fatal(t, err)
	}
	s.get(t, "/snapshot", http.StatusOK)
}

// TestASecondConnectionThatCannotBeStoppedHoldsNobody: its query is counted, and the request
// ends.
func TestASecondConnectionThatCannotBeStoppedHoldsNobody(t *testing.T) {
	t.Parallel()
	s, explorer := newOwnSite(t, 3*time.Second, nil)
	s.askUntil(t, "/snapshot", http.StatusOK, "") // the snapshot is open
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := explorer.AskSecond(ctx, "SELECT levenshtein(repeat('a', 40000), repeat('b', 40000)) AS n")
	if stuck := explorer.Stuck(); err == nil || stuck != 1 {
		t.Errorf("%d queries are stuck after %v, want 1", stuck, err)
	}
	for explorer.Stuck() > 0 {
		_, _, err := s.fetch(t.Context(), "/snapshot")
		fatal(t, err)
	}
	s.get(t, "/snapshot", http.StatusOK)
}

// TestALookAtADownloadAsksNothing: a HEAD has the headers of the file, at no cost.
func TestALookAtADownloadAsksNothing(t *testing.T) {
	t.Parallel()
	s, _ := newOwnSite(t, 3*time.Second, map[string]string{
		"slow": "-- title: Slow\nSELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3"})
	res, err := s.Client().Head(s.URL + "/explore/questions/slow/csv")
	fatal(t, err)
	fatal(t, res.Body.Close())
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Disposition") != `attachment; filename="slow.csv"` {
		t.Errorf("answered %d with %v: the query has run", res.StatusCode, res.Header)
	}
}

// TestAnIndexThatFailedIsMadeAgain lets the first one fail.
func TestAnIndexThatFailedIsMadeAgain(t *testing.T) {
	t.Parallel()
	s, pages := newOwnSite(t, 3*time.Second, nil)
	s.get(t, "/snapshot", http.StatusOK)
	fatal(t, pages.DeriveNow(t.Context(), "CREATE VIEW derived.ranks AS SELECT 1 AS id"))
	s.get(t, "/catalog", http.StatusInternalServerError)
	fatal(t, pages.DeriveNow(t.Context(), "DROP VIEW derived.ranks"))
	s.askUntil(t, "/catalog", http.StatusOK, "")
}
