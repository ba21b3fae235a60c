package damage_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/pipeline"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// stepCalls selects calls from the steps of a night, in order: the first call of each step, and some
// later calls. A trial kills one run at each selected call. The next run
// resumes the killed run.
func stepCalls(steps []string) []trials.StepCall {
	var all []trials.StepCall
	counts := map[string]int{}
	for _, step := range steps {
		counts[step]++
	}
	isSelected := map[string]bool{}
	publishStep := slices.Index(steps, "after rename latest")
	for i, step := range steps {
		// Of the steps that write the Parquet file of a table, select only the steps of the table "orders".
		if isSelected[step] || strings.HasSuffix(step, ".parquet") && !strings.HasSuffix(step, " orders.parquet") {
			continue
		}
		isSelected[step] = true
		all = append(all, trials.StepCall{Step: step})
		// A resumed run stores fewer responses, so it may not reach the middle call of a step that
		// stores responses.
		storesResponse := strings.HasSuffix(step, " write of the bodies") || strings.HasSuffix(step, " write of the journal")
		if counts[step] > 1 && !storesResponse {
			all = append(all, trials.StepCall{Step: step, Nth: 1 + counts[step]/2})
		}
		if i > publishStep && publishStep >= 0 {
			// The first call of the step may belong to the previous night: a run first completes the
			// night that was killed before it. A call after the switch of the link "latest" belongs to the current night.
			all = append(all, trials.StepCall{Step: step, After: "after rename latest"})
		}
	}
	return all
}

func criticalSteps() []trials.StepCall {
	return []trials.StepCall{{Step: "after write of the journal", Nth: 9},
		{Step: "before fsync of the draft"}, {Step: "after rename of the version"}, {Step: "after rename latest"},
		{Step: "before rename orders.parquet", After: "after rename latest"}}
}

// TestTrialKilledAtCriticalSteps is the short form of TestTortureKilledAtEveryStep.
func TestTrialKilledAtCriticalSteps(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 3, trials.FewStreams()...)
	c.killAll(t, criticalSteps())
	c.finish(t)
}

// TestTortureKilledAtEveryStep kills a run at every step that stepCalls selects, in the first night and
// in a later night. The published files must be readable at any time. The next run must resume
// the night without repeating requests. The final warehouse must equal a warehouse of runs without
// kills.
func TestTortureKilledAtEveryStep(t *testing.T) {
	trials.RequireTorture(t)
	for name, earlierNights := range map[string]int{"first night": 0, "later night": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrashTrial(t, 3, trials.SomeStreams()...)
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "killed at every step, " + name, Procedure: "SIGKILL at each step of the run that changes the disk; the next run resumes it",
					Runs: c.killCount(), Outcome: "no request repeated; warehouse, ledger and Parquet files equal those of an undisturbed run"}
			})
			for range earlierNights {
				c.publishUndisturbed(t)
			}
			c.beginNight(t)
			all := linkStepsFirst(stepCalls(c.steps))
			c.killAll(t, all)
			c.finish(t)
			t.Logf("%d kills: %v", len(all), all)
		})
	}
}

// killAll runs one run for each step and kills it at the step.
func (c *crashTrial) killAll(t *testing.T, all []trials.StepCall) {
	t.Helper()
	for _, s := range all {
		if killed, _ := c.try(t, s, 0, waitForExit); !killed {
			t.Errorf("the run did not reach step %v", s)
		}
		if t.Failed() {
			t.Fatalf("the checks after the kill at step %v failed", s)
		}
	}
}

// TestKilledRunIsInTheLedger kills a run that is not resumed. The ledger must contain the run. After
// the next publish, meta.runs must contain it too.
func TestKilledRunIsInTheLedger(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 5, trials.FewStreams()...)
	c.try(t, trials.StepCall{Step: "before write run.json"}, 0, waitForExit)
	wh := trials.WarehouseOf(c.job(trials.KilledAgent, c.dir).Config())
	testharness.Must(t, wh.Folder.CheckUnlocked())
	requireKilled(t, wh.RunLog.AllRuns, c.runID)
	j := c.job(trials.KilledAgent, c.dir)
	j.At = c.At.Add(7 * time.Hour)
	res := c.MustComplete(pipeline.Run(t.Context(), j.Config()))
	if res.Run.ID == c.runID {
		t.Errorf("run %s was resumed after 7 hours, want a new run", c.runID)
	}
	requireKilled(t, wh.RunLog.Runs, c.runID)
	db := trials.OpenUnmanaged(t, filepath.Join(c.dir, "catalog.duckdb")+"?access_mode=read_only&threads=1")
	defer db.Close()
	got := trials.Query(t, db, `SELECT started_at = ?::TIMESTAMPTZ AND ended_at IS NULL AND snapshot_at IS NULL AND exit_code IS NULL
		AND error LIKE '%killed%' FROM meta.runs WHERE run_id = ? AND outcome = 'killed'`, c.At.Format(time.RFC3339), c.runID)
	if len(got) != 1 || got[0][0].String != "true" {
		t.Errorf("the comparison of the killed run in meta.runs returned %v, want one row with true", got)
	}
}

// TestTrialKilledDryRunIsInTheLedger kills a run, and then a dry run. The ledger must contain both,
// and the next run must resume the first run.
func TestTrialKilledDryRunIsInTheLedger(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 6, trials.FewStreams()...)
	c.try(t, trials.StepCall{Step: "before write run.json"}, 0, waitForExit)
	dryJob := c.job(trials.KilledAgent, c.dir)
	dryJob.At, dryJob.DryRun, dryJob.KillAt = c.At.Add(time.Minute), true, trials.StepCall{Step: "after write of the journal"}
	if p := dryJob.Start(t); !p.WasKilled() {
		t.Fatalf("the dry run was not killed:\n%s", p.Output)
	}
	wh := trials.WarehouseOf(dryJob.Config())
	dryRunID := dryJob.At.UTC().Format("20060102T150405Z")
	requireKilled(t, wh.RunLog.AllRuns, c.runID)
	requireKilled(t, wh.RunLog.AllRuns, dryRunID)
	j := c.job(trials.KilledAgent, c.dir)
	j.At = c.At.Add(2 * time.Minute)
	if res := c.MustComplete(pipeline.Run(t.Context(), j.Config())); res.Run.ID != c.runID {
		t.Errorf("got run %s, want the resumed run %s", res.Run.ID, c.runID)
	}
	requireKilled(t, wh.RunLog.Runs, dryRunID)
	dryJob.At, dryJob.KillAt = c.At.Add(time.Hour), trials.StepCall{}
	c.MustComplete(pipeline.Run(t.Context(), dryJob.Config()))
	runs, err := wh.RunLog.AllRuns()
	testharness.Must(t, err)
	if newest := runs[len(runs)-1]; newest.Outcome != ledger.Complete || !newest.SnapshotAt.IsZero() || len(runs) != 3 {
		t.Errorf("the ledger has %+v, want 3 runs, the last a complete dry run", runs)
	}
}

func requireKilled(t *testing.T, readRuns func() ([]ledger.Run, error), run string) {
	t.Helper()
	runs, err := readRuns()
	testharness.Must(t, err)
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.ID == run })
	if i < 0 || runs[i].Outcome != ledger.Killed || runs[i].Attempts != 1 {
		t.Errorf("the ledger has %+v, want run %s killed in 1 attempt", runs, run)
	}
}

// killCount returns the number of killed runs.
func (c *crashTrial) killCount() (n int) {
	for _, kills := range c.killsAt {
		n += kills
	}
	return n
}

// stormCounts counts the results of a storm.
type stormCounts struct {
	nights, kills int
	// publishedDespiteKill counts the nights that were published in a try with a planned kill. The
	// kill came after the publish, or the run ended before it.
	publishedDespiteKill int
	// lateKills counts the runs that ended before the kill.
	lateKills int
}

// storm runs nights and kills each up to three times. If a night is still not published, the last
// try is not killed.
func (c *crashTrial) storm(t *testing.T, random *rand.Rand, nights int) stormCounts {
	t.Helper()
	var s stormCounts
	for s.nights < nights && !t.Failed() {
		s.nights++
		published := false
		for range 1 + random.IntN(3) {
			var killed bool
			if killed, published = c.killOnce(t, random); killed {
				s.kills++
			} else {
				s.lateKills++
			}
			if published {
				s.publishedDespiteKill++
				break
			}
		}
		if !published {
			c.try(t, trials.StepCall{}, 0, waitForExit)
		}
	}
	return s
}

// killOnce kills a run at a random time or step.
func (c *crashTrial) killOnce(t *testing.T, random *rand.Rand) (killed, published bool) {
	t.Helper()
	if c.runID == "" {
		c.beginNight(t)
	}
	if random.IntN(2) == 0 {
		calls := stepCalls(c.steps)
		return c.try(t, calls[random.IntN(len(calls))], 0, waitForExit)
	}
	// A resumed run makes fewer requests, so kill it earlier.
	requests := random.IntN(max(1, len(c.undisturbedRequests)>>(2*c.tries)))
	delay := time.Duration(random.Int64N(int64(cmp.Or(c.undisturbedDuration, time.Second))))
	return c.try(t, trials.StepCall{}, requests, killAfter(delay))
}

// TestTortureCrash kills runs at random times and steps in many nights, while two processes read
// the warehouse.
func TestTortureCrash(t *testing.T) {
	trials.RequireTorture(t)
	for name, params := range map[string]struct {
		seed    uint64
		nights  int
		streams []string
	}{"all streams": {1, 60, nil}, "some streams": {2, 140, trials.SomeStreams()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			c := newCrashTrial(t, params.seed, params.streams...)
			var s stormCounts
			var rounds int
			defer trials.RecordTrial(t, start, func() torture.Trial {
				return torture.Trial{Name: "storm, " + name, Procedure: fmt.Sprintf("SIGKILL at random steps and times, %d times, while two processes read the warehouse", s.kills),
					Runs: s.nights, Outcome: fmt.Sprintf("values, ledger and files equal those of undisturbed runs; %d readings, no mixture of nights", rounds)}
			})
			c.publishUndisturbed(t)
			stopReading := c.startReading(t)
			s = c.storm(t, rand.New(rand.NewPCG(params.seed, 1)), params.nights)
			rounds = stopReading()
			c.finish(t)
			t.Logf("%d nights, %d kills, %d runs that ended before the kill, %d nights published in a try with a planned kill, %d readings, in %v",
				s.nights, s.kills, s.lateKills, s.publishedDespiteKill, rounds, time.Since(start).Round(time.Second))
			for _, step := range slices.Sorted(maps.Keys(c.killsAt)) {
				t.Logf("%4d killed %s", c.killsAt[step], cmp.Or(step, "after a delay"))
			}
		})
	}
}

// startReading starts two processes that read the warehouse of the killed runs until stop is
// called. One reads the DuckDB file, the other Parquet files. stop returns the number of readings.
func (c *crashTrial) startReading(t *testing.T) (stop func() int) {
	t.Helper()
	var readers []*trials.Child
	for _, parquet := range []bool{false, true} {
		v := readerConfig{Dir: c.dir, Parquet: parquet, Pause: 50 * time.Millisecond, Report: filepath.Join(t.TempDir(), "report.json")}
		readers = append(readers, trials.Spawn(t, "reader", v.Report, v))
	}
	return func() (rounds int) {
		for _, p := range readers {
			testharness.Must(t, p.Input.Close())
			var seen observations
			p.ReadReport(t, &seen)
			rounds += seen.Rounds
			if seen.ProblemCount > 0 || seen.Rounds == 0 {
				t.Errorf("%d of %d readings had problems, want at least 1 reading and no problems: %q", seen.ProblemCount, seen.Rounds, seen.Problems)
			}
		}
		return rounds
	}
}
