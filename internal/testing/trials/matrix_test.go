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

// rate is how often a fault comes: a share of all requests, or all of one
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

// endpoints are those that fail for good, as patterns of path.Match.
func endpoints() []string {
	return []string{"/products/listings", "/orders", "/orders/*", "/campaigns", "/campaigns/*/articles", "/files", "/auth/token"}
}

// TestFaultMatrix is the short form of TestTortureFaultMatrix.
func TestFaultMatrix(t *testing.T) {
	requireTrials(t)
	t.Parallel()
	short := []string{"TLS failure", "trickled body", "duplicate keys"}
	for i, kind := range slices.DeleteFunc(ills(), func(k ill) bool { return !slices.Contains(short, k.name) }) {
		t.Run(kind.name, func(t *testing.T) {
			newCell(t, uint64(i), kind, few()...).suffer(t, rate{"10 %", 0.1, 1})
		})
	}
}

// TestTortureFaultMatrix runs nights under every kind of fault at every rate.
// Each ends as the exact warehouse, as a night that says what it lacks, or
// unpublished; and the night in peace that follows them has everything.
func TestTortureFaultMatrix(t *testing.T) {
	requireTorture(t)
	for i, kind := range ills() {
		t.Run(kind.name, func(t *testing.T) {
			var rows []torture.Row
			for n, at := range rates() {
				t.Run(at.name, func(t *testing.T) {
					place := 10*i + n
					row := newCell(t, uint64(place), kind, some()...).suffer(t, at)
					row.Place = place
					if row.Peak > mostMemory {
						t.Errorf("the process held %d MiB, want at most %d", row.Peak>>20, mostMemory>>20)
					}
					rows = append(rows, row)
				})
			}
			must(t, torture.Open(os.Getenv).KeepRows(rows...))
		})
	}
}

// mostMemory is what the configuration's reference promises beside DuckDB's own
// limit, which is the default of 512 MB; this process is the service as well.
const mostMemory = 512_000_000 + 480<<20

// keep writes down what a trial came to, however it ended.
func keep(t *testing.T, begun time.Time, found func() torture.Trial) {
	t.Helper()
	must(t, torture.Open(os.Getenv).EndTrial(begun, t.Failed(), found()))
}

// cell is a warehouse of its own for one kind of fault at one rate.
type cell struct {
	*house
	ref     *reference
	ill     ill
	weather *weather
	row     torture.Row
}

func newCell(t *testing.T, seed uint64, kind ill, streams ...string) *cell {
	t.Helper()
	c := &cell{ill: kind, weather: &weather{random: rand.New(rand.NewPCG(seed, 8))}}
	world := trialWorld(seed)
	world.FaultFunc = func(r *http.Request, _ int) *sim.Fault {
		if kind.fault == nil || !c.weather.strikes(r) {
			return nil
		}
		return kind.fault
	}
	c.house = newHouse(t, world, streams...)
	c.ref = newReference(t, c.service, c.cfg.Streams)
	server := httptest.NewServer(front{c.service, c.weather, kind.spoil})
	t.Cleanup(server.Close)
	c.cfg.Warehouse.MemoryLimit = "512MB"
	f := &c.cfg.Fetch
	// The rate is bounded as it is by default, since a 429 then lowers a rate
	// that is known; the bounds are small ones, so that no night waits long.
	f.BaseURL, f.RequestsPerSecond, f.Burst, f.PageSize, f.MaxPasses, f.MaxPages = server.URL, 2000, 50, 3, 4, 50
	f.Timeout = cmp.Or(kind.timeout, 2*time.Second)
	f.Retry = fetch.Retry{MaxRetries: 5, Base: time.Millisecond, Max: 10 * time.Millisecond, Jitter: 0.1}
	if kind.detour != nil {
		to, err := url.Parse(kind.detour(t))
		must(t, err)
		f.Transport = detour{&http.Transport{DisableCompression: true}, c.weather, to}
	}
	return c
}

// patience is the longest that a night may take: for each stream as many passes
// as are allowed, in each of them one request with all its attempts, each to its
// end, and what the night itself needs on a busy machine.
func (c *cell) patience() time.Duration {
	f := c.cfg.Fetch
	attempt := f.Timeout + f.Retry.Max + time.Duration(float64(f.Retry.Max)*f.Retry.Jitter)
	return time.Minute + time.Duration(len(c.cfg.Streams)*f.MaxPasses*(1+f.Retry.MaxRetries))*attempt
}

// suffer runs the nights of a rate, and one in peace that must bring everything
// back.
func (c *cell) suffer(t *testing.T, at rate) torture.Row {
	t.Helper()
	c.row.Fault, c.row.Rate = c.ill.name, at.name
	for n := 0; n < at.runs || n < mostNights && c.unmet(); n++ {
		endpoint := ""
		if at.name == forGood {
			endpoint = endpoints()[n%len(endpoints())]
		}
		c.weather.set(at.share, endpoint)
		if !t.Run(fmt.Sprintf("night %d", n+1), c.endure) {
			c.row.Wrong++
		}
		c.row.Runs++
	}
	if c.unmet() {
		t.Errorf("no request met the fault in %d nights: nothing was tried", c.row.Runs)
	}
	c.row.Asked, c.row.Struck = c.weather.counts()
	c.weather.set(0, "")
	if !t.Run("peace", func(t *testing.T) { c.judge(t, c.goodNight()) }) {
		c.row.Lost++
	}
	r := c.row
	t.Logf("%d of %d requests met the fault: %d exact, %d partial, %d failed, %d wrong, %d lost, longest %.1f s, peak %d MiB",
		r.Struck, r.Asked, r.Exact, r.Partial, r.Failed, r.Wrong, r.Lost, r.Longest, r.Peak>>20)
	return r
}

// mostNights bounds the nights that wait for a fault which comes seldom.
const mostNights = 24

// unmet tells that no request has met the fault yet.
func (c *cell) unmet() bool {
	_, struck := c.weather.counts()
	return struck == 0
}

// endure runs a night under the fault and holds its outcome.
func (c *cell) endure(t *testing.T) {
	before := c.keys(t)
	was := c.latest()
	ctx, cancel := context.WithTimeout(t.Context(), c.patience())
	defer cancel()
	forgetPeak()
	start := time.Now()
	res, err := c.nightWithin(ctx)
	c.row.Longest = max(c.row.Longest, time.Since(start).Seconds())
	c.row.Peak = max(c.row.Peak, peak())
	if ctx.Err() != nil {
		t.Fatalf("the night took longer than the %v that its bounds allow: %v", c.patience(), err)
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

// requireFailed holds a night that published nothing to saying so, and to having
// had no other way: the token could not be checked, or nothing could be read.
func (c *cell) requireFailed(t *testing.T, res pipeline.Result, err error, was string) {
	t.Helper()
	code := exitCode(t.Context(), res, err)
	_, nothing := errors.AsType[*pipeline.NothingError](err)
	if !nothing && !strings.HasPrefix(err.Error(), "check the token:") {
		t.Errorf("the night failed without need: %v", err)
	}
	if code != 1 || res.Run.Outcome != ledger.Failed || c.latest() != was {
		t.Errorf("the night ended %s with %d, latest is %q and was %q: %v", res.Run.Outcome, code, c.latest(), was, err)
	}
}

// judge holds a published night to what it says of itself: a table whose streams
// are exact or repaired equals the service, every other says why it does not,
// and the exit code tells the two apart. It reports whether all were exact.
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
			t.Errorf("%s is %s and does not say why", s.Stream, s.Grade)
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

// rows are those of a published table, without the noise of the fault.
func (c *cell) rows(t *testing.T, e expected) []cells {
	t.Helper()
	all := read(t, e, c.catalog(), "main."+e.table)
	for _, r := range all {
		extra, _ := decode(cmp.Or(r["extra"], "{}")).(map[string]any)
		text, noisy := extra[noise].(string)
		if !noisy {
			continue
		}
		if c.ill.noise == nil || !c.ill.noise(text) {
			t.Errorf("%s has %.40q, which the service did not send so", e.table, text)
		}
		if delete(extra, noise); len(extra) == 0 {
			delete(r, "extra")
		} else {
			r["extra"] = canonical(extra)
		}
	}
	return all
}

// keys are those of all published tables; none before the first night.
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

// requireKept holds that no row went that was published before and that the
// service still has.
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

// forgetPeak has the system measure the memory of this process anew.
func forgetPeak() {
	debug.FreeOSMemory()
	// Where there is no such file there is no measure either.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peak is the most memory that this process has held since, in bytes; 0 where
// the system does not say.
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
