package damage_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
)

// crashTrial fills two warehouses from one service. In the warehouse of the harness, every night
// runs once without a kill. In the warehouse in dir, runs of the same night are killed and resumed.
type crashTrial struct {
	*trials.Harness
	streams []string
	counter *requestCounter
	// dir is the folder of the warehouse whose runs are killed.
	dir string
	// runID is the id of the current run, or "" after its publish.
	runID string
	// lastPublished is the id of the last published run.
	lastPublished string
	// tries is the number of tries of the current run.
	tries int
	// undisturbedRequests counts the requests of the night without a kill, by path and query.
	undisturbedRequests map[string]int
	// steps are the steps of the night without a kill, in order.
	steps []string
}

func newCrashTrial(t *testing.T, seed uint64, streams ...string) *crashTrial {
	t.Helper()
	c := &crashTrial{Harness: trials.NewHarness(t, trials.TrialWorld(seed), streams...), streams: streams, dir: t.TempDir(), counter: &requestCounter{}}
	c.OnRequest(c.counter.count)
	c.counter.reset()
	return c
}

func (c *crashTrial) job(agent, dir string) trials.Job {
	return trials.Job{URL: c.Server.URL, Dir: dir, Agent: agent, Streams: c.streams, At: c.At}
}

// requestCounter counts the requests by user agent, and by path and query.
type requestCounter struct {
	mu      sync.Mutex
	byAgent map[string]map[string]int
}

func (q *requestCounter) count(r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byAgent[r.UserAgent()][r.RequestURI]++
}

func (q *requestCounter) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.byAgent = map[string]map[string]int{trials.KilledAgent: {}, trials.UndisturbedAgent: {}}
}

func (q *requestCounter) countsOf(agent string) map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.byAgent[agent])
}

// beginNight advances the world by a day and runs the night in the warehouse without kills.
func (c *crashTrial) beginNight(t *testing.T) {
	t.Helper()
	c.NextDay()
	c.counter.reset()
	var recorder trials.StepRecorder
	cfg := c.job(trials.UndisturbedAgent, c.Config.Warehouse.Dir).Config()
	cfg.Warehouse.Step = recorder.Record
	res, err := pipeline.Run(t.Context(), cfg)
	c.MustComplete(res, err)
	c.runID, c.undisturbedRequests, c.tries = res.Run.ID, c.counter.countsOf(trials.UndisturbedAgent), 0
	c.steps = recorder.Steps
}

// try runs the night in a child process, which kills itself at a step. try reports whether the process was killed, and
// whether the night is published.
func (c *crashTrial) try(t *testing.T, s trials.StepCall) (killed, published bool) {
	t.Helper()
	p, published := c.tryJob(t, trials.Job{KillAt: s})
	if killed = p.WasKilled(); !killed {
		c.requireComplete(t, p)
	}
	return killed, published
}

// tryJob runs the night in a child process with KillAt and MaxFileBytes of settings, and checks that the published
// files are intact.
func (c *crashTrial) tryJob(t *testing.T, settings trials.Job) (p *trials.Child, published bool) {
	t.Helper()
	if c.runID == "" {
		c.beginNight(t)
	}
	published = c.runOnce(t, func(j trials.Job) {
		j.KillAt, j.MaxFileBytes = settings.KillAt, settings.MaxFileBytes
		p = j.Start(t)
		<-p.Exited
	})
	return p, published
}

// runOnce runs the current night once and checks the result.
func (c *crashTrial) runOnce(t *testing.T, run func(j trials.Job)) (published bool) {
	t.Helper()
	runID := c.runID
	stored := trials.StoredRequests(t, filepath.Join(c.dir, "raw", runID))
	c.tries++
	c.counter.reset()
	j := c.job(trials.KilledAgent, c.dir)
	j.At = c.startTime(t)
	run(j)
	published = trials.RequireIntact(t, c.dir) == runID
	c.requireNoRepeats(t, stored)
	if published {
		c.lastPublished, c.runID = runID, ""
		trials.RequireSameWarehouse(t, c.Config.Warehouse.Dir, c.dir)
	}
	return published
}

// startTime returns the time at which the next try starts. It is the time of the night for a new
// run, and a later time for a resumed run.
func (c *crashTrial) startTime(t *testing.T) time.Time {
	t.Helper()
	wh := trials.WarehouseOf(c.job(trials.KilledAgent, c.dir).Config())
	if _, ok, err := wh.RunLog.ResumableRun(); !ok || err != nil {
		testharness.Must(t, err)
		return c.At
	}
	return c.At.Add(time.Duration(c.tries) * time.Minute)
}

func (c *crashTrial) requireComplete(t *testing.T, p *trials.Child) {
	t.Helper()
	var end trials.NightEnd
	p.ReadReport(t, &end)
	runID := cmp.Or(c.runID, c.lastPublished)
	if end.Run != runID || end.ExitCode != 0 || end.Outcome != ledger.Complete {
		t.Fatalf("try %d: run %s ended %s with exit code %d, want run %s complete with exit code 0: %s", c.tries, end.Run, end.Outcome, end.ExitCode, runID,
			end.Error)
	}
}

// requireNoRepeats checks that the last try did not repeat a request whose response had been stored
// before. stored counts these responses. There are two exceptions: each try checks the token, and
// reads page 1 of a list again to confirm that the list did not change.
func (c *crashTrial) requireNoRepeats(t *testing.T, stored map[string]int) {
	t.Helper()
	for path, n := range c.counter.countsOf(trials.KilledAgent) {
		isRepeated := n+stored[path] > c.undisturbedRequests[path]
		if isRepeated && !strings.HasSuffix(path, "page=1") && path != "/auth/token" {
			t.Errorf("%s: try %d made %d requests after %d stored responses, want at most %d in total, as in a night without a kill", path, c.tries, n,
				stored[path], c.undisturbedRequests[path])
		}
	}
}

// publishUndisturbed runs the current or the next night without a kill.
func (c *crashTrial) publishUndisturbed(t *testing.T) {
	t.Helper()
	if killed, published := c.try(t, trials.StepCall{}); killed || !published {
		t.Fatalf("the night was killed: %t, published: %t, want a published night", killed, published)
	}
}

// finish publishes the current night and the next night without kills, and compares the two warehouses.
func (c *crashTrial) finish(t *testing.T) {
	t.Helper()
	c.publishUndisturbed(t)
	c.publishUndisturbed(t)
	trials.RequireNoTemporaryFiles(t, c.dir)
	if diff := gocmp.Diff(ledgerResults(t, c.Config.Warehouse.Dir), ledgerResults(t, c.dir)); diff != "" {
		t.Errorf("the ledgers differ (-undisturbed +killed):\n%s", diff)
	}
	for _, folder := range []string{"parquet", "versions"} {
		if diff := gocmp.Diff(listFiles(t, c.Path(folder)), listFiles(t, filepath.Join(c.dir, folder))); diff != "" {
			t.Errorf("%s differs (-undisturbed +killed):\n%s", folder, diff)
		}
	}
	trials.RequireReadable(t, filepath.Join(c.dir, "parquet", "*", "*", "*.parquet"))
}

// ledgerResults returns the outcome, exit code and number of rows of every night in the ledger.
func ledgerResults(t *testing.T, dir string) map[string]string {
	t.Helper()
	wh := warehouse.New(warehouse.Config{Dir: dir})
	runs, err := wh.RunLog.Runs()
	testharness.Must(t, err)
	results := map[string]string{}
	for _, r := range runs {
		results[r.ID] = fmt.Sprintf("%s with %d, %d rows", r.Outcome, r.ExitCode, r.Rows)
	}
	return results
}

// listFiles returns the paths below a folder, relative to it.
func listFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	testharness.Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, dir))
		return err
	}))
	return names
}
