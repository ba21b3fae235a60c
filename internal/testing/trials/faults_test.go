package trials_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

func TestDeadServerKeepsTheLastSnapshot(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	var log syncBuffer
	h.cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	good := h.goodNight()
	h.server.Close()
	res, err := h.failedNight(t.Context(), exitFailed)
	for _, part := range []string{`stream "token"`, h.server.URL + "/auth/token", "connection refused"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not contain %q: %v", part, err)
		}
	}
	if res.Run.Outcome != ledger.Failed || h.latestRun() != good.Run.ID {
		t.Errorf("the night ended %s and latest is %s, want failed and %s", res.Run.Outcome, h.latestRun(), good.Run.ID)
	}
	requireNoToken(t, h.path(), err.Error()+log.String())
	runs := ledgerRuns(t, h)
	if newest := runs[len(runs)-1]; newest.ID != res.Run.ID || newest.Error == "" || newest.ExitCode != 1 {
		t.Errorf("the newest run in the ledger is %+v, want the failed night with an error and exit code 1", newest)
	}
}

// requireNoToken searches a text and all files below a folder for the token. It also searches the
// compressed bodies of stored responses.
func requireNoToken(t *testing.T, dir, text string) {
	t.Helper()
	if strings.Contains(text, token) {
		t.Errorf("the error or log contains the token: %s", text)
	}
	testharness.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(token)) {
			t.Errorf("%s contains the token", path)
		}
		if d.Name() == "journal.jsonl" {
			requireNoStoredToken(t, filepath.Dir(path))
		}
		return err
	}))
}

func requireNoStoredToken(t *testing.T, dir string) {
	t.Helper()
	stored, err := fetch.OpenStoredResponses(dir)
	testharness.Must(t, err)
	defer stored.Close()
	for r, err := range stored.All() {
		testharness.Must(t, err)
		body, err := stored.Body(r)
		testharness.Must(t, err)
		if bytes.Contains(body, []byte(token)) {
			t.Errorf("a stored response of %s contains the token", r.Stream)
		}
	}
}

// syncBuffer is a log buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *syncBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestDeadServerOnTheFirstNightPublishesNoVersion(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.server.Close()
	h.failedNight(t.Context(), exitFailed)
	if latest := h.latestRun(); latest != "" {
		t.Errorf("version %s was published, want none", latest)
	}
}

func TestTrialBrokenListIsCarriedForward(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	ref := newReference(t, h.service, h.cfg.Streams)
	good := h.goodNight()
	lastRows := ref.currentRows()
	h.service.SetFaults(sim.Fault{Path: "/products/listings", Kind: sim.FaultHTML})
	res := h.partialNight()
	h.requireStream(res.Run, "product_listings", stream.CarriedForward, "/products/listings")
	h.requireStream(res.Run, "orders", stream.Exact, "")
	for _, spec := range ref.uniqueTables() {
		if strings.HasPrefix(spec.table, "product_listing") {
			checkTable(t, spec, lastRows, h.catalog(), "main."+spec.table)
		}
	}
	h.requireValues(ref, "orders", "order_line_items", "order_line_item_includes")
	ageSince := h.queryOne(`SELECT epoch_us(age_since)::VARCHAR FROM meta.streams WHERE run_id = ? AND stream = 'product_listings'`, res.Run.ID)
	if want := strconv.FormatInt(good.Run.SnapshotAt.UnixMicro(), 10); ageSince != want {
		t.Errorf("the carried rows date from %s, want %s", ageSince, want)
	}
	for _, m := range res.Manifest.Tables {
		if want := wantGrade(strings.HasPrefix(m.Name, "product_listing")); m.Grade != want {
			t.Errorf("the grade of %s in the manifest is %s, want %s", m.Name, m.Grade, want)
		}
	}
	h.service.SetFaults()
	h.goodNight()
	h.requireValues(ref)
}

func wantGrade(carried bool) stream.Grade {
	if carried {
		return stream.CarriedForward
	}
	return stream.Exact
}

func TestBrokenListOnTheFirstNightIsSkipped(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	ref := newReference(t, h.service, h.cfg.Streams)
	h.service.SetFaults(sim.Fault{Path: "/products/listings", Kind: sim.FaultHTML})
	res := h.partialNight()
	h.requireStream(res.Run, "product_listings", stream.Skipped, "with a page of HTML: malformed body")
	h.requireValues(ref, "orders", "order_line_items", "order_line_item_includes")
	if n := h.count("product_listings", "TRUE"); n != 0 {
		t.Errorf("product_listings has %d rows, want none", n)
	}
}

// TestColumnsOfABrokenEndpointAreKept lets one of the two endpoints of orders return HTML. The
// columns that only this endpoint fills must keep their last values.
func TestColumnsOfABrokenEndpointAreKept(t *testing.T) {
	for _, c := range []struct{ name, route, stream, column string }{
		{"detail", "/orders/{order_id}", "order_details", "email"},
		{"list", "/orders", "orders", "team_contact_email"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, smallWorld(), fewStreams()...)
			h.goodNight()
			valueCond, websiteCond := c.column+" <> ''", "outlet_website_url IS NOT NULL"
			valuesBefore, websitesBefore := h.count("orders", valueCond), h.count("order_line_items", websiteCond)
			h.service.SetFaults(sim.Fault{Route: c.route, Kind: sim.FaultHTML})
			res := h.partialNight()
			h.requireStream(res.Run, c.stream, stream.CarriedForward, "with a page of HTML: malformed body")
			if got := h.count("orders", valueCond); got < valuesBefore || valuesBefore == 0 {
				t.Errorf("%d orders have a value of %s, want at least %d as before the fault, and at least 1", got, c.column, valuesBefore)
			}
			if got := h.count("order_line_items", websiteCond); got < websitesBefore || websitesBefore == 0 {
				t.Errorf("%d line items have the website of the outlet, want at least %d as before the fault, and at least 1", got, websitesBefore)
			}
		})
	}
}

// TestFailedDetailKeepsItsLastRow makes every request for one order fail.
func TestFailedDetailKeepsItsLastRow(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	ref := newReference(t, h.service, h.cfg.Streams)
	h.goodNight()
	h.requireValues(ref)
	id := h.queryOne("SELECT min(order_id) FROM order_line_items WHERE outlet_website_url IS NOT NULL")
	h.service.SetFaults(sim.Fault{Path: "/orders/" + id})
	res := h.partialNight()
	s := streamOf(t, res.Run, "order_details")
	if s.Failed != 1 || s.Grade != stream.BestEffort || !strings.Contains(s.Reason, "1 of ") {
		t.Errorf("order_details: got %+v, want one failed, best_effort and a reason", s)
	}
	if h.count("orders", "id = ? AND email <> ''", id) != 1 {
		t.Error("the order whose requests failed has lost its email, want the last value")
	}
	if h.count("order_line_items", "order_id = ? AND outlet_website_url IS NOT NULL", id) == 0 {
		t.Error("the line items of the order whose requests failed have lost their outlets, want the last values")
	}
}

func TestTrialUnreliableNetworkLosesNoRows(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld())
	h.cfg.Fetch.Retry.MaxRetries = 12
	ref := newReference(t, h.service, h.cfg.Streams)
	h.cfg.Fetch.PageSize = 3
	h.service.SetFaults(networkFaults()...)
	res := h.goodNight()
	if res.Run.Retries == 0 {
		t.Error("no request was repeated, so the test shows nothing")
	}
	h.requireValues(ref)
}

// networkFaults returns seven kinds of faults. The first affects a fifth of the responses. Each
// later kind affects a twentieth of the responses without an earlier kind of fault.
func networkFaults() []sim.Fault {
	faults := []sim.Fault{{Probability: 0.2, Kind: sim.FaultStatus, Status: http.StatusInternalServerError}}
	for _, kind := range []sim.FaultKind{sim.FaultReset, sim.FaultResetBody, sim.FaultTruncate, sim.FaultBrokenJSON, sim.FaultEmpty, sim.FaultHTML} {
		faults = append(faults, sim.Fault{Probability: 0.05, Kind: kind})
	}
	return faults
}

func TestInterruptedNightIsNotPublished(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.goodNight()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var requestCount atomic.Int32
	h.onRequest(func(*http.Request) {
		if requestCount.Add(1) == 6 {
			cancel()
		}
	})
	res, err := h.failedNight(ctx, exitInterrupted)
	if res.Run.Outcome != ledger.Interrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("the night ended %s with %v, want interrupted with context.Canceled", res.Run.Outcome, err)
	}
	// Requests that were already sent may still arrive. At most eight requests run concurrently.
	if lateRequests := requestCount.Load() - 6; lateRequests >= 8 {
		t.Errorf("%d requests arrived after the interruption, want fewer than 8", lateRequests)
	}
	h.requestHook.Store(nil)
	h.goodNight()
}

// TestSecondRunFailsWithALockedError starts a run while another run waits at its first request.
func TestSecondRunFailsWithALockedError(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	arrived, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.onRequest(func(*http.Request) {
		once.Do(func() { close(arrived) })
		<-proceed
	})
	h.service.Advance(1)
	h.at = h.service.Now()
	var firstErr error
	var wg sync.WaitGroup
	wg.Go(func() { _, firstErr = pipeline.Run(t.Context(), h.cfg) })
	<-arrived
	res, err := pipeline.Run(t.Context(), h.cfg)
	close(proceed)
	wg.Wait()
	if locked, ok := errors.AsType[*warehouse.LockedError](err); !ok || locked.PID != os.Getpid() {
		t.Errorf("got %v, want a LockedError of this process", err)
	}
	if code := exitCode(t.Context(), res, err); code != 4 {
		t.Errorf("got exit code %d, want 4", code)
	}
	if firstErr != nil || h.latestRun() == "" {
		t.Errorf("the first run ended with %v and latest is %q, want no error and a published night", firstErr, h.latestRun())
	}
}

func TestDryRunIsNotPublished(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallWorld(), fewStreams()...)
	h.cfg.DryRun = true
	res := h.goodNight()
	if len(res.Changes) == 0 || res.Run.New == 0 || h.latestRun() != "" {
		t.Errorf("got %d changes, %d new rows and latest %q, want changes and no published version", len(res.Changes), res.Run.New, h.latestRun())
	}
}
