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

// TestTrialNightOnAFailingDisk is the short form of TestTortureFailingDisk.
func TestTrialNightOnAFailingDisk(t *testing.T) {
	t.Parallel()
	c := newCrashTrial(t, 9, trials.FewStreams()...)
	c.failAtEachStep(t, []trials.StepCall{{Step: "mid write of the bodies", Nth: 4}, {Step: "before fsync of the draft"}, {Step: "before fsync beside latest"}})
	c.publishUndisturbed(t)
}

// TestTortureFailingDisk makes one step fail in each run: a write, fsync, rename, link or removal, before
// it begins, in the middle or after it. It tries all steps that stepCalls selects, in the first night
// and in a later night. The run must report the error, and the published files must stay intact. The
// next run must repeat no requests and write the same warehouse as a night without errors.
func TestTortureFailingDisk(t *testing.T) {
	trials.RequireTorture(t)
	for name, earlierNights := range map[string]int{"first night": 0, "later night": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []trials.StepCall
			var unpublished, published int
			defer trials.RecordTrial(t, time.Now(), func() torture.Trial {
				return torture.Trial{Name: "failing disk, " + name, Procedure: "each write, fsync, rename, link and removal fails once: before, during or after it",
					Runs: len(all), Outcome: fmt.Sprintf("%d ended the night with an error, %d happened after the publish; the next run gave the same warehouse as an undisturbed run", unpublished, published)}
			})
			c := newCrashTrial(t, 10, trials.SomeStreams()...)
			for range earlierNights {
				c.publishUndisturbed(t)
			}
			c.beginNight(t)
			all = linkStepsFirst(stepCalls(c.steps))
			unpublished, published = c.failAtEachStep(t, all)
			c.finish(t)
		})
	}
}

// linkStepsFirst moves the steps of the link catalog.duckdb to the front, because an existing link is not
// created again. It leaves out the fsync after the rename of the link: the run that fails or is killed just
// before this fsync has created the link, so no later run reaches the fsync.
func linkStepsFirst(all []trials.StepCall) []trials.StepCall {
	all = slices.DeleteFunc(all, func(s trials.StepCall) bool { return strings.HasSuffix(s.Step, " fsync beside catalog.duckdb") })
	isLink := func(s trials.StepCall) bool {
		return strings.HasSuffix(s.Step, " catalog.duckdb")
	}
	others := slices.DeleteFunc(slices.Clone(all), isLink)
	return append(slices.DeleteFunc(all, func(s trials.StepCall) bool { return !isLink(s) }), others...)
}

// failAtEachStep runs the night once for each step, with an error at this step. It returns the numbers
// of runs that published no version and of runs that did.
func (c *crashTrial) failAtEachStep(t *testing.T, steps []trials.StepCall) (unpublished, published int) {
	t.Helper()
	for i, s := range steps {
		cause := []syscall.Errno{syscall.EIO, syscall.ENOSPC}[i%2]
		if c.failAtStep(t, s, cause) {
			published++
		} else {
			unpublished++
		}
		if t.Failed() {
			t.Fatalf("the checks after the failure at step %v failed", s)
		}
	}
	return unpublished, published
}

// failAtStep runs the night in this process with an error at one step. A run that publishes no version
// must end as failed and report the error.
func (c *crashTrial) failAtStep(t *testing.T, s trials.StepCall, cause syscall.Errno) (published bool) {
	t.Helper()
	if c.runID == "" {
		c.beginNight(t)
	}
	runID, reached := c.runID, false
	var end trials.NightEnd
	published = c.runOnce(t, func(j trials.Job) {
		cfg := j.Config()
		cfg.Warehouse.Step = s.Hook(func() error { reached = true; return fmt.Errorf("injected at %s: %w", s, cause) })
		end = trials.RunNight(t.Context(), cfg)
	})
	t.Logf("%v: reached %t, run %s ended %s with exit code %d, published %t", s, reached, runID, end.Outcome, end.ExitCode, published)
	switch {
	case !reached && strings.HasSuffix(s.Step, " catalog.duckdb"):
		// An existing link is not created again.
	case !reached:
		t.Errorf("the run did not reach step %v", s)
	case published:
		c.requirePublished(t, s, runID, end)
	case end.ExitCode != 1 || end.Outcome != ledger.Failed || !strings.Contains(end.Error, cause.Error()):
		t.Errorf("%v: the run published no version and ended %s with exit code %d, want failed with exit code 1 and the error %q: %s", s, end.Outcome,
			end.ExitCode, cause, end.Error)
	default:
		c.requireNoSuccess(t, runID)
	}
	return published
}

// requirePublished checks the result of a night that was published although a step failed. If this
// step is the rename or the fsync of the link latest, the switch of the link is not durable. The run
// must then end with an error which says that readers see the night. Otherwise the night must be
// complete or partial.
func (c *crashTrial) requirePublished(t *testing.T, s trials.StepCall, runID string, end trials.NightEnd) {
	t.Helper()
	isDurable := !strings.HasSuffix(s.Step, "rename latest") && !strings.HasSuffix(s.Step, "fsync beside latest")
	isReported := end.ExitCode == 1 && strings.Contains(end.Error, "readers see the version")
	isComplete := end.ExitCode == 0 && end.Outcome == ledger.Complete
	isPartial := end.ExitCode == 3 && end.Outcome == ledger.Partial && strings.Contains(end.Error, "injected at")
	if isDurable && !isComplete && !isPartial || !isDurable && !isReported {
		t.Errorf("%v: the published run %s ended %s with exit code %d, want complete or partial if the switch of latest is durable (%t), otherwise an error with \"readers see the version\": %s", s, runID, end.Outcome, end.ExitCode, isDurable, end.Error)
	}
}

// requireNoSuccess checks that the ledger does not report the night as a success.
func (c *crashTrial) requireNoSuccess(t *testing.T, runID string) {
	t.Helper()
	wh := trials.WarehouseOf(c.job(trials.KilledAgent, c.dir).Config())
	runs, err := wh.RunLog.AllRuns()
	testharness.Must(t, err)
	i := slices.IndexFunc(runs, func(r ledger.Run) bool { return r.ID == runID })
	if i >= 0 && runs[i].Outcome != ledger.Failed && runs[i].Outcome != ledger.Killed {
		t.Errorf("the ledger has the outcome %s for the unpublished run %s, want failed or killed", runs[i].Outcome, runID)
	}
}
