package daemon_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/ledger"
)

func TestEverySeriesExistsFromTheStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.cfg.HookResults = func() map[string]uint64 { return map[string]uint64{"stored": 7, "unsigned": 0} }
	for series, want := range map[string]string{
		`runs_total{outcome="failed"}`:                      "0",
		`missed_slots_total{reason="running"}`:              "0",
		`stream_requests_total{stream="orders"}`:            "0",
		`stream_throttled_seconds_total{stream="outlets"}`:  "0",
		`stream_rejects_total{stream="outlets"}`:            "0",
		`stream_grade{grade="best_effort",stream="orders"}`: "0",
		`last_success_timestamp_seconds`:                    "0",
		`snapshot_age_seconds`:                              "NaN",
		`ready`:                                             "0",
		`run_active`:                                        "0",
		`webhook_results_total{result="stored"}`:            "7",
		`webhook_results_total{result="unsigned"}`:          "0",
		`build_info{version="v1.2.3"}`:                      "1",
	} {
		if got := h.metric(series); got != want {
			t.Errorf("%s is %q, want %q", series, got, want)
		}
	}
	if text := h.get("/metrics").Body.String(); !strings.Contains(text, "go_goroutines ") {
		t.Error("the process is not measured")
	}
}

// TestScrapesWaitForOneAnother has more of them at once than are answered at once.
func TestScrapesWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, slow := newHouse(t, nil), make(chan struct{})
		h.cfg.HookResults = func() map[string]uint64 { <-slow; return nil }
		handler := h.open().Handler()
		answers := make([]int, 20)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/metrics", nil))
				answers[i] = w.Code
			})
		}
		synctest.Wait()
		close(slow)
		all.Wait()
		if slices.ContainsFunc(answers, func(status int) bool { return status != http.StatusOK }) {
			t.Errorf("answered %v", answers)
		}
	})
}

func TestNightsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(context.Context) (ledger.Run, error) {
			time.Sleep(90 * time.Second)
			return ledger.Run{Outcome: ledger.Partial, New: 5, Changed: 6, Gone: 7, Streams: []ledger.Stream{
				{Stream: "orders", Grade: "exact", Rows: 60, Rejects: 2, Requests: 12, Retries: 3, RetryAfterSeconds: 1.5},
				{Stream: "outlets", Grade: "carried_forward"},
			}}, nil
		})
		h.run()
		time.Sleep(27 * time.Hour)
		for series, want := range map[string]string{
			`runs_total{outcome="partial"}`:                          "2",
			`last_run_duration_seconds`:                              "90",
			`last_success_timestamp_seconds`:                         "9.4677849e+08",
			`snapshot_age_seconds`:                                   "3600",
			`last_run_new_rows`:                                      "5",
			`last_run_changed_rows`:                                  "6",
			`last_run_gone_rows`:                                     "7",
			`stream_requests_total{stream="orders"}`:                 "24",
			`stream_retries_total{stream="orders"}`:                  "6",
			`stream_rejects_total{stream="orders"}`:                  "4",
			`stream_throttled_seconds_total{stream="orders"}`:        "3",
			`stream_rows{stream="orders"}`:                           "60",
			`stream_grade{grade="exact",stream="orders"}`:            "1",
			`stream_grade{grade="exact",stream="outlets"}`:           "0",
			`stream_grade{grade="carried_forward",stream="outlets"}`: "1",
			`next_run_timestamp_seconds`:                             "9.468648e+08",
			`ready`:                                                  "1",
		} {
			if got := h.metric(series); got != want {
				t.Errorf("%s is %q, want %q", series, got, want)
			}
		}
		h.end()
	})
}

// TestARestartRemembersTheLastNight wants what the ledger knows, and no counts.
func TestARestartRemembersTheLastNight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		began := time.Now().Add(-22 * time.Hour)
		h.record(ledger.Run{ID: "earlier", Outcome: ledger.Complete, StartedAt: began, EndedAt: began.Add(time.Minute), SnapshotAt: began,
			Requests: 9, Streams: []ledger.Stream{{Stream: "orders", Grade: "repaired", Rows: 60, Requests: 9}}})
		h.run()
		defer h.end()
		for series, want := range map[string]string{
			`last_run_duration_seconds`:                      "60",
			`stream_rows{stream="orders"}`:                   "60",
			`stream_grade{grade="repaired",stream="orders"}`: "1",
			`stream_requests_total{stream="orders"}`:         "0",
			`runs_total{outcome="complete"}`:                 "0",
			`snapshot_age_seconds`:                           "79200",
		} {
			if got := h.metric(series); got != want {
				t.Errorf("%s is %q, want %q", series, got, want)
			}
		}
	})
}
