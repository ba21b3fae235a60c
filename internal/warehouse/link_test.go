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

const (
	firstNight  = "20261101T020000Z"
	secondNight = "20261102T020000Z"
	thirdNight  = "20261103T020000Z"
)

// TestAMissingOrWrongLinkIsAnError damages the link "latest" of a warehouse of three nights. The next night
// must not begin. The rollback that the error names must repair the link.
func TestAMissingOrWrongLinkIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		damage  func(t *testing.T, w *warehouse.Warehouse)
		message string
		run     string   // the version after the rollback
		want    []string // the tags after the rollback
	}{
		"the link is gone": {func(t *testing.T, w *warehouse.Warehouse) { harness.Must(t, os.Remove(link(w))) },
			`the link "latest" is missing, and ` + thirdNight + ` was published last; no version was changed: run "placementsync rollback ` + thirdNight, thirdNight, []string{"one", "two", "three"}},
		"the link leads to an earlier version": {func(t *testing.T, w *warehouse.Warehouse) { replaceLink(t, w, secondNight) },
			`the link "latest" leads to ` + secondNight + ", but " + thirdNight + " was published last; no version was changed", secondNight, []string{"one", "two"}},
		"the link is a copy of its target": {func(t *testing.T, w *warehouse.Warehouse) {
			harness.Must(t, os.Remove(link(w)))
			harness.Must(t, os.CopyFS(link(w), os.DirFS(w.Folder.VersionPath(thirdNight))))
		}, `the link "latest" is missing`, thirdNight, []string{"one", "two", "three"}},
		"the version is gone": {func(t *testing.T, w *warehouse.Warehouse) {
			harness.Must(t, os.RemoveAll(w.Folder.VersionPath(thirdNight)))
		},
			"version " + thirdNight + `, which the link "latest" names, is missing; no version was changed: run "placementsync rollback ` + secondNight + `" (the newest of the kept versions ` + firstNight + ", " + secondNight, secondNight, []string{"one", "two"}},
		"the link and the ledger are gone": {func(t *testing.T, w *warehouse.Warehouse) {
			harness.Must(t, errors.Join(os.Remove(link(w)), os.Remove(filepath.Join(w.Folder.Dir(), "state", "runs.jsonl")), os.Remove(w.Folder.CatalogPath())))
		}, "and so is the ledger", thirdNight, []string{"one", "two", "three"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := openNights(t, 3, "one", "two", "three")
			c.damage(t, w)
			_, err := w.Begin(t.Context(), "20261104T020000Z", firstNightAt.AddDate(0, 0, 3))
			var lost *warehouse.LostError
			if !errors.As(err, &lost) || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), `"placementsync rebuild" (builds`) {
				t.Fatalf("got %v, want a LostError with %q", err, c.message)
			}
			if err := w.Recover(); !errors.As(err, &lost) {
				t.Errorf("Recover with the wrong link: got %v, want a LostError", err)
			}
			target := c.run
			if name == "the version is gone" {
				target = "" // the version before the missing one
			}
			if got := rollback(t, w, target); got != c.run {
				t.Fatalf("rolled back to %q, want %q", got, c.run)
			}
			requireTags(t, w, c.want...)
			harness.Must(t, w.CheckLink())
			publish(t, w, "20261107T020000Z", "next")
			requireTags(t, w, append(slices.Clone(c.want), "next")...)
		})
	}
}

// TestOnlyTheLinkOfAKilledRunIsAccepted sets the link to an earlier version, and to a copy without a ledger line of its own.
// The newest run failed, and a replay was killed.
func TestOnlyTheLinkOfAKilledRunIsAccepted(t *testing.T) {
	w := openFullNights(t, 3, "one", "two")
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: thirdNight, Outcome: ledger.Failed}))
	harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: firstNight + "-2", Kind: ledger.Replay, Attempt: 1}))
	const copied = "20261102T030000Z"
	harness.Must(t, os.CopyFS(w.Folder.VersionPath(copied), os.DirFS(w.Folder.VersionPath(secondNight))))
	for _, run := range []string{firstNight, copied} {
		replaceLink(t, w, run)
		if err := w.CheckLink(); !errors.As(err, new(*warehouse.LostError)) {
			t.Errorf("a link to %s: got %v, want a LostError: the next night would lose the changes of %s", run, err, secondNight)
		}
	}
}

// TestNoLinkIsExpectedBeforeTheFirstPublish calls Recover after the first run failed. There is no link
// yet, and this must not be an error.
func TestNoLinkIsExpectedBeforeTheFirstPublish(t *testing.T) {
	w := open(t)
	harness.Must(t, w.RunLog.Record(ledger.Run{ID: "20261031T020000Z", Outcome: ledger.Failed, ExitCode: 1}))
	harness.Must(t, w.Recover())
	publish(t, w, firstNight, "one")
}

// TestTheLinkOfAKilledRunIsAccepted kills a run and then a rollback. Each is killed after the change of
// the link "latest" and before the ledger is written. Recover must record both in the ledger.
func TestTheLinkOfAKilledRunIsAccepted(t *testing.T) {
	w := openNights(t, 2, "one")
	d := beginDraft(t, w, secondNight, "two")
	harness.Must(t, d.WriteLedgerCopy(ledger.Run{ID: secondNight, Outcome: ledger.Complete, SnapshotAt: d.At}))
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: secondNight, StartedAt: firstNightAt, Attempt: 1}))
	_, err := d.Publish(t.Context(), slices.Clone(tableFiles))
	harness.Must(t, err)
	harness.Must(t, w.Recover())
	if runs, err := w.RunLog.Runs(); err != nil || len(runs) != 2 || runs[1].VisibleVersion() != secondNight {
		t.Errorf("the ledger has %+v (%v), want the second night", runs, err)
	}
	harness.Must(t, w.RunLog.WriteUnresumableRun(warehouse.UnfinishedRun{Run: "20261103T000000Z", Kind: ledger.Rollback, Version: firstNight, StartedAt: firstNightAt, Attempt: 1}))
	replaceLink(t, w, firstNight)
	harness.Must(t, w.Recover())
	runs, err := w.RunLog.Runs()
	if err != nil || len(runs) != 3 || runs[2].Kind != ledger.Rollback || runs[2].VisibleVersion() != firstNight {
		t.Errorf("the ledger has %+v (%v), want the rollback", runs, err)
	}
	harness.Must(t, w.CheckLink())
	_, err = openFailingAt(t, w, "before write runs.jsonl").Rollback(secondNight, firstNightAt.AddDate(0, 0, 4))
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("the rollback without a ledger ended with %v, want EIO", err)
	}
	harness.Must(t, w.Recover())
	runs, err = w.RunLog.Runs()
	if err != nil || len(runs) != 4 || runs[3].VisibleVersion() != secondNight {
		t.Errorf("the ledger has %+v (%v), want also the rollback that could not be recorded", runs, err)
	}
}

// TestRollbackIsInTheLedger reads the ledger after two rollbacks in the same second.
func TestRollbackIsInTheLedger(t *testing.T) {
	w := openNights(t, 2, "one", "two")
	for _, run := range []string{firstNight, secondNight} {
		rollback(t, w, run)
	}
	runs := ledgerRuns(t, w)
	var got []string
	for _, r := range runs {
		line := r.Kind + " " + r.VisibleVersion() + " " + r.SnapshotAt.Format("01-02")
		if r.Kind == ledger.Rollback {
			line += fmt.Sprintf(", rows: %d, %s to %s by %s", r.Rows, r.StartedAt.Format("01-02"), r.EndedAt.Format("01-02"), r.Program)
		}
		got = append(got, line)
	}
	want := []string{" " + firstNight + " 11-01", " " + secondNight + " 11-02", "rollback " + firstNight + " 11-01, rows: 1, 12-01 to 12-01 by test",
		"rollback " + secondNight + " 11-02, rows: 2, 12-01 to 12-01 by test"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ledger differs (-want +got):\n%s", diff)
	}
	if exists(t, w.RunLog.UnresumableRunPath()) {
		t.Error("the rollback looks unfinished, and the next lock would end a night that can be resumed")
	}
}

// TestADamagedBaseIsReportedWithARemedy damages a file of the version on which the next night would
// build. No draft may begin. Rollback and rebuild must work without the damaged file.
func TestADamagedBaseIsReportedWithARemedy(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, version string){
		"a flipped bit of the catalog":  func(t *testing.T, v string) { flipBit(t, filepath.Join(v, "catalog.duckdb"), 70_000) },
		"no catalog":                    func(t *testing.T, v string) { harness.Must(t, os.Remove(filepath.Join(v, "catalog.duckdb"))) },
		"a flipped bit of the manifest": func(t *testing.T, v string) { flipBit(t, filepath.Join(v, "manifest.json"), 40) },
		"no manifest":                   func(t *testing.T, v string) { harness.Must(t, os.Remove(filepath.Join(v, "manifest.json"))) },
		"the manifest of another version": func(t *testing.T, v string) {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(v), firstNight, "manifest.json"))
			harness.Must(t, errors.Join(err, os.Remove(filepath.Join(v, "manifest.json")), os.WriteFile(filepath.Join(v, "manifest.json"), data, 0o600)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := openNights(t, 2, "one", "two")
			damage(t, w.Folder.VersionPath(secondNight))
			harness.Must(t, withLock(t, w, "rollback", func() error { return nil })) // the repairs take the lock
			_, err := w.Begin(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2))
			var damaged *warehouse.DamagedError
			if !errors.As(err, &damaged) || !strings.HasPrefix(damaged.File, "versions/"+secondNight+"/") {
				t.Fatalf("got %v, want a DamagedError of the file", err)
			}
			for _, text := range []string{"placementsync rebuild", "placementsync rollback " + firstNight, "2026-11-01 to 2026-11-02", "no version was changed"} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("got %v, want an error with %q", err, text)
				}
			}
			if drafts, _ := filepath.Glob(filepath.Join(w.Folder.Dir(), "versions", ".*")); len(drafts) > 0 {
				t.Errorf("after the error there are the drafts %v, want none", drafts)
			}
			if _, err := w.Rollback(secondNight, firstNightAt); !errors.As(err, &damaged) {
				t.Errorf("a rollback to the damaged version: got %v, want a DamagedError", err)
			}
			d, err := w.BeginFrom(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2), "")
			harness.Must(t, err)
			series, err := repair.ReadSeries(t.Context(), w)
			harness.Must(t, errors.Join(err, d.Discard()))
			if len(series.Snapshots) != 2 || len(series.Damage) != 0 {
				t.Errorf("a rebuild finds %d snapshots and the damage %v, want 2 and none", len(series.Snapshots), series.Damage)
			}
			rollback(t, w, firstNight)
			requireTags(t, w, "one")
			publish(t, w, thirdNight, "three")
		})
	}
}

// TestADamagedUnfinishedRunFileIsIgnored damages the unfinished-run file of a run. The run must not be
// resumed, and Recover must succeed.
func TestADamagedUnfinishedRunFileIsIgnored(t *testing.T) {
	w := openNights(t, 2, "one")
	harness.Must(t, os.MkdirAll(w.Folder.RawPath(secondNight), 0o700))
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: secondNight, StartedAt: firstNightAt, Attempt: 1}))
	flipBit(t, filepath.Join(w.Folder.Dir(), "state", "unfinished.json"), 50)
	if u, ok, err := w.RunLog.ResumableRun(); ok || err != nil {
		t.Errorf("run %q would be resumed (%v), want no run", u.Run, err)
	}
	harness.Must(t, w.Recover())
}

func link(w *warehouse.Warehouse) string { return filepath.Join(w.Folder.Dir(), "latest") }

func replaceLink(t *testing.T, w *warehouse.Warehouse, run string) {
	t.Helper()
	harness.Must(t, errors.Join(os.Remove(link(w)), os.Symlink(filepath.Join("versions", run), link(w))))
}

// flipBit changes one bit of a file without replacing the file.
func flipBit(t *testing.T, file string, at int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	harness.Must(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	harness.Must(t, err)
	b[0] ^= 1 << 3
	_, err = f.WriteAt(b, at)
	harness.Must(t, errors.Join(err, f.Close()))
}

// TestAVersionWithoutALinkIsNoSnapshot resumes the first run. The run was killed after its version was
// moved to versions/ and before the link "latest" was created.
func TestAVersionWithoutALinkIsNoSnapshot(t *testing.T) {
	w := open(t)
	harness.Must(t, w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: firstNight, StartedAt: firstNightAt, Attempt: 1}))
	harness.Must(t, os.MkdirAll(w.Folder.VersionPath(firstNight), 0o755))
	harness.Must(t, w.Recover())
	publish(t, w, firstNight, "one")
}
