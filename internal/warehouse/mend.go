package warehouse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Mending is a file of the series that must be written again.
type Mending struct {
	// Day is the manifest of the file's day, Table what it says of the file.
	Day   Manifest
	Table ManifestTable
}

// Mender repairs what is damaged in the series, or removes it from there.
type Mender struct {
	folder   *Folder
	versions *Versions
	series   *Series
}

// MendCopies repairs what has an intact copy elsewhere: manifests, the index, and
// Parquet files that are in a version and in the series. It returns the files that it
// repaired, and those of the series that must be written again. It needs the Lock.
func (r *Mender) MendCopies() (mended []string, left []Mending, err error) {
	index, indexErr := r.series.readIndex()
	if indexErr != nil {
		if err := r.series.changeIndex(func(map[string]string) {}); err != nil {
			return nil, nil, err
		}
		mended = append(mended, r.folder.relativePath(r.series.indexPath()))
		if index, err = r.series.readIndex(); err != nil {
			return mended, nil, err
		}
	}
	known := newSumCache()
	for day, run := range index.Days {
		m, err := r.series.dayManifest(day, run)
		if err != nil {
			continue // unknown what the day had
		}
		paths, err := r.mendManifests(day, m)
		mended = append(mended, paths...)
		if err != nil {
			return mended, left, err
		}
		for _, t := range m.Tables {
			fixed, again, err := r.mendFile(known, m, t)
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

// mendManifests writes the damaged copies of a manifest again.
func (r *Mender) mendManifests(day string, m Manifest) (mended []string, err error) {
	paths := []string{r.folder.dayManifestPath(day)}
	if m.Meta != nil {
		paths = append(paths, r.folder.metaPath(m.RunID, manifestSuffix))
	}
	for _, path := range paths {
		if own, err := r.versions.readManifest(path, m.RunID); err == nil && dayOf(own.SnapshotAt) == day {
			continue
		}
		if err := r.folder.writeSealed(path, m); err != nil {
			return mended, err
		}
		mended = append(mended, r.folder.relativePath(path))
	}
	return mended, nil
}

// mendFile repairs a Parquet file from its other name. It returns again when neither is
// intact.
func (r *Mender) mendFile(known *sumCache, m Manifest, t ManifestTable) (mended []string, again bool, err error) {
	placed, own := r.series.filePath(t, m.SnapshotAt), filepath.Join(r.folder.VersionPath(m.RunID), t.File)
	inSeries := known.compareFile(placed, t.ManifestFileSum, true) == ""
	inVersion := known.compareFile(own, t.ManifestFileSum, true) == ""
	_, statErr := os.Stat(r.folder.VersionPath(m.RunID))
	switch kept := statErr == nil; {
	case inSeries && (inVersion || !kept):
		return nil, false, nil
	case inSeries:
		return []string{r.folder.relativePath(own)}, false, r.folder.disk.Link(placed, own)
	case inVersion:
		if err := r.folder.makePublicAbove(placed); err != nil {
			return nil, false, err
		}
		return []string{r.folder.relativePath(placed)}, false, r.folder.disk.Link(own, placed)
	}
	return nil, true, nil
}

// Replace moves a file that was written again to its place in the series and, while it is
// kept, in its version. Where its bytes differ from the lost ones (its rows do not, but
// their order may), the manifests get the new checksum.
func (r *Mender) Replace(one Mending, file string) error {
	sum, err := sumFile(context.Background(), filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return err
	}
	mode, err := r.folder.publicMode(filepath.Dir(file))
	if err != nil {
		return err
	}
	run := one.Day.RunID
	placed, version := r.series.filePath(one.Table, one.Day.SnapshotAt), r.folder.VersionPath(run)
	if err = r.folder.setModeAndSync(file, mode); err == nil {
		err = r.folder.makePublicAbove(placed)
	}
	if err == nil {
		err = r.folder.disk.Rename(file, placed)
	}
	if _, statErr := os.Stat(version); err == nil && statErr == nil {
		err = r.folder.disk.Link(placed, filepath.Join(version, one.Table.File))
	}
	if err != nil {
		return fmt.Errorf("mend %s: %w", r.folder.relativePath(placed), err)
	}
	if sum.SHA256 == one.Table.SHA256 {
		return nil
	}
	// The one of the day comes last: as long as it has the old checksum, all is done again.
	for _, path := range []string{filepath.Join(version, ManifestFile), r.folder.metaPath(run, manifestSuffix)} {
		if m, err := r.versions.readManifest(path, run); err == nil {
			if err := r.writeSum(path, m, one.Table.Name, sum); err != nil {
				return err
			}
		}
	}
	day := dayOf(one.Day.SnapshotAt)
	m, err := r.series.dayManifest(day, run)
	if err != nil {
		return err
	}
	return r.writeSum(r.folder.dayManifestPath(day), m, one.Table.Name, sum)
}

// writeSum replaces a manifest by one with a new checksum of a table's file.
func (r *Mender) writeSum(path string, m Manifest, table string, sum ManifestFileSum) error {
	for i := range m.Tables {
		if m.Tables[i].Name == table {
			m.Tables[i].ManifestFileSum = sum
		}
	}
	return r.folder.writeSealed(path, m)
}
