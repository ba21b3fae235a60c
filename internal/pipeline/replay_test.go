package pipeline_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/warehouse"
)

// tagService is an HTTP service with a list of tags and a token with full access.
type tagService struct {
	tags     []string
	requests int
}

func (s *tagService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests++
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/auth/token") {
		_, _ = io.WriteString(w, `{"source":"partner","team_id":"team-1","token_type":"full_access"}`)
		return
	}
	var records []string
	for _, tag := range s.tags {
		records = append(records, fmt.Sprintf(`{"name":%q}`, tag))
	}
	fmt.Fprintf(w, `{"records":[%s],"total_records":%d,"total_pages":1,"current_page":1,"next_page":null}`, strings.Join(records, ","), len(records))
}

// TestReplayClaimsNoSecondReading deletes all tags. The gate stops the night after a second reading of the
// list. The gate must also stop a replay of this night, without requests to the service. The error of the
// replay must not claim a second reading.
func TestReplayClaimsNoSecondReading(t *testing.T) {
	t.Parallel()
	service := &tagService{}
	server := httptest.NewServer(service)
	defer server.Close()
	for i := range 12 {
		service.tags = append(service.tags, fmt.Sprintf("tag %d", i))
	}
	cfg := configWithoutService(t)
	cfg.Chosen, cfg.Fetch.BaseURL = []string{"token", "tags"}, server.URL
	cfg.Limits = load.Limits{Share: 0.2, Rows: 50}
	now := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	cfg.Now = func() time.Time { return now }
	if _, err := pipeline.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}

	service.tags = nil
	now = now.AddDate(0, 0, 1)
	stopped, err := pipeline.Run(t.Context(), cfg)
	massDelete, ok := errors.AsType[*load.MassDeleteError](err)
	if !ok || !massDelete.Reread || !strings.Contains(err.Error(), "run placementsync run --allow-mass-delete") {
		t.Fatalf("the night ended with %v, want a MassDeleteError after a second reading", err)
	}
	requests := service.requests
	now = now.Add(time.Hour)
	_, err = pipeline.Replay(t.Context(), cfg, stopped.Run.ID)
	massDelete, ok = errors.AsType[*load.MassDeleteError](err)
	if !ok || massDelete.Reread || !strings.HasSuffix(err.Error(), ": run placementsync run") || service.requests != requests {
		t.Errorf("the replay ended with %v after %d requests, want an error without requests", err, service.requests-requests)
	}
	wh := warehouse.New(cfg.Warehouse)
	if latest, _, err := wh.Versions.Latest(); err != nil || latest != "20261120T020000Z" {
		t.Errorf("readers see %s (%v), want the first night", latest, err)
	}
}

// TestReplayReportsDamagedJournal replays a night, with an intact and with a damaged journal of the stored
// responses. The replay must warn of the damaged journal.
func TestReplayReportsDamagedJournal(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	night := h.requireComplete(h.night())
	for _, damagedLines := range []int{0, 1} {
		journal, err := os.OpenFile(h.path("raw", night.Run.ID, "journal.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = journal.WriteString(strings.Repeat("damaged\n", damagedLines))
		must(t, errors.Join(err, journal.Close()))
		var log lockedBuffer
		h.logTo(&log)
		h.at = h.at.Add(time.Minute)
		cfg := h.cfg
		cfg.DryRun = true
		h.requireComplete(pipeline.Replay(t.Context(), cfg, night.Run.ID))
		want := fmt.Sprintf("a replay omits them\" damaged=%d", damagedLines)
		if strings.Contains(log.String(), want) != (damagedLines > 0) {
			t.Errorf("with %d damaged lines the log has %q, want a warning only if there are damaged lines", damagedLines, log.String())
		}
	}
}
