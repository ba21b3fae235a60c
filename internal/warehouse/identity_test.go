package warehouse_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/integrity"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

const (
	firstNight  = "20261101T020000Z"
	secondNight = "20261102T020000Z"
	thirdNight  = "20261103T020000Z"
)

// TestAMissingOrWrongLinkIsAnError changes the link of a warehouse of three nights. No night begins.
// The command that the error names repairs the link.
func TestAMissingOrWrongLinkIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(t *testing.T, w *warehouse.Warehouse)
		message string
		run     string
		want    []string
	}{
		"gone": {func(t *testing.T, w *warehouse.Warehouse) { must(t, os.Remove(link(w))) },
			`the link "latest" is gone, and ` + thirdNight + " was published last; placementsync rollback " + thirdNight, thirdNight, []string{"one", "two", "three"}},
		"leads elsewhere": {func(t *testing.T, w *warehouse.Warehouse) { relink(t, w, secondNight) },
			`the link "latest" leads to ` + secondNight + ", and " + thirdNight + " was published last", secondNight, []string{"one", "two"}},
		"a copy of what it led to": {func(t *testing.T, w *warehouse.Warehouse) {
			must(t, os.Remove(link(w)))
			must(t, os.CopyFS(link(w), os.DirFS(w.Folder.VersionPath(thirdNight))))
		}, `the link "latest" is gone`, thirdNight, []string{"one", "two", "three"}},
		"the version is gone": {func(t *testing.T, w *warehouse.Warehouse) { must(t, os.RemoveAll(w.Folder.VersionPath(thirdNight))) },
			"version " + thirdNight + ", which readers should see, is gone; kept are " + firstNight, secondNight, []string{"one", "two"}},
		"gone, with the ledger": {func(t *testing.T, w *warehouse.Warehouse) {
			must(t, errors.Join(os.Remove(link(w)), os.Remove(filepath.Join(w.Folder.Dir(), "state", "runs.jsonl"))))
		}, "and so is the ledger", thirdNight, []string{"one", "two", "three"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := openKeeping(t, 3)
			nights(t, w, "one", "two", "three")
			c.spoil(t, w)
			_, err := w.Begin(t.Context(), "20261104T020000Z", night.AddDate(0, 0, 3))
			var lost *warehouse.LostError
			if !errors.As(err, &lost) || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), "placementsync rebuild builds") {
				t.Fatalf("got %v, want a LostError with %q", err, c.message)
			}
			if err := w.Recover(); !errors.As(err, &lost) {
				t.Errorf("a run begins all the same: %v", err)
			}
			m, err := w.Rollback(c.run, night.AddDate(0, 0, 4))
			if err != nil || m.RunID != c.run {
				t.Fatalf("rolled back to %q: %v", m.RunID, err)
			}
			if got := read(t, w); !cmp.Equal(got, c.want) {
				t.Errorf("a reader got %v, want %v", got, c.want)
			}
			must(t, w.Identity.Check())
			publish(t, w, "20261107T020000Z", "next")
			if got := read(t, w); !cmp.Equal(got, append(slices.Clone(c.want), "next")) {
				t.Errorf("the next night built on %v", got)
			}
		})
	}
}

// TestNoLinkIsExpectedBeforeTheFirstPublish checks the link after a failed first run.
func TestNoLinkIsExpectedBeforeTheFirstPublish(t *testing.T) {
	w := open(t)
	must(t, w.Ledger.Record(ledger.Run{ID: "20261031T020000Z", Outcome: ledger.Failed, ExitCode: 1}))
	must(t, w.Recover())
	publish(t, w, firstNight, "one")
}

// TestTheLinkOfAKilledRunIsAccepted ends a run, and a rollback, between the switch and the line in the
// ledger.
func TestTheLinkOfAKilledRunIsAccepted(t *testing.T) {
	w := open(t)
	publish(t, w, firstNight, "one")
	d := draft(t, w, secondNight, "two")
	must(t, d.WriteEntry(ledger.Run{ID: secondNight, Outcome: ledger.Complete, SnapshotAt: d.At}))
	_, err := d.Publish(t.Context(), slices.Clone(files))
	must(t, err)
	must(t, w.Recover())
	if runs, err := w.Ledger.Runs(); err != nil || len(runs) != 2 || runs[1].VisibleVersion() != secondNight {
		t.Errorf("the ledger has %+v (%v)", runs, err)
	}
	must(t, w.Ledger.StartOneShot(warehouse.Unfinished{Run: "20261103T000000Z", Kind: ledger.Rollback, Version: firstNight, StartedAt: night, Attempt: 1}))
	relink(t, w, firstNight)
	must(t, w.Recover())
	runs, err := w.Ledger.Runs()
	if err != nil || len(runs) != 3 || runs[2].Kind != ledger.Rollback || runs[2].VisibleVersion() != firstNight {
		t.Errorf("the ledger has %+v (%v)", runs, err)
	}
	must(t, w.Identity.Check())
}

// TestRollbackHasALineInTheLedger reads the lines of two rollbacks in one second.
func TestRollbackHasALineInTheLedger(t *testing.T) {
	w := open(t)
	nights(t, w, "one", "two")
	for _, run := range []string{firstNight, secondNight} {
		_, err := w.Rollback(run, night)
		must(t, err)
	}
	runs, err := w.Ledger.Runs()
	must(t, err)
	var got []string
	for _, r := range runs {
		got = append(got, r.Kind+" "+r.VisibleVersion()+" "+r.SnapshotAt.Format("01-02"))
	}
	want := []string{" " + firstNight + " 11-01", " " + secondNight + " 11-02", "rollback " + firstNight + " 11-01", "rollback " + secondNight + " 11-02"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ledger differs (-want +got):\n%s", diff)
	}
}

// TestADamagedBaseIsReportedWithARemedy damages files of the version that a night would build on. No
// draft begins. Rollback and rebuild work without the damaged file.
func TestADamagedBaseIsReportedWithARemedy(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, version string){
		"a flipped bit of the catalog":  func(t *testing.T, v string) { flip(t, filepath.Join(v, "catalog.duckdb"), 70_000) },
		"half a catalog":                func(t *testing.T, v string) { must(t, os.Truncate(filepath.Join(v, "catalog.duckdb"), 100_000)) },
		"no catalog":                    func(t *testing.T, v string) { must(t, os.Remove(filepath.Join(v, "catalog.duckdb"))) },
		"a flipped bit of the manifest": func(t *testing.T, v string) { flip(t, filepath.Join(v, "manifest.json"), 40) },
		"half a manifest":               func(t *testing.T, v string) { must(t, os.Truncate(filepath.Join(v, "manifest.json"), 60)) },
		"no manifest":                   func(t *testing.T, v string) { must(t, os.Remove(filepath.Join(v, "manifest.json"))) },
		"the manifest of another": func(t *testing.T, v string) {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(v), firstNight, "manifest.json"))
			must(t, errors.Join(err, os.Remove(filepath.Join(v, "manifest.json")), os.WriteFile(filepath.Join(v, "manifest.json"), data, 0o600)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			nights(t, w, "one", "two")
			spoil(t, w.Folder.VersionPath(secondNight))
			_, err := w.Begin(t.Context(), thirdNight, night.AddDate(0, 0, 2))
			var met *warehouse.DamagedError
			if !errors.As(err, &met) || !strings.HasPrefix(met.File, "versions/"+secondNight+"/") {
				t.Fatalf("got %v, want a DamagedError of the file", err)
			}
			for _, part := range []string{"placementsync rebuild", "placementsync rollback " + firstNight, "2026-11-01 to 2026-11-02", "nothing was changed"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if leftovers, _ := filepath.Glob(filepath.Join(w.Folder.Dir(), "versions", ".*")); len(leftovers) > 0 {
				t.Errorf("left behind: %v", leftovers)
			}
			if _, err := w.Rollback(secondNight, night); !errors.As(err, &met) {
				t.Errorf("rolled back to a damaged version: %v", err)
			}
			d, err := w.BeginFrom(t.Context(), thirdNight, night.AddDate(0, 0, 2), "")
			must(t, err)
			snapshots, damaged, err := integrity.ReadSeries(t.Context(), w, d.DB)
			must(t, errors.Join(err, d.Discard()))
			if len(snapshots) != 2 || len(damaged) != 0 {
				t.Errorf("a rebuild finds %d snapshots and %v", len(snapshots), damaged)
			}
			_, err = w.Rollback(firstNight, night)
			must(t, err)
			if got := read(t, w); !cmp.Equal(got, []string{"one"}) {
				t.Errorf("a reader got %v", got)
			}
			publish(t, w, thirdNight, "three")
		})
	}
}

// TestADamagedNoteIsIgnored damages the note of a run that waits to be resumed.
func TestADamagedNoteIsIgnored(t *testing.T) {
	w := open(t)
	must(t, os.MkdirAll(w.Folder.RawPath(firstNight), 0o700))
	must(t, w.Ledger.Start(warehouse.Unfinished{Run: firstNight, StartedAt: night, Attempt: 1}))
	flip(t, filepath.Join(w.Folder.Dir(), "state", "unfinished.json"), 50)
	if u, ok, err := w.Ledger.Unfinished(); ok || err != nil {
		t.Errorf("run %q waits to be resumed (%v)", u.Run, err)
	}
	must(t, w.Recover())
}

func link(w *warehouse.Warehouse) string { return filepath.Join(w.Folder.Dir(), "latest") }

func relink(t *testing.T, w *warehouse.Warehouse, run string) {
	t.Helper()
	must(t, errors.Join(os.Remove(link(w)), os.Symlink(filepath.Join("versions", run), link(w))))
}

// flip changes one bit of a file without replacing it.
func flip(t *testing.T, file string, at int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	must(t, err)
	b[0] ^= 1 << 3
	_, err = f.WriteAt(b, at)
	must(t, errors.Join(err, f.Close()))
}

// TestAnUnswitchedVersionIsNoSnapshot ends the first run between its rename and its switch.
func TestAnUnswitchedVersionIsNoSnapshot(t *testing.T) {
	w := open(t)
	must(t, w.Ledger.Start(warehouse.Unfinished{Run: firstNight, StartedAt: night, Attempt: 1}))
	must(t, os.MkdirAll(w.Folder.VersionPath(firstNight), 0o755))
	must(t, w.Recover())
	publish(t, w, firstNight, "one")
}
