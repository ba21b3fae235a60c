package trials

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	"placementsync/internal/backup"
	"placementsync/internal/bucket"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/s3sim"
	"placementsync/internal/testing/torture"
	"placementsync/internal/warehouse"
)

// Harness is the fixture of the trials. It has a demo service behind an HTTP server, and the configuration of nights
// that read the service into a warehouse. The data of the service is called its world.
type Harness struct {
	T       *testing.T
	Service *sim.Service
	Server  *httptest.Server
	Config  pipeline.Config
	// requestHook is set by OnRequest. It is atomic because a request of an interrupted night may arrive while the next
	// night is prepared.
	requestHook atomic.Pointer[func(r *http.Request)]
	// At is the time of the current night or, between nights, of the previous night.
	At time.Time
	// catalogDB is the open catalog. catalogFile describes the file that was opened.
	catalogDB   *sql.DB
	catalogFile fs.FileInfo
}

// Token is the token of the demo service.
const Token = "pc_top-secret-of-the-test"

// NewHarness returns a harness whose nights read the named streams, or all streams if no names are given.
func NewHarness(t *testing.T, opts sim.Options, names ...string) *Harness {
	t.Helper()
	h := &Harness{T: t, Service: sim.New(opts)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hook := h.requestHook.Load(); hook != nil && *hook != nil {
			(*hook)(r)
		}
		h.Service.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Server.Close)
	h.Config = Job{URL: h.Server.URL, Dir: t.TempDir(), Streams: names}.Config()
	h.Config.Warehouse.KeepVersions, h.Config.ResumeMaxAge = 5, 0
	h.Config.Details, h.Config.LiveDays, h.Config.Recheck = pipeline.AllDetails, 0, 0
	h.Config.Fetch.Retry = fetch.Retry{MaxRetries: 3, Base: time.Millisecond, Max: 5 * time.Millisecond}
	h.Config.Now = func() time.Time { return h.At }
	return h
}

// OnRequest sets a function that is called with every request before the service handles it. Nil means no function.
func (h *Harness) OnRequest(hook func(r *http.Request)) { h.requestHook.Store(&hook) }

// NextDay advances the world by a day, and the clock to the time of its night.
func (h *Harness) NextDay() {
	h.Service.Advance(1)
	h.At = h.Service.Now().Add(2 * time.Hour)
}

// Night advances the world by a day and runs a night.
func (h *Harness) Night() (pipeline.Result, error) {
	return h.NightWithContext(h.T.Context())
}

// NightWithContext is like [Harness.Night], and ctx may end during the night.
func (h *Harness) NightWithContext(ctx context.Context) (pipeline.Result, error) {
	h.NextDay()
	return pipeline.Run(ctx, h.Config)
}

// GoodNight advances the world by a day and runs a night that must be complete.
func (h *Harness) GoodNight() pipeline.Result {
	h.T.Helper()
	return h.MustComplete(h.Night())
}

// SameDayNight runs a night an hour after the previous night. The night must be complete. The world does not advance.
func (h *Harness) SameDayNight() pipeline.Result {
	h.T.Helper()
	h.At = h.At.Add(time.Hour)
	return h.MustComplete(pipeline.Run(h.T.Context(), h.Config))
}

// MustComplete ends the test if the run is not complete.
func (h *Harness) MustComplete(res pipeline.Result, err error) pipeline.Result {
	h.T.Helper()
	if err != nil || res.Run.Outcome != ledger.Complete || res.Run.ExitCode != 0 {
		h.T.Fatalf("night %s ended %s with exit code %d, want complete with 0: %v\n%s", res.Run.ID, res.Run.Outcome, res.Run.ExitCode, err, Reasons(res.Run))
	}
	return res
}

// ExitCode returns the exit code of the program after a run.
func ExitCode(ctx context.Context, res pipeline.Result, err error) int {
	outcome := res.Run.Outcome
	switch {
	case outcome == "" && ctx.Err() != nil:
		outcome = ledger.Interrupted
	case err != nil && outcome == ledger.Complete:
		outcome = ledger.Failed
	}
	return outcome.ExitCode()
}

// FailedNight advances the world by a day and runs a night that must end with an error and the exit
// code. The last snapshot must remain published, with the same numbers of rows.
func (h *Harness) FailedNight(ctx context.Context, code int) (pipeline.Result, error) {
	h.T.Helper()
	latestBefore, countsBefore := h.LatestRun(), h.RowCounts()
	res, err := h.NightWithContext(ctx)
	if err == nil {
		h.T.Fatalf("night %s ended %s, want an error\n%s", res.Run.ID, res.Run.Outcome, Reasons(res.Run))
	}
	if got := ExitCode(ctx, res, err); got != code {
		h.T.Errorf("got exit code %d, want %d: %v", got, code, err)
	}
	if latest := h.LatestRun(); latest != latestBefore {
		h.T.Errorf("latest is version %q, want %q as before the night", latest, latestBefore)
	}
	if diff := cmp.Diff(countsBefore, h.RowCounts()); diff != "" {
		h.T.Errorf("the last snapshot changed (-before +after):\n%s", diff)
	}
	return res, err
}

// RowCounts returns the number of rows of every published table, or nil before the first publish.
func (h *Harness) RowCounts() map[string]string {
	h.T.Helper()
	if h.LatestRun() == "" {
		return nil
	}
	counts := map[string]string{}
	for _, t := range h.Config.Warehouse.Tables {
		counts[t.Name] = h.QueryOne("SELECT count(*)::VARCHAR FROM main." + t.Name)
	}
	return counts
}

// QueryOne runs a query on the published catalog. The result must have one row. QueryOne returns the
// first column of the row.
func (h *Harness) QueryOne(text string, args ...any) string {
	h.T.Helper()
	rows := Query(h.T, h.Catalog(), text, args...)
	if len(rows) != 1 {
		h.T.Fatalf("%s: got %d rows, want 1", text, len(rows))
	}
	return rows[0][0].String
}

// Count returns the number of rows of a table that satisfy a condition.
func (h *Harness) Count(table, condition string, args ...any) int {
	h.T.Helper()
	n, err := strconv.Atoi(h.QueryOne("SELECT count(*)::VARCHAR FROM "+table+" WHERE "+condition, args...))
	testharness.Must(h.T, err)
	return n
}

// StreamOf returns the stream with this name in the ledger line of a run.
func StreamOf(t *testing.T, r ledger.Run, name string) ledger.Stream {
	t.Helper()
	i := slices.IndexFunc(r.Streams, func(s ledger.Stream) bool { return s.Stream == name })
	if i < 0 {
		t.Fatalf("run %s has no stream %s", r.ID, name)
	}
	return r.Streams[i]
}

// ProvenStreams returns the names of the streams of a run that are graded exact or repaired.
func ProvenStreams(r ledger.Run) map[string]bool {
	proven := map[string]bool{}
	for _, s := range r.Streams {
		if s.Grade == stream.Exact || s.Grade == stream.Repaired {
			proven[s.Stream] = true
		}
	}
	return proven
}

// CheckReasons checks that each grade of a run has a reason, except exact and repaired.
func CheckReasons(t *testing.T, r ledger.Run) {
	t.Helper()
	proven := ProvenStreams(r)
	for _, s := range r.Streams {
		if !proven[s.Stream] && s.Reason == "" {
			t.Errorf("the grade of %s is %s without a reason, want a reason", s.Stream, s.Grade)
		}
	}
}

// RequireStream checks that a stream has this grade, and a reason that contains reasonPart, in the
// ledger line r and in meta.streams.
func (h *Harness) RequireStream(r ledger.Run, name string, grade stream.Grade, reasonPart string) {
	h.T.Helper()
	s := StreamOf(h.T, r, name)
	if s.Grade != grade || !strings.Contains(s.Reason, reasonPart) {
		h.T.Errorf("the grade of %s is %s (%s), want %s with %q in the reason", name, s.Grade, s.Reason, grade, reasonPart)
	}
	meta := h.QueryOne("SELECT grade || ': ' || coalesce(reason, '') FROM meta.streams WHERE run_id = ? AND stream = ?", r.ID, name)
	if meta != string(s.Grade)+": "+s.Reason {
		h.T.Errorf("meta.streams has %[2]q for %[1]s, want %[3]q as in the ledger", name, meta, string(s.Grade)+": "+s.Reason)
	}
}

// RequireValues compares all tables with the current data of the service.
func (h *Harness) RequireValues(ref *Reference) {
	h.T.Helper()
	current := ref.CurrentRows()
	for _, spec := range ref.UniqueTables() {
		CheckTable(h.T, spec, current, h.Catalog(), "main."+spec.Table)
	}
}

// RequireProvenValues compares the tables whose streams are all proven with the current data of the service, and returns
// their number. The grades of the other streams must have a reason.
func (h *Harness) RequireProvenValues(ref *Reference, r ledger.Run) (tables int) {
	h.T.Helper()
	CheckReasons(h.T, r)
	current := ref.CurrentRows()
	for _, spec := range ref.ProvenTables(ProvenStreams(r)) {
		CheckTable(h.T, spec, current, h.Catalog(), "main."+spec.Table)
		tables++
	}
	return tables
}

// Reasons returns the grades of the streams of a run with their reasons, for messages.
func Reasons(r ledger.Run) string {
	var b strings.Builder
	for _, s := range r.Streams {
		fmt.Fprintf(&b, "%s %s: %s\n", s.Stream, s.Grade, s.Reason)
	}
	return b.String()
}

// Path returns a path below the folder of the warehouse.
func (h *Harness) Path(parts ...string) string {
	return filepath.Join(append([]string{h.Config.Warehouse.Dir}, parts...)...)
}

// Catalog opens the published DuckDB file through its links, as readers do. It opens each published
// version only once, because opening takes longer than most queries.
func (h *Harness) Catalog() *sql.DB {
	h.T.Helper()
	current, err := os.Stat(h.Path("catalog.duckdb"))
	testharness.Must(h.T, err)
	if h.catalogFile == nil || !os.SameFile(h.catalogFile, current) {
		h.catalogDB, h.catalogFile = Open(h.T, h.Path("catalog.duckdb")+"?access_mode=read_only&threads=1"), current
	}
	return h.catalogDB
}

// Open opens a DuckDB database until the end of the test.
func Open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db := OpenUnmanaged(t, dsn)
	t.Cleanup(func() { testharness.Must(t, db.Close()) })
	return db
}

// LatestRun returns the id of the published run, or "" before the first publish.
func (h *Harness) LatestRun() string {
	h.T.Helper()
	return PublishedRun(h.T, h.Config.Warehouse.Dir)
}

// RepairConfig returns the configuration of repairs of the warehouse of a night.
func RepairConfig(cfg pipeline.Config) repair.Config {
	return repair.Config{Warehouse: cfg.Warehouse, Streams: cfg.Streams, AcceptLoss: cfg.AcceptLoss, Now: cfg.Now, Log: cfg.Log}
}

// RequireLines compares the first column of a query result with the wanted lines.
func (h *Harness) RequireLines(text string, want ...string) {
	h.T.Helper()
	if diff := cmp.Diff(want, h.Lines(text)); diff != "" {
		h.T.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

// Lines returns the first column of a query result.
func (h *Harness) Lines(text string) []string {
	h.T.Helper()
	var got []string
	for _, r := range Query(h.T, h.Catalog(), text) {
		got = append(got, r[0].String)
	}
	return got
}

// AddBuiltInChecks adds the built-in checks to the nights of a harness. It also gives
// the nights the default settings of a configuration.
func AddBuiltInChecks(t *testing.T, h *Harness) {
	t.Helper()
	builtIn, err := audit.Load("", nil, nil)
	testharness.Must(t, err)
	h.Config.Fetch.PageSize, h.Config.Details, h.Config.LiveDays, h.Config.Recheck = 100, pipeline.ChangedDetails, 45, 7
	h.Config.ResumeMaxAge = 24 * time.Hour
	h.Config.Checks, h.Config.CheckTimeout = builtIn, time.Minute
}

// WarehouseOf returns the warehouse of a configuration.
func WarehouseOf(cfg pipeline.Config) *warehouse.Warehouse { return warehouse.New(cfg.Warehouse) }

// RequireTorture skips a test that runs only in "make torture".
func RequireTorture(t *testing.T) {
	t.Helper()
	if os.Getenv("PLACEMENTSYNC_TORTURE") == "" {
		t.Skip("set PLACEMENTSYNC_TORTURE to run this test")
	}
}

// RecordTrial stores the result of a trial and whether the trial passed.
func RecordTrial(t *testing.T, startedAt time.Time, result func() torture.Trial) {
	t.Helper()
	testharness.Must(t, torture.Open(os.Getenv).EndTrial(startedAt, t.Failed(), result()))
}

// StoredRequests counts the stored responses of a run by the path and query of their requests. dir is the folder of
// the responses. Without the folder there are none.
func StoredRequests(t *testing.T, dir string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	stored, err := fetch.OpenStoredResponses(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return counts
	}
	testharness.Must(t, err)
	defer stored.Close()
	for response, err := range stored.All() {
		testharness.Must(t, err)
		query := response.Query
		if response.Page > 0 {
			query = strings.TrimPrefix(query+"&page="+strconv.Itoa(response.Page), "&")
		}
		path := fillPath(response.Path, url.PathEscape(response.Param))
		counts[strings.TrimSuffix(path+"?"+query, "?")]++
	}
	return counts
}

// NewBucket returns a bucket of an S3 server, and the server, which stores the objects at the times of the harness.
func NewBucket(t *testing.T, h *Harness) (*bucket.Bucket, *s3sim.Server) {
	t.Helper()
	store := s3sim.New("store")
	store.Now = func() time.Time { return h.At }
	server := httptest.NewServer(store)
	t.Cleanup(server.Close)
	b, err := bucket.Open(t.Context(), bucket.Config{Endpoint: server.URL, Region: "eu-test-1", PathStyle: true,
		AccessKey: s3sim.AccessKey, SecretKey: s3sim.SecretKey}, "store", "night")
	testharness.Must(t, err)
	return b, store
}

// BackupConfig returns the configuration of backups of the warehouse of a night.
func BackupConfig(cfg pipeline.Config, b *bucket.Bucket) backup.Config {
	return backup.Config{Warehouse: WarehouseOf(cfg), Bucket: b, Program: "test", Now: cfg.Now, Log: cfg.Log}
}
