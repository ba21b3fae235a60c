package damage_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/http"
	"os"
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
	c.counter.take()
	return c
}

// job returns the next try of the current night in the warehouse whose runs are killed.
func (c *crashTrial) job() trials.Job {
	return trials.Job{URL: c.Server.URL, Dir: c.dir, Streams: c.streams, At: c.At}
}

// requestCounter counts requests by path and query.
type requestCounter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (q *requestCounter) count(r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counts[r.RequestURI]++
}

// take returns the counts since the last call.
func (q *requestCounter) take() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := q.counts
	q.counts = map[string]int{}
	return counts
}

// beginNight advances the world by a day and runs the night in the warehouse without kills.
func (c *crashTrial) beginNight(t *testing.T) {
	t.Helper()
	c.NextDay()
	c.counter.take()
	var recorder trials.StepRecorder
	j := c.job()
	j.Dir = c.Config.Warehouse.Dir
	cfg := j.Config()
	cfg.Warehouse.Step = recorder.Record
	res := c.MustComplete(pipeline.Run(t.Context(), cfg))
	c.runID, c.undisturbedRequests, c.tries = res.Run.ID, c.counter.take(), 0
	c.steps = recorder.Steps
}

// try runs the night in a child process, which kills itself at a step. try reports whether the process was killed, and
// whether the night is published.
func (c *crashTrial) try(t *testing.T, s trials.StepCall) (killed, published bool) {
	t.Helper()
	p, published := c.tryJob(t, func(j *trials.Job) { j.KillAt = s })
	killed = p.WasKilled()
	if !killed {
		c.requireComplete(t, p)
	}
	return killed, published
}

// tryJob runs the night in a child process after change has changed its job, and checks that the published files are
// intact.
func (c *crashTrial) tryJob(t *testing.T, change func(*trials.Job)) (p *trials.Child, published bool) {
	t.Helper()
	if c.runID == "" {
		c.beginNight(t)
	}
	published = c.runOnce(t, func(j trials.Job) {
		change(&j)
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
	j := c.job()
	if _, isResumed, err := trials.WarehouseOf(j.Config()).RunLog.ResumableRun(); isResumed || err != nil {
		testharness.Must(t, err)
		j.At = c.At.Add(time.Duration(c.tries) * time.Minute)
	}
	c.counter.take()
	run(j)
	requests := c.counter.take()
	published = trials.RequireIntact(t, c.dir) == runID
	// The try may not repeat a request whose response was stored, with two exceptions: it checks the token, and reads
	// page 1 of a list again to confirm that the list did not change.
	for path, n := range requests {
		isRepeated := n+stored[path] > c.undisturbedRequests[path]
		if isRepeated && !strings.HasSuffix(path, "page=1") && path != "/auth/token" {
			t.Errorf("%s: try %d made %d requests after %d stored responses, want at most %d in total, as in a night without a kill", path, c.tries, n,
				stored[path], c.undisturbedRequests[path])
		}
	}
	if published {
		c.lastPublished, c.runID = runID, ""
		trials.RequireSameWarehouse(t, c.Config.Warehouse.Dir, c.dir)
	}
	return published
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
		paths := func(dir string) (all []string) { // of files and folders
			testharness.Must(t, fs.WalkDir(os.DirFS(dir), folder, func(path string, _ fs.DirEntry, err error) error {
				all = append(all, path)
				return err
			}))
			return all
		}
		if diff := gocmp.Diff(paths(c.Config.Warehouse.Dir), paths(c.dir)); diff != "" {
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
