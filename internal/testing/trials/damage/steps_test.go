package damage_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"placementsync/internal/ledger"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/torture"
	"placementsync/internal/testing/trials"
)

// TestTrialKilledAtCriticalSteps is the short form of TestTortureKilledAtEveryStep.
func TestTrialKilledAtCriticalSteps(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 3, trials.FewStreams()...)
	c.disturbAtEach(t, []trials.StepCall{{Step: "after write of the journal", Nth: 9},
		{Step: "before fsync of the draft"}, {Step: "after rename of the version"}, {Step: "after rename latest"},
		{Step: "before rename orders.parquet", After: "after rename latest"}}, (*crashTrial).killAt)
	c.finish(t)
}

// TestTortureKilledAtEveryStep kills a run at every step that stepCalls selects.
func TestTortureKilledAtEveryStep(t *testing.T) {
	disturbAtEveryStep(t, "killed at every step", "SIGKILL at each step of the run that changes the disk; the next run resumes it", (*crashTrial).killAt)
}

// TestTrialNightOnAFailingDisk is the short form of TestTortureFailingDisk.
func TestTrialNightOnAFailingDisk(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 9, trials.FewStreams()...)
	c.disturbAtEach(t, []trials.StepCall{{Step: "mid write of the bodies", Nth: 4}, {Step: "before fsync of the draft"}, {Step: "before fsync beside latest"}},
		(*crashTrial).failAt)
	c.publishUndisturbed(t)
}

// TestTortureFailingDisk makes one step fail in each run: a write, fsync, rename, link or removal, before
// it begins, in the middle or after it.
func TestTortureFailingDisk(t *testing.T) {
	disturbAtEveryStep(t, "failing disk", "each write, fsync, rename, link and removal fails once: before, during or after it", (*crashTrial).failAt)
}

// disturbAtEveryStep disturbs a run at every step that stepCalls selects, in the first night and in a later night. The
// published files must be readable at any time. The next run must resume the night without repeating requests. The
// final warehouse must equal a warehouse of undisturbed runs.
func disturbAtEveryStep(t *testing.T, name, procedure string, disturb func(*crashTrial, *testing.T, int, trials.StepCall)) {
	trials.RequireTorture(t)
	for night, earlierNights := range map[string]int{"first night": 0, "later night": 4} {
		t.Run(night, func(t *testing.T) {
			t.Parallel()
			var all []trials.StepCall
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: name + ", " + night, Procedure: procedure, Runs: len(all),
					Outcome: "no request repeated; warehouse, ledger and Parquet files equal those of an undisturbed run"}
			})
			c := newCrashTrial(t, 3, trials.SomeStreams()...)
			for range earlierNights {
				c.publishUndisturbed(t)
			}
			c.beginNight(t)
			all = linkStepsFirst(stepCalls(c.steps))
			c.disturbAtEach(t, all, disturb)
			c.finish(t)
		})
	}
}

// disturbAtEach disturbs one run at each step.
func (c *crashTrial) disturbAtEach(t *testing.T, all []trials.StepCall, disturb func(*crashTrial, *testing.T, int, trials.StepCall)) {
	t.Helper()
	for i, s := range all {
		disturb(c, t, i, s)
		if t.Failed() {
			t.Fatalf("the checks after the run that was disturbed at step %v failed", s)
		}
	}
}

// stepCalls selects calls from the steps of a night, in order: the first call of each step, and some
// later calls. A trial disturbs one run at each selected call. The next run resumes this run.
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
		// A resumed run stores fewer responses, so it may not reach the middle call of a step that stores responses.
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

func isCatalogLink(s trials.StepCall) bool { return strings.HasSuffix(s.Step, " catalog.duckdb") }

// linkStepsFirst moves the steps of the link catalog.duckdb to the front, because an existing link is not
// created again. It leaves out the fsync after the rename of the link: the run that fails or is killed just
// before this fsync has created the link, so no later run reaches the fsync.
func linkStepsFirst(all []trials.StepCall) []trials.StepCall {
	all = slices.DeleteFunc(all, func(s trials.StepCall) bool { return strings.HasSuffix(s.Step, " fsync beside catalog.duckdb") })
	slices.SortStableFunc(all, func(a, b trials.StepCall) int {
		switch {
		case isCatalogLink(a) == isCatalogLink(b):
			return 0
		case isCatalogLink(a):
			return -1
		}
		return 1
	})
	return all
}

// killAt kills a run at a step.
func (c *crashTrial) killAt(t *testing.T, _ int, s trials.StepCall) {
	t.Helper()
	if killed, _ := c.try(t, s); !killed {
		t.Errorf("the run did not reach step %v", s)
	}
}

// failAt runs the night in this process with an error at a step. A run that publishes no version must end as failed,
// report the error, and be no success in the ledger. If the night was published, it must be complete or partial, unless
// the switch of the link latest is not durable. Then it must end with an error which says that readers see the night.
func (c *crashTrial) failAt(t *testing.T, i int, s trials.StepCall) {
	t.Helper()
	if c.runID == "" {
		c.beginNight(t)
	}
	cause := []syscall.Errno{syscall.EIO, syscall.ENOSPC}[i%2]
	runID, reached := c.runID, false
	var end trials.NightEnd
	published := c.runOnce(t, func(j trials.Job) {
		cfg := j.Config()
		cfg.Warehouse.Step = s.Hook(func() error { reached = true; return fmt.Errorf("injected at %s: %w", s, cause) })
		end = trials.RunNight(t.Context(), cfg)
	})
	t.Logf("%v: reached %t, run %s ended %s with exit code %d, published %t", s, reached, runID, end.Outcome, end.ExitCode, published)
	if !reached {
		if !isCatalogLink(s) { // an existing link is not created again
			t.Errorf("the run did not reach step %v", s)
		}
		return
	}
	isDurable := !strings.HasSuffix(s.Step, "rename latest") && !strings.HasSuffix(s.Step, "fsync beside latest")
	isRight := false
	switch {
	case !published:
		isRight = end.Outcome == ledger.Failed && end.ExitCode == 1 && strings.Contains(end.Error, cause.Error())
		runs, err := trials.WarehouseOf(c.job().Config()).RunLog.AllRuns()
		testharness.Must(t, err)
		if outcome := ledger.Find(runs, runID).Outcome; outcome != "" && outcome != ledger.Failed && outcome != ledger.Killed {
			t.Errorf("the ledger has the outcome %s for the unpublished run %s, want failed or killed", outcome, runID)
		}
	case !isDurable:
		isRight = end.ExitCode == 1 && strings.Contains(end.Error, "readers see the version")
	case end.Outcome == ledger.Complete:
		isRight = end.ExitCode == 0
	case end.Outcome == ledger.Partial:
		isRight = end.ExitCode == 3 && strings.Contains(end.Error, "injected at")
	}
	if !isRight {
		t.Errorf("%v: the run %s ended %s with exit code %d, published %t: %s\nwant failed with the injected error if it is not published, an error with "+
			"\"readers see the version\" if the switch of latest is not durable (durable: %t), and otherwise complete or partial",
			s, runID, end.Outcome, end.ExitCode, published, end.Error, isDurable)
	}
}
