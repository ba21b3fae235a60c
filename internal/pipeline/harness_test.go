package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// harness is a demo service over HTTP and a warehouse. The tests of this package check the decisions of a
// night with a few records. internal/testing/trials compares every value of a night.
type harness struct {
	t       *testing.T
	service *sim.Service
	cfg     pipeline.Config
	// at is the current time of the runs.
	at time.Time
	// onRequest, if set, is called before the service handles a request.
	onRequest atomic.Pointer[func(r *http.Request)]
	// catalogDB is the open catalog, and catalogFile describes its file.
	catalogDB   *query.DB
	catalogFile os.FileInfo
}

const token = "pc_of_the_tests"

// smallWorld returns the options of a service with a few records of every kind.
func smallWorld() sim.Options {
	return sim.Options{Seed: 1, Token: token, Outlets: 4, Listings: 9, Profiles: 3, Campaigns: 3, Orders: 9, Files: 5, Folders: 2}
}

// orderStreamNames returns the names of a list and of its detail stream.
func orderStreamNames() []string { return []string{"orders", "order_details"} }

// newHarness returns a harness whose nights read the named streams. Without names, the nights read all
// streams and events. The warehouse is empty. The test is skipped with the race detector, which makes nights
// slow. The tests of newRaceHarness show races between the goroutines of nights.
func newHarness(t *testing.T, world sim.Options, names ...string) *harness {
	t.Helper()
	testharness.Slow(t)
	t.Parallel()
	return newSerialHarness(t, world, names...)
}

// newRaceHarness is like newHarness, but the test runs with the race detector.
func newRaceHarness(t *testing.T, world sim.Options, names ...string) *harness {
	t.Helper()
	testharness.Concurrent(t)
	t.Parallel()
	return newSerialHarness(t, world, names...)
}

// newSerialHarness is like newHarness, but the test runs alone, so it may change the environment. The test must call
// testharness.Slow or Concurrent itself.
func newSerialHarness(t *testing.T, world sim.Options, names ...string) *harness {
	t.Helper()
	h := &harness{t: t, service: sim.New(world)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hook := h.onRequest.Load(); hook != nil {
			(*hook)(r)
		}
		h.service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	streams := stream.AllWithEvents()
	if len(names) > 0 {
		streams = slices.DeleteFunc(streams, func(s stream.Stream) bool { return !slices.Contains(names, s.Name) })
	}
	h.cfg = pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: filepath.Join(t.TempDir(), "w"), KeepVersions: 5, MemoryLimit: "256MB", Threads: 1, Program: "test", Tables: stream.Tables(streams),
			Statuses: []warehouse.Status{{Prefix: "published", State: "published"}, {Prefix: "rejected", State: "open", WaitsFor: "partner", IsRevision: true}}},
		Fetch: fetch.Config{BaseURL: server.URL, PageSize: 7, Token: func(context.Context) (string, error) { return token, nil },
			Retry: fetch.Retry{MaxRetries: 1, Base: time.Millisecond, Max: time.Millisecond}},
		Streams: streams, Details: pipeline.AllDetails, LiveDays: 45, Recheck: 7, Limits: load.Limits{Share: 0.2, Rows: 50},
		Now: func() time.Time { return h.at }, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range streams {
		if !s.IsEvents() {
			h.cfg.Chosen = append(h.cfg.Chosen, s.Name)
		}
	}
	h.at = h.service.Now().Add(2 * time.Hour)
	return h
}

// night runs a night on the next day of the service.
func (h *harness) night() (pipeline.Result, error) {
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	return pipeline.Run(h.t.Context(), h.cfg)
}

// unchangedNight runs a night one hour after the previous run, without changes of the service.
func (h *harness) unchangedNight() (pipeline.Result, error) {
	h.at = h.at.Add(time.Hour)
	return pipeline.Run(h.t.Context(), h.cfg)
}

// requireComplete fails the test if a run was not complete.
func (h *harness) requireComplete(res pipeline.Result, err error) pipeline.Result {
	h.t.Helper()
	return h.requireOutcome(ledger.Complete, 0, res, err)
}

// requirePartial fails the test if a run was not partial, or not published.
func (h *harness) requirePartial(res pipeline.Result, err error) pipeline.Result {
	h.t.Helper()
	h.requireOutcome(ledger.Partial, 3, res, err)
	if h.latest() != res.Run.ID {
		h.t.Errorf("readers see %s, want the partial run %s", h.latest(), res.Run.ID)
	}
	return res
}

// requireOutcome fails the test if a run ended with an error, with another outcome or with another exit
// code.
func (h *harness) requireOutcome(outcome ledger.Outcome, code int, res pipeline.Result, err error) pipeline.Result {
	h.t.Helper()
	if err != nil || res.Run.Outcome != outcome || res.Run.ExitCode != code {
		h.t.Fatalf("run %s ended %s with %d, want %s with %d: %v\n%+v", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, outcome, code, err, res.Run.Streams)
	}
	return res
}

// failedNight runs a night on the next day of the service. The night must fail, and readers must keep the
// last version.
func (h *harness) failedNight() (pipeline.Result, error) {
	h.t.Helper()
	previous := h.latest()
	res, err := h.night()
	if err == nil || res.Run.Outcome != ledger.Failed || res.Run.ExitCode != 1 || res.Run.Error != ledger.Summarize(err) || !res.Run.SnapshotAt.IsZero() {
		h.t.Fatalf("run %s ended %s with %d, want failed with 1: %v\nthe ledger has %q", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, err, res.Run.Error)
	}
	if h.latest() != previous {
		h.t.Errorf("readers see %s, want %s as before", h.latest(), previous)
	}
	return res, err
}

func (h *harness) warehouse() *warehouse.Warehouse {
	h.t.Helper()
	return warehouse.New(h.cfg.Warehouse)
}

// latest returns the version that readers see, or "".
func (h *harness) latest() string {
	h.t.Helper()
	run, _, err := h.warehouse().Versions.Latest()
	testharness.Must(h.t, err)
	return run
}

func (h *harness) path(parts ...string) string {
	return filepath.Join(append([]string{h.cfg.Warehouse.Dir}, parts...)...)
}

// catalog opens the published catalog, once for each version, because opening takes longer than most queries.
func (h *harness) catalog() *query.DB {
	h.t.Helper()
	current, err := os.Stat(h.path("catalog.duckdb"))
	testharness.Must(h.t, err)
	isOpen := h.catalogDB != nil && os.SameFile(current, h.catalogFile) && current.ModTime().Equal(h.catalogFile.ModTime())
	if !isOpen {
		db, err := query.Open(h.t.Context(), h.path("catalog.duckdb"), query.Options{MemoryLimit: "256MB", Threads: 1})
		testharness.Must(h.t, err)
		h.t.Cleanup(func() { testharness.Must(h.t, db.Close()) })
		h.catalogDB, h.catalogFile = db, current
	}
	return h.catalogDB
}

// lines returns the rows of a query on the published catalog, the columns separated by spaces.
func (h *harness) lines(sql string) []string {
	h.t.Helper()
	result, err := h.catalog().Collect(h.t.Context(), query.Query{SQL: sql}, nil, 1000)
	testharness.Must(h.t, err)
	lines := []string{}
	for _, row := range result.Rows {
		var cells []string
		for _, v := range row.Values {
			cells = append(cells, v.Or("NULL"))
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

// requireLines compares the rows of a query with the wanted lines.
func (h *harness) requireLines(sql string, want ...string) {
	h.t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, h.lines(sql)); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", sql, diff)
	}
}

// singleLine returns the result of a query with one row.
func (h *harness) singleLine(sql string) string {
	h.t.Helper()
	lines := h.lines(sql)
	if len(lines) != 1 {
		h.t.Fatalf("%s: %d rows, want 1", sql, len(lines))
	}
	return lines[0]
}

// history returns all versions of all rows, by table.
func (h *harness) history() map[string][]string {
	h.t.Helper()
	rows := map[string][]string{}
	for _, table := range h.cfg.Warehouse.Tables {
		rows[table.Name] = h.lines("SELECT to_json(x)::VARCHAR FROM history." + table.Name + " x ORDER BY 1")
	}
	return rows
}

// listedIDs returns the ids of a list of the service.
func (h *harness) listedIDs(path string) (ids []string) {
	h.t.Helper()
	for _, record := range h.service.Records(path) {
		var r struct{ ID string }
		testharness.Must(h.t, json.Unmarshal(record, &r))
		ids = append(ids, r.ID)
	}
	return ids
}

// requireIDs compares the ids of a table with the ids of a list of the service.
func (h *harness) requireIDs(table, path string) {
	h.t.Helper()
	want := h.listedIDs(path)
	slices.Sort(want)
	if len(want) == 0 {
		h.t.Fatalf("the service has no records of %s", path)
	}
	h.requireLines("SELECT id FROM "+table+" ORDER BY id", want...)
}

// requireStream compares the grade and the incompleteness of a stream, and checks that the reason contains
// a text. If the run was published, it compares meta.streams with the ledger.
func (h *harness) requireStream(r ledger.Run, name string, grade stream.Grade, partOfReason string, isIncomplete bool) ledger.Stream {
	h.t.Helper()
	s := streamOf(h.t, r, name)
	if s.Grade != grade || !strings.Contains(s.Reason, partOfReason) || s.Incomplete != isIncomplete {
		h.t.Errorf("%s is %s, incomplete %t: %s\nwant %s, incomplete %t: ...%s...", name, s.Grade, s.Incomplete, s.Reason, grade, isIncomplete, partOfReason)
	}
	if r.IsPublished() {
		h.requireLines("SELECT grade, coalesce(reason, '') FROM meta.streams WHERE run_id = '"+r.ID+"' AND stream = '"+name+"'", string(s.Grade)+" "+s.Reason)
	}
	return s
}

func streamOf(t *testing.T, r ledger.Run, name string) ledger.Stream {
	t.Helper()
	i := slices.IndexFunc(r.Streams, func(s ledger.Stream) bool { return s.Stream == name })
	if i < 0 {
		t.Fatalf("run %s has no stream %s", r.ID, name)
	}
	return r.Streams[i]
}

// logTo makes the runs log to a buffer, without debug messages.
func (h *harness) logTo(to *lockedBuffer) {
	h.cfg.Log = slog.New(slog.NewTextHandler(to, nil))
}

// webhookSecret signs the events.
const webhookSecret = "whsec-of-the-tests"

// delivery is an event in the inbox.
type delivery struct{ id, topic, body string }

// deliver puts events into the inbox, as the receiver does.
func (h *harness) deliver(events ...delivery) {
	h.t.Helper()
	receiver := webhook.New(webhook.Config{Dir: h.warehouse().Folder.InboxPath()},
		slog.New(slog.DiscardHandler), func() time.Time { return h.at })
	testharness.Must(h.t, errors.Join(receiver.Reload(webhook.Policy{Secrets: []string{webhookSecret}, Prefixes: []string{"x-hook-"}}), receiver.Open()))
	server := httptest.NewServer(receiver)
	for _, e := range events {
		status, err := sim.Deliver(h.t.Context(), server.Client(), server.URL, sim.Delivery{ID: e.id, Topic: e.topic, Body: []byte(e.body)}, webhookSecret)
		if err != nil || status != http.StatusNoContent {
			h.t.Errorf("the response to event %s has the status %d, want 204: %v", e.id, status, err)
		}
	}
	server.Close()
	testharness.Must(h.t, receiver.Close())
}

// inProcessTransport answers requests without a network. Each request takes delay, which is virtual time inside
// synctest.
type inProcessTransport struct {
	service http.Handler
	delay   time.Duration
}

func (s inProcessTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	w := httptest.NewRecorder()
	s.service.ServeHTTP(w, r)
	return w.Result(), nil
}

// limitedNight runs a night one hour after the previous run. limit is Config.MaxDuration, and 0 means no
// limit. Each request takes a second of virtual time. limitedNight also returns the number of requests.
func (h *harness) limitedNight(limit time.Duration) (res pipeline.Result, requests int, err error) {
	h.t.Helper()
	h.at = h.at.Add(time.Hour)
	h.cfg.MaxDuration, h.cfg.Fetch.BaseURL, h.cfg.Fetch.Concurrency = limit, "http://127.0.0.1/", 1
	h.cfg.Fetch.Transport = inProcessTransport{h.service, time.Second}
	h.service.ResetRequests()
	synctest.Test(h.t, func(t *testing.T) { res, err = pipeline.Run(t.Context(), h.cfg) })
	return res, len(h.service.Requests()), err
}

// errorOf returns the error of type E in err, and fails the test if there is none.
func errorOf[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got %v, want a %T", err, e)
	}
	return e
}

// repairConfig returns the configuration of repairs of the warehouse of a night.
func repairConfig(cfg pipeline.Config) repair.Config {
	return repair.Config{Warehouse: cfg.Warehouse, Streams: cfg.Streams, AcceptLoss: cfg.AcceptLoss, Now: cfg.Now, Log: cfg.Log}
}
