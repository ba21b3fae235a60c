package warehouse

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Rollback points readers at another version, in one step; run "" means the
// one that the newest was built on. The Parquet series follows: files of
// versions that the target does not build on are taken back, those of kept
// versions that it does build on stand. The other versions stay in their
// folders until keep_versions drops them, so that a rollback can be undone by
// another. It needs the Lock.
//
// The series is taken back before the switch and extended after it: if the
// process ends in between, days are missing until the rollback is repeated, and
// never is there one that no version stands for.
func (w *Warehouse) Rollback(run string) (Manifest, error) {
	target, err := w.rollbackTarget(run)
	if err != nil {
		return Manifest{}, err
	}
	m, err := w.ReadManifest(target)
	if err != nil {
		return m, err
	}
	if err := w.takeBackSeries(target); err != nil {
		return m, fmt.Errorf("take back the Parquet series: %w", err)
	}
	if err := w.disk.swapLink(filepath.Join(versionsDir, target), w.path(latestLink)); err != nil {
		return m, fmt.Errorf("switch back to version %s: %w", target, err)
	}
	return m, errors.Join(w.linkCatalog(), w.extendSeries(w.lineage(target)...), w.Finished())
}

func (w *Warehouse) rollbackTarget(run string) (string, error) {
	versions, err := w.Versions()
	if err != nil {
		return "", err
	}
	latest, ok, err := w.Latest()
	if err != nil || !ok {
		return "", errors.Join(err, fmt.Errorf("roll back: nothing is published"))
	}
	if run == "" {
		return w.before(latest, versions)
	}
	if !slices.Contains(versions, run) {
		return "", fmt.Errorf("roll back: no version %q is kept: there are %v", run, versions)
	}
	return run, nil
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
			break // not kept any more
		}
		line = append(line, m)
		run = m.base()
	}
	slices.Reverse(line)
	return line
}
