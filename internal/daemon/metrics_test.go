package daemon_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
	"placementsync/internal/webhook"
)

// wantMetrics compares the values of time series. "" means that the time series must not exist.
func (h *harness) wantMetrics(want map[string]string) {
	h.t.Helper()
	metrics := h.metrics()
	for series, value := range want {
		if got := metrics[series]; got != value {
			h.t.Errorf("%s is %q, want %q", series, got, value)
		}
	}
}

func TestMetricsAtStart(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.hookResults = func() map[string]uint64 { return map[string]uint64{"stored": 7, "unsigned": 0} }
	h.wantMetrics(map[string]string{
		`runs_total{outcome="failed"}`:                     "0",
		`runs_total{outcome="held"}`:                       "0",
		`refreshes_total{outcome="failed"}`:                "0",
		`refresh_failures`:                                 "0",
		`missed_slots_total{reason="running"}`:             "0",
		`stream_requests_total{stream="orders"}`:           "0",
		`stream_throttled_seconds_total{stream="outlets"}`: "0",
		`stream_rejects_total{stream="outlets"}`:           "0",
		`stream_retries_total{stream="outlets"}`:           "0",
		`config_reloads_total{result="refused"}`:           "0",
		`read_errors_total{source="ledger"}`:               "0",
		`read_errors_total{source="usage"}`:                "0",
		`last_success_timestamp_seconds`:                   "0",
		`snapshot_timestamp_seconds`:                       "0",
		`last_refresh_timestamp_seconds`:                   "0",
		`ready`:                                            "0",
		`run_active`:                                       "0",
		`config_last_reload_successful`:                    "1",
		`schedule_interval_seconds`:                        "86400",
		`webhook_results_total{result="stored"}`:           "7",
		`webhook_results_total{result="unsigned"}`:         "0",
		`build_info{version="v1.2.3"}`:                     "1",
		// Unknown values have no time series.
		`last_run_duration_seconds`:                         "",
		`last_run_new_rows`:                                 "",
		`disk_free_bytes`:                                   "",
		`inbox_bytes`:                                       "",
		`last_verify_timestamp_seconds{depth="full"}`:       "",
		`next_verify_timestamp_seconds`:                     "",
		`verify_interval_seconds`:                           "",
		`stream_grade{grade="exact",stream="orders"}`:       "",
		`last_run_outcome{outcome="failed"}`:                "",
		`disk_used_bytes{part="versions"}`:                  "",
		`last_verify_damaged_files{depth="full"}`:           "",
		`disk_measured_timestamp_seconds`:                   "",
		`streams{standing="proven"}`:                        "",
		`follow_behind{kind="lake"}`:                        "",
		`table_rows{table="orders"}`:                        "",
		`last_verify_result{depth="full",result="damaged"}`: "",
	})
	if text := h.get("/metrics").Body.String(); !strings.Contains(text, "go_goroutines ") {
		t.Error("the metrics of the process are missing")
	}
}

// TestConcurrentScrapes sends 20 scrapes at the same time. All must succeed.
func TestConcurrentScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, release := newHarness(t, nil), make(chan struct{})
		h.hookResults = func() map[string]uint64 { <-release; return nil }
		handler := h.sharedDaemon().Handler()
		statuses := make([]int, 20)
		var scrapes sync.WaitGroup
		for i := range statuses {
			scrapes.Go(func() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/metrics", nil))
				statuses[i] = w.Code
			})
		}
		synctest.Wait()
		close(release)
		scrapes.Wait()
		if slices.ContainsFunc(statuses, func(status int) bool { return status != http.StatusOK }) {
			t.Errorf("the statuses are %v, want 200 for each", statuses)
		}
	})
}

func TestNightMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, func(context.Context) (ledger.Run, error) {
			time.Sleep(90 * time.Second)
			return ledger.Run{Outcome: ledger.Partial, New: 5, Changed: 6, Gone: 7, Streams: []ledger.Stream{
				{Stream: "orders", Grade: "exact", Rows: 60, Rejects: 2, Requests: 12, Retries: 3, RetryAfterSeconds: 1.5},
				{Stream: "outlets", Grade: "carried_forward"},
				{Stream: "article_status_events", Grade: "best_effort", Rows: 4, Events: true},
			}}, nil
		})
		h.start()
		time.Sleep(27 * time.Hour)
		h.wantMetrics(map[string]string{
			`runs_total{outcome="partial"}`:                              "2",
			`last_run_outcome{outcome="partial"}`:                        "1",
			`last_run_outcome{outcome="failed"}`:                         "0",
			`last_run_duration_seconds`:                                  "90",
			`last_success_timestamp_seconds`:                             "9.4677849e+08",
			`snapshot_timestamp_seconds`:                                 "9.467784e+08",
			`last_run_new_rows`:                                          "5",
			`last_run_changed_rows`:                                      "6",
			`last_run_gone_rows`:                                         "7",
			`stream_requests_total{stream="orders"}`:                     "24",
			`stream_retries_total{stream="orders"}`:                      "6",
			`stream_rejects_total{stream="orders"}`:                      "4",
			`stream_throttled_seconds_total{stream="orders"}`:            "3",
			`stream_rows{stream="orders"}`:                               "60",
			`stream_rows{stream="article_status_events"}`:                "4",
			`stream_grade{grade="exact",stream="orders"}`:                "1",
			`stream_grade{grade="exact",stream="outlets"}`:               "0",
			`stream_grade{grade="carried_forward",stream="outlets"}`:     "1",
			`stream_grade{grade="exact",stream="article_status_events"}`: "",
			`streams{standing="proven"}`:                                 "1",
			`streams{standing="carried"}`:                                "1",
			`streams{standing="not_proven"}`:                             "0",
			`streams{standing="not_read"}`:                               "0",
			`next_run_timestamp_seconds`:                                 "9.468648e+08",
			`ready`:                                                      "1",
		})
		h.shutDown()
	})
}

// TestIntervalMetrics runs on a Saturday with a schedule for weekdays. The interval is the three
// days from Friday to Monday.
func TestIntervalMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		friday, inspection := time.Now().Add(-22*time.Hour), fullInspection()
		inspection.Verifications = []repair.VerifyRecord{{ReadData: true, At: friday.Add(3 * time.Hour), Result: repair.Whole}}
		h := newHarness(t, nil)
		h.settings.Schedule, h.settings.VerifySchedule = parseSchedule(t, "0 2 * * 1-5", "UTC"), parseSchedule(t, "0 5 * * 1-5", "UTC")
		h.verify = func(context.Context) (repair.VerifyRecord, error) { return repair.VerifyRecord{}, nil }
		h.inspect = func(context.Context) daemon.Inspection {
			inspection := inspection
			inspection.At = time.Now()
			return inspection
		}
		h.record(ledger.Run{ID: "friday", Outcome: ledger.Complete, StartedAt: friday, EndedAt: friday.Add(time.Minute), SnapshotAt: friday})
		h.start()
		defer h.shutDown()
		time.Sleep(36 * time.Hour)
		h.wantMetrics(map[string]string{`schedule_interval_seconds`: "259200", `verify_interval_seconds`: "259200", `ready`: "1"})
	})
}

// TestMetricsAfterRestart checks that gauges are read from the ledger and counters start at zero. The configuration excludes
// two streams of the last night, and the token has no scope for a third one.
func TestMetricsAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		began := time.Now().Add(-22 * time.Hour)
		h.record(ledger.Run{ID: "earlier", Outcome: ledger.Complete, StartedAt: began, EndedAt: began.Add(time.Minute), SnapshotAt: began,
			Requests: 9, Streams: []ledger.Stream{
				{Stream: "orders", Grade: "repaired", Rows: 60, Requests: 9},
				{Stream: "files", Grade: "carried_forward", Reason: ledger.ReasonNotChosen},
				{Stream: "order", Grade: "skipped", Reason: ledger.ReasonNoDetails},
				{Stream: "outlets", Grade: "carried_forward", Reason: "missing scope outlets"},
			}})
		h.start()
		defer h.shutDown()
		h.wantMetrics(map[string]string{
			`last_run_duration_seconds`:                      "60",
			`last_run_outcome{outcome="complete"}`:           "1",
			`stream_rows{stream="orders"}`:                   "60",
			`stream_grade{grade="repaired",stream="orders"}`: "1",
			`stream_requests_total{stream="orders"}`:         "0",
			`runs_total{outcome="complete"}`:                 "0",
			`snapshot_timestamp_seconds`:                     "9.466056e+08",
			`stream_left_out{stream="files"}`:                "1",
			`stream_left_out{stream="order"}`:                "1",
			`stream_left_out{stream="outlets"}`:              "0",
			`streams{standing="carried"}`:                    "1",
			`streams{standing="not_read"}`:                   "0",
		})
	})
}

// TestRunsOfOtherProcessesAreCounted records an interrupted and resumed night of another process,
// and six refreshes. The last three refreshes fail, are interrupted, and fail.
func TestRunsOfOtherProcessesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.start()
		defer h.shutDown()
		streams := []ledger.Stream{{Stream: "orders", Grade: "exact", Rows: 60, Requests: 9}}
		began := time.Now()
		time.Sleep(10 * time.Minute)
		night := ledger.Run{ID: "other", StartedAt: began, EndedAt: time.Now(), Outcome: ledger.Interrupted, Streams: streams}
		h.record(night)
		time.Sleep(time.Minute)
		h.wantMetrics(map[string]string{`runs_total{outcome="interrupted"}`: "1", `last_run_outcome{outcome="interrupted"}`: "1"})
		night.EndedAt, night.Outcome, night.SnapshotAt, night.New = time.Now(), ledger.Complete, began, 8
		h.mu.Lock()
		h.ledger[0] = night
		h.mu.Unlock()
		for i, outcome := range []ledger.Outcome{ledger.Failed, ledger.Complete, ledger.Partial, ledger.Failed, ledger.Interrupted, ledger.Failed} {
			time.Sleep(time.Minute)
			r := ledger.Run{ID: "refresh " + string(rune('0'+i)), Kind: ledger.Refresh, StartedAt: time.Now().Add(-20 * time.Second), EndedAt: time.Now(), Outcome: outcome, Streams: streams}
			if outcome == ledger.Complete || outcome == ledger.Partial {
				r.SnapshotAt = r.StartedAt
			} else {
				r.Error = "no disk\nsecond line"
			}
			h.record(r)
		}
		// A replay sends no requests.
		h.record(ledger.Run{ID: "replay", Kind: ledger.Replay, StartedAt: began, EndedAt: time.Now(), Outcome: ledger.Failed, Streams: streams})
		time.Sleep(time.Minute)
		for range 2 { // the second scrape must return the same values
			h.wantMetrics(map[string]string{
				`runs_total{outcome="interrupted"}`:      "1",
				`runs_total{outcome="complete"}`:         "1",
				`runs_total{outcome="failed"}`:           "0",
				`last_run_new_rows`:                      "8",
				`refreshes_total{outcome="complete"}`:    "1",
				`refreshes_total{outcome="partial"}`:     "1",
				`refreshes_total{outcome="failed"}`:      "3",
				`refreshes_total{outcome="interrupted"}`: "1",
				`refresh_failures`:                       "2",
				`last_refresh_duration_seconds`:          "20",
				`last_refresh_timestamp_seconds`:         "9.4668582e+08",
				`stream_requests_total{stream="orders"}`: "72",
			})
			time.Sleep(time.Minute)
		}
		h.wantPage("<dt>Last refresh</dt><dd>failed<small>3 min 0 s ago, took 20 s, 2 failed in a row, no disk</small>")
	})
}

// TestNightWithoutLedgerLineIsShown runs a night whose ledger line cannot be written because the
// disk is full, and a night that fails before it has a ledger line.
func TestNightWithoutLedgerLineIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		h.settings.CatchUp = false
		h.record(ledger.Run{ID: "earlier", StartedAt: time.Now().Add(-time.Hour), EndedAt: time.Now(), Outcome: ledger.Interrupted})
		nights := 0
		h.night = func(context.Context) (ledger.Run, error) {
			switch nights++; nights {
			case 1:
				now := time.Now()
				// The unfinished-run file of the night remains, so the ledger shows the night as killed after its end.
				time.AfterFunc(time.Hour, func() { h.record(ledger.Run{ID: "full", StartedAt: now, Outcome: ledger.Killed}) })
				return ledger.Run{ID: "full", StartedAt: now, EndedAt: now.Add(time.Second), Outcome: ledger.Failed, Error: "the disk is full"}, errors.New("the disk is full")
			case 2:
				return ledger.Run{Outcome: ledger.Failed}, errors.New("read the token: no such file")
			}
			now := time.Now()
			entry := ledger.Run{ID: "good", StartedAt: now, EndedAt: now, SnapshotAt: now, Outcome: ledger.Complete}
			h.record(entry)
			return entry, nil
		}
		h.start()
		defer h.shutDown()
		for _, want := range []string{"the disk is full", "read the token: no such file"} {
			time.Sleep(24 * time.Hour)
			h.wantMetrics(map[string]string{`last_run_outcome{outcome="failed"}`: "1"})
			if text := h.get("/").Body.String(); !strings.Contains(text, want) || !strings.Contains(text, "<title>not ready") {
				t.Errorf("the page lacks %q:\n%s", want, text)
			}
		}
		h.wantMetrics(map[string]string{`runs_total{outcome="failed"}`: "2", `runs_total{outcome="killed"}`: "0"})
		now := time.Now()
		h.record(ledger.Run{ID: "by hand", StartedAt: now, EndedAt: now, SnapshotAt: now, Outcome: ledger.Complete})
		time.Sleep(time.Minute)
		h.wantMetrics(map[string]string{`last_run_outcome{outcome="complete"}`: "1"}) // it is later than the night of this process
		time.Sleep(24*time.Hour - time.Minute)
		h.wantMetrics(map[string]string{`last_run_outcome{outcome="complete"}`: "1",
			`runs_total{outcome="complete"}`: "2", `runs_total{outcome="failed"}`: "2"})
		if n := strings.Count(h.get("/").Body.String(), `<th scope="row"><bdi>2000-`); n != 3 {
			t.Errorf("the page lists %d nights of 2000, want the killed one and the two complete ones of the ledger", n)
		}
	})
}

// fullInspection returns an inspection without read errors.
func fullInspection() daemon.Inspection {
	now := time.Now()
	return daemon.Inspection{At: now, FreeBytes: 1 << 30, NeededBytes: 50 << 20,
		Usage: []warehouse.Usage{{Part: "parquet", Bytes: 3 << 20}, {Part: "versions", Bytes: 1 << 20}}, UsageAt: now.Add(-2 * time.Minute),
		Tables: []warehouse.ManifestTable{{Name: "orders", Rows: 60}, {Name: "tags", Rows: 0}}, MissingDays: 2,
		Inbox: webhook.InboxState{Bytes: 5 << 20, Limit: 20 << 20, FullSince: now.Add(-130 * time.Minute)},
		Verifications: []repair.VerifyRecord{
			{At: now.Add(-time.Hour), Seconds: 2, Result: repair.Rebuildable, DamagedFiles: []string{"c"}},
			{ReadData: true, At: now.Add(-26 * time.Hour), Seconds: 90, Result: "damaged", DamagedFiles: []string{"a", "b"}}},
		Watches: []watch.Status{{Watch: "bills", Evaluated: query.Snapshot{At: now.Add(-3 * time.Hour)}, Found: 4, Pending: 2, Sent: now.Add(-27 * time.Hour)}, {Watch: "new"}},
	}
}

// newInspectedHarness returns a harness with a running daemon. The daemon's inspections return
// *inspection with the current time.
func newInspectedHarness(t *testing.T, inspection *daemon.Inspection) *harness {
	t.Helper()
	h := newHarness(t, nil)
	h.hookResults = func() map[string]uint64 { return nil }
	h.settings.HooksEnabled = true
	h.inspect = func(context.Context) daemon.Inspection {
		h.mu.Lock()
		defer h.mu.Unlock()
		inspection.At = time.Now()
		return *inspection
	}
	h.start()
	return h
}

// wantPage checks that the status page contains parts.
func (h *harness) wantPage(parts ...string) {
	h.t.Helper()
	text := h.get("/").Body.String()
	for _, want := range parts {
		if !strings.Contains(text, want) {
			h.t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

func TestWarehouseMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inspection := fullInspection()
		h := newInspectedHarness(t, &inspection)
		defer h.shutDown()
		h.wantMetrics(map[string]string{
			`disk_free_bytes`:                                      "1.073741824e+09",
			`disk_needed_bytes`:                                    "5.24288e+07",
			`disk_used_bytes{part="parquet"}`:                      "3.145728e+06",
			`disk_used_bytes{part="versions"}`:                     "1.048576e+06",
			`disk_measured_timestamp_seconds`:                      "9.4668468e+08",
			`table_rows{table="orders"}`:                           "60",
			`table_rows{table="tags"}`:                             "0",
			`series_missing`:                                       "2",
			`inbox_bytes`:                                          "5.24288e+06",
			`inbox_limit_bytes`:                                    "2.097152e+07",
			`inbox_full_since_timestamp_seconds`:                   "9.46677e+08",
			`last_verify_timestamp_seconds{depth="structure"}`:     "9.466812e+08",
			`last_verify_timestamp_seconds{depth="full"}`:          "9.465912e+08",
			`last_verify_duration_seconds{depth="full"}`:           "90",
			`last_verify_damaged_files{depth="full"}`:              "2",
			`last_verify_damaged_files{depth="structure"}`:         "1",
			`last_verify_duration_seconds{depth="structure"}`:      "2",
			`last_verify_result{depth="full",result="damaged"}`:    "1",
			`last_verify_result{depth="full",result="whole"}`:      "0",
			`last_verify_result{depth="structure",result="whole"}`: "0",
			`watch_findings{watch="bills"}`:                        "4",
			`watch_waiting_messages{watch="bills"}`:                "2",
			`watch_snapshot_timestamp_seconds{watch="bills"}`:      "9.46674e+08",
			`watch_sent_timestamp_seconds{watch="bills"}`:          "9.465876e+08",
			`watch_sent_timestamp_seconds{watch="new"}`:            "0",
		})
		h.wantPage(
			"<dt>Disk</dt><dd>1.0 GiB free<small>the next night may need 50.0 MiB</small>",
			`<div class="tight"><dt>Webhook inbox</dt><dd>5.0 MiB<small>25 % of 20.0 MiB, waiting for the next night; FULL since 1999-12-31 21:50 UTC: a night empties it</small>`,
			"<dt>Verified</dt><dd>damaged<small>every byte, 1 d 2 h ago, a, b</small><small>names and sizes: rebuildable, 1 h 0 min ago, c</small>",
			`<th scope="row"><bdi>parquet</bdi></th><td class="n"><bdi>3.0 MiB</bdi></td><td class="n"><bdi>75 %</bdi></td>`,
			`<th scope="row"><bdi>total</bdi></th><td class="n"><bdi>4.0 MiB</bdi></td>`, "Measured 2 min 0 s ago",
			`<th scope="col">Last checked</th>`, `<th scope="col">Part</th>`,
			"webhooks received</p>",
			`<tr class="behind"><th scope="row"><bdi>bills</bdi></th><td class="t"><time>1999-12-31 21:00 UTC</time></td><td class="n"><bdi>4</bdi></td><td class="n"><bdi>2</bdi></td><td class="t"><time>1999-12-30 21:00 UTC</time></td>`,
			`<tr><th scope="row"><bdi>new</bdi></th><td><bdi>not yet</bdi></td><td class="n"><bdi>0</bdi></td><td class="n"><bdi>0</bdi></td><td><bdi>never</bdi></td>`)
	})
}

// TestUnreadableSourcesHaveNoMetrics runs an inspection without errors. Later inspections find too
// little disk space, and cannot read five other sources.
func TestUnreadableSourcesHaveNoMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inspection := fullInspection()
		h := newInspectedHarness(t, &inspection)
		defer h.shutDown()
		h.mu.Lock()
		inspection = daemon.Inspection{FreeBytes: 1 << 20, NeededBytes: 50 << 20, Errors: map[string]error{}}
		for _, name := range []string{daemon.SourceUsage, daemon.SourceVersion, daemon.SourceInbox, daemon.SourceVerified, daemon.SourceWatches} {
			inspection.Errors[name] = errors.New(name + " is damaged")
		}
		h.mu.Unlock()
		time.Sleep(2*time.Minute + time.Second)
		h.wantMetrics(map[string]string{
			`disk_free_bytes`:                             "1.048576e+06",
			`disk_used_bytes{part="parquet"}`:             "",
			`table_rows{table="orders"}`:                  "",
			`inbox_bytes`:                                 "",
			`last_verify_timestamp_seconds{depth="full"}`: "",
			`watch_findings{watch="bills"}`:               "",
			`read_errors_total{source="free"}`:            "0",
			`read_errors_total{source="usage"}`:           "2",
			`read_errors_total{source="version"}`:         "2",
		})
		h.wantPage(`class="tight"><dt>Disk</dt><dd>1.0 MiB free<small>the next night may need 50.0 MiB: too little</small>`,
			"cannot be read: the disk usage of the warehouse, ", "the state of the watches. See the log.", "<dt>Verified</dt><dd>unknown")
		for _, part := range []string{"<h2>Watches", "<h2>Disk", "Webhook inbox"} {
			if strings.Contains(h.get("/").Body.String(), part) {
				t.Errorf("the page contains %q, whose source is unreadable", part)
			}
		}
		if n := strings.Count(h.log.String(), "usage is damaged"); n != 1 {
			t.Errorf("the log reports the error %d times, want once", n)
		}
	})
}

// TestStuckDiskIsReported runs an inspection, a second one that takes 20 minutes, and a third one that is stopped.
// During the second, scrapes still work, but the results of the first expire.
func TestStuckDiskIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, responds := newHarness(t, nil), make(chan struct{})
		var inspections atomic.Int64
		h.inspect = func(ctx context.Context) daemon.Inspection {
			switch inspections.Add(1) {
			case 2:
				<-responds
			case 3:
				<-ctx.Done()
				return daemon.Inspection{At: time.Now(), Errors: map[string]error{daemon.SourceFree: ctx.Err()}}
			}
			return fullInspection()
		}
		h.start()
		time.Sleep(10 * time.Minute)
		h.wantMetrics(map[string]string{`table_rows{table="orders"}`: "60", `ready`: "0"})
		time.Sleep(11*time.Minute + time.Second)
		h.wantMetrics(map[string]string{`table_rows{table="orders"}`: "", `disk_free_bytes`: "", `ready`: "0",
			`read_errors_total{source="free"}`: "6"}) // one a minute from minute 16 to minute 21
		h.wantPage("has not responded since 2000-01-01 00:01 UTC")
		if n := strings.Count(h.log.String(), "does not respond"); n != 1 {
			t.Errorf("the log reports the stuck disk %d times, want once", n)
		}
		if n := inspections.Load(); n != 2 {
			t.Errorf("%d inspections started, want 2: a third must not start before the second ends", n)
		}
		close(responds)
		synctest.Wait()
		h.wantMetrics(map[string]string{`table_rows{table="orders"}`: "60"})
		if text := h.get("/").Body.String(); strings.Contains(text, "has not responded") {
			t.Errorf("the page still shows a stuck disk:\n%s", text)
		}
		time.Sleep(2 * time.Minute)
		h.shutDown()
		if n := inspections.Load(); n != 3 || strings.Contains(h.log.String(), "cannot be read") {
			t.Errorf("after %d inspections, the third of which was stopped, the log has errors, want none:\n%s", n, &h.log)
		}
	})
}

// TestUnreadableLedgerIsReported checks that metrics from the ledger disappear while the ledger
// cannot be read.
func TestUnreadableLedgerIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, nil)
		began := time.Now().Add(-time.Hour)
		h.record(ledger.Run{ID: "earlier", Outcome: ledger.Complete, StartedAt: began, EndedAt: began.Add(time.Minute), SnapshotAt: began, New: 3})
		readRuns := h.runs
		var readErr error
		var mu sync.Mutex
		h.runs = func() ([]ledger.Run, error) {
			mu.Lock()
			defer mu.Unlock()
			if readErr != nil {
				return nil, readErr
			}
			return readRuns()
		}
		h.start()
		defer h.shutDown()
		h.wantMetrics(map[string]string{`last_run_new_rows`: "3", `read_errors_total{source="ledger"}`: "0"})
		mu.Lock()
		readErr = errors.New("read /secret/path: broken")
		mu.Unlock()
		time.Sleep(time.Minute)
		h.wantMetrics(map[string]string{`last_run_new_rows`: "", `last_success_timestamp_seconds`: "", `snapshot_timestamp_seconds`: "",
			`last_run_outcome{outcome="complete"}`: "", `refresh_failures`: "", `read_errors_total{source="ledger"}`: "1", `ready`: "0"})
		h.wantPage("1999-12-31 23:00 UTC") // the page still shows the night
		if w := h.get("/readyz"); w.Code != 503 || w.Body.String() != "not ready: the ledger cannot be read: see the log\n" {
			t.Errorf("/readyz returned %d %q, want 503 and only the ledger without its path, because a night has succeeded", w.Code, w.Body)
		}
		time.Sleep(time.Minute)
		h.get("/")
		if n := strings.Count(h.log.String(), `level=WARN msg="the ledger cannot be read" error="read /secret/path: broken"`); n != 1 {
			t.Errorf("the log reports the unreadable ledger %d times, want once:\n%s", n, &h.log)
		}
		mu.Lock()
		readErr = nil
		mu.Unlock()
		time.Sleep(time.Minute)
		h.wantMetrics(map[string]string{`last_run_new_rows`: "3"})
		if !strings.Contains(h.log.String(), "the ledger can be read again") {
			t.Errorf("the log does not report that the ledger can be read again:\n%s", &h.log)
		}
	})
}
