package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	m, err := w.readable(target)
	if err != nil {
		return m, fmt.Errorf("roll back: %w", w.WithRemedy(err, target))
	}
	note, err := w.beginRollback(target, now)
	if err != nil {
		return m, err
	}
	if err := w.switchTo(m); err != nil {
		return m, err
	}
	err = errors.Join(w.linkCatalog(), w.extendSeries(w.lineage(target)...), w.Finished())
	// The note stays unless the ledger has the line: Recover enters it from the note.
	if recordErr := w.Record(w.rolledBack(note.Run, target, note.StartedAt)); recordErr != nil {
		return m, errors.Join(err, recordErr)
	}
	return m, errors.Join(err, w.FinishedAside())
}

// beginRollback notes what is about to be done, so that the ledger can tell of it
// should the process be killed.
func (w *Warehouse) beginRollback(target string, now time.Time) (note Unfinished, err error) {
	if note.Run, err = w.newEntryID(now); err != nil {
		return note, err
	}
	note.Kind, note.Version, note.StartedAt, note.Attempt, note.Program = Rollback, target, now.UTC(), 1, w.cfg.Program
	return note, w.StartAside(note)
}

// newEntryID is the id of an entry of the ledger that has no folder.
func (w *Warehouse) newEntryID(now time.Time) (string, error) {
	runs, err := w.Runs()
	if err != nil {
		return "", err
	}
	for at := now; ; at = at.Add(time.Second) {
		id, err := w.NewRunID(at)
		if err != nil || entryOf(runs, id).ID == "" {
			return id, err
		}
	}
}

func (w *Warehouse) switchTo(m Manifest) error {
	if err := w.takeBackSeries(m.RunID); err != nil {
		return fmt.Errorf("take back the Parquet series: %w", err)
	}
	if err := w.clearLatest(); err != nil {
		return fmt.Errorf("switch back to version %s: %w", m.RunID, err)
	}
	if err := w.disk.SwapLink(filepath.Join(versionsDir, m.RunID), w.path(latestLink)); err != nil {
		return fmt.Errorf("switch back to version %s: %w", m.RunID, err)
	}
	return nil
}

// clearLatest moves aside what stands in the place of the link and is none, such as
// the copy that a restore made of what it led to.
func (w *Warehouse) clearLatest() error {
	info, err := os.Lstat(w.path(latestLink))
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil
	}
	if err != nil {
		return err
	}
	return w.disk.Rename(w.path(latestLink), w.path(latestLink+".aside"))
}

// rolledBack is the ledger's entry of a rollback.
func (w *Warehouse) rolledBack(id, version string, at time.Time) Run {
	r := Run{ID: id, Kind: Rollback, Version: version, StartedAt: at, EndedAt: at, Outcome: Complete, Program: w.cfg.Program}
	if m, err := w.ReadManifest(version); err == nil {
		r.SnapshotAt = m.SnapshotAt
		for _, t := range m.Tables {
			r.Rows += t.Rows
		}
	}
	return r
}

// CheckCatalog compares the catalog of a version with its manifest.
func (w *Warehouse) CheckCatalog(run string) error {
	_, err := w.readable(run)
	return err
}

// readable returns the manifest of a version whose catalog is what it says. Parquet
// that is damaged is written again by the next night, and by rebuild.
func (w *Warehouse) readable(run string) (Manifest, error) {
	m, err := w.ReadManifest(run)
	if err != nil {
		return m, err
	}
	if problem := newSums().compare(w.VersionCatalog(run), m.Catalog, true); problem != "" {
		return m, w.damaged(w.VersionCatalog(run), problem, nil)
	}
	return m, nil
}

func (w *Warehouse) rollbackTarget(run string) (string, error) {
	versions, err := w.Versions()
	if err != nil {
		return "", err
	}
	if run != "" && slices.Contains(versions, run) {
		return run, nil
	}
	if run != "" {
		return "", fmt.Errorf("roll back: no version %q is kept: there are %v; nothing was changed", run, versions)
	}
	latest, ok, err := w.Latest()
	if lost := w.CheckIdentity(); lost != nil && !(ok && errors.Is(lost, fs.ErrNotExist)) {
		return "", lost
	}
	if err != nil || !ok {
		return "", errors.Join(err, fmt.Errorf("roll back: nothing is published"))
	}
	return w.before(latest, versions)
}

// before is the version that another was built on, or, of one that was rebuilt
// from Parquet or is damaged, the one before it by time.
func (w *Warehouse) before(run string, versions []string) (string, error) {
	m, err := w.ReadManifest(run)
	if err == nil && slices.Contains(versions, m.base()) {
		return m.base(), nil
	}
	at, _ := slices.BinarySearch(versions, run)
	if at == 0 || m.Previous != "" {
		return "", fmt.Errorf("roll back: the version that %s was built on is not kept: there are %v", run, versions)
	}
	return versions[at-1], nil
}

// lineage are the kept versions that a version was built on, itself included,
// oldest first.
func (w *Warehouse) lineage(run string) []Manifest {
	var line []Manifest
	for run != "" {
		m, err := w.ReadManifest(run)
		if err != nil {
			break // not kept any more, or damaged
		}
		line = append(line, m)
		run = m.base()
	}
	slices.Reverse(line)
	return line
}
