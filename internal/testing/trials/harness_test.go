package trials_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2" // the driver that readers use
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/audit"
	"placementsync/internal/config"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/warehouse"
)

// harness is the fixture of the trials. It has a demo service behind an HTTP server, and the
// configuration of nights that read the service into a warehouse. The data of the service is called
// its world.
type harness struct {
	t       *testing.T
	service *sim.Service
	server  *httptest.Server
	cfg     pipeline.Config
	// requestHook is set by onRequest. It is atomic because a request of an interrupted
	// night may arrive while the next night is prepared.
	requestHook atomic.Pointer[func(r *http.Request)]
	// at is the time of the current night. Between nights, at is the time of the previous night.
	at time.Time
	// catalogDB is the open catalog. catalogFile describes the file that was opened.
	catalogDB   *sql.DB
	catalogFile fs.FileInfo
}

const token = "pc_top-secret-of-the-test"

// Exit codes of the program.
const (
	exitFailed      = 1
	exitInterrupted = 130
)

// newHarness returns a harness whose nights read the named streams, or all streams if no names are
// given.
func newHarness(t *testing.T, opts sim.Options, names ...string) *harness {
	t.Helper()
	h := &harness{t: t, service: sim.New(opts)}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hook := h.requestHook.Load(); hook != nil {
			(*hook)(r)
		}
		h.service.ServeHTTP(w, r)
	}))
	t.Cleanup(h.server.Close)
	streams := stream.All()
	if len(names) > 0 {
		streams = slices.DeleteFunc(streams, func(s stream.Stream) bool { return !slices.Contains(names, s.Name) })
	}
	h.cfg = pipeline.Config{
		NewWarehouse: true,
		Warehouse: warehouse.Config{Dir: t.TempDir(), KeepVersions: 5, MemoryLimit: "256MB", Threads: 1, Program: "test",
			Tables: stream.Tables(streams), Statuses: defaultStatuses()},
		Fetch: fetch.Config{BaseURL: h.server.URL, PageSize: 7,
			Token: func(context.Context) (string, error) { return token, nil },
			Retry: fetch.Retry{MaxRetries: 3, Base: time.Millisecond, Max: 5 * time.Millisecond}},
		Streams: streams, Details: "all", Limits: load.Limits{Share: 0.2, Rows: 50},
		Now: func() time.Time { return h.at }, Log: slog.New(slog.DiscardHandler),
	}
	for _, s := range streams {
		h.cfg.Chosen = append(h.cfg.Chosen, s.Name)
	}
	return h
}

// defaultStatuses returns the meanings of statuses in the default configuration.
func defaultStatuses() (statuses []warehouse.Status) {
	for _, s := range config.Default().Statuses.List() {
		statuses = append(statuses, warehouse.Status(s))
	}
	return statuses
}

// onRequest sets a function that is called with every request before the service handles it.
func (h *harness) onRequest(hook func(r *http.Request)) { h.requestHook.Store(&hook) }

// night advances the world by a day and runs a night.
func (h *harness) night() (pipeline.Result, error) {
	return h.nightWithContext(h.t.Context())
}

func (h *harness) nightWithContext(ctx context.Context) (pipeline.Result, error) {
	h.service.Advance(1)
	h.at = h.service.Now().Add(2 * time.Hour)
	return pipeline.Run(ctx, h.cfg)
}

// goodNight advances the world by a day and runs a night that must be complete.
func (h *harness) goodNight() pipeline.Result {
	h.t.Helper()
	return h.mustComplete(h.night())
}

// sameDayNight runs a night an hour after the previous night. The night must be complete. The world
// does not advance.
func (h *harness) sameDayNight() pipeline.Result {
	h.t.Helper()
	h.at = h.at.Add(time.Hour)
	return h.mustComplete(pipeline.Run(h.t.Context(), h.cfg))
}

// mustComplete ends the test if the run is not complete.
func (h *harness) mustComplete(res pipeline.Result, err error) pipeline.Result {
	h.t.Helper()
	if err != nil || res.Run.Outcome != ledger.Complete || res.Run.ExitCode != 0 {
		h.t.Fatalf("night %s ended %s with exit code %d, want complete with 0: %v\n%s", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, err, reasons(res.Run))
	}
	return res
}

// exitCode returns the exit code of the program after a run.
func exitCode(ctx context.Context, res pipeline.Result, err error) int {
	outcome := res.Run.Outcome
	switch _, locked := errors.AsType[*warehouse.LockedError](err); {
	case locked:
		outcome = ledger.Locked
	case outcome == "" && ctx.Err() != nil:
		outcome = ledger.Interrupted
	case err != nil && outcome == ledger.Complete:
		outcome = ledger.Failed
	}
	return outcome.ExitCode()
}

// failedNight advances the world by a day and runs a night that must end with an error and the exit
// code. The last snapshot must remain published, with the same numbers of rows.
func (h *harness) failedNight(ctx context.Context, code int) (pipeline.Result, error) {
	h.t.Helper()
	latestBefore, countsBefore := h.latestRun(), h.rowCounts()
	res, err := h.nightWithContext(ctx)
	if err == nil {
		h.t.Fatalf("night %s ended %s, want an error\n%s", res.Run.ID, res.Run.Outcome, reasons(res.Run))
	}
	if got := exitCode(ctx, res, err); got != code {
		h.t.Errorf("got exit code %d, want %d: %v", got, code, err)
	}
	if latest := h.latestRun(); latest != latestBefore {
		h.t.Errorf("latest is version %q, want %q as before the night", latest, latestBefore)
	}
	if diff := cmp.Diff(countsBefore, h.rowCounts()); diff != "" {
		h.t.Errorf("the last snapshot changed (-before +after):\n%s", diff)
	}
	return res, err
}

// partialNight advances the world by a day and runs a night that must publish with exit code 3.
func (h *harness) partialNight() pipeline.Result {
	h.t.Helper()
	res, err := h.night()
	if err != nil || res.Run.Outcome != ledger.Partial || res.Run.ExitCode != 3 {
		h.t.Fatalf("night %s ended %s with exit code %d, want partial with 3: %v\n%s", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, err, reasons(res.Run))
	}
	if h.latestRun() != res.Run.ID {
		h.t.Errorf("latest is version %q, want %q", h.latestRun(), res.Run.ID)
	}
	return res
}

// rowCounts returns the number of rows of every published table, or nil before the first publish.
func (h *harness) rowCounts() map[string]string {
	h.t.Helper()
	if h.latestRun() == "" {
		return nil
	}
	counts := map[string]string{}
	for _, t := range h.cfg.Warehouse.Tables {
		counts[t.Name] = h.queryOne("SELECT count(*)::VARCHAR FROM main." + t.Name)
	}
	return counts
}

// queryOne runs a query on the published catalog. The result must have one row. queryOne returns the
// first column of the row.
func (h *harness) queryOne(text string, args ...any) string {
	h.t.Helper()
	rows := query(h.t, h.catalog(), text, args...)
	if len(rows) != 1 {
		h.t.Fatalf("%s: got %d rows, want 1", text, len(rows))
	}
	return rows[0][0].String
}

// count returns the number of rows of a table that satisfy a condition.
func (h *harness) count(table, condition string, args ...any) int {
	h.t.Helper()
	n, err := strconv.Atoi(h.queryOne("SELECT count(*)::VARCHAR FROM "+table+" WHERE "+condition, args...))
	testharness.Must(h.t, err)
	return n
}

// streamOf returns the stream with this name in the ledger line of a run.
func streamOf(t *testing.T, r ledger.Run, name string) ledger.Stream {
	t.Helper()
	i := slices.IndexFunc(r.Streams, func(s ledger.Stream) bool { return s.Stream == name })
	if i < 0 {
		t.Fatalf("run %s has no stream %s", r.ID, name)
	}
	return r.Streams[i]
}

// requireStream checks that a stream has this grade, and a reason that contains reasonPart, in the
// ledger line r and in meta.streams.
func (h *harness) requireStream(r ledger.Run, name string, grade stream.Grade, reasonPart string) {
	h.t.Helper()
	s := streamOf(h.t, r, name)
	if s.Grade != grade || !strings.Contains(s.Reason, reasonPart) {
		h.t.Errorf("the grade of %s is %s (%s), want %s with %q in the reason", name, s.Grade, s.Reason, grade, reasonPart)
	}
	meta := h.queryOne("SELECT grade || ': ' || coalesce(reason, '') FROM meta.streams WHERE run_id = ? AND stream = ?", r.ID, name)
	if meta != string(s.Grade)+": "+s.Reason {
		h.t.Errorf("meta.streams has %[2]q for %[1]s, want %[3]q as in the ledger", name, meta, string(s.Grade)+": "+s.Reason)
	}
}

// requireValues compares the named tables, or all tables if no names are given, with the current data
// of the service.
func (h *harness) requireValues(ref *reference, tables ...string) {
	h.t.Helper()
	current, catalog := ref.currentRows(), h.catalog()
	for _, spec := range ref.uniqueTables() {
		if len(tables) == 0 || slices.Contains(tables, spec.table) {
			checkTable(h.t, spec, current, catalog, "main."+spec.table)
		}
	}
}

func reasons(r ledger.Run) string {
	var b strings.Builder
	for _, s := range r.Streams {
		fmt.Fprintf(&b, "%s %s: %s\n", s.Stream, s.Grade, s.Reason)
	}
	return b.String()
}

func (h *harness) path(parts ...string) string {
	return filepath.Join(append([]string{h.cfg.Warehouse.Dir}, parts...)...)
}

// catalog opens the published DuckDB file through its links, as readers do. It opens each published
// version only once, because opening takes longer than most queries.
func (h *harness) catalog() *sql.DB {
	h.t.Helper()
	current, err := os.Stat(h.path("catalog.duckdb"))
	testharness.Must(h.t, err)
	if h.catalogFile == nil || !os.SameFile(h.catalogFile, current) {
		h.catalogDB, h.catalogFile = open(h.t, h.path("catalog.duckdb")+"?access_mode=read_only&threads=1"), current
	}
	return h.catalogDB
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db := openUnmanaged(t, dsn)
	t.Cleanup(func() { testharness.Must(t, db.Close()) })
	return db
}

// latestRun returns the id of the published run, or "" before the first publish.
func (h *harness) latestRun() string {
	h.t.Helper()
	run, _, err := warehouseOf(h.t, h.cfg).Versions.Latest()
	testharness.Must(h.t, err)
	return run
}

// repairConfig returns the configuration of repairs of the warehouse of a night.
func repairConfig(cfg pipeline.Config) repair.Config {
	return repair.Config{Warehouse: cfg.Warehouse, Streams: cfg.Streams, AcceptLoss: cfg.AcceptLoss, Now: cfg.Now, Log: cfg.Log}
}

// useChangedDetails configures nights that request only details that may have changed.
func (h *harness) useChangedDetails(liveDays, recheck int) {
	h.cfg.Details, h.cfg.LiveDays, h.cfg.Recheck = "changed", liveDays, recheck
}

// articleStatus is the campaign and the prefix of the status of an article.
type articleStatus struct{ campaign, prefix string }

// articleStatuses returns the campaign and current status of every article, by id.
func (h *harness) articleStatuses() map[string]articleStatus {
	all := map[string]articleStatus{}
	for campaign := range h.campaignRecords() {
		for _, raw := range h.service.Records("/campaigns/" + campaign + "/articles") {
			id, _ := dig(decode(string(raw)), "id").(string)
			body, _ := h.service.Object("/articles/" + id)
			prefix, _ := dig(decode(string(body)), "status.prefix").(string)
			all[id] = articleStatus{campaign, prefix}
		}
	}
	return all
}

// serveListings makes the service return a file of testdata for all requests for listings.
func (h *harness) serveListings(file string) {
	h.t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", file))
	testharness.Must(h.t, err)
	h.service.SetFaults(sim.Fault{Path: "/products/listings", Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return body }})
}

// replaceBody returns a fault that replaces the bodies of the responses to all requests whose path has
// this prefix.
func replaceBody(pathPrefix, body string) sim.Fault {
	return sim.Fault{Path: pathPrefix, Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return []byte(body) }}
}

// requireLines compares the first column of a query result with the wanted lines.
func (h *harness) requireLines(text string, want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.lines(text)); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

// lines returns the first column of a query result.
func (h *harness) lines(text string) []string {
	h.t.Helper()
	var got []string
	for _, r := range query(h.t, h.catalog(), text) {
		got = append(got, r[0].String)
	}
	return got
}

// addBuiltInChecks adds the built-in checks to the nights of a harness. It also gives
// the nights the default settings of a configuration.
func addBuiltInChecks(t *testing.T, h *harness) {
	t.Helper()
	builtIn, err := audit.Load("", nil, nil)
	testharness.Must(t, err)
	h.cfg.Fetch.PageSize, h.cfg.Details, h.cfg.LiveDays, h.cfg.Recheck = 100, pipeline.ChangedDetails, 45, 7
	h.cfg.ResumeMaxAge = 24 * time.Hour
	h.cfg.Checks, h.cfg.CheckTimeout = builtIn, time.Minute
}

func warehouseOf(t *testing.T, cfg pipeline.Config) *warehouse.Warehouse {
	t.Helper()
	w := warehouse.New(cfg.Warehouse)
	return w
}

func ledgerRuns(t *testing.T, h *harness) []ledger.Run {
	t.Helper()
	wh := warehouseOf(t, h.cfg)
	all, err := wh.RunLog.Runs()
	testharness.Must(t, err)
	return all
}

func requireTorture(t *testing.T) {
	t.Helper()
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run this test")
	}
}

// recordTrial stores the result of a trial and whether the trial passed.
func recordTrial(t *testing.T, startedAt time.Time, result func() torture.Trial) {
	t.Helper()
	testharness.Must(t, torture.Open(os.Getenv).EndTrial(startedAt, t.Failed(), result()))
}

// campaignRecords returns the JSON of each campaign in the list of campaigns, by id.
func (h *harness) campaignRecords() map[string]string {
	records := map[string]string{}
	for _, raw := range h.service.Records("/campaigns") {
		id, _ := dig(decode(string(raw)), "id").(string)
		records[id] = string(raw)
	}
	return records
}
