package warehouse_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestDiskErrorsAreReturned repeats each command. Each time, another disk operation fails. The command
// must return the error, or succeed without the failed operation. After Recover, the warehouse must
// contain all files.
func TestDiskErrorsAreReturned(t *testing.T) {
	original := openKeeping(t, 2)
	publishFull(t, original, firstNight, "one")
	publishFull(t, original, secondNight, "two")
	harness.Must(t, os.MkdirAll(original.Folder.RawPath(firstNight), 0o700))
	held := openWith(t, warehouse.Config{Dir: filepath.Join(t.TempDir(), "held")})
	harness.Must(t, os.CopyFS(held.Folder.Dir(), os.DirFS(original.Folder.Dir())))
	harness.Must(t, holdNight(t, held, thirdNight, "three"))
	at := firstNightAt.AddDate(0, 0, 3)
	stride := 1 // between the operations that fail
	if testing.Short() {
		stride = 3
	}
	for name, c := range map[string]struct {
		// origin is the warehouse that is copied before each attempt. The command changes the copy.
		origin  *warehouse.Warehouse
		command func(w *warehouse.Warehouse) error
		// wantTag is the tag in the newest row that readers see after the command succeeded.
		wantTag string
	}{
		"rollback": {original, func(w *warehouse.Warehouse) error {
			_, err := w.Rollback(firstNight, at)
			return err
		}, "one"},
		"prune": {original, func(w *warehouse.Warehouse) error {
			_, err := w.Pruner.Prune(warehouse.Retention{Daily: 1}, at, false)
			return err
		}, "two"},
		"drop a version": {original, func(w *warehouse.Warehouse) error { return w.Versions.Drop(firstNight, false) }, "two"},
		"publish the held night": {held, func(w *warehouse.Warehouse) error {
			_, err := w.PublishHeld(t.Context(), []string{"prices"}, at)
			return err
		}, "three"},
		"discard the held night": {held, func(w *warehouse.Warehouse) error {
			_, err := w.DiscardHeld()
			return err
		}, "two"},
		"start and finish a run": {original, func(w *warehouse.Warehouse) error {
			return errors.Join(w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: thirdNight, Attempt: 1}), w.RunLog.RemoveResumableRun())
		}, "two"},
		"record a run": {original, func(w *warehouse.Warehouse) error { return w.RunLog.Record(ledger.Run{ID: thirdNight}) }, "two"},
		"restore files of a backup": {original, func(w *warehouse.Warehouse) error {
			fill := func(f *os.File) error { return nil }
			return errors.Join(w.Folder.RestoreFile(w.Folder.Path("state/inbox/a.log"), fill), w.Folder.RestoreFile(w.Folder.Path("parquet/tags/snapshot_date=2026-11-01/tags.parquet"), fill))
		}, "two"},
		"begin and hold a night": {original, func(w *warehouse.Warehouse) error {
			d, err := w.Begin(t.Context(), thirdNight, firstNightAt.AddDate(0, 0, 2))
			if err != nil {
				return err
			}
			_, err = d.CopyUnchanged(tagsTable)
			err = errors.Join(err, d.WriteLedgerCopy(ledger.Run{ID: thirdNight}))
			if err == nil {
				_, err = d.Hold(t.Context(), slices.Clone(tableFiles))
			}
			return errors.Join(err, d.Discard())
		}, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n += stride {
				dir, steps, failedStep := filepath.Join(t.TempDir(), "copy"), 0, ""
				harness.Must(t, os.CopyFS(dir, os.DirFS(c.origin.Folder.Dir())))
				failing := openWith(t, warehouse.Config{Dir: dir, Step: func(step, _ string) error {
					if strings.HasPrefix(step, "after ") {
						return nil // the change was made
					}
					if steps++; steps-1 == n {
						failedStep = step
						return syscall.EIO
					}
					return nil
				}})
				err := c.command(failing)
				w := openWith(t, warehouse.Config{Dir: dir})
				if err != nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("failing at %q: got error %v, want an input/output error or none", failedStep, err)
				}
				if err == nil && newestTag(t, w) != c.wantTag {
					t.Errorf("failing at %q: got no error, and readers see %s, want %s", failedStep, newestTag(t, w), c.wantTag)
				}
				if failedStep == "" {
					break
				}
				harness.Must(t, withLock(t, w, "recovery", w.Recover))
				if report, err := repair.Check(t.Context(), w, true); err != nil || slices.ContainsFunc(report.Damage, func(d repair.Damage) bool { return d.Lost }) {
					t.Errorf("failing at %q: verify found %+v (%v), want no lost files", failedStep, report.Damage, err)
				}
				harness.Must(t, os.RemoveAll(dir))
			}
		})
	}
}
