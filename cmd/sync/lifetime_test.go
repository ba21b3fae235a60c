package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"placementsync/internal/cli"
	"placementsync/internal/query"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// fixtureNights is the number of published nights in the fixture of a release, see fixtureRelease. The
// night after them was interrupted.
const fixtureNights = 3

// testWarehouse is a warehouse with nights of a demo service. The data of the service depends only on
// the day. Commands run with the configuration and the clock of the warehouse.
type testWarehouse struct {
	*testing.T
	service *sim.Service
	// requestCount counts the requests. interrupt, if set, is called by each request for records
	// of a campaign.
	requestCount atomic.Int64
	interrupt    atomic.Pointer[context.CancelFunc]

	baseURL, config string
	now             time.Time
}

// createWarehouse creates the folders of an empty warehouse, unless they exist.
func createWarehouse(t *testing.T, dir string) {
	t.Helper()
	harness.Must(t, warehouse.New(warehouse.Config{Dir: dir}).Folder.Create(nil))
}

// newTestWarehouse configures a warehouse in a folder that may be missing, and starts its service.
func newTestWarehouse(t *testing.T, dir string) *testWarehouse {
	t.Helper()
	l := &testWarehouse{T: t, config: filepath.Join(t.TempDir(), "config.yaml")}
	l.service = sim.New(sim.Options{Seed: 21, Token: demoToken, Outlets: 5, Listings: 16, Profiles: 3, Campaigns: 5, Orders: 12,
		Files: 6, Folders: 2, ListingTurnover: 0.1, SilentChange: 0.2, Encodings: []string{"zstd"}, FaultFunc: l.countRequest})
	var stop func() error
	var err error
	l.baseURL, stop, err = l.service.Serve()
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, stop()) })
	text := fmt.Sprintf("api: {base_url: '%s', token: '${PLACEMENTSYNC_TOKEN}', requests_per_second: 0}\n"+
		"warehouse: {dir: '%s', keep_versions: 9, threads: 1}\n", l.baseURL, dir)
	harness.Must(t, os.WriteFile(l.config, []byte(text), 0o600))
	createWarehouse(t, dir)
	return l
}

func (l *testWarehouse) countRequest(r *http.Request) *sim.Fault {
	l.requestCount.Add(1)
	if interrupt := l.interrupt.Load(); interrupt != nil && strings.HasPrefix(r.URL.Path, "/campaigns/") {
		(*interrupt)()
	}
	return nil
}

// execute runs a command with the given variables in its environment.
func (l *testWarehouse) execute(ctx context.Context, env map[string]string, stdout io.Writer, args ...string) (code int, errorOutput string) {
	l.Helper()
	var stderr bytes.Buffer
	p := process{stdin: strings.NewReader(""), stdout: stdout, stderr: &stderr, Host: cli.Host{Now: func() time.Time { return l.now },
		LookupEnv: func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		}}}
	code = executeArgs(ctx, append([]string{"--config", l.config, "--quiet"}, args...), p)
	return code, stderr.String()
}

// mustRun runs a command, which must succeed. Only the command "run" gets the token. Any other command
// must send no requests to the service.
func (l *testWarehouse) mustRun(args ...string) string {
	l.Helper()
	env := map[string]string{}
	hasToken := args[0] == "run"
	if hasToken {
		env["PLACEMENTSYNC_TOKEN"] = demoToken
	}
	var out bytes.Buffer
	before := l.requestCount.Load()
	if code, errorOutput := l.execute(l.Context(), env, &out, args...); code != 0 {
		l.Fatalf("%q ended with %d, want 0:\n%s%s", args, code, &out, errorOutput)
	}
	if !hasToken && l.requestCount.Load() > before {
		l.Errorf("%q sent %d requests to the service, want none without a token", args, l.requestCount.Load()-before)
	}
	return out.String()
}

// advance advances the clock by a number of days, to the hour of the night.
func (l *testWarehouse) advance(days int) {
	l.service.Advance(days)
	l.now = l.service.Now().Add(2 * time.Hour)
}

// night advances the clock by a day and runs a night.
func (l *testWarehouse) night() {
	l.Helper()
	l.advance(1)
	l.mustRun("run")
}

// runFixtureNights runs the nights of a fixture, and then receives webhook events.
func (l *testWarehouse) runFixtureNights() {
	l.Helper()
	for range fixtureNights {
		l.night()
	}
	line := strings.TrimSpace(l.mustRun("query", "--format", "jsonl", "SELECT min(article_id) AS id FROM article_comments WHERE parent_comment_id IS NULL"))
	var row struct{ ID string }
	harness.Must(l.T, json.Unmarshal([]byte(line), &row))
	status, err := l.service.StatusChange(row.ID)
	comment, commentErr := l.service.CommentChange("comment.created", row.ID, 0)
	harness.Must(l.T, errors.Join(err, commentErr))
	l.deliver(status, comment)
}

// deliver stores webhook events in the inbox for the next night.
func (l *testWarehouse) deliver(events ...sim.Delivery) {
	l.Helper()
	const secret = "whsec-of-the-lifetime"
	inbox, err := l.open().Folder.MakeInbox()
	harness.Must(l.T, err)
	receiver := webhook.New(webhook.Config{Dir: inbox}, slog.New(slog.DiscardHandler), func() time.Time { return l.now })
	harness.Must(l.T, errors.Join(receiver.Reload(webhook.Policy{Secrets: []string{secret}, Prefixes: []string{"x-hook-"}}), receiver.Open()))
	server := httptest.NewServer(receiver)
	for _, event := range events {
		if status, err := sim.Deliver(l.Context(), server.Client(), server.URL, event, secret); err != nil || status != http.StatusNoContent {
			l.Errorf("the response to event %s has the status %d (%v), want 204", event.ID, status, err)
		}
	}
	server.Close()
	harness.Must(l.T, receiver.Close())
}

// interruptNight advances the clock by a day, starts a night, and interrupts it at a request for a campaign.
func (l *testWarehouse) interruptNight() {
	l.Helper()
	l.advance(1)
	ctx, interrupt := context.WithCancel(l.Context())
	defer interrupt()
	l.interrupt.Store(&interrupt)
	defer l.interrupt.Store(nil)
	if code, errorOutput := l.execute(ctx, map[string]string{"PLACEMENTSYNC_TOKEN": demoToken}, io.Discard, "run"); code != 130 {
		l.Fatalf("the interrupted night ended with %d, want 130:\n%s", code, errorOutput)
	}
}

// open opens the warehouse as the program does.
func (l *testWarehouse) open() *warehouse.Warehouse {
	l.Helper()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: l.config}}
	wh, _, err := g.openWarehouse()
	harness.Must(l.T, err)
	return wh
}

// redirectUnfinishedRun changes the address of the service in the unfinished-run file to l.baseURL,
// and returns the id of the run.
func (l *testWarehouse) redirectUnfinishedRun() string {
	l.Helper()
	wh := l.open()
	unfinished, ok, err := wh.RunLog.ResumableRun()
	if err != nil || !ok {
		l.Fatalf("no run can be resumed: %v", err)
	}
	unfinished.Source = l.baseURL
	lock, err := wh.Lock(unfinished.Run, l.now)
	harness.Must(l.T, err)
	harness.Must(l.T, errors.Join(wh.RunLog.WriteResumableRun(unfinished), lock.Release()))
	return unfinished.Run
}

// readHistory reads all current and closed rows of all tables as lines of JSON.
func (l *testWarehouse) readHistory() map[string]string {
	l.Helper()
	g := &globals{process: hostProcess(), Flags: cli.Flags{Config: l.config, Quiet: true}}
	db, err := openCatalog(l.Context(), g, query.Options{})
	harness.Must(l.T, err)
	defer db.Close()
	tables := map[string]string{}
	for _, t := range stream.Tables(stream.AllWithEvents()) {
		q, err := query.Resolve("SELECT * FROM history." + t.Name)
		harness.Must(l.T, err)
		var text bytes.Buffer
		w, err := query.NewWriter(query.Output{Format: query.JSONL}, &text, query.Screen{})
		harness.Must(l.T, err)
		_, err = db.Run(l.Context(), q, nil, w)
		harness.Must(l.T, err)
		tables[t.Name] = text.String()
	}
	return tables
}

// row is a line of readHistory: the JSON of its values by column.
type row map[string]json.RawMessage

func readRows(t *testing.T, lines string) []row {
	t.Helper()
	var rows []row
	for line := range strings.Lines(lines) {
		var r row
		harness.Must(t, json.Unmarshal([]byte(line), &r))
		rows = append(rows, r)
	}
	return rows
}

func (r row) isCurrent() bool { return string(r["valid_to"]) == "null" }

// textOf returns the given columns of the row as text, for comparisons.
func (r row) textOf(t *testing.T, columns []string) string {
	t.Helper()
	selected := row{}
	for _, column := range columns {
		selected[column] = r[column]
	}
	text, err := json.Marshal(selected)
	harness.Must(t, err)
	return string(text)
}

// textsOf returns the sorted texts of rows.
func textsOf(t *testing.T, rows []row, columns []string) []string {
	t.Helper()
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.textOf(t, columns)
	}
	slices.Sort(texts)
	return texts
}
