package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/notify"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// newLoggingGlobals returns globals with a JSON log, an empty warehouse and a small service whose list of orders
// fails. extraConfig is appended to the configuration.
func newLoggingGlobals(t *testing.T, stdout, stderr io.Writer, extraConfig string) *globals {
	t.Helper()
	service := sim.New(smallWorld)
	service.SetFaults(sim.Fault{Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable, Route: "/orders"})
	base, stop, err := service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { _ = stop() })
	dir := t.TempDir()
	createWarehouse(t, filepath.Join(dir, "warehouse"))
	file := filepath.Join(dir, "config.yaml")
	config := fmt.Sprintf("api: {base_url: %s, token: %s, requests_per_second: 0, retry: {max_retries: 1, base: 1ms, max: 1ms}}\nwarehouse: {dir: ./warehouse, threads: 1}\n", base, demoToken)
	harness.Must(t, os.WriteFile(file, []byte(config+extraConfig), 0o644)) // readable by others, which causes a warning
	return &globals{process: processWithoutEnvironment(stdout, stderr),
		Flags: cli.Flags{Config: file, LogFormat: "json"}}
}

// logLines parses a log. It checks that each line is a JSON object with a time, a level, a
// message and documented keys.
func logLines(t *testing.T, text string) (lines []map[string]any) {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "../../docs/operations.md"), "\n### Log keys\n")
	section, _, _ = strings.Cut(section, "\n#")
	documentedKeys := []string{"time", "level", "msg"}
	for _, named := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(section, -1) {
		documentedKeys = append(documentedKeys, named[1])
	}
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Errorf("the line is not a JSON object (%v): %s", err, line)
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(fields["time"])); err != nil || time.Since(at).Abs() > time.Hour {
			t.Errorf("the time is %v, want a time of the last hour: %s", fields["time"], line)
		}
		if level := fmt.Sprint(fields["level"]); fields["msg"] == nil || !slices.Contains([]string{"DEBUG", "INFO", "WARN", "ERROR"}, level) {
			t.Errorf("the line has no level or no message: %s", line)
		}
		for key, value := range fields {
			if !slices.Contains(documentedKeys, key) || value == "" || value == nil {
				t.Errorf("the key %q is undocumented or empty: %s", key, line)
			}
		}
		lines = append(lines, fields)
	}
	return lines
}

// linesWith returns the lines with the given message.
func linesWith(lines []map[string]any, message string) []map[string]any {
	return slices.DeleteFunc(slices.Clone(lines), func(line map[string]any) bool { return line["msg"] != message })
}

// TestLogOfPartialNight checks that the JSON log of a partial night has one line for each stream
// and one for the night, that it warns of failed streams, and that the alert is short.
func TestLogOfPartialNight(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	alerts := make(chan []byte, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		alerts <- body
	}))
	defer receiver.Close()
	var stdout, log bytes.Buffer
	g := newLoggingGlobals(t, &stdout, &log, "privacy: {drop: []}\nstreams: {include: [orders, product_listings, tags]}\nnotify: {failure_url: '"+receiver.URL+"'}\n")
	if err := runNight(t.Context(), g, runOptions{newWarehouse: true}); cli.OutcomeOf(t.Context(), err) != ledger.Partial {
		t.Fatalf("the night ended with %v, want the outcome partial", err)
	}
	lines := logLines(t, log.String())
	notRead := linesWith(lines, "stream not read")
	if read := linesWith(lines, "stream read"); len(read) != 2 || len(notRead) != 1 {
		t.Errorf("got %d lines about read and %d about unread streams, want 2 and 1:\n%s", len(read), len(notRead), &log)
	}
	// The list is requested newest first, and then in the order of the service.
	ordersIndex := slices.IndexFunc(notRead, func(line map[string]any) bool { return line["stream"] == "orders" })
	if ordersIndex < 0 || notRead[ordersIndex]["requests"] != 4.0 || notRead[ordersIndex]["retries"] != 2.0 || notRead[ordersIndex]["standing"] != "not read" ||
		!strings.Contains(fmt.Sprint(notRead[ordersIndex]["error"]), `body begins "{\"error\":`) {
		t.Errorf("the log lines of unread streams are %v, want orders with the whole error", notRead)
	}
	nightLines := linesWith(lines, "night ended")
	if len(nightLines) != 1 || nightLines[0]["level"] != "WARN" || nightLines[0]["outcome"] != "partial" || nightLines[0]["version"] != nightLines[0]["run"] ||
		!strings.Contains(fmt.Sprint(nightLines[0]["reason"]), "orders was not read: GET /orders answered 503 Service Unavailable after 2 attempts: an injected fault") {
		t.Errorf("the log lines of the night are %v, want one with the reason of orders", nightLines)
	}
	if took, isNumber := nightLines[0]["took"].(float64); !isNumber || took <= 0 || took > 600 {
		t.Errorf("the night took %v, want a number of seconds up to 600", nightLines[0]["took"])
	}
	if n := len(lines) - 3; n != 3 || len(linesWith(lines, "a secret can be read or changed by other users")) != 1 || len(linesWith(lines, "alert sent")) != 1 {
		t.Errorf("the log has %d lines besides the lines of the streams, want the night, a warning and the alert:\n%s", n, &log)
	}
	checkAlert(t, <-alerts)
	// The ledger contains the summary of the error.
	stdout.Reset()
	harness.Must(t, runRuns(g, "json"))
	if reason := `"reason":"GET /orders answered 503`; !strings.Contains(strings.ReplaceAll(stdout.String(), ": ", ":"), reason) {
		t.Errorf("the ledger has no %s:\n%s", reason, &stdout)
	}
}

// checkAlert checks the JSON of the alert after a night that could not read orders.
func checkAlert(t *testing.T, body []byte) {
	t.Helper()
	var a notify.Alert
	harness.Must(t, json.Unmarshal(body, &a))
	if !strings.Contains(a.Text, "is published, but partial: orders is not read: GET /orders answered 503 Service Unavailable after 2 attempts: an ") ||
		strings.Count(a.Text, "\n") != 2 || utf8.RuneCountInString(a.Text) > 600 {
		t.Errorf("the text of the alert is\n%s\nwant three lines of at most 600 characters with the reason of orders", a.Text)
	}
	for _, text := range []string{a.Text, a.Error, a.Advice, a.Streams[0].Reason} {
		if strings.ContainsRune(text, '\\') {
			t.Errorf("the text of the alert is escaped twice: %s", text)
		}
	}
	if a.Since.IsZero() || a.Streak != 1 || a.SnapshotAt.IsZero() {
		t.Errorf("the alert has since %s, times %d and snapshot_at %s, want times 1 and a time in the other two", a.Since, a.Streak, a.SnapshotAt)
	}
}
