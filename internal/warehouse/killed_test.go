package warehouse_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestTrialNewerWarehouseIsRejected locks a warehouse with a newer format. Lock must return a NewerError
// and change no file.
func TestTrialNewerWarehouseIsRejected(t *testing.T) {
	w := openNights(t, 2, "one")
	if m := harness.MustValue(w.Versions.ReadManifest(firstNight)); m.Format != warehouse.Format {
		t.Errorf("the manifest has format %d, want %d", m.Format, warehouse.Format)
	}
	harness.Must(t, withLock(t, w, firstNight, w.Recover))
	setFormat := func(format int) {
		editManifest(t, w, manifestOf(w, firstNight), func(m *warehouse.Manifest) { m.Program, m.Format = "v9.1.0", format })
	}
	harness.Must(t, w.Versions.CheckFormat())
	setFormat(warehouse.Format - 1)
	harness.Must(t, w.Versions.CheckFormat())
	setFormat(warehouse.Format + 1)
	lockFile := path(w, "state", "lock")
	lockBefore := contentOf(t, lockFile)
	_, err := w.Lock(secondNight, firstNightAt)
	want := &warehouse.NewerError{Run: firstNight, Program: "v9.1.0", Format: warehouse.Format + 1}
	newer, ok := errors.AsType[*warehouse.NewerError](err)
	if !ok {
		t.Fatalf("got %v, want %v", err, want)
	}
	if diff := cmp.Diff(want, newer); diff != "" {
		t.Errorf("the error differs (-want +got):\n%s", diff)
	}
	for _, part := range []string{fmt.Sprintf("v9.1.0 in format %d", warehouse.Format+1), "nothing was changed"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %q, want it to contain %q", err, part)
		}
	}
	if lockAfter := contentOf(t, lockFile); lockAfter != lockBefore {
		t.Errorf("the lock file changed from %q to %q, want no change", lockBefore, lockAfter)
	}
	harness.Must(t, w.Folder.CheckUnlocked())
}

// TestAKilledRunIsRecorded starts a run several times and never ends it, as if each attempt were killed.
// AllRuns must return the killed run even before Recover records it in the ledger.
func TestAKilledRunIsRecorded(t *testing.T) {
	w := open(t)
	run := warehouse.UnfinishedRun{Run: "20261101T020000Z", StartedAt: firstNightAt, Attempt: 1, Program: "earlier"}
	harness.Must(t, withLock(t, w, run.Run, func() error {
		harness.Must(t, os.WriteFile(filepath.Join(w.Folder.Dir(), "state", ".unfinished.json.12345.1"), []byte("{"), 0o600))
		return w.RunLog.WriteResumableRun(run)
	}))
	if temporary, err := filepath.Glob(filepath.Join(w.Folder.Dir(), "state", ".*")); err != nil || len(temporary) > 0 {
		t.Errorf("after WriteResumableRun there are the temporary files %v (%v), want the files of the killed run removed", temporary, err)
	}
	killed := ledger.Run{ID: run.Run, StartedAt: firstNightAt, Outcome: ledger.Killed, ExitCode: -1, Program: "earlier",
		Attempts: 1}
	firstAttempt := killed
	requireLedger(t, w.RunLog.AllRuns, killed)
	requireLedger(t, w.RunLog.Runs)

	harness.Must(t, withLock(t, w, run.Run, w.Recover))
	harness.Must(t, withLock(t, w, run.Run, w.Recover))
	requireLedger(t, w.RunLog.Runs, killed)
	requireLedger(t, w.RunLog.AllRuns, killed)

	run.Attempt, killed.Attempts = 2, 2
	harness.Must(t, withLock(t, w, run.Run, func() error {
		harness.Must(t, w.RunLog.WriteResumableRun(run))
		// The second attempt holds the lock, so only the first attempt counts as killed.
		requireLedger(t, w.RunLog.AllRuns, firstAttempt)
		return nil
	}))
	requireLedger(t, w.RunLog.AllRuns, killed)
	harness.Must(t, withLock(t, w, run.Run, w.Recover))
	requireLedger(t, w.RunLog.Runs, killed)

	// Both killed attempts and the complete one are counted.
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: run.Run, StartedAt: firstNightAt, Outcome: ledger.Complete, Program: "test"}))
	requireLedger(t, w.RunLog.AllRuns, ledger.Run{ID: run.Run, StartedAt: firstNightAt, Outcome: ledger.Complete, Program: "test", Attempts: 3})
}

// withLock locks the warehouse, calls do and unlocks it.
func withLock(t *testing.T, w *warehouse.Warehouse, run string, do func() error) error {
	t.Helper()
	lock, err := w.Lock(run, firstNightAt)
	harness.Must(t, err)
	return errors.Join(do(), lock.Release())
}

func requireLedger(t *testing.T, read func() ([]ledger.Run, error), want ...ledger.Run) {
	t.Helper()
	got, err := read()
	harness.Must(t, err)
	for i := range got {
		if got[i].Outcome == ledger.Killed && !strings.Contains(got[i].Error, "killed") {
			t.Errorf("run %s has the error %q, want an error with the word killed", got[i].ID, got[i].Error)
		}
		got[i].Error = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ledger differs (-want +got):\n%s", diff)
	}
}

// TestARunKilledAfterItsPublishIsNotResumed kills a night after its publish and before it removes the
// unfinished-run file. A refresh follows. The night must not be resumed.
func TestARunKilledAfterItsPublishIsNotResumed(t *testing.T) {
	w := open(t)
	const killed = "20261101T020000Z"
	harness.Must(t, os.MkdirAll(w.Folder.RawPath(killed), 0o700))
	harness.Must(t, withLock(t, w, killed, func() error {
		return w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: killed, StartedAt: firstNightAt, Attempt: 1})
	}))
	publish(t, w, killed, "one")
	if u, isResumed, err := w.RunLog.ResumableRun(); isResumed || err != nil {
		t.Errorf("the published run %s would be resumed (%v), want no resume", u.Run, err)
	}
	harness.Must(t, withLock(t, w, "20261101T030000Z", w.Recover))
	publish(t, w, "20261101T030000Z", "two")
	if u, isResumed, err := w.RunLog.ResumableRun(); isResumed || err != nil {
		t.Errorf("run %s would be resumed (%v), want no resume", u.Run, err)
	}
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: secondNight, StartedAt: firstNightAt, Attempt: 1}))
	if u, isResumed, err := w.RunLog.ResumableRun(); isResumed || err != nil {
		t.Errorf("run %s would be resumed without its stored responses (%v), want no resume", u.Run, err)
	}
}

// failAt returns a function for Config.Step that fails at one step.
func failAt(step string) func(name, path string) error {
	return func(name, _ string) error {
		if name == step {
			return fmt.Errorf("fail at %s: %w", name, syscall.EIO)
		}
		return nil
	}
}

// openFailingAt opens w again, with a disk that fails at a step.
func openFailingAt(t *testing.T, w *warehouse.Warehouse, step string) *warehouse.Warehouse {
	t.Helper()
	return openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: failAt(step)})
}

// TestNextLockFinishesAKilledRollback kills a rollback to the first of three nights at its disk
// operations. After the next lock the series must contain the days of the version that readers see, and
// the ledger must contain the rollback if the file of the unfinished rollback, aside.json, was written.
func TestNextLockFinishesAKilledRollback(t *testing.T) {
	allDays := []string{"2026-11-01", "2026-11-02", "2026-11-03"}
	w := openNights(t, 3, "one", "two", "three")
	unfinished := filepath.Join(w.Folder.Dir(), "state", "aside.json")
	stride := 1 // between the operations at which the rollback is killed
	if testing.Short() {
		stride = 2
	}
	for n := 1; ; n += stride {
		runsBefore := ledgerRuns(t, w)
		steps, lastStep := 0, ""
		isUnfinishedWritten := false
		failing := openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(name, _ string) error {
			if name == "after rename aside.json" {
				isUnfinishedWritten = true
			}
			steps++
			if steps >= n {
				return fmt.Errorf("killed at %s: %w", name, syscall.EIO)
			}
			lastStep = name
			return nil
		}})
		_, rollbackErr := failing.Rollback(firstNight, firstNightAt.AddDate(0, 1, 0))
		harness.Must(t, withLock(t, w, "prune", func() error { return nil }))
		if _, err := os.Stat(unfinished); err == nil {
			t.Errorf("killed after %q: the file of the unfinished rollback exists, want it removed", lastStep)
		}
		latest, _, err := w.Versions.Latest()
		harness.Must(t, err)
		want, outcome := allDays, ledger.Killed
		if latest == firstNight {
			want, outcome = allDays[:1], ledger.Complete
		}
		if latest != firstNight && latest != thirdNight {
			t.Errorf("killed after %q: readers see %s, want the first or the third night", lastStep, latest)
		}
		if got := seriesDays(t, w); !slices.Equal(got, want) {
			t.Errorf("killed after %q: readers see %s, the series has %v, want %v", lastStep, latest, got, want)
		}
		if report, err := repair.Check(t.Context(), w, true); err != nil || len(report.Damage) > 0 {
			t.Errorf("killed after %q: verify found %+v (%v), want no damage", lastStep, report.Damage, err)
		}
		runs := ledgerRuns(t, w)
		added := runs[len(runsBefore):]
		wantAdded := 0
		if isUnfinishedWritten {
			wantAdded = 1
		}
		if len(added) != wantAdded {
			t.Errorf("killed after %q: the ledger has the new runs %+v, want %d", lastStep, added, wantAdded)
		}
		for _, r := range added {
			if r.Kind != ledger.Rollback || r.Outcome != outcome || r.Attempts != 1 {
				t.Errorf("killed after %q: the ledger has the new run %+v, want one attempt of a rollback with the outcome %s", lastStep, r, outcome)
			}
		}
		if rollbackErr == nil {
			return
		}
		if latest == firstNight {
			rollback(t, w, thirdNight)
		}
	}
}
