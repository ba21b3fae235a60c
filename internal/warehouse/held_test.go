package warehouse_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

const firstRun, heldRun, laterRun = "20261101T020000Z", "20261102T020000Z", "20261103T020000Z"

// hold creates a held night, like a run whose check "prices" failed.
func hold(t *testing.T, w *warehouse.Warehouse, run, tag string) error {
	t.Helper()
	d := draft(t, w, run, tag)
	entry := ledger.Run{ID: run, Outcome: ledger.Complete, SnapshotAt: d.At,
		Checks: []ledger.Check{{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed, Rows: 1}, {Name: "hosts", Severity: "warn", Outcome: ledger.CheckFailed, Rows: 1}}}
	must(t, d.WriteEntry(entry))
	_, err := d.Hold(t.Context(), slices.Clone(files))
	if err == nil {
		entry.Outcome, entry.ExitCode, entry.SnapshotAt, entry.Held = ledger.Failed, 1, time.Time{}, true
		must(t, w.Ledger.Record(entry))
	}
	return errors.Join(err, d.Discard())
}

// heldName is the run of the held night; empty means none.
func heldName(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	h, _, err := w.Held()
	must(t, err)
	return h.Manifest.RunID
}

// newest is the tag of the newest night that readers see.
func newest(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	all := read(t, w)
	return all[len(all)-1]
}

func requireState(t *testing.T, w *warehouse.Warehouse, seen, held string) {
	t.Helper()
	if got := newest(t, w); got != seen {
		t.Errorf("readers see %s, want %s", got, seen)
	}
	if got := heldName(t, w); got != held {
		t.Errorf("held is %q, want %q", got, held)
	}
}

func TestAHeldNightIsPublishedAsItIs(t *testing.T) {
	w := open(t)
	publish(t, w, firstRun, "one")
	must(t, hold(t, w, heldRun, "two"))
	requireState(t, w, "one", heldRun)
	h, _, err := w.Held()
	must(t, err)
	if got := h.FailedChecks(); !slices.Equal(got, []string{"prices"}) {
		t.Errorf("failed checks %v", got)
	}
	before, err := os.ReadFile(w.Folder.HeldCatalog(heldRun))
	must(t, err)
	_, err = w.PublishHeld(t.Context(), []string{"prices"}, night)
	must(t, err)
	requireState(t, w, "two", "")
	after, err := os.ReadFile(w.Folder.VersionCatalog(heldRun))
	must(t, err)
	if !slices.Equal(before, after) {
		t.Error("the published catalog is not the held one")
	}
	runs, err := w.Ledger.Runs()
	must(t, err)
	last := runs[len(runs)-1]
	if last.ID != heldRun || last.Outcome != ledger.Complete || last.Held || !slices.Equal(last.Accepted, []string{"prices"}) || !last.AcceptedAt.Equal(night) {
		t.Errorf("the ledger has %+v", last)
	}
	if _, err := w.PublishHeld(t.Context(), nil, night); !errors.As(err, new(*ledger.UnknownRunError)) {
		t.Errorf("a second publish: %v", err)
	}
	publish(t, w, laterRun, "three")
	requireState(t, w, "three", "")
}

func TestAHeldNightIsDiscarded(t *testing.T) {
	w := open(t)
	publish(t, w, firstRun, "one")
	if _, err := w.DiscardHeld(); !errors.As(err, new(*ledger.UnknownRunError)) {
		t.Errorf("without a held night: %v", err)
	}
	must(t, hold(t, w, heldRun, "two"))
	run, err := w.DiscardHeld()
	must(t, err)
	requireState(t, w, "one", "")
	if left, err := os.ReadDir(filepath.Join(w.Folder.Dir(), "held")); run != heldRun || err != nil || len(left) > 0 {
		t.Errorf("discarded %s, left %v (%v)", run, left, err)
	}
}

func TestTheNextNightReplacesAHeldOne(t *testing.T) {
	w := open(t)
	publish(t, w, firstRun, "one")
	must(t, hold(t, w, heldRun, "two"))
	must(t, hold(t, w, laterRun, "three"))
	requireState(t, w, "one", laterRun)
	publish(t, w, "20261104T020000Z", "four")
	requireState(t, w, "four", "")
}

func TestAHeldNightOfAnotherBaseIsNotPublished(t *testing.T) {
	w := open(t)
	publish(t, w, firstRun, "one")
	publish(t, w, heldRun, "two")
	must(t, hold(t, w, laterRun, "three"))
	_, err := w.Rollback(firstRun, night)
	must(t, err)
	if _, err := w.PublishHeld(t.Context(), []string{"prices"}, night); err == nil {
		t.Error("it was published over a version that it was not built on")
	}
	requireState(t, w, "one", laterRun)
}

func TestADamagedHeldNightIsNotPublished(t *testing.T) {
	w := open(t)
	publish(t, w, firstRun, "one")
	must(t, hold(t, w, heldRun, "two"))
	must(t, os.Chmod(w.Folder.HeldCatalog(heldRun), 0o600))
	data, err := os.ReadFile(w.Folder.HeldCatalog(heldRun))
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(w.Folder.HeldCatalog(heldRun), data, 0o600))
	if damaged, files := w.CheckHeld(t.Context(), true); len(damaged) != 1 || files == 0 {
		t.Errorf("damaged %v of %d files", damaged, files)
	}
	if _, err := w.PublishHeld(t.Context(), []string{"prices"}, night); err == nil {
		t.Error("it was published")
	}
	requireState(t, w, "one", heldRun)
}

// stride is how many steps further the next kill is. The long trial kills at each.
func stride() int {
	if os.Getenv("PLACEMENTSYNC_TRIALS") != "" {
		return 1
	}
	return 13
}

// errCut is the error of a disk that no longer changes, as after a kill.
var errCut = errors.New("cut")

// cutAfter opens the warehouse again with a disk on which only so many steps succeed. reached
// reports whether a further one was tried.
func cutAfter(t *testing.T, w *warehouse.Warehouse, steps int) (cut *warehouse.Warehouse, reached *bool) {
	t.Helper()
	reached = new(bool)
	return openWith(t, warehouse.Config{Dir: w.Folder.Dir(), Step: func(string) error {
		if steps--; steps >= 0 {
			return nil
		}
		*reached = true
		return errCut
	}}), reached
}

// TestNoStateIsBetweenHeldAndPublished cuts the publish of a held night at each of its steps.
// Readers see the old or the new snapshot, the night is held or published, and a second
// publish, or the next night, completes it.
func TestNoStateIsBetweenHeldAndPublished(t *testing.T) {
	for steps := 0; ; steps += stride() {
		w := open(t)
		publish(t, w, firstRun, "one")
		must(t, hold(t, w, heldRun, "two"))
		cut, reached := cutAfter(t, w, steps)
		_, err := cut.PublishHeld(t.Context(), []string{"prices"}, night)
		seen, held := newest(t, w), heldName(t, w)
		switch {
		case seen == "one" && held == heldRun && err != nil:
			if steps%2 == 0 { // the next night otherwise
				_, err := w.PublishHeld(t.Context(), []string{"prices"}, night)
				must(t, err)
				requireState(t, w, "two", "")
			} else {
				publish(t, w, laterRun, "three")
				requireState(t, w, "three", "")
			}
		case seen == "two" && held == "":
			must(t, locked(t, w, laterRun, w.Recover))
			runs, err := w.Ledger.Runs()
			must(t, err)
			if last := ledger.Find(runs, heldRun); last.Outcome != ledger.Complete || !slices.Equal(last.Accepted, []string{"prices"}) {
				t.Errorf("after %d steps the ledger has %+v", steps, last)
			}
			publish(t, w, laterRun, "three")
			requireState(t, w, "three", "")
			if left, _ := os.ReadDir(filepath.Join(w.Folder.Dir(), "held")); len(left) > 0 {
				t.Errorf("after %d steps held/ has %v", steps, left)
			}
		default:
			t.Errorf("after %d steps readers see %s, and %q is held (%v)", steps, seen, held, err)
		}
		versions, err := w.Versions.List()
		if err != nil || len(versions) > 2 {
			t.Errorf("after %d steps versions %v (%v)", steps, versions, err)
		}
		if !*reached {
			break
		}
	}
}

// TestNoStateIsBetweenDraftAndHeld cuts the hold of a night at each of its steps: it is held
// or it never was, and at most one is.
func TestNoStateIsBetweenDraftAndHeld(t *testing.T) {
	for steps := 0; ; steps += stride() {
		w := open(t)
		publish(t, w, firstRun, "one")
		must(t, hold(t, w, heldRun, "two"))
		cut, reached := cutAfter(t, w, steps)
		d, err := cut.Begin(t.Context(), laterRun, night.AddDate(0, 0, 2))
		if err == nil {
			err = d.WriteEntry(ledger.Run{ID: laterRun, Outcome: ledger.Complete, Checks: []ledger.Check{{Name: "prices", Severity: "hold", Outcome: ledger.CheckFailed}}})
			if err == nil {
				_, err = d.Hold(t.Context(), slices.Clone(files))
			}
			_ = d.Discard()
		}
		held := heldName(t, w)
		if held != heldRun && held != laterRun && (held != "" || err == nil) {
			t.Errorf("after %d steps %q is held (%v)", steps, held, err)
		}
		must(t, locked(t, w, laterRun, w.Recover))
		runs, readErr := w.Ledger.Runs()
		must(t, readErr)
		if held == laterRun && !ledger.Find(runs, laterRun).Held {
			t.Errorf("after %d steps the ledger does not have the held night: %+v", steps, runs)
		}
		requireState(t, w, "one", held)
		if !*reached {
			break
		}
	}
}
