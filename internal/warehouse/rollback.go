package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// Rollback points readers at another version, in one step; run "" means the
// one that the newest was built on. It mends a link that is lost or leads
// elsewhere, and needs no file but those of the version that it leads to. The
// Parquet series follows: files of versions that the target does not build on are
// taken back, those of kept versions that it does build on stand. The other
// versions stay in their folders until keep_versions drops them, so that a rollback
// can be undone by another. It needs the Lock.
//
// The series is taken back before the switch and extended after it: if the
// process ends in between, days are missing until the rollback is repeated, and
// never is there one that no version stands for.
func (w *Warehouse) Rollback(run string, now time.Time) (Manifest, error) {
	target, err := w.rollbackTarget(run)
	if err != nil {
		return Manifest{}, err
	}
	m, err := w.Versions.readableManifest(target)
	if err != nil {
		return m, fmt.Errorf("roll back: %w", w.Examiner.WithRemedy(err, target))
	}
	note, err := w.beginRollback(target, now)
	if err != nil {
		return m, err
	}
	if err := w.switchBack(m); err != nil {
		return m, err
	}
	err = errors.Join(w.Versions.linkCatalog(), w.Series.extendSeries(w.Versions.baseManifests(target)...), w.Ledger.Finish())
	// The note stays unless the ledger has the line: Recover enters it from the note.
	if recordErr := w.Ledger.Record(w.Ledger.rollbackEntry(note.Run, target, note.StartedAt)); recordErr != nil {
		return m, errors.Join(err, recordErr)
	}
	return m, errors.Join(err, w.Ledger.FinishAside())
}

// beginRollback notes what is about to be done, so that the ledger can tell of it
// should the process be killed.
func (w *Warehouse) beginRollback(target string, now time.Time) (note Unfinished, err error) {
	if note.Run, err = w.Ledger.newEntryID(now); err != nil {
		return note, err
	}
	note.Kind, note.Version, note.StartedAt, note.Attempt, note.Program = Rollback, target, now.UTC(), 1, w.cfg.Program
	return note, w.Ledger.StartAside(note)
}

func (w *Warehouse) switchBack(m Manifest) error {
	if err := w.Series.withdrawAllBut(m.RunID); err != nil {
		return fmt.Errorf("take back the Parquet series: %w", err)
	}
	if err := w.Versions.clearLatest(); err != nil {
		return fmt.Errorf("switch back to version %s: %w", m.RunID, err)
	}
	if err := w.Folder.disk.SwapLink(filepath.Join(versionsDir, m.RunID), w.Folder.path(latestLink)); err != nil {
		return fmt.Errorf("switch back to version %s: %w", m.RunID, err)
	}
	return nil
}

func (w *Warehouse) rollbackTarget(run string) (string, error) {
	versions, err := w.Versions.List()
	if err != nil {
		return "", err
	}
	if run != "" && slices.Contains(versions, run) {
		return run, nil
	}
	if run != "" {
		return "", fmt.Errorf("roll back: no version %q is kept: there are %v; nothing was changed", run, versions)
	}
	latest, ok, err := w.Versions.Latest()
	if lost := w.Identity.Check(); lost != nil && !(ok && errors.Is(lost, fs.ErrNotExist)) {
		return "", lost
	}
	if err != nil || !ok {
		return "", errors.Join(err, fmt.Errorf("roll back: nothing is published"))
	}
	return w.Versions.baseOf(latest, versions)
}

// Recover enters what the ledger lacks of runs that were killed, and drops the
// note of one that was killed when it had published: behind a newer version it
// would pass for a run to take up. What such a run was to discard goes. It needs
// the Lock.
func (w *Warehouse) Recover() error {
	if err := w.Identity.Check(); err != nil {
		return err
	}
	err := w.Ledger.removeDamagedLines()
	if err != nil {
		return err
	}
	missing, err := w.Ledger.missingRuns()
	for _, r := range missing {
		err = errors.Join(err, w.Ledger.Record(r))
	}
	if err == nil {
		err = w.Ledger.FinishAside()
	}
	if err != nil {
		return err
	}
	return errors.Join(w.Ledger.finishPublished(), w.Pruner.DiscardSpent())
}
