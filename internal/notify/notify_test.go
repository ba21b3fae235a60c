package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"placementsync/internal/notify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a real server that answers with these statuses in turn, and with the
// last one from then on.
type receiver struct {
	mu       sync.Mutex
	statuses []int
	got      []string // method, path and body
	kind     string   // Content-Type of the last one
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, q.Method+" "+q.URL.Path+" "+string(body))
	r.kind = q.Header.Get("Content-Type")
	status := r.statuses[0]
	if len(r.statuses) > 1 {
		r.statuses = r.statuses[1:]
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
}

// notifierOf returns one that reports to r under a secret path, and its log.
func notifierOf(t *testing.T, r *receiver) (*notify.Notifier, *strings.Builder) {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	var log strings.Builder
	return notify.New(notify.Config{FailureURL: server.URL + "/T0/s3cret", HeartbeatURL: server.URL + "/beat-s3cret",
		UserAgent: "test", Backoff: time.Millisecond}, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func TestAlertIsReadableByPeopleAndPrograms(t *testing.T) {
	t.Parallel()
	r := &receiver{statuses: []int{200}}
	notifier, _ := notifierOf(t, r)
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	notifier.Alert(t.Context(), notify.Alert{Event: notify.Partial, Run: "20261120T020000Z", ExitCode: 3, StartedAt: at, EndedAt: at.Add(time.Minute),
		Streams: []notify.Stream{{Stream: "orders", Grade: "carried_forward", Standing: "carried", Reason: "GET /orders answered 503\nmore"}}, Program: "v1"})
	if len(r.got) != 1 || r.kind != "application/json" {
		t.Fatalf("the receiver got %q as %s", r.got, r.kind)
	}
	body, ok := strings.CutPrefix(r.got[0], "POST /T0/s3cret ")
	if !ok {
		t.Fatalf("the receiver got %q", r.got[0])
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"text": "placementsync: night 20261120T020000Z is published, but partial (exit code 3)\n" +
			"orders is carried: GET /orders answered 503",
		"event": "partial", "run_id": "20261120T020000Z", "exit_code": 3.0, "program_version": "v1",
		"started_at": "2026-11-20T02:00:00Z", "ended_at": "2026-11-20T02:01:00Z",
		"streams": []any{map[string]any{"stream": "orders", "grade": "carried_forward", "standing": "carried", "reason": "GET /orders answered 503\nmore"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alert (-want +got):\n%s", diff)
	}
}

func TestTextSaysWhatReadersHave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		alert notify.Alert
		want  string
	}{
		{notify.Alert{Event: notify.Failed, ExitCode: 1, Error: "no space left on device"}, "a night could not start; readers keep the last snapshot (exit code 1)\\nno space left"},
		{notify.Alert{Event: notify.Gate, Run: "r1", ExitCode: 1}, "night r1 is not published, since a gate refused it; readers keep the last snapshot"},
		{notify.Alert{Event: notify.Failed, Run: "r1", Error: strings.Repeat("ä", 1000)}, strings.Repeat("ä", 300) + "..."},
		{notify.Alert{Event: notify.Partial, Streams: make([]notify.Stream, 13)}, "and 3 more streams"},
		{notify.Alert{Event: notify.Failed, Run: "r1", Error: "answered 500: <!channel> <https://evil.example|log in> @all"},
			"\\nanswered 500: \u2039!channel\u203a \u2039https://evil.example|log in\u203a @\u200ball"},
		{notify.Alert{Event: notify.Partial, Streams: []notify.Stream{{Stream: "orders", Standing: "carried", Reason: "<!here>"}}}, "orders is carried: \u2039!here\u203a"},
	} {
		r := &receiver{statuses: []int{200}}
		notifier, _ := notifierOf(t, r)
		notifier.Alert(t.Context(), c.alert)
		if len(r.got) != 1 || !strings.Contains(r.got[0], c.want) {
			t.Errorf("the receiver got %q, want %q", r.got, c.want)
		}
	}
}

func TestReceiverIsTriedAFewTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		statuses []int
		calls    int
		fails    string
	}{
		{"at once", []int{204}, 1, ""},
		{"after a fault", []int{503, 429, 200}, 3, ""},
		{"never", []int{500}, 3, "the receiver answered 500"},
		{"refused", []int{404}, 1, "the receiver answered 404"},
		{"moved", []int{302}, 1, "the receiver answered 302"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{statuses: c.statuses}
			notifier, log := notifierOf(t, r)
			notifier.Heartbeat(t.Context())
			if len(r.got) != c.calls || !strings.HasPrefix(r.got[0], "GET /beat-s3cret") {
				t.Errorf("the receiver got %q, want %d calls", r.got, c.calls)
			}
			if !strings.Contains(log.String(), c.fails) || strings.Contains(log.String(), "s3cret") {
				t.Errorf("logged is %s, want %q and no secret", log, c.fails)
			}
		})
	}
}

func TestFaultsOfTheNetworkHoldNoSecret(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, address := range []string{server.URL + "/s3cret", "http://[bad/s3cret", "http://user:s3cret@127.0.0.1:1/"} {
		var log strings.Builder
		notifier := notify.New(notify.Config{FailureURL: address, Backoff: time.Millisecond}, slog.New(slog.NewTextHandler(&log, nil)))
		notifier.Alert(t.Context(), notify.Alert{Event: notify.Failed})
		if !strings.Contains(log.String(), "not sent") || strings.Contains(log.String(), "s3cret") {
			t.Errorf("logged is %s", &log)
		}
	}
}

func TestAReceiverThatHangsIsLeft(t *testing.T) {
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
		t.Errorf("logged is %s", &log)
	}
}

func TestNobodyIsToldWithoutAnAddress(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	notifier := notify.New(notify.Config{}, slog.New(slog.NewTextHandler(&log, nil)))
	notifier.Alert(t.Context(), notify.Alert{Event: notify.Failed})
	notifier.Heartbeat(t.Context())
	if log.Len() > 0 {
		t.Errorf("logged is %s", &log)
	}
}
