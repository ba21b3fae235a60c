package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Mending is a file of the series that has to be written again.
type Mending struct {
	// Day is the manifest of the file's day, Table what it says of the file.
	Day   Manifest
	Table ManifestTable
}

// MendCopies brings back what stands elsewhere as it was: manifests, the index, and
// Parquet files of which the version or the series has the other name. It returns the
// files that it brought back, and those of the series that have to be written again.
// It needs the Lock.
func (w *Warehouse) MendCopies() (mended []string, left []Mending, err error) {
	index, indexErr := w.readIndex()
	if indexErr != nil {
		if err := w.changeIndex(func(map[string]string) {}); err != nil {
			return nil, nil, err
		}
		mended = append(mended, w.relative(w.indexPath()))
		if index, err = w.readIndex(); err != nil {
			return mended, nil, err
		}
	}
	known := newSums()
	for day, run := range index.Days {
		m, err := w.dayManifest(day, run)
		if err != nil {
			continue // nothing says what the day was
		}
		paths, err := w.mendManifests(day, m)
		mended = append(mended, paths...)
		if err != nil {
			return mended, left, err
		}
		for _, t := range m.Tables {
			fixed, again, err := w.mendFile(known, m, t)
			if err != nil {
				return mended, left, err
			}
			mended = append(mended, fixed...)
			if again {
				left = append(left, Mending{m, t})
			}
		}
	}
	slices.SortFunc(left, func(a, b Mending) int { return a.Day.SnapshotAt.Compare(b.Day.SnapshotAt) })
	return mended, left, nil
}

// mendManifests writes the copies of a manifest again that are not it.
func (w *Warehouse) mendManifests(day string, m Manifest) (mended []string, err error) {
	paths := []string{w.dayManifestPath(day)}
	if m.Meta != nil {
		paths = append(paths, w.metaPath(m.RunID, manifestSuffix))
	}
	for _, path := range paths {
		if own, err := w.readManifest(path, m.RunID); err == nil && dayOf(own.SnapshotAt) == day {
			continue
		}
		data, err := seal(m)
		if err == nil {
			err = w.writePublic(path, data)
		}
		if err != nil {
			return mended, err
		}
		mended = append(mended, w.relative(path))
	}
	return mended, nil
}

// mendFile brings a Parquet file back by the other of its two names; again is set where
// neither is whole.
func (w *Warehouse) mendFile(known *sums, m Manifest, t ManifestTable) (mended []string, again bool, err error) {
	placed, own := w.seriesFile(t, m.SnapshotAt), filepath.Join(w.VersionPath(m.RunID), t.File)
	inSeries := known.compare(placed, t.ManifestFileSum, true) == ""
	inVersion := known.compare(own, t.ManifestFileSum, true) == ""
	_, statErr := os.Stat(w.VersionPath(m.RunID))
	switch kept := statErr == nil; {
	case inSeries && (inVersion || !kept):
		return nil, false, nil
	case inSeries:
		return []string{w.relative(own)}, false, w.disk.Link(placed, own)
	case inVersion:
		if err := w.makePublicAbove(placed); err != nil {
			return nil, false, err
		}
		return []string{w.relative(placed)}, false, w.disk.Link(own, placed)
	}
	return nil, true, nil
}

// Mend puts a file that was written again into its places. Where its bytes are not
// those that were lost, though its rows are, the manifest of its day has the new
// checksum, and the version keeps its damaged file.
func (w *Warehouse) Mend(one Mending, file string) error {
	sum, err := sumFile(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return err
	}
	mode, err := w.publicMode(filepath.Dir(file))
	if err != nil {
		return err
	}
	placed, own := w.seriesFile(one.Table, one.Day.SnapshotAt), filepath.Join(w.VersionPath(one.Day.RunID), one.Table.File)
	if err = w.harden(file, mode); err == nil {
		err = w.makePublicAbove(placed)
	}
	if err == nil {
		err = w.disk.Rename(file, placed)
	}
	if err != nil {
		return fmt.Errorf("mend %s: %w", w.relative(placed), err)
	}
	if sum.SHA256 == one.Table.SHA256 {
		if _, err := os.Stat(w.VersionPath(one.Day.RunID)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return w.disk.Link(placed, own)
	}
	day := dayOf(one.Day.SnapshotAt)
	m, err := w.dayManifest(day, one.Day.RunID)
	if err != nil {
		return err
	}
	for i := range m.Tables {
		if m.Tables[i].Name == one.Table.Name {
			m.Tables[i].ManifestFileSum = sum
		}
	}
	data, err := seal(m)
	if err != nil {
		return err
	}
	return w.writePublic(w.dayManifestPath(day), data)
}

// DropVersion removes a version that readers do not see. It needs the Lock.
func (w *Warehouse) DropVersion(run string) error {
	versions, err := w.Versions()
	if err != nil {
		return err
	}
	latest, _, err := w.Latest()
	switch {
	case err != nil:
		return err
	case run == latest:
		return fmt.Errorf("remove version %s: readers see it: roll back or rebuild first; nothing was changed", run)
	case !slices.Contains(versions, run):
		return fmt.Errorf("remove version %q: there are %v; nothing was changed", run, versions)
	}
	return w.disk.Discard(w.VersionPath(run))
}
