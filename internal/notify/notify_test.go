package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/testing/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver handles requests: it responds with the given statuses in turn, and then always with
// the last status.
type receiver struct {
	mu       sync.Mutex
	statuses []int
	requests []string    // method, path and body
	header   http.Header // of the last request
}

var _ http.Handler = (*receiver)(nil)

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q.Method+" "+q.URL.Path+" "+string(body))
	r.header = q.Header
	status := r.statuses[0]
	if len(r.statuses) > 1 {
		r.statuses = r.statuses[1:]
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
}

// newLoggedNotifier returns a notifier that sends to secret addresses of r, and the log of the
// notifier.
func newLoggedNotifier(t *testing.T, r *receiver) (*notify.Notifier, *strings.Builder) {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	var log strings.Builder
	return notify.New(notify.Config{FailureURL: server.URL + "/T0/s3cret", HeartbeatURL: server.URL + "/beat-s3cret",
		UserAgent: "test", Backoff: time.Millisecond}, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func TestAlertBody(t *testing.T) {
	t.Parallel()
	r := &receiver{statuses: []int{200}}
	notifier, _ := newLoggedNotifier(t, r)
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	notifier.Alert(t.Context(), notify.Alert{Event: notify.Partial, Run: "20261120T020000Z", ExitCode: 3, StartedAt: at, EndedAt: at.Add(time.Minute), Since: at.AddDate(0, 0, -2), Streak: 3,
		Streams: []notify.Stream{{Stream: "orders", Grade: "carried_forward", Standing: "carried", Reason: "GET /orders answered 503\nmore"}}, Program: "v1"})
	if len(r.requests) != 1 || r.header.Get("Content-Type") != "application/json" || r.header["Idempotency-Key"] != nil {
		t.Fatalf("the receiver got %q with the header %v, want one JSON request without a key", r.requests, r.header)
	}
	body, ok := strings.CutPrefix(r.requests[0], "POST /T0/s3cret ")
	if !ok {
		t.Fatalf("the receiver got %q, want a POST to /T0/s3cret", r.requests[0])
	}
	var got map[string]any
	harness.Must(t, json.Unmarshal([]byte(body), &got))
	want := map[string]any{
		"text": "placementsync: night 20261120T020000Z is published, but partial: orders is carried: GET /orders answered 503\n" +
			"Since 2026-11-18 02:00 UTC, 3 nights in a row. Readers see the rows of this night in all other streams.\n" +
			"To do: nothing, if the next night reads these streams; else run placementsync check, which tests the token and the service.",
		"event": "partial", "run_id": "20261120T020000Z", "exit_code": 3.0, "program_version": "v1",
		"started_at": "2026-11-20T02:00:00Z", "ended_at": "2026-11-20T02:01:00Z", "since": "2026-11-18T02:00:00Z", "times": 3.0,
		"advice":  "nothing, if the next night reads these streams; else run placementsync check, which tests the token and the service.",
		"streams": []any{map[string]any{"stream": "orders", "grade": "carried_forward", "standing": "carried", "reason": "GET /orders answered 503\nmore"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alert (-want +got):\n%s", diff)
	}
}

// TestAlertTexts checks that each alert has three lines and at most 600 characters, even if
// it quotes a long response of the service.
func TestAlertTexts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	long := strings.Repeat(`the service answered "{\"ä\":\"\\n\"}" `, 100) + "\nand more"
	streams := slices.Repeat([]notify.Stream{{Stream: "campaign_status_counts", Standing: "not proven", Reason: long}}, 30)
	for name, c := range map[string]struct {
		alert                    notify.Alert
		headline, effect, advice string
	}{
		"failed": {alert: notify.Alert{Event: notify.Failed, Run: "r1", Error: "no space left on device", Since: at, SnapshotAt: at.AddDate(0, 0, -1)},
			headline: "night r1 failed: no space left on device",
			effect:   "Since 2026-11-20 02:00 UTC. Readers have the snapshot of 2026-11-19 02:00 UTC.",
			advice:   "correct the cause, then run placementsync run"},
		"not started": {alert: notify.Alert{Event: notify.Failed, Error: "no disk", StartedAt: at},
			headline: "a night could not start: no disk",
			effect:   "Since 2026-11-20 02:00 UTC. Readers have no snapshot yet.", advice: "correct the cause"},
		"unknown snapshot": {alert: notify.Alert{Event: notify.Failed, Error: "no disk", StartedAt: at, SnapshotUnknown: true},
			headline: "a night could not start: no disk",
			effect:   "Since 2026-11-20 02:00 UTC.", advice: "correct the cause"},
		"unverified": {alert: notify.Alert{Event: notify.Unverified, Error: "no disk", StartedAt: at},
			headline: "the verification of the warehouse failed: no disk",
			effect:   "Since 2026-11-20 02:00 UTC. The result of the last complete verification is kept.",
			advice:   "correct the cause"},
		"long error": {alert: notify.Alert{Event: notify.Failed, Run: "r1", Error: long, Since: at, Streak: 1000, SnapshotAt: at},
			headline: `night r1 failed: the service answered "{"ä":"\n"}"`,
			effect:   ", 1000 nights in a row. Readers have", advice: "correct"},
		"partial": {alert: notify.Alert{Event: notify.Partial, Run: "r1", Streams: streams, Since: at},
			headline: "night r1 is published, but partial: campaign_status_counts is not proven: the service answered",
			effect:   "Readers see the rows of this night", advice: "nothing, if"},
		"a failed step after the publish": {alert: notify.Alert{Event: notify.Partial, Run: "r1", Error: "extend the Parquet series by 2026-11-20: it is a file",
			Since: at, Streams: streams},
			headline: "night r1 is published, but partial: extend the Parquet series by 2026-11-20: it is a file",
			effect:   "Readers of the catalog see the rows of this night.",
			advice:   "correct the cause; the next night completes the failed step."},
		"two streams": {alert: notify.Alert{Event: notify.Partial, Run: "r1", Streams: []notify.Stream{{Stream: "orders", Standing: "carried"}, {Stream: "outlets", Standing: "not read", Reason: "403"}}},
			headline: "partial: orders is carried; outlets is not read: 403", effect: "Since ", advice: "nothing, if"},
		"gate": {alert: notify.Alert{Event: notify.Gate, Run: "r1", Error: long, Since: at},
			headline: "night r1 was not published: a gate stopped it: the service answered",
			effect:   "Readers have",
			advice:   "check the service. If these records were really deleted, run placementsync run --allow-mass-delete"},
		"own advice": {alert: notify.Alert{Event: notify.Gate, Run: "r1", Advice: "check the disk."},
			headline: "night r1 was not published: a gate stopped it",
			effect:   "Readers have", advice: "check the disk."},
		"damaged": {alert: notify.Alert{Event: notify.Damaged, Error: "2 files: a, b", StartedAt: at},
			headline: "the warehouse is damaged: 2 files: a, b",
			effect:   "Found on 2026-11-20 02:00 UTC.", advice: "run placementsync verify --read-data"},
		"behind": {alert: notify.Alert{Event: notify.Behind, Work: "backup", Run: "r1", Error: long, Since: at, Streak: 2},
			headline: "the backup failed after the published night r1: the service answered",
			effect:   "2 attempts in a row. Readers of the warehouse see the snapshot of this night.",
			advice:   "correct the cause; the next night tries again, or run placementsync backup now."},
		"lake": {alert: notify.Alert{Event: notify.Behind, Work: "lake", Run: "r1", Since: at},
			headline: "the publishing to the lake failed after the published night r1",
			effect:   "Since ",
			advice:   "correct the cause; the next night tries again, or run placementsync lake publish --all now."},
		"recovered": {alert: notify.Alert{Event: notify.Recovered, Work: "watch", Run: "r1", Since: at},
			headline: "the run of the watches is up to date again, with night r1",
			effect:   "It had been behind since 2026-11-20 02:00 UTC.", advice: "nothing."},
		"full inbox": {alert: notify.Alert{Event: notify.Full, Work: notify.Inbox, StartedAt: at},
			headline: "the webhook inbox is full: events are refused",
			effect:   "Since 2026-11-20 02:00 UTC. Accepted events are kept;",
			advice:   "run the command \"placementsync runs\""},
		"room in the inbox": {alert: notify.Alert{Event: notify.Recovered, Work: notify.Inbox, StartedAt: at},
			headline: "the webhook inbox has room again: events are accepted",
			effect:   "It had been full since 2026-11-20 02:00 UTC.", advice: "nothing."},
		"markup in the error": {alert: notify.Alert{Event: notify.Failed, Run: "r1", Error: "answered 500: <!channel> <https://evil.example|log in> @all"},
			headline: "answered 500: \u2039!channel\u203a \u2039https://evil.example|log in\u203a @\u200ball",
			effect:   "Since ", advice: "correct"},
		"markup in the advice": {alert: notify.Alert{Event: notify.Failed, Run: "r1", Advice: "<!here>" + long},
			headline: "night r1 failed", effect: "Since ", advice: "\u2039!here\u203athe service"},
		"a long reason before another stream": {alert: notify.Alert{Event: notify.Partial, Streams: []notify.Stream{{Stream: "orders", Standing: "carried", Reason: long}, {Stream: "outlets", Standing: "not read"}}},
			headline: "; outlets is not read", effect: "Since ", advice: "nothing"},
		"markup in a reason": {alert: notify.Alert{Event: notify.Partial, Streams: []notify.Stream{{Stream: "orders", Standing: "carried", Reason: "<!here>"}}},
			headline: "orders is carried: \u2039!here\u203a", effect: "Since ", advice: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{statuses: []int{200}}
			notifier, _ := newLoggedNotifier(t, r)
			notifier.Alert(t.Context(), c.alert)
			if len(r.requests) != 1 {
				t.Fatalf("the receiver got %q, want one request", r.requests)
			}
			var got notify.Alert
			harness.Must(t, json.Unmarshal([]byte(r.requests[0][strings.Index(r.requests[0], "{"):]), &got))
			if got.Streams == nil {
				t.Error("the streams are null, want a list")
			}
			if got.Streak < 1 {
				t.Errorf("the number of nights is %d, want at least 1", got.Streak)
			}
			if c.alert.SnapshotUnknown && strings.Contains(got.Text, "Readers") {
				t.Errorf("%q describes a snapshot that is not known", got.Text)
			}
			checkAlertText(t, got.Text, c.headline, c.effect, c.advice)
		})
	}
}

// checkAlertText checks the length of an alert and that its three lines contain the headline, the effect and the advice.
func checkAlertText(t *testing.T, text, headline, effect, advice string) {
	t.Helper()
	if n := utf8.RuneCountInString(text); n > 600 {
		t.Errorf("the text has %d characters, want at most 600:\n%s", n, text)
	}
	for _, escape := range []string{`\"`, `\\`} {
		if strings.Contains(text, escape) {
			t.Errorf("the text contains the escape %s, want the character itself:\n%s", escape, text)
		}
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 3 {
		t.Fatalf("the text has %d lines, want 3:\n%s", len(lines), text)
	}
	if !strings.HasPrefix(lines[0], "placementsync: ") {
		t.Errorf("the first line is %q, want it to begin with the name of the program", lines[0])
	}
	if !strings.Contains(lines[0], headline) {
		t.Errorf("the first line is %q, want %q in it", lines[0], headline)
	}
	if !strings.Contains(lines[1], effect) {
		t.Errorf("the second line is %q, want %q in it", lines[1], effect)
	}
	if !strings.HasPrefix(lines[2], "To do: "+advice) {
		t.Errorf("the last line is %q, want the advice %q", lines[2], advice)
	}
}

// TestAlertsOfChecks compares the whole texts of alerts about checks, whose rows contain markup, and of one about
// streams.
func TestAlertsOfChecks(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 3, 0, 0, 0, time.FixedZone("", 3600))
	failedCheck := func(name, title, sample string) ledger.CheckResult {
		return ledger.CheckResult{Name: name, Title: title, Severity: "hold", Outcome: ledger.CheckFailed, Rows: 40, Sample: []byte(sample)}
	}
	scaled := failedCheck("prices_scaled", "Prices moved", `[{"currency":"EUR","factor":100.00,"list":null},{"currency":"<!here>","factor":3}]`)
	slow := ledger.CheckResult{Name: "slow", Title: "Too slow", Severity: "warn", Outcome: ledger.CheckNotRun, Reason: "it took longer than 30s"}
	long := failedCheck("long", "Long", `[{"text":"`+strings.Repeat("x", 1000)+`"}]`)
	orders := notify.Stream{Stream: "orders", Standing: "carried"}
	for name, c := range map[string]struct {
		alert notify.Alert
		want  string
	}{
		"held": {notify.Alert{Event: notify.Held, Run: "r1", Error: "check prices_scaled failed in 40 rows, check long failed in 40 rows", Since: at, Streak: 2, SnapshotAt: at.AddDate(0, 0, -1), Checks: []ledger.CheckResult{scaled, long}},
			"placementsync: night r1 is held: check prices_scaled failed in 40 rows, check long failed in 40 rows\n" +
				"- Prices moved: currency EUR, factor 100.00; currency \u2039!here\u203a, factor 3\n" +
				"- Long: text " + strings.Repeat("x", 289) + "...\n" +
				"Since 2026-11-20 02:00 UTC, 2 nights in a row. Readers have the snapshot of 2026-11-19 02:00 UTC.\n" +
				"To do: run placementsync diff --held. If the values are right, run placementsync publish --accept prices_scaled,long; else placementsync discard, or wait for the next night."},
		"warned": {notify.Alert{Event: notify.Warned, Run: "r1", Error: "check slow did not run", StartedAt: at, Checks: []ledger.CheckResult{slow}},
			"placementsync: night r1 is published with warnings: check slow did not run\n- Too slow: it took longer than 30s\n" +
				"Found on 2026-11-20 02:00 UTC. Readers see the snapshot of this night.\n" +
				"To do: run placementsync audit, which shows the rows. checks.rules in the configuration changes a check or turns it off."},
		"seven checks": {notify.Alert{Event: notify.Warned, Run: "r1", StartedAt: at, Advice: "x", Checks: []ledger.CheckResult{slow, slow, slow, slow, slow, slow, slow}},
			"placementsync: night r1 is published with warnings\n" + strings.Repeat("- Too slow: it took longer than 30s\n", 5) +
				"- and 2 more checks\nFound on 2026-11-20 02:00 UTC. Readers see the snapshot of this night.\nTo do: x"},
		"five streams": {notify.Alert{Event: notify.Partial, Run: "r1", StartedAt: at, Advice: "x", Streams: []notify.Stream{orders, orders, orders, orders, orders}},
			"placementsync: night r1 is published, but partial: " + strings.Repeat("orders is carried; ", 3) + "and 2 more streams\n" +
				"Since 2026-11-20 02:00 UTC. Readers see the rows of this night in all other streams.\nTo do: x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{statuses: []int{200}}
			notifier, _ := newLoggedNotifier(t, r)
			if !notifier.Alert(t.Context(), c.alert) || len(r.requests) != 1 {
				t.Fatalf("the receiver got %q, want one request", r.requests)
			}
			var got notify.Alert
			harness.Must(t, json.Unmarshal([]byte(r.requests[0][strings.Index(r.requests[0], "{"):]), &got))
			if diff := cmp.Diff(c.want, got.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			// The encoder escapes < in samples.
			decoded := cmp.Transformer("decoded", func(raw json.RawMessage) (v any) { _ = json.Unmarshal(raw, &v); return v })
			if diff := cmp.Diff(c.alert.Checks, got.Checks, decoded); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeartbeatIsRetried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		statuses []int
		requests int
		logged   string
	}{
		{"success", []int{204}, 1, ""},
		{"success after transient errors", []int{503, 429, 200}, 3, ""},
		{"redirect", []int{302}, 1, "the receiver returned 302"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{statuses: c.statuses}
			notifier, log := newLoggedNotifier(t, r)
			notifier.Heartbeat(t.Context())
			if len(r.requests) != c.requests || !strings.HasPrefix(r.requests[0], "GET /beat-s3cret") || r.header["Content-Type"] != nil {
				t.Errorf("the receiver got %q with the header %v, want %d requests without content", r.requests, r.header, c.requests)
			}
			if !strings.Contains(log.String(), c.logged) || strings.Contains(log.String(), "s3cret") {
				t.Errorf("log is %s, want %q and no secret", log, c.logged)
			}
		})
	}
}

func TestNetworkErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, address := range []string{server.URL + "/s3cret", "http://[bad/s3cret", "http://user:s3cret@127.0.0.1:1/"} {
		var log strings.Builder
		notifier := notify.New(notify.Config{FailureURL: address, Backoff: time.Millisecond}, slog.New(slog.NewTextHandler(&log, nil)))
		if notifier.Alert(t.Context(), notify.Alert{Event: notify.Failed}) {
			t.Errorf("the alert to %s counts as sent, so that it is not sent again", address)
		}
		if !strings.Contains(log.String(), "not sent") || strings.Contains(log.String(), "s3cret") {
			t.Errorf("log is %s, want \"not sent\" without the secret", &log)
		}
	}
}

// TestHeartbeatStopsWithItsContext cancels the context during a request.
func TestHeartbeatStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}))
	defer server.Close()
	var log strings.Builder
	notifier := notify.New(notify.Config{HeartbeatURL: server.URL}, slog.New(slog.NewTextHandler(&log, nil)))
	notifier.Heartbeat(ctx)
	if !strings.Contains(log.String(), "context canceled") {
		t.Errorf("log is %s, want \"context canceled\"", &log)
	}
}

func TestEmptyAddressesDisableNotifications(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	notifier := notify.New(notify.Config{}, slog.New(slog.NewTextHandler(&log, nil)))
	isDone := notifier.Alert(t.Context(), notify.Alert{Event: notify.Failed})
	notifier.Heartbeat(t.Context())
	if log.Len() > 0 || !isDone {
		t.Errorf("log is %s, and the alert is done: %t, want no log and an alert that is not sent again", &log, isDone)
	}
}
