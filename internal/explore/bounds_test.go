package explore_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"placementsync/internal/config"
	"placementsync/internal/explore"
	"placementsync/internal/testing/harness"
)

// newSiteWithQueries serves the pages of a catalog. queries contains the user's queries by name.
func newSiteWithQueries(t *testing.T, timeout time.Duration, queries map[string]string) (*site, *explore.Explorer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range queries {
		harness.Must(t, os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600))
	}
	s := &site{version: explore.Version{Run: firstRun, Catalog: newCatalog(t, "records.sql")}, queriesDir: dir}
	explorer, err := explore.New(explore.Config{Warehouse: s, MemoryLimit: "512MB", Threads: 1, Program: "placementsync query",
		Settings: config.Default().QuerySettings(), Timeout: timeout, Log: slog.New(slog.NewTextHandler(s, nil))})
	harness.Must(t, err)
	s.Server = httptest.NewServer(explorer.Handler())
	t.Cleanup(func() { s.Close(); explorer.Close() })
	return s, explorer
}

// TestHeadDoesNotRunTheQuery checks that HEAD returns the headers of a download without running
// its query, which would exceed the time limit.
func TestHeadDoesNotRunTheQuery(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	s, _ := newSiteWithQueries(t, 3*time.Second, map[string]string{
		"slow": "-- title: Slow\nSELECT count(*) FROM range(1000000000000) AS t(i) WHERE i % 7 = 3"})
	res, err := s.Client().Head(s.URL + "/explore/questions/slow/csv")
	harness.Must(t, err)
	harness.Must(t, res.Body.Close())
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Disposition") != `attachment; filename="slow-2026-11-03.csv"` {
		t.Errorf("HEAD returned the status %d and the headers %v, want 200 and the headers of the file", res.StatusCode, res.Header)
	}
}
