package warehouse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
)

// Rollback switches the link "latest" in one step to another version, the target. Readers then see the
// target. If run is empty, the target is the version on which the visible version was built. Rollback
// repairs a lost or wrong link "latest", and needs only the files of the target. Other versions are kept,
// up to keep_versions, so that another rollback can undo this rollback. The caller must have the Lock.
//
// Before the switch, Rollback removes days from the series: the days of versions on which the target
// does not build. After the switch, it adds the missing days of versions on which the target builds.
// If the process is killed, the next Lock adds the missing days of the version that readers then see.
func (w *Warehouse) Rollback(run string, now time.Time) (Manifest, error) {
	target, err := w.rollbackTarget(run)
	if err != nil {
		return Manifest{}, err
	}
	m, err := w.Versions.ReadManifest(target)
	if err == nil {
		err = w.Versions.VerifyCatalog(target)
	}
	if err != nil {
		return m, fmt.Errorf("roll back: %w", w.WithRemedy(err, target))
	}
	if err := w.recordKilledRuns(); err != nil {
		return m, err
	}
	id, err := w.RunLog.NewRunID(now)
	if err != nil {
		return m, err
	}
	// If the process is killed, the next Lock reads this file and finishes the rollback.
	u := UnfinishedRun{Run: id, Kind: ledger.Rollback, Version: target, StartedAt: now.UTC(), Attempt: 1, Program: w.cfg.Program}
	if err := w.RunLog.WriteUnresumableRun(u); err != nil {
		return m, err
	}
	if err := w.Series.removeDaysOutsideLineage(target); err != nil {
		return m, fmt.Errorf("roll back to %s: remove later days from the Parquet series: %w; readers keep the current snapshot, "+
			"and the next run or rollback restores the days: check the disk, then repeat the rollback", target, err)
	}
	if err = w.Versions.clearLatest(); err == nil {
		err = w.Versions.switchTo(target)
	}
	if err != nil {
		return m, fmt.Errorf("roll back to %s: switch the link \"latest\": %w: check the disk, then repeat the rollback", target, err)
	}
	lineage, _ := w.Versions.Lineage(target) // the lineage ends at a damaged manifest
	err = errors.Join(w.Versions.linkCatalog(), w.Series.extendSeries(lineage...), w.RunLog.RemoveResumableRun())
	// If the ledger cannot be written, Recover needs the file of WriteUnresumableRun.
	if recordErr := w.RunLog.Record(w.RunLog.completedRollback(u)); recordErr != nil {
		return m, errors.Join(err, recordErr)
	}
	return m, errors.Join(err, w.RunLog.RemoveUnresumableRun())
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
		return "", &ledger.UnknownRunError{Message: fmt.Sprintf("roll back: no version %q is kept; nothing was changed: the kept versions are %s", run, cmp.Or(strings.Join(versions, ", "), "none"))}
	}
	latest, ok, err := w.Versions.Latest()
	if err != nil {
		return "", err
	}
	// If the version of the link is missing, the version before it is still known. With a wrong link it is unknown.
	err = w.CheckLink()
	isVersionMissing := ok && errors.Is(err, fs.ErrNotExist)
	if err != nil && !isVersionMissing {
		return "", err
	}
	if !ok {
		return "", errors.New("roll back: no version was published; nothing was changed: start a night with placementsync run")
	}
	return w.Versions.baseOf(latest, versions)
}

// Recover completes the work of killed runs, unless CheckLink returns an error. It finishes a rollback,
// records killed runs in the ledger, and removes unneeded stored responses and the unfinished-run file of a published
// run, because this run must not be resumed. The caller must have the Lock.
func (w *Warehouse) Recover() error {
	if err := w.CheckLink(); err != nil {
		return err
	}
	if err := w.finishKilledRollback(); err != nil {
		return err
	}
	if err := w.recordKilledRuns(); err != nil {
		return err
	}
	return errors.Join(w.RunLog.removeFileOfPublishedRun(), w.Pruner.RemoveUnneededResponses())
}

func (w *Warehouse) recordKilledRuns() error {
	if err := w.RunLog.removeDamagedLines(); err != nil {
		return err
	}
	if err := w.recordHeld(); err != nil {
		return err
	}
	missing, err := w.RunLog.missingRuns()
	for _, r := range missing {
		err = errors.Join(err, w.RunLog.Record(r))
	}
	if err != nil {
		return err
	}
	return w.RunLog.RemoveUnresumableRun()
}

// finishKilledRollback completes a rollback that was killed after it switched the link "latest", and undoes
// a rollback that was killed earlier. In both cases the series gets the missing days of the visible version.
func (w *Warehouse) finishKilledRollback() error {
	u, ok, err := w.RunLog.KilledRollback()
	if err != nil || !ok {
		return err
	}
	latest, ok, err := w.Versions.Latest()
	if err != nil || !ok {
		return err // without the link the missing days are unknown
	}
	lineage, _ := w.Versions.Lineage(latest) // the lineage ends at a damaged manifest
	err = errors.Join(w.Versions.linkCatalog(), w.Series.extendSeries(lineage...))
	if err != nil && !errors.As(err, new(*DamagedError)) { // verify reports damage
		return fmt.Errorf("finish the rollback %s: %w", u.Run, err)
	}
	if latest == u.Version {
		if err := w.RunLog.RemoveResumableRun(); err != nil {
			return err
		}
	}
	return w.recordKilledRuns()
}
