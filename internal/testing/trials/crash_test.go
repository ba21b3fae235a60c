package trials_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/warehouse"
)

// User agents of the requests for the two warehouses of a trial.
const (
	killedAgent      = "killed"
	undisturbedAgent = "undisturbed"
)

// trial fills two warehouses from one service: every night runs once undisturbed for one of
// them, and is killed and resumed for the other.
type trial struct {
	*house
	streams []string
	counter *requestCounter
	// dir is the warehouse whose runs are killed.
	dir string
	// night is the current run, published the last published one, and undisturbed the
	// requests of the undisturbed night.
	night, published string
	undisturbed      map[string]int
	tries            int
	// took is the duration of an undisturbed night, and steps are its steps.
	took  time.Duration
	steps []string
	// killsAt counts the kills by step. Kills after a delay have no step.
	killsAt map[string]int
}

// trialWorld is a small world that changes every day.
func trialWorld(seed uint64) sim.Options {
	return sim.Options{Seed: seed, Token: token, Outlets: 5, Listings: 20, Profiles: 3, Campaigns: 4, Orders: 12, Files: 6, Folders: 2,
		ListingTurnover: 0.1, SilentChange: 0.2}
}

// some returns streams of every kind: lists, details by row and while live, and children.
// The long trial uses all streams.
func some() []string {
	return append(few(), "campaigns", "campaign_articles", "files", "tags")
}

func newTrial(t *testing.T, seed uint64, streams ...string) *trial {
	t.Helper()
	c := &trial{house: newHouse(t, trialWorld(seed), streams...), streams: streams, dir: t.TempDir(), counter: &requestCounter{},
		killsAt: map[string]int{}}
	c.arriving(c.counter.count)
	c.counter.reset(0)
	return c
}

func (c *trial) job(agent, dir string) job {
	return job{URL: c.server.URL, Dir: dir, Agent: agent, Streams: c.streams, At: c.at}
}

// requestCounter counts the requests by user agent and path.
type requestCounter struct {
	mu   sync.Mutex
	by   map[string]map[string]int
	left int
	// reached is closed when left is 0.
	reached chan struct{}
}

func (q *requestCounter) count(r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by[r.UserAgent()][r.RequestURI]++
	if r.UserAgent() == killedAgent {
		if q.left--; q.left == 0 {
			close(q.reached)
		}
	}
}

// reset starts a new count, and returns a channel that is closed after n requests of the
// run to be killed.
func (q *requestCounter) reset(n int) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by = map[string]map[string]int{killedAgent: {}, undisturbedAgent: {}}
	q.left, q.reached = n, make(chan struct{})
	if n == 0 {
		close(q.reached)
	}
	return q.reached
}

func (q *requestCounter) of(agent string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.by[agent])
}

// begin advances the world by a day and runs the night undisturbed.
func (c *trial) begin(t *testing.T) {
	t.Helper()
	c.service.Advance(1)
	c.at = c.service.Now().Add(2 * time.Hour)
	c.counter.reset(0)
	start := time.Now()
	var recorder stepRecorder
	night := c.job(undisturbedAgent, c.cfg.Warehouse.Dir).config()
	night.Warehouse.Step = recorder.record
	res, err := pipeline.Run(t.Context(), night)
	c.complete(res, err)
	c.night, c.undisturbed, c.tries, c.took = res.Run.ID, c.counter.of(undisturbedAgent), 0, time.Since(start)
	c.steps = recorder.steps
}

// stepRecorder records the steps of a night.
type stepRecorder struct {
	mu    sync.Mutex
	steps []string
}

func (w *stepRecorder) record(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, name)
	return nil
}

// try runs the night in a child process. control kills the process or waits for its end.
// requests is the number of requests after which its channel is closed. try reports whether
// the process was killed and whether the night is published.
func (c *trial) try(t *testing.T, s stepCall, requests int, control func(t *testing.T, p *child, reached <-chan struct{})) (killed, published bool) {
	t.Helper()
	p, published := c.attempt(t, job{KillAt: s}, requests, control)
	if killed = p.killed(); killed {
		c.killsAt[s.Step]++
	} else {
		c.requireComplete(t, p)
	}
	return killed, published
}

// attempt runs the night with the settings of a job, and checks that the published files
// are intact.
func (c *trial) attempt(t *testing.T, j job, requests int, control func(t *testing.T, p *child, reached <-chan struct{})) (p *child, published bool) {
	t.Helper()
	if c.night == "" {
		c.begin(t)
	}
	published = c.runOnce(t, requests, func(night job, reached <-chan struct{}) {
		night.KillAt, night.Room, night.LimitedDetail = j.KillAt, j.Room, j.LimitedDetail
		p = night.start(t)
		control(t, p, reached)
		<-p.exited
	})
	return p, published
}

// runOnce runs the current night once and checks the result.
func (c *trial) runOnce(t *testing.T, requests int, run func(night job, reached <-chan struct{})) (published bool) {
	t.Helper()
	night := c.night
	before := landings(t, filepath.Join(c.dir, "raw", night, "journal.jsonl"))
	c.tries++
	reached := c.counter.reset(requests)
	j := c.job(killedAgent, c.dir)
	j.At = c.now(t)
	run(j, reached)
	published = requireIntact(t, c.dir) == night
	c.requireNoRepeats(t, before)
	if published {
		c.published, c.night = night, ""
		requireSame(t, c.cfg.Warehouse.Dir, c.dir)
	}
	return published
}

// now returns the start of the next try: the time of the night, or a later time if the try
// resumes a run.
func (c *trial) now(t *testing.T) time.Time {
	t.Helper()
	wh, err := warehouse.Open(c.job(killedAgent, c.dir).config().Warehouse)
	must(t, err)
	if _, ok, err := wh.Ledger.Unfinished(); !ok || err != nil {
		must(t, err)
		return c.at
	}
	return c.at.Add(time.Duration(c.tries) * time.Minute)
}

func (c *trial) requireComplete(t *testing.T, p *child) {
	t.Helper()
	var end nightEnd
	p.read(t, &end)
	night := cmp.Or(c.night, c.published)
	if end.Run != night || end.Code != 0 || end.Outcome != ledger.Complete {
		t.Fatalf("try %d of run %s ended as %s: %s with %d: %s", c.tries, night, end.Run, end.Outcome, end.Code, end.Error)
	}
}

// requireNoRepeats compares the requests of this try and the landed answers with the
// requests of an undisturbed night. No request may occur more often, except that each run
// checks the token, and page 1 of a list is read again to confirm its walk.
func (c *trial) requireNoRepeats(t *testing.T, landed map[string]int) {
	t.Helper()
	for path, n := range c.counter.of(killedAgent) {
		again := n+landed[path] > c.undisturbed[path]
		if again && !strings.HasSuffix(path, "page=1") && path != "/auth/token" {
			t.Errorf("%s had landed %d times and was requested %d times in try %d; an undisturbed night requests it %d times", path, landed[path], n,
				c.tries, c.undisturbed[path])
		}
	}
}

// landings counts the lines of a journal by path and query.
func landings(t *testing.T, journal string) map[string]int {
	t.Helper()
	all := map[string]int{}
	f, err := os.Open(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	must(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			Path, Query, Param string
			Page               int
		}
		// The last line may be incomplete.
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		if before, after, found := strings.Cut(line.Path, "{"); found {
			_, rest, _ := strings.Cut(after, "}")
			line.Path = before + url.PathEscape(line.Param) + rest
		}
		if line.Page > 0 {
			line.Query = strings.TrimPrefix(line.Query+"&page="+strconv.Itoa(line.Page), "&")
		}
		all[strings.TrimSuffix(line.Path+"?"+line.Query, "?")]++
	}
	return all
}

// publishUndisturbed runs the current or the next night undisturbed.
func (c *trial) publishUndisturbed(t *testing.T) {
	t.Helper()
	if killed, published := c.try(t, stepCall{}, 0, waitForExit); killed || !published {
		t.Fatalf("the night ended without a snapshot, killed: %t", killed)
	}
}

// waitForExit waits for the normal end of a run.
func waitForExit(_ *testing.T, p *child, _ <-chan struct{}) { <-p.exited }

// killAfter returns a function that kills a run when the delay has passed after its
// requests.
func killAfter(delay time.Duration) func(*testing.T, *child, <-chan struct{}) {
	return func(t *testing.T, p *child, reached <-chan struct{}) {
		select {
		case <-reached:
		case <-p.exited:
			return
		}
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.kill(t)
		case <-p.exited:
		}
	}
}

// finish publishes the current night, runs one more undisturbed night, and compares the two
// warehouses.
func (c *trial) finish(t *testing.T) {
	t.Helper()
	c.publishUndisturbed(t)
	c.publishUndisturbed(t)
	requireTidy(t, c.dir)
	if diff := gocmp.Diff(ledgerLines(t, c.cfg.Warehouse.Dir), ledgerLines(t, c.dir)); diff != "" {
		t.Errorf("the ledgers differ (-undisturbed +killed):\n%s", diff)
	}
	for _, folder := range []string{"parquet", "versions"} {
		if diff := gocmp.Diff(files(t, c.path(folder)), files(t, filepath.Join(c.dir, folder))); diff != "" {
			t.Errorf("%s differs (-undisturbed +killed):\n%s", folder, diff)
		}
	}
	requireReadable(t, filepath.Join(c.dir, "parquet", "*", "*", "*.parquet"))
}

// ledgerLines returns the outcome, exit code and rows of every night in the ledger.
func ledgerLines(t *testing.T, dir string) map[string]string {
	t.Helper()
	wh, err := warehouse.Open(warehouse.Config{Dir: dir})
	must(t, err)
	runs, err := wh.Ledger.Runs()
	must(t, err)
	ends := map[string]string{}
	for _, r := range runs {
		ends[r.ID] = fmt.Sprintf("%s with %d, %d rows", r.Outcome, r.ExitCode, r.Rows)
	}
	return ends
}
