package trials_test

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
	"placementsync/internal/testing/torture"
)

// rate is the frequency of a fault: a share of all requests, or all requests of one
// endpoint.
type rate struct {
	name  string
	share float64
	runs  int
}

// forGood is the rate at which one endpoint after the other fails all night.
const forGood = "one endpoint, for good"

func rates() []rate {
	return []rate{{"1 %", 0.01, 4}, {"5 %", 0.05, 4}, {"10 %", 0.1, 4}, {"30 %", 0.3, 4}, {forGood, 0, len(endpoints())}}
}

// endpoints are the endpoints that fail all night, as patterns of path.Match.
func endpoints() []string {
	return []string{"/products/listings", "/orders", "/orders/*", "/campaigns", "/campaigns/*/articles", "/files", "/auth/token"}
}

// TestTrialFaultMatrix is the short form of TestTortureFaultMatrix.
func TestTrialFaultMatrix(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	short := []string{"TLS failure", "trickled body", "duplicate keys"}
	for i, kind := range slices.DeleteFunc(faultKinds(), func(k faultKind) bool { return !slices.Contains(short, k.name) }) {
		t.Run(kind.name, func(t *testing.T) {
			newCell(t, uint64(i), kind, few()...).runNights(t, rate{"10 %", 0.1, 1})
		})
	}
}

// TestTortureFaultMatrix runs nights with every kind of fault at every rate. Each ends with
// an exact warehouse, with a grade that shows the missing data, or unpublished. The
// undisturbed night after them must restore all rows.
func TestTortureFaultMatrix(t *testing.T) {
	requireTorture(t)
	for i, kind := range faultKinds() {
		t.Run(kind.name, func(t *testing.T) {
			var rows []torture.Row
			for n, at := range rates() {
				t.Run(at.name, func(t *testing.T) {
					place := 10*i + n
					row := newCell(t, uint64(place), kind, some()...).runNights(t, at)
					row.Place = place
					if row.Peak > mostMemory {
						t.Errorf("the process used %d MiB, want at most %d", row.Peak>>20, mostMemory>>20)
					}
					rows = append(rows, row)
				})
			}
			must(t, torture.Open(os.Getenv).KeepRows(rows...))
		})
	}
}

// mostMemory is the memory documented in the configuration reference in addition to
// DuckDB's own limit, whose default is 512 MB. This process also runs the service.
const mostMemory = 512_000_000 + 480<<20

// keep records the results of a trial, also after a failure.
func keep(t *testing.T, begun time.Time, result func() torture.Trial) {
	t.Helper()
	must(t, torture.Open(os.Getenv).EndTrial(begun, t.Failed(), result()))
}

// cell is a house for one kind of fault at one rate.
type cell struct {
	*house
	ref           *reference
	kind          faultKind
	faultSelector *faultSelector
	row           torture.Row
}

func newCell(t *testing.T, seed uint64, kind faultKind, streams ...string) *cell {
	t.Helper()
	c := &cell{kind: kind, faultSelector: &faultSelector{random: rand.New(rand.NewPCG(seed, 8))}}
	world := trialWorld(seed)
	world.FaultFunc = func(r *http.Request, _ int) *sim.Fault {
		if kind.fault == nil || !c.faultSelector.affects(r) {
			return nil
		}
		return kind.fault
	}
	c.house = newHouse(t, world, streams...)
	c.ref = newReference(t, c.service, c.cfg.Streams)
	server := httptest.NewServer(faultProxy{c.service, c.faultSelector, kind.spoil})
	t.Cleanup(server.Close)
	c.cfg.Warehouse.MemoryLimit = "512MB"
	f := &c.cfg.Fetch
	// The rate is limited as by default, since a 429 then lowers a known rate. The
	// limits are small, so that no night waits long.
	f.BaseURL, f.RequestsPerSecond, f.Burst, f.PageSize, f.MaxPasses, f.MaxPages = server.URL, 2000, 50, 3, 4, 50
	f.Timeout = cmp.Or(kind.timeout, 2*time.Second)
	f.Retry = fetch.Retry{MaxRetries: 5, Base: time.Millisecond, Max: 10 * time.Millisecond, Jitter: 0.1}
	if kind.detour != nil {
		to, err := url.Parse(kind.detour(t))
		must(t, err)
		f.Transport = detour{&http.Transport{DisableCompression: true}, c.faultSelector, to}
	}
	return c
}

// maxDuration is the maximal duration of a night: for each stream the allowed passes, each
// with one request that uses all attempts up to their timeouts, and the time of the night
// itself on a busy machine.
func (c *cell) maxDuration() time.Duration {
	f := c.cfg.Fetch
	attempt := f.Timeout + f.Retry.Max + time.Duration(float64(f.Retry.Max)*f.Retry.Jitter)
	return time.Minute + time.Duration(len(c.cfg.Streams)*f.MaxPasses*(1+f.Retry.MaxRetries))*attempt
}

// runNights runs the nights of a rate, and then an undisturbed night that must restore
// all rows.
func (c *cell) runNights(t *testing.T, at rate) torture.Row {
	t.Helper()
	c.row.Fault, c.row.Rate = c.kind.name, at.name
	for n := 0; n < at.runs || n < mostNights && c.unaffected(); n++ {
		endpoint := ""
		if at.name == forGood {
			endpoint = endpoints()[n%len(endpoints())]
		}
		c.faultSelector.set(at.share, endpoint)
		if !t.Run(fmt.Sprintf("night %d", n+1), c.runFaultyNight) {
			c.row.Wrong++
		}
		c.row.Runs++
	}
	if c.unaffected() {
		t.Errorf("no request was affected in %d nights, so the test shows nothing", c.row.Runs)
	}
	c.row.Asked, c.row.Affected = c.faultSelector.counts()
	c.faultSelector.set(0, "")
	if !t.Run("undisturbed night", func(t *testing.T) { c.judge(t, c.goodNight()) }) {
		c.row.Lost++
	}
	r := c.row
	t.Logf("%d of %d requests were affected: %d exact, %d partial, %d failed, %d wrong, %d lost, longest %.1f s, peak %d MiB",
		r.Affected, r.Asked, r.Exact, r.Partial, r.Failed, r.Wrong, r.Lost, r.Longest, r.Peak>>20)
	return r
}

// mostNights limits the nights until a rare fault occurs.
const mostNights = 24

// unaffected reports whether no request had the fault so far.
func (c *cell) unaffected() bool {
	_, affected := c.faultSelector.counts()
	return affected == 0
}

// runFaultyNight runs a night with the fault and checks its outcome.
func (c *cell) runFaultyNight(t *testing.T) {
	before := c.keys(t)
	was := c.latest()
	ctx, cancel := context.WithTimeout(t.Context(), c.maxDuration())
	defer cancel()
	forgetPeak()
	start := time.Now()
	res, err := c.nightWithin(ctx)
	c.row.Longest = max(c.row.Longest, time.Since(start).Seconds())
	c.row.Peak = max(c.row.Peak, peak())
	if ctx.Err() != nil {
		t.Fatalf("the night took longer than %v, the maximum for its limits: %v", c.maxDuration(), err)
	}
	if err != nil {
		c.row.Failed++
		c.requireFailed(t, res, err, was)
		return
	}
	if whole := c.judge(t, res); whole {
		c.row.Exact++
	} else {
		c.row.Partial++
	}
	c.requireKept(t, before)
}

// requireFailed checks a night that published nothing: it must report the failure, and have
// had no alternative, because the token could not be checked or no stream could be read.
func (c *cell) requireFailed(t *testing.T, res pipeline.Result, err error, was string) {
	t.Helper()
	code := exitCode(t.Context(), res, err)
	_, nothing := errors.AsType[*pipeline.NoDataError](err)
	if !nothing && !strings.HasPrefix(err.Error(), "check the token:") {
		t.Errorf("the night failed unnecessarily: %v", err)
	}
	if code != 1 || res.Run.Outcome != ledger.Failed || c.latest() != was {
		t.Errorf("the night ended %s with %d, latest is %q and was %q: %v", res.Run.Outcome, code, c.latest(), was, err)
	}
}

// judge compares a published night with its grades: a table whose streams are exact or
// repaired must equal the service, all others must have a reason, and the exit code must
// show the difference. It reports whether all were exact.
func (c *cell) judge(t *testing.T, res pipeline.Result) (whole bool) {
	t.Helper()
	whole = true
	proven, carried := map[string]bool{}, false
	for _, s := range res.Run.Streams {
		grade := fetch.Grade(s.Grade)
		proven[s.Stream] = grade == fetch.Exact || grade == fetch.Repaired
		carried = carried || grade == fetch.CarriedForward || grade == fetch.Skipped
		whole = whole && proven[s.Stream]
		if !proven[s.Stream] && s.Reason == "" {
			t.Errorf("%s is %s without a reason", s.Stream, s.Grade)
		}
	}
	if code := res.Run.ExitCode; code != 0 && code != 3 || carried && code != 3 || whole && code != 0 {
		t.Errorf("the night ended %s with %d:\n%s", res.Run.Outcome, code, reasons(res.Run))
	}
	held := c.ref.now()
	for _, e := range c.ref.once() {
		if !slices.ContainsFunc(stream.FilledBy(c.cfg.Streams, e.table), func(name string) bool { return !proven[name] }) {
			compare(t, e, held, c.rows(t, e), e.table)
		}
	}
	return whole
}

// rows returns the rows of a published table, without the additions of the fault.
func (c *cell) rows(t *testing.T, e expected) []cells {
	t.Helper()
	all := read(t, e, c.catalog(), "main."+e.table)
	for _, r := range all {
		extra, _ := decode(cmp.Or(r["extra"], "{}")).(map[string]any)
		text, noisy := extra[noise].(string)
		if !noisy {
			continue
		}
		if c.kind.noise == nil || !c.kind.noise(text) {
			t.Errorf("%s has %.40q, which the service did not send", e.table, text)
		}
		if delete(extra, noise); len(extra) == 0 {
			delete(r, "extra")
		} else {
			r["extra"] = canonical(extra)
		}
	}
	return all
}

// keys returns the keys of all published tables, or nil before the first night.
func (c *cell) keys(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	if c.latest() == "" {
		return all
	}
	for _, e := range c.ref.once() {
		all[e.table] = map[string]bool{}
		for _, r := range query(t, c.catalog(), "SELECT concat_ws('/', "+strings.Join(strings.Fields(e.key), ", ")+")::VARCHAR FROM main."+e.table) {
			all[e.table][r[0].String] = true
		}
	}
	return all
}

// requireKept checks that published rows of records that the service still has were not
// removed.
func (c *cell) requireKept(t *testing.T, before map[string]map[string]bool) {
	t.Helper()
	held, after := c.ref.now(), c.keys(t)
	for _, e := range c.ref.once() {
		for _, r := range held[e.table] {
			var parts []string
			for _, name := range strings.Fields(e.key) {
				parts = append(parts, r[name])
			}
			if key := strings.Join(parts, "/"); before[e.table][key] && !after[e.table][key] {
				c.row.Lost++
				t.Errorf("%s lost %s", e.table, key)
			}
		}
	}
}

// forgetPeak resets the memory statistics of this process.
func forgetPeak() {
	debug.FreeOSMemory()
	// Systems without this file have no such statistics.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peak returns the maximal memory of this process since forgetPeak in bytes, or 0 if it is
// unknown.
func peak() int64 {
	data, err := os.ReadFile("/proc/self/status")
	_, rest, found := bytes.Cut(data, []byte("VmHWM:"))
	if err != nil || !found {
		return 0
	}
	kilobytes, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
