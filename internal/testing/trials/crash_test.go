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

// User agents of requests: the warehouse with killed runs, or the one with undisturbed
// runs.
const (
	struck = "struck"
	spared = "spared"
)

// trial fills two warehouses from one service: every night runs once undisturbed for one of
// them, and is killed and resumed for the other.
type trial struct {
	*house
	streams []string
	asked   *questions
	// dir is the warehouse whose runs are killed.
	dir string
	// night is the current run, tried the last published one, and peace the requests of the
	// undisturbed night.
	night, tried string
	peace        map[string]int
	tries        int
	// took is the duration of an undisturbed night, and steps are its steps.
	took  time.Duration
	steps []string
	// reached counts the kills by step. Kills by the clock have no step.
	reached map[string]int
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
	c := &trial{house: newHouse(t, trialWorld(seed), streams...), streams: streams, dir: t.TempDir(), asked: &questions{},
		reached: map[string]int{}}
	c.arriving(c.asked.note)
	c.asked.forget(0)
	return c
}

func (c *trial) job(agent, dir string) job {
	return job{URL: c.server.URL, Dir: dir, Agent: agent, Streams: c.streams, At: c.at}
}

// questions counts the requests by user agent and path.
type questions struct {
	mu    sync.Mutex
	by    map[string]map[string]int
	left  int
	heard chan struct{}
}

func (q *questions) note(r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by[r.UserAgent()][r.RequestURI]++
	if r.UserAgent() == struck {
		if q.left--; q.left == 0 {
			close(q.heard)
		}
	}
}

// forget starts a new count, and returns a channel that is closed after n requests of the
// run to be killed.
func (q *questions) forget(n int) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.by = map[string]map[string]int{struck: {}, spared: {}}
	q.left, q.heard = n, make(chan struct{})
	if n == 0 {
		close(q.heard)
	}
	return q.heard
}

func (q *questions) of(agent string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.by[agent])
}

// begin advances the world by a day and runs the night undisturbed.
func (c *trial) begin(t *testing.T) {
	t.Helper()
	c.service.Advance(1)
	c.at = c.service.Now().Add(2 * time.Hour)
	c.asked.forget(0)
	start := time.Now()
	var told walked
	night := c.job(spared, c.cfg.Warehouse.Dir).config()
	night.Warehouse.Step = told.step
	res, err := pipeline.Run(t.Context(), night)
	c.complete(res, err)
	c.night, c.peace, c.tries, c.took = res.Run.ID, c.asked.of(spared), 0, time.Since(start)
	c.steps = told.steps
}

// walked records the steps of a night.
type walked struct {
	mu    sync.Mutex
	steps []string
}

func (w *walked) step(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, name)
	return nil
}

// try runs the night in a child process, which fate kills or lets end. It reports whether
// the process was killed and whether the night is published.
func (c *trial) try(t *testing.T, s strike, n int, fate func(*testing.T, *child, <-chan struct{})) (killed, published bool) {
	t.Helper()
	p, published := c.attempt(t, job{Strike: s}, n, fate)
	if killed = p.killed(); killed {
		c.reached[s.Step]++
	} else {
		c.requireComplete(t, p)
	}
	return killed, published
}

// attempt runs the night as described by a job, and checks that the published files are
// intact.
func (c *trial) attempt(t *testing.T, j job, n int, fate func(*testing.T, *child, <-chan struct{})) (p *child, published bool) {
	t.Helper()
	if c.night == "" {
		c.begin(t)
	}
	published = c.runOnce(t, n, func(told job, heard <-chan struct{}) {
		told.Strike, told.Room, told.Moment = j.Strike, j.Room, j.Moment
		p = told.start(t)
		fate(t, p, heard)
		<-p.exited
	})
	return p, published
}

// runOnce runs the current night once and checks the result.
func (c *trial) runOnce(t *testing.T, n int, run func(told job, heard <-chan struct{})) (published bool) {
	t.Helper()
	night := c.night
	before := landings(t, filepath.Join(c.dir, "raw", night, "journal.jsonl"))
	c.tries++
	heard := c.asked.forget(n)
	told := c.job(struck, c.dir)
	told.At = c.now(t)
	run(told, heard)
	published = requireIntact(t, c.dir) == night
	c.requireNew(t, before)
	if published {
		c.tried, c.night = night, ""
		requireSame(t, c.cfg.Warehouse.Dir, c.dir)
	}
	return published
}

// now returns a later time for a resumed run. A run that was killed before it stored
// anything starts again, at the time of the night.
func (c *trial) now(t *testing.T) time.Time {
	t.Helper()
	wh, err := warehouse.Open(c.job(struck, c.dir).config().Warehouse)
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
	night := cmp.Or(c.night, c.tried)
	if end.Run != night || end.Code != 0 || end.Outcome != ledger.Complete {
		t.Fatalf("try %d of run %s ended as %s: %s with %d: %s", c.tries, night, end.Run, end.Outcome, end.Code, end.Error)
	}
}

// requireNew compares the requests of this try and the landed answers with the requests of
// an undisturbed night. None may occur more often, except that each run checks the token,
// and page 1 of a list is read again to confirm its walk.
func (c *trial) requireNew(t *testing.T, landed map[string]int) {
	t.Helper()
	for path, n := range c.asked.of(struck) {
		again := n+landed[path] > c.peace[path]
		if again && !strings.HasSuffix(path, "page=1") && path != "/auth/token" {
			t.Errorf("%s had landed %d times and was requested %d times in try %d; an undisturbed night requests it %d times", path, landed[path], n,
				c.tries, c.peace[path])
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

// publishInPeace runs the current or the next night undisturbed.
func (c *trial) publishInPeace(t *testing.T) {
	t.Helper()
	if killed, published := c.try(t, strike{}, 0, inPeace); killed || !published {
		t.Fatalf("the night ended without a snapshot, killed: %t", killed)
	}
}

// inPeace lets the night end.
func inPeace(_ *testing.T, p *child, _ <-chan struct{}) { <-p.exited }

// after returns a function that kills a run a moment after a number of requests.
func after(moment time.Duration) func(*testing.T, *child, <-chan struct{}) {
	return func(t *testing.T, p *child, heard <-chan struct{}) {
		select {
		case <-heard:
		case <-p.exited:
			return
		}
		timer := time.NewTimer(moment)
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
	c.publishInPeace(t)
	c.publishInPeace(t)
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

// ledgerLines returns the end of every night in the ledger.
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
