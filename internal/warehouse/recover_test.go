package warehouse_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestAnUnrecordedHeldNightIsRecorded holds a night whose run is killed before it writes the ledger.
// Recover must record the night in the ledger. The held night must not be resumed. A later unfinished run
// must still be resumable.
func TestAnUnrecordedHeldNightIsRecorded(t *testing.T) {
	for _, unfinished := range []string{secondNight, thirdNight} {
		w := openNights(t, 2, "one")
		d := beginDraft(t, w, secondNight, "two")
		failedChecks := []ledger.CheckResult{{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed}}
		harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: secondNight, Outcome: ledger.Complete, SnapshotAt: d.At, Checks: failedChecks}))
		_, err := d.Hold(t.Context(), slices.Clone(tableFiles))
		harness.Must(t, errors.Join(err, d.Discard()))
		harness.Must(t, os.MkdirAll(w.Folder.RawPath(unfinished), 0o700))
		harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: unfinished, StartedAt: firstNightAt, Attempt: 1}))
		for range 2 {
			harness.Must(t, w.Recover())
		}
		runs := ledgerRuns(t, w)
		want := ledger.Run{ID: secondNight, Outcome: ledger.Failed, Held: true, ExitCode: 1,
			Error: "held by its checks: prices", Attempts: 1, Checks: failedChecks}
		if diff := cmp.Diff(want, ledger.Find(runs, secondNight)); diff != "" {
			t.Errorf("unfinished %s: the held night in the ledger differs (-want +got):\n%s", unfinished, diff)
		}
		if u, isResumed, err := w.RunLog.ResumableRun(); err != nil || isResumed != (unfinished == thirdNight) {
			t.Errorf("unfinished %s: %s would be resumed: %t (%v), want %t", unfinished, u.Run, isResumed, err, unfinished == thirdNight)
		}
	}
}

// TestAPublishedAttemptIsRecorded publishes a run that has another outcome in the ledger. This happens if
// one attempt failed and the next attempt was killed after it published. Recover must record the published
// attempt.
func TestAPublishedAttemptIsRecorded(t *testing.T) {
	w := open(t)
	d := beginDraft(t, w, firstNight, "one")
	harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: firstNight, Outcome: ledger.Complete, SnapshotAt: d.At}))
	_, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	for outcome, want := range map[ledger.Outcome]ledger.Outcome{ledger.Failed: ledger.Complete, ledger.Interrupted: ledger.Complete,
		ledger.Killed: ledger.Complete, ledger.Partial: ledger.Partial} {
		harness.Must(t, w.RunLog.Record(ledger.Run{ID: firstNight, Outcome: outcome}))
		harness.Must(t, errors.Join(w.Recover(), w.Recover()))
		attempts := 2 // the recorded one and the published one
		if outcome == want {
			attempts = 1
		}
		runs := ledgerRuns(t, w)
		if len(runs) != 1 || runs[0].Outcome != want || runs[0].Attempts != attempts {
			t.Errorf("%s: the ledger has %+v, want one run, %s after %d attempts", outcome, runs, want, attempts)
		}
		harness.Must(t, os.Remove(w.RunLog.Path()))
	}
}

// TestOnlyAnAbandonedVersionIsRemoved starts runs while the unfinished-run file of an earlier run
// exists. The earlier run was published, is resumed, or was abandoned.
func TestOnlyAnAbandonedVersionIsRemoved(t *testing.T) {
	w := open(t)
	start := func(run string) {
		t.Helper()
		harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: run, StartedAt: firstNightAt, Attempt: 1}))
		if got := contentOf(t, w.RunLog.ResumableRunPath()); !strings.Contains(got, `"`+run+`"`) {
			t.Errorf("the unfinished-run file contains %s, want the run %s", got, run)
		}
	}
	start(firstNight)
	publish(t, w, firstNight, "one")
	start(secondNight)
	if !exists(t, w.Folder.VersionPath(firstNight)) {
		t.Fatal("the version that readers see was removed, want it kept")
	}
	harness.Must(t, os.MkdirAll(w.Folder.VersionPath(secondNight), 0o700))
	start(secondNight)
	if !exists(t, w.Folder.VersionPath(secondNight)) {
		t.Error("the version of the resumed run was removed, want it kept")
	}
	failing := openFailingAt(t, w, "before removal of the version")
	if err := failing.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: thirdNight}); !errors.Is(err, syscall.EIO) {
		t.Errorf("on a failing disk the run began with %v, want an error: the abandoned version would look like a published one", err)
	}
	failing = openFailingAt(t, w, "before emptying of the version")
	err := failing.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: thirdNight})
	if !errors.Is(err, syscall.EIO) || exists(t, w.Folder.VersionPath(secondNight)) {
		t.Errorf("on a disk that fails later the run began with %v, want an error, and no part of the abandoned version", err)
	}
	start(thirdNight)
	if exists(t, w.Folder.VersionPath(secondNight)) {
		t.Error("the version of the abandoned run was kept, want it removed")
	}
}

// TestTheRemedyOfALostLinkNamesTheRemainingFiles compares the remedies for a wrong link, and for a
// warehouse that has lost all versions and the Parquet series.
func TestTheRemedyOfALostLinkNamesTheRemainingFiles(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	replaceLink(t, w, firstNight)
	var lost *warehouse.LostError
	want := `no version was changed: run "placementsync rollback ` + secondNight + `" (the snapshot that was published last), or "placementsync rollback ` + firstNight +
		`" (the snapshot that readers see now), or "placementsync rebuild" (builds the catalog from the Parquet series, 2026-11-01 to 2026-11-02, days: 2)`
	if err := w.CheckLink(); !errors.As(err, &lost) || lost.Remedy != want {
		t.Errorf("got %v, want %q", err, want)
	}
	harness.Must(t, os.Remove(link(w)))
	want = strings.Replace(want, `"placementsync rollback `+firstNight+`" (the snapshot that readers see now), or `, "", 1)
	if err := w.CheckLink(); !errors.As(err, &lost) || lost.Remedy != want {
		t.Errorf("without the link: got %v, want %q", err, want)
	}
	ledgerFile, ledgerContent := w.RunLog.Path(), contentOf(t, w.RunLog.Path())
	harness.Must(t, errors.Join(os.RemoveAll(path(w, "versions")), os.Remove(ledgerFile)))
	want = `no version was changed: run "placementsync rebuild" (builds the catalog from the Parquet series, 2026-11-01 to 2026-11-02, days: 2)`
	if err := w.CheckLink(); !errors.As(err, &lost) || lost.Remedy != want {
		t.Errorf("with only the series: got %v, want %q", err, want)
	}
	harness.Must(t, errors.Join(os.WriteFile(ledgerFile, []byte(ledgerContent), 0o600), os.RemoveAll(path(w, "parquet"))))
	want = "neither a version nor the Parquet series is left: restore a backup, or name another warehouse.dir to begin anew"
	if err := w.CheckLink(); !errors.As(err, &lost) || lost.Remedy != want {
		t.Errorf("without files: got %v, want %q", err, want)
	}
}
