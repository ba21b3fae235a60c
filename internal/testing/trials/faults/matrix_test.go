package faults_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/stream"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// rate is the frequency of a fault: the share of affected requests, or, if the share is 0, all requests for one
// endpoint in a night. Each night uses another endpoint.
type rate struct {
	name  string
	share float64
	runs  int // number of nights
}

func rates() []rate {
	return []rate{{"1 %", 0.01, 4}, {"5 %", 0.05, 4}, {"10 %", 0.1, 4}, {"30 %", 0.3, 4}, {"one endpoint, for good", 0, len(trials.Endpoints())}}
}

// TestTrialFaultMatrix is the short form of TestTortureFaultMatrix.
func TestTrialFaultMatrix(t *testing.T) {
	t.Parallel()
	short := []string{"TLS failure", "trickled body", "duplicate keys"}
	for i, kind := range slices.DeleteFunc(trials.FaultKinds(), func(k trials.FaultKind) bool { return !slices.Contains(short, k.Name) }) {
		t.Run(kind.Name, func(t *testing.T) {
			newMatrixCell(t, uint64(i), kind, trials.FewStreams()...).runNights(t, rate{"10 %", 0.1, 1})
		})
	}
}

// TestTortureFaultMatrix runs nights with every kind of fault at every rate. Each night must
// publish exact tables, publish tables with a grade that shows the missing data, or publish no
// version. A night without faults at the end must restore all rows.
func TestTortureFaultMatrix(t *testing.T) {
	trials.RequireTorture(t)
	for i, kind := range trials.FaultKinds() {
		for n, r := range rates() {
			t.Run(kind.Name+"/"+r.name, func(t *testing.T) {
				c := newMatrixCell(t, uint64(10*i+n), kind, trials.SomeStreams()...)
				nights := 0
				defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
					return torture.Trial{Name: "fault " + kind.Name + ", " + r.name, Runs: nights, Outcome: c.String(),
						Procedure: "nights with this fault in this share of the requests, then a night without it"}
				})
				nights = c.runNights(t, r)
				if c.peak > maxMemoryBytes {
					t.Errorf("the process used %d MiB, want at most %d", c.peak>>20, maxMemoryBytes>>20)
				}
			})
		}
	}
}

// maxMemoryBytes is the default of warehouse.memory_limit, 512 MB, plus the 480 MiB that its documentation
// allows for the rest of the program. The test process also runs the service.
const maxMemoryBytes = 512_000_000 + 480<<20

// maxDuration is the maximum duration of a night, on a busy machine and with all attempts of some requests up to their
// timeouts.
const maxDuration = 30 * time.Minute

// matrixCell is a harness for one kind of fault at one rate.
type matrixCell struct {
	*trials.Harness
	ref           *trials.Reference
	kind          trials.FaultKind
	faultSelector *trials.FaultSelector
	// Each night is counted once. An exact night equals the service value by value. A partial night was published and
	// reports the missing data. A failed night was not published.
	exact, partial, failed int
	longest                time.Duration // of a night
	peak                   int64         // memory of the process in a night, in bytes; 0 if it is unknown
}

func (c *matrixCell) String() string {
	requests, affected := c.faultSelector.Counts()
	return fmt.Sprintf("%d exact, %d partial, %d failed, 0 wrong; 0 rows lost; %d of %d requests affected; longest night %.1f s; peak memory %d MiB",
		c.exact, c.partial, c.failed, affected, requests, c.longest.Seconds(), c.peak>>20)
}

func newMatrixCell(t *testing.T, seed uint64, kind trials.FaultKind, streams ...string) *matrixCell {
	t.Helper()
	c := &matrixCell{kind: kind, faultSelector: &trials.FaultSelector{Random: rand.New(rand.NewPCG(seed, 8))}}
	world := trials.TrialWorld(seed)
	world.FaultFunc = func(r *http.Request) *sim.Fault {
		if kind.Fault == nil || !c.faultSelector.Affects(r) {
			return nil
		}
		return kind.Fault
	}
	c.Harness = trials.NewHarness(t, world, streams...)
	c.ref = trials.NewReference(t, c.Service, c.Config.Streams)
	server := httptest.NewServer(trials.FaultProxy{Service: c.Service, FaultSelector: c.faultSelector, Spoil: kind.Spoil})
	t.Cleanup(server.Close)
	c.Config.Warehouse.MemoryLimit = "512MB"
	f := &c.Config.Fetch
	// A request rate is set, because status 429 reduces it. The other limits are small, so that no night waits long.
	f.BaseURL, f.RequestsPerSecond, f.Burst, f.PageSize, f.MaxPasses, f.MaxPages = server.URL, 2000, 50, 3, 4, 50
	f.Timeout = cmp.Or(kind.AttemptTimeout, 2*time.Second)
	f.Retry = fetch.Retry{MaxRetries: 5, Base: time.Millisecond, Max: 10 * time.Millisecond, Jitter: 0.1}
	if kind.DetourAddress != nil {
		to, err := url.Parse(kind.DetourAddress(t))
		testharness.Must(t, err)
		f.Transport = trials.DetourTransport{Transport: &http.Transport{DisableCompression: true}, FaultSelector: c.faultSelector, To: to}
	}
	return c
}

// runNights runs the nights of a rate, more if the fault is rare and has affected no request, and then a night without
// faults that must restore all rows. It returns the number of nights.
func (c *matrixCell) runNights(t *testing.T, r rate) (nights int) {
	t.Helper()
	const maxNights = 24
	affected := 0
	for ; nights < r.runs || nights < maxNights && affected == 0; nights++ {
		endpoint := ""
		if r.share == 0 {
			endpoint = trials.Endpoints()[nights%len(trials.Endpoints())]
		}
		c.faultSelector.Set(r.share, endpoint)
		t.Run(fmt.Sprintf("night %d", nights+1), c.runFaultyNight)
		_, affected = c.faultSelector.Counts()
	}
	if affected == 0 {
		t.Errorf("no request was affected in %d nights, so the test shows nothing", nights)
	}
	t.Logf("%d nights: %s", nights, c)
	c.faultSelector.Set(0, "")
	t.Run("night without faults", func(t *testing.T) { c.compareWithGrades(t, c.GoodNight()) })
	return nights
}

// runFaultyNight runs a night with the fault and checks its outcome.
func (c *matrixCell) runFaultyNight(t *testing.T) {
	keysBefore := c.publishedKeys(t)
	latestBefore := c.LatestRun()
	ctx, cancel := context.WithTimeout(t.Context(), maxDuration)
	defer cancel()
	resetPeakMemory()
	start := time.Now()
	res, err := c.NightWithContext(ctx)
	c.longest = max(c.longest, time.Since(start))
	c.peak = max(c.peak, peakMemory())
	switch {
	case ctx.Err() != nil:
		t.Fatalf("the night took longer than %v: %v", maxDuration, err)
	case err != nil:
		c.failed++
		c.requireFailed(t, res, err, latestBefore)
		return
	case c.compareWithGrades(t, res):
		c.exact++
	default:
		c.partial++
	}
	// The night may remove no row whose record the service still has.
	current, keysAfter := c.ref.CurrentRows(), c.publishedKeys(t)
	for _, spec := range c.ref.UniqueTables() {
		for _, r := range current[spec.Table] {
			if key := spec.Table + "/" + trials.KeyOf(spec, r); keysBefore[key] && !keysAfter[key] {
				t.Errorf("the row %s is lost, although the service still sends its record", key)
			}
		}
	}
}

// requireFailed checks a night that returned an error. It must be reported as failed, and must not
// publish a version. A night may only fail if the token cannot be checked or no stream can be read.
func (c *matrixCell) requireFailed(t *testing.T, res pipeline.Result, err error, latestBefore string) {
	t.Helper()
	if !errors.Is(err, pipeline.ErrNoData) && !strings.HasPrefix(err.Error(), "check the token:") {
		t.Errorf("the night failed with %v, want ErrNoData or an error about the token", err)
	}
	if res.Run.Outcome != ledger.Failed || c.LatestRun() != latestBefore {
		t.Errorf("the night ended %s and latest is %q, want failed and %q: %v", res.Run.Outcome, c.LatestRun(), latestBefore, err)
	}
}

// compareWithGrades checks the grades of a published night. A table whose streams are all graded exact or repaired
// must have the values of the service. Streams with other grades must have a reason. The exit code must match the
// grades. allProven means that all streams are graded exact or repaired.
func (c *matrixCell) compareWithGrades(t *testing.T, res pipeline.Result) (allProven bool) {
	t.Helper()
	trials.CheckReasons(t, res.Run)
	proven := trials.ProvenStreams(res.Run)
	allProven = len(proven) == len(res.Run.Streams)
	anyUnread := slices.ContainsFunc(res.Run.Streams, func(s ledger.Stream) bool {
		return s.Grade == stream.CarriedForward || s.Grade == stream.Skipped
	})
	if code := res.Run.ExitCode; code != 0 && code != 3 || anyUnread && code != 3 || allProven && code != 0 {
		t.Errorf("the night ended %s with exit code %d, which does not match the grades:\n%s", res.Run.Outcome, code, trials.Reasons(res.Run))
	}
	current := c.ref.CurrentRows()
	for _, spec := range c.ref.ProvenTables(proven) {
		trials.CompareRows(t, spec, current, c.publishedRows(t, spec), spec.Table)
	}
	return allProven
}

// publishedRows returns the rows of a published table. It removes the field that the fault adds to records.
func (c *matrixCell) publishedRows(t *testing.T, spec trials.TableSpec) []trials.TextRow {
	t.Helper()
	all := trials.ReadTable(t, spec, c.Catalog(), "main."+spec.Table)
	for _, r := range all {
		extra, _ := trials.Decode(cmp.Or(r["extra"], "{}")).(map[string]any)
		noise, hasNoise := extra[trials.NoiseField].(string)
		if !hasNoise {
			continue
		}
		if c.kind.IsNoise == nil || !c.kind.IsNoise(noise) {
			t.Errorf("%s contains %.40q, which neither the service nor the fault may send", spec.Table, noise)
		}
		delete(extra, trials.NoiseField)
		r["extra"] = trials.Canonical(extra)
		if len(extra) == 0 {
			delete(r, "extra")
		}
	}
	return all
}

// publishedKeys returns the keys of the published rows, as table/key. There are none before the first publish.
func (c *matrixCell) publishedKeys(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	if c.LatestRun() == "" {
		return all
	}
	for _, spec := range c.ref.UniqueTables() {
		for _, r := range trials.Query(t, c.Catalog(), "SELECT concat_ws('/', "+strings.Join(strings.Fields(spec.Key), ", ")+")::VARCHAR FROM main."+spec.Table) {
			all[spec.Table+"/"+r[0].String] = true
		}
	}
	return all
}

// resetPeakMemory resets the peak memory of this process.
func resetPeakMemory() {
	debug.FreeOSMemory()
	// Only Linux has this file. On other systems peakMemory returns 0.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakMemory returns the peak memory of this process since resetPeakMemory in bytes, or 0 if it is unknown.
func peakMemory() int64 {
	data, _ := os.ReadFile("/proc/self/status")
	_, rest, found := bytes.Cut(data, []byte("VmHWM:"))
	if !found {
		return 0
	}
	kibibytes, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return kibibytes << 10
}
