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

// Rollback points readers at an earlier version, in one step; run "" means the
// one before the newest. Files of the Parquet series that came from later
// versions are taken back too. The later versions stay in their folders until
// keep_versions drops them, so that a rollback can be undone by another. It
// needs the Lock.
func (w *Warehouse) Rollback(run string) (Manifest, error) {
	target, err := w.rollbackTarget(run)
	if err != nil {
		return Manifest{}, err
	}
	m, err := w.ReadManifest(target)
	if err != nil {
		return m, err
	}
	if err := swapLink(filepath.Join(versionsDir, target), w.path(latestLink)); err != nil {
		return m, fmt.Errorf("switch back to version %s: %w", target, err)
	}
	if err := w.takeBackSeries(target); err != nil {
		return m, fmt.Errorf("take back the Parquet series: %w", err)
	}
	return m, errors.Join(w.extendSeries(m), w.Finished())
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
		if at := slices.Index(versions, latest); at > 0 {
			return versions[at-1], nil
		}
		return "", fmt.Errorf("roll back: no version is kept before %s", latest)
	}
	if !slices.Contains(versions, run) {
		return "", fmt.Errorf("roll back: no version %q is kept: there are %v", run, versions)
	}
	return run, nil
}

// takeBackSeries removes the series' files of versions later than the target;
// where an earlier kept version has the same day, its file takes the place.
func (w *Warehouse) takeBackSeries(target string) error {
	versions, err := w.Versions()
	if err != nil {
		return err
	}
	for _, run := range versions[slices.Index(versions, target)+1:] {
		m, err := w.ReadManifest(run)
		if err != nil {
			return err
		}
		for _, t := range m.Tables {
			placed := w.seriesFile(t, m.SnapshotAt)
			if !sameFile(filepath.Join(w.VersionPath(run), t.File), placed) {
				continue
			}
			if err := removeUp(placed, w.path(seriesDir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// seriesFile is the place of a table's file in the series.
func (w *Warehouse) seriesFile(t ManifestTable, at time.Time) string {
	return w.path(seriesDir, t.Name, seriesDay+at.UTC().Format(time.DateOnly), t.File)
}

// seriesDay starts the name of a day's folder, in the form that readers of
// partitioned Parquet take for a column.
const seriesDay = "snapshot_date="

// removeUp removes a file and the folders above it that it leaves empty, up to
// a root that stays.
func removeUp(path, root string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return syncPath(dir) // not empty: another file lives there
		}
	}
	return nil
}
