package damage_test

import (
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
					Runs: c.kills, Outcome: "no request repeated; warehouse, ledger and Parquet files equal those of an undisturbed run"}
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
		if killed, _ := c.try(t, s); !killed {
			t.Errorf("the run did not reach step %v", s)
		}
		c.kills++
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
	c.try(t, trials.StepCall{Step: "before write run.json"})
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

func requireKilled(t *testing.T, readRuns func() ([]ledger.Run, error), run string) {
	t.Helper()
	runs, err := readRuns()
	testharness.Must(t, err)
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.ID == run })
	if i < 0 || runs[i].Outcome != ledger.Killed || runs[i].Attempts != 1 {
		t.Errorf("the ledger has %+v, want run %s killed in 1 attempt", runs, run)
	}
}
