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

// Mender brings back what is damaged in the series, or takes it out.
type Mender struct {
	folder   *Folder
	versions *Versions
	series   *Series
}

// MendCopies brings back what stands elsewhere as it was: manifests, the index, and
// Parquet files of which the version or the series has the other name. It returns the
// files that it brought back, and those of the series that have to be written again.
// It needs the Lock.
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
			continue // nothing says what the day was
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

// mendManifests writes the copies of a manifest again that are not it.
func (r *Mender) mendManifests(day string, m Manifest) (mended []string, err error) {
	paths := []string{r.folder.dayManifestPath(day)}
	if m.Meta != nil {
		paths = append(paths, r.folder.metaPath(m.RunID, manifestSuffix))
	}
	for _, path := range paths {
		if own, err := r.versions.readManifest(path, m.RunID); err == nil && dayOf(own.SnapshotAt) == day {
			continue
		}
		data, err := sealObject(m)
		if err == nil {
			err = r.folder.writePublic(path, data)
		}
		if err != nil {
			return mended, err
		}
		mended = append(mended, r.folder.relativePath(path))
	}
	return mended, nil
}

// mendFile brings a Parquet file back by the other of its two names; again is set where
// neither is whole.
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

// Replace puts a file that was written again into its places. Where its bytes are not
// those that were lost, though its rows are, the manifest of its day has the new
// checksum, and the version keeps its damaged file.
func (r *Mender) Replace(one Mending, file string) error {
	sum, err := sumFile(filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return err
	}
	mode, err := r.folder.publicMode(filepath.Dir(file))
	if err != nil {
		return err
	}
	placed, own := r.series.filePath(one.Table, one.Day.SnapshotAt), filepath.Join(r.folder.VersionPath(one.Day.RunID), one.Table.File)
	if err = r.folder.setModeAndSync(file, mode); err == nil {
		err = r.folder.makePublicAbove(placed)
	}
	if err == nil {
		err = r.folder.disk.Rename(file, placed)
	}
	if err != nil {
		return fmt.Errorf("mend %s: %w", r.folder.relativePath(placed), err)
	}
	if sum.SHA256 == one.Table.SHA256 {
		if _, err := os.Stat(r.folder.VersionPath(one.Day.RunID)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return r.folder.disk.Link(placed, own)
	}
	day := dayOf(one.Day.SnapshotAt)
	m, err := r.series.dayManifest(day, one.Day.RunID)
	if err != nil {
		return err
	}
	for i := range m.Tables {
		if m.Tables[i].Name == one.Table.Name {
			m.Tables[i].ManifestFileSum = sum
		}
	}
	data, err := sealObject(m)
	if err != nil {
		return err
	}
	return r.folder.writePublic(r.folder.dayManifestPath(day), data)
}
