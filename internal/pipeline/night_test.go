package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// lockedBuffer is a buffer for logs of several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestNightsFollowTheService reads all streams on three nights: the first, one a day later and
// one without any change.
func TestNightsFollowTheService(t *testing.T) {
	world := smallWorld()
	world.Listings, world.ListingTurnover = 30, 0.1
	h := newRaceHarness(t, world)
	h.cfg.BatchRows = 3
	var history map[string][]string
	for night := 1; night <= 3; night++ {
		h.service.ResetRequests()
		run := h.night
		if night == 3 {
			run = h.unchangedNight
		}
		res := h.requireComplete(run())
		h.requireIDs("product_listings", "/products/listings")
		h.requireIDs("outlet_listings", "/outlets")
		h.requireIDs("orders", "/orders")
		h.requireIDs("campaigns", "/campaigns")
		h.requireIDs("files", "/files")
		h.requireCounts(res)
		runs, err := h.warehouse().RunLog.Runs()
		testharness.Must(t, err)
		if diff := cmp.Diff(res.Run, runs[len(runs)-1], cmpopts.EquateApproxTime(0)); diff != "" || len(runs) != night {
			t.Errorf("night %d: the last of %d ledger lines differs (-result +ledger):\n%s", night, len(runs), diff)
		}
		switch night {
		case 1:
			if res.Run.New != res.Run.Rows || res.Run.Changed+res.Run.Gone != 0 {
				t.Errorf("the first night has %d new of %d rows, %d changed, %d gone, want only new rows", res.Run.New, res.Run.Rows, res.Run.Changed, res.Run.Gone)
			}
		case 2:
			if res.Run.New < 3 || res.Run.Changed == 0 || res.Run.Gone < 3 {
				t.Errorf("the second night has %d new, %d changed, %d gone rows, want at least 3 new and 3 gone listings", res.Run.New, res.Run.Changed, res.Run.Gone)
			}
			history = h.history()
		case 3:
			if res.Run.New+res.Run.Changed+res.Run.Gone != 0 {
				t.Errorf("the night without changes has %d new, %d changed, %d gone rows, want none", res.Run.New, res.Run.Changed, res.Run.Gone)
			}
			if diff := cmp.Diff(history, h.history()); diff != "" {
				t.Errorf("the night without changes changed history (-before +after):\n%s", diff)
			}
		}
	}
	h.requireLines("SELECT run_id, kind, outcome, exit_code FROM meta.runs ORDER BY 1",
		"20261102T020000Z night complete 0", "20261103T020000Z night complete 0", "20261103T030000Z night complete 0")
}

// requireCounts compares the counts of a complete run with the requests of the service and with
// the published tables.
func (h *harness) requireCounts(res pipeline.Result) {
	h.t.Helper()
	requestCount := len(h.service.Requests())
	var rows, newRows, changed, gone int64
	for _, c := range res.Changes {
		rows, newRows, changed, gone = rows+c.After, newRows+c.New, changed+c.Changed, gone+c.Gone
	}
	r := res.Run
	if r.Requests != int64(requestCount) || r.Bytes <= 0 || r.Rows != rows || r.New != newRows || r.Changed != changed || r.Gone != gone || r.Retries != 0 || r.ThrottledSeconds != 0 {
		h.t.Errorf("run %s has %d requests, %d rows, %d new, %d changed and %d gone, want %d, %d, %d, %d and %d", r.ID, r.Requests, r.Rows, r.New, r.Changed, r.Gone, requestCount, rows, newRows, changed, gone)
	}
	requests, bytes := int64(0), int64(0)
	for _, s := range r.Streams {
		requests, bytes = requests+s.Requests, bytes+s.Bytes
		if s.RowsOld != 0 || s.Incomplete || s.Events != strings.HasSuffix(s.Stream, "_events") {
			h.t.Errorf("run %s: %+v, want a complete stream without old rows", r.ID, s)
		}
		want := stream.Exact
		if s.Events {
			want = stream.Skipped // no event was delivered
		}
		if s.Grade != want {
			h.t.Errorf("%s is %s: %s, want %s", s.Stream, s.Grade, s.Reason, want)
		}
	}
	h.requireLines("SELECT requests, bytes FROM meta.runs WHERE run_id = '"+r.ID+"'", fmt.Sprint(r.Requests, r.Bytes))
	h.requireLines("SELECT sum(rows), sum(rows_new), sum(rows_changed), sum(rows_gone) FROM meta.tables WHERE run_id = '"+r.ID+"'",
		fmt.Sprint(rows, newRows, changed, gone))
	read := map[string]bool{}
	for _, s := range r.Streams {
		read[s.Stream] = true
	}
	if read["token"] && (requests != r.Requests || bytes != r.Bytes) { // all nights request the token
		h.t.Errorf("the streams have %d requests and %d bytes, the run %d and %d", requests, bytes, r.Requests, r.Bytes)
	}
	for _, name := range []string{"orders", "product_listings", "articles", "tags"} { // the names are also those of tables
		if read[name] {
			rows := h.singleLine("SELECT rows FROM meta.streams WHERE stream = '" + name + "' AND run_id = '" + r.ID + "'")
			h.requireLines("SELECT count(*) FROM "+name, rows)
		}
	}
	if !read["orders"] {
		return
	}
	if s := streamOf(h.t, r, "orders"); s.Pages != 2 || s.TotalFirst != int64(len(h.service.Records("/orders"))) || s.Distinct != s.TotalFirst || s.Rows != s.TotalFirst {
		h.t.Errorf("orders: %+v, want %d records", s, len(h.service.Records("/orders")))
	}
}

// TestDryRun reads and merges a night. The night must publish no version, and its ledger line must name
// no version.
func TestDryRun(t *testing.T) {
	h := newHarness(t, smallWorld(), "folders")
	h.cfg.DryRun, h.cfg.ResumeMaxAge = true, time.Hour
	res := h.requireComplete(h.night())
	if !res.Run.SnapshotAt.IsZero() || h.latest() != "" || len(res.Changes) == 0 || res.Changes[0].New == 0 || res.Manifest.RunID != "" {
		t.Errorf("the dry run has the snapshot %v, readers see %q, and the changes are %+v, want only changes", res.Run.SnapshotAt, h.latest(), res.Changes)
	}
	h.cfg.DryRun = false
	if next := h.requireComplete(h.unchangedNight()); next.Run.ID == res.Run.ID || next.Run.Requests == 0 {
		t.Errorf("the dry run %s was resumed, want a new run", res.Run.ID)
	}
	if runs, err := h.warehouse().RunLog.Runs(); err != nil || len(runs) != 2 || runs[0].VisibleVersion() != "" || runs[1].VisibleVersion() != h.latest() {
		t.Errorf("the ledger has %+v (%v), want the dry run without a version and the published night", runs, err)
	}
}

// TestInterruptedNightIsResumed stops a night at the ninth request. The next night must have the same run id
// and repeat no request, except those for the token and for page 1, which confirms a list. If the token changed, it must
// have a new run id.
func TestInterruptedNightIsResumed(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(h *harness)
		isResumed bool
	}{
		"the same rights of the token": {func(*harness) {}, true},
		"other rights of the token":    {func(h *harness) { h.service.SetFaults(rewriteFault("/auth/token", `{"token_type":"full_access"}`)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			create := newRaceHarness
			if !c.isResumed {
				create = newHarness
			}
			h := create(t, smallWorld(), append(orderStreamNames(), "files")...)
			h.cfg.ResumeMaxAge = 2 * time.Hour
			h.cfg.FinishCommit = true // must not delay the stop of a night that still reads
			ctx, stop := context.WithCancel(t.Context())
			requests := 0
			h.cfg.Fetch.Concurrency = 1
			hook := func(*http.Request) {
				requests++
				if requests == 9 {
					stop()
				}
			}
			h.onRequest.Store(&hook)
			first, err := pipeline.Run(ctx, h.cfg)
			if !errors.Is(err, context.Canceled) || first.Run.Outcome != ledger.Interrupted || first.Run.ExitCode != 130 || !first.Run.SnapshotAt.IsZero() || h.latest() != "" {
				t.Fatalf("the stopped run ended %s with %d and the snapshot %v, want interrupted with 130 without a snapshot: %v", first.Run.Outcome,
					first.Run.ExitCode, first.Run.SnapshotAt, err)
			}
			h.onRequest.Store(nil)
			c.change(h)
			stored := h.service.Requests()[:8]
			h.service.ResetRequests()
			var log lockedBuffer
			h.logTo(&log)
			res := h.requireComplete(h.unchangedNight())
			if isRefused := strings.Contains(log.String(), `msg="run not resumed"`); isRefused == c.isResumed {
				t.Errorf("the log refuses to resume the run: %t, want %t; it has:\n%s", isRefused, !c.isResumed, log.String())
			}
			if (res.Run.ID == first.Run.ID) != c.isResumed {
				t.Errorf("run %s followed the interrupted run %s, want the same run: %t", res.Run.ID, first.Run.ID, c.isResumed)
			}
			if c.isResumed {
				for _, r := range h.service.Requests() {
					if slices.Contains(stored, r) && r.Path != "/auth/token" && !strings.HasSuffix(r.Path, "page=1") {
						t.Errorf("the resumed run repeated the request for %s", r.Path)
					}
				}
				if s := streamOf(t, res.Run, "orders"); s.Reused == 0 || !res.Run.StartedAt.Equal(first.Run.StartedAt) {
					t.Errorf("the resumed run started at %v and used %d stored responses, want the first start and some responses", res.Run.StartedAt, s.Reused)
				}
			} else if s := streamOf(t, res.Run, "orders"); s.Reused != 0 || !res.Run.StartedAt.Equal(h.at) || !res.Run.SnapshotAt.Equal(h.at) {
				t.Errorf("the new run started at %v and used %d stored responses, want a new start and none", res.Run.StartedAt, s.Reused)
			}
			runs, err := h.warehouse().RunLog.Runs()
			testharness.Must(t, err)
			if c.isResumed && (len(runs) != 1 || runs[0].Attempts != 2) {
				t.Errorf("the ledger has %+v, want one run with two attempts", runs)
			}
			h.requireIDs("orders", "/orders")
			if _, isUnfinished, err := h.warehouse().RunLog.ResumableRun(); err != nil || isUnfinished {
				t.Errorf("a run can still be resumed (%v), want no unfinished run", err)
			}
		})
	}
}

// rewriteFault returns a fault that answers requests of a path with a body.
func rewriteFault(path, body string) sim.Fault {
	return sim.Fault{Path: path, Kind: sim.FaultRewrite, Rewrite: func([]byte) []byte { return []byte(body) }}
}

// TestStopDuringTheCommit stops a night after the merge has begun. With FinishCommit the night must be
// published. Without FinishCommit it must be cancelled.
func TestStopDuringTheCommit(t *testing.T) {
	for name, finishCommit := range map[string]bool{"finished": true, "cancelled": false} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, smallWorld(), "folders")
			ctx, stop := context.WithCancel(t.Context())
			h.cfg.FinishCommit = finishCommit
			h.cfg.Warehouse.Step = func(name, _ string) error {
				if name == "before write run.json" {
					stop()
				}
				return nil
			}
			res, err := pipeline.Run(ctx, h.cfg)
			if finishCommit {
				h.requireComplete(res, err)
				h.requireIDs("folders", "/folders")
				return
			}
			const want = "the run was stopped before it was complete; the stored responses are kept: run again to resume"
			if res.Run.Outcome != ledger.Interrupted || err.Error() != want || h.latest() != "" {
				t.Errorf("the run ended %s, want an interrupted run that can be resumed: %v", res.Run.Outcome, err)
			}
		})
	}
}

// TestDiskFailures injects an error into three steps before the publish, one step a night. Readers must keep the last
// snapshot, and the next run must publish.
func TestDiskFailures(t *testing.T) {
	h := newHarness(t, smallWorld(), "folders")
	h.cfg.ResumeMaxAge = 24 * time.Hour
	h.requireComplete(h.night())
	diskFull := syscall.ENOSPC
	for _, step := range []string{"mid write of the bodies", "before write run.json", "before rename manifest.json"} {
		previous, hasFailed := h.latest(), false
		h.cfg.Warehouse.Step = func(name, _ string) error {
			if name == step && !hasFailed {
				hasFailed = true
				return diskFull
			}
			return nil
		}
		res, err := h.night()
		if !errors.Is(err, diskFull) || res.Run.Outcome != ledger.Failed || h.latest() != previous {
			t.Errorf("%s: the night ended %s and readers see %s, want a failed night, and readers to see %s: %v", step, res.Run.Outcome, h.latest(), previous, err)
		}
		if full := errorOf[*warehouse.DiskFullError](t, err); res.Run.Error != full.Error() {
			t.Errorf("%s: the ledger has the error %q, want %q with the remedy", step, res.Run.Error, full)
		}
		next := h.requireComplete(h.unchangedNight())
		if next.Run.ID != res.Run.ID || h.latest() != res.Run.ID {
			t.Errorf("%s: run %s followed run %s, want the failed run resumed", step, next.Run.ID, res.Run.ID)
		}
		h.requireIDs("folders", "/folders")
	}
	// After the publish an error is only a warning: readers see the night.
	var log lockedBuffer
	h.logTo(&log)
	h.cfg.Warehouse.Step = func(name, _ string) error {
		if name == "before removal unfinished.json" {
			return diskFull
		}
		return nil
	}
	res := h.requireComplete(h.night())
	if h.latest() != res.Run.ID || !strings.Contains(log.String(), "published, but a later step failed") {
		t.Errorf("readers see %s, want %s and a warning; the log has:\n%s", h.latest(), res.Run.ID, log.String())
	}
	// Without its day in the series, a published night is partial.
	h.cfg.Warehouse.Step = nil
	testharness.Must(t, errors.Join(os.RemoveAll(h.path("parquet", "folders")), os.WriteFile(h.path("parquet", "folders"), nil, 0o600)))
	res = h.requirePartial(h.night())
	if !strings.Contains(res.Run.Error, "extend the Parquet series") {
		t.Errorf("the ledger has the error %q, want the missing day of the series", res.Run.Error)
	}
}

// TestUnsyncedSwitch injects an error into the fsync after the switch of the link "latest". The result of the
// failed night must report that readers see the new snapshot.
func TestUnsyncedSwitch(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	h.cfg.Warehouse.Step = func(name, _ string) error {
		if name == "before fsync beside latest" {
			return syscall.EIO
		}
		return nil
	}
	res, err := h.night()
	if !errors.Is(err, syscall.EIO) || res.Run.Outcome != ledger.Failed || !res.IsUnsynced || h.latest() != res.Run.ID {
		t.Errorf("the night %s ended %s and readers see %s, want a failed night, unsynced and visible to readers: %v", res.Run.ID, res.Run.Outcome, h.latest(), err)
	}
}

// TestDamagedFileIsWrittenAgain damages a published file that the next version would link.
func TestDamagedFileIsWrittenAgain(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags", "folders")
	h.requireComplete(h.night())
	file := h.path("versions", h.latest(), "folders.parquet")
	testharness.Must(t, os.Chmod(file, 0o600))
	content, err := os.ReadFile(file)
	testharness.Must(t, err)
	testharness.Must(t, os.WriteFile(file, content[:len(content)-9], 0o600))
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	if err != nil || len(plan.Damage) == 0 {
		t.Errorf("the plan shows the damage %+v (%v), want the shortened file", plan.Damage, err)
	}
	h.requireComplete(h.unchangedNight())
	v := h.verify()
	for _, d := range v.Damage {
		if strings.Contains(d.File, h.latest()) {
			t.Errorf("the new version is damaged: %+v", d)
		}
	}
}

// TestOnlyOneRun starts a night while another night waits for a response.
func TestOnlyOneRun(t *testing.T) {
	h := newHarness(t, smallWorld(), "folders")
	h.requireComplete(h.night())
	testharness.Must(t, os.Truncate(h.path("versions", h.latest(), "folders.parquet"), 9)) // a run changes files, so it is no finding
	arrived, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hook := func(*http.Request) {
		once.Do(func() { close(arrived) })
		<-proceed
	}
	h.onRequest.Store(&hook)
	var firstErr error
	var wg sync.WaitGroup
	wg.Go(func() { _, firstErr = h.night() })
	<-arrived
	_, secondErr := pipeline.Run(t.Context(), h.cfg)
	planConfig := h.cfg
	planConfig.Fetch.Transport = inProcessTransport{h.service, 0} // its requests do not call the hook
	plan, planErr := pipeline.PlanNight(t.Context(), planConfig)
	close(proceed)
	wg.Wait()
	testharness.Must(t, errors.Join(firstErr, planErr))
	if secondErr == nil || !strings.Contains(secondErr.Error(), "lock") {
		t.Errorf("the second run ended with %v, want an error about the lock", secondErr)
	}
	if plan.LockedErr == nil || plan.LockedErr.PID != os.Getpid() || len(plan.Damage) > 0 {
		t.Errorf("the plan shows the holder of the lock %+v, want this process", plan.LockedErr)
	}
}

// TestStoredResponsesAreSynced records the steps of a night. The journal of the stored responses must be synced after
// its last line, and before readers see the night: otherwise a power cut soon after the publish loses responses that a
// replay needs.
func TestStoredResponsesAreSynced(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	var mu sync.Mutex // guards last
	last, lastBeforeSwitch := "", ""
	h.cfg.Warehouse.Step = func(name, path string) error {
		mu.Lock()
		defer mu.Unlock()
		switch filepath.Base(path) {
		case "journal.jsonl":
			last = name
		case warehouse.LatestLink:
			if lastBeforeSwitch == "" {
				lastBeforeSwitch = last
			}
		}
		return nil
	}
	h.requireComplete(h.night())
	if !strings.HasPrefix(lastBeforeSwitch, "after fsync") || !strings.HasPrefix(last, "after fsync") {
		t.Errorf("the last step of the journal is %q before the publish and %q in all, want syncs", lastBeforeSwitch, last)
	}
}

// TestPlanNamesAMissingWarehouse plans a night in an empty folder.
func TestPlanNamesAMissingWarehouse(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	testharness.Must(t, os.MkdirAll(h.path(), 0o700))
	plan, err := pipeline.PlanNight(t.Context(), h.cfg)
	if err != nil || !errors.As(plan.MissingErr, new(*warehouse.NoWarehouseError)) || plan.NeverRead == 0 {
		t.Errorf("the plan is %+v (%v), want a missing warehouse and a stream that was never read", plan, err)
	}
}

// TestPlanNamesWhatStopsTheNight plans a night in a warehouse of a newer program, and in one with a folder that cannot
// be written.
func TestPlanNamesWhatStopsTheNight(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	h.requireComplete(h.night())
	path := h.path("versions", h.latest(), "manifest.json")
	m, err := h.warehouse().Versions.ReadManifest(h.latest())
	testharness.Must(t, err)
	m.Format++
	testharness.Must(t, errors.Join(os.Remove(path), h.warehouse().Folder.WriteSealed(path, m)))
	if _, err := pipeline.PlanNight(t.Context(), h.cfg); !errors.As(err, new(*warehouse.NewerError)) {
		t.Errorf("the plan ended with %v, want a NewerError", err)
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("without /proc there is no folder that root cannot write")
	}
	h.cfg.Warehouse.Dir = t.TempDir()
	testharness.Must(t, os.Symlink("/proc", h.path("raw")))
	if plan, err := pipeline.PlanNight(t.Context(), h.cfg); err != nil || plan.WriteErr == nil {
		t.Errorf("the plan has no error of the folder that cannot be written (%v)", err)
	}
}

// TestFailedStartReleasesTheLock starts a night that cannot read the ledger. A process that goes on, such as the daemon,
// must then be able to start the next one.
func TestFailedStartReleasesTheLock(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	ledgerPath := h.warehouse().RunLog.Path()
	testharness.Must(t, os.MkdirAll(ledgerPath, 0o700))
	if _, err := h.night(); err == nil {
		t.Fatal("the night began without a readable ledger")
	}
	testharness.Must(t, os.Remove(ledgerPath))
	h.requireComplete(h.night())
}

// TestDamagedCatalogStopsTheNight damages the catalog on which the next night would be based.
func TestDamagedCatalogStopsTheNight(t *testing.T) {
	h := newHarness(t, smallWorld(), "tags")
	h.requireComplete(h.night())
	testharness.Must(t, os.Truncate(h.path("versions", h.latest(), "catalog.duckdb"), 9))
	if _, err := h.failedNight(); !strings.HasPrefix(err.Error(), "begin version 20261103T020000Z: ") || !strings.Contains(err.Error(), "placementsync rebuild") {
		t.Errorf("the night ended with %v, want an error that names the version and the rebuild", err)
	}
}
