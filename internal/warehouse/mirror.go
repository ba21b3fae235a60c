package warehouse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// lockFile is the file below state/ that the Lock locks.
const lockFile = "lock"

// Mirror lists and places the files of a backup: those of parquet/ and state/.
type Mirror struct {
	folder   *Folder
	versions *Versions
	ledger   *Ledger
	series   *Series
}

// Files lists the files of a backup, each relative to the warehouse, with slashes. Those of state/
// come first, so that the copied ledger never names a run that the copied series lacks. Files of the
// series have the checksum of their manifest, even if they are missing. Manifests and the index have
// their current checksum. Other files have no checksum. A day that a night is writing for the first
// time is not listed, because no manifest names its files yet.
func (m *Mirror) Files() ([]checksum.FileSum, error) {
	// A newer program may have added files in other places.
	if err := m.versions.CheckFormat(); err != nil {
		return nil, err
	}
	state, err := m.listFiles(stateDir)
	if err != nil {
		return nil, err
	}
	state = slices.DeleteFunc(state, func(file string) bool {
		// The cache of unchanged records is not part of a backup.
		return isLockFile(file) || strings.HasPrefix(file, stateDir+"/"+seenDir+"/")
	})
	sums, err := m.knownSums()
	if err != nil {
		return nil, err
	}
	series, err := m.listFiles(SeriesDir)
	if err != nil {
		return nil, err
	}
	series = slices.DeleteFunc(series, func(file string) bool {
		parts := strings.Split(file, "/")
		_, day, isParquet := SplitSeriesFile(file)
		switch _, known := sums[file]; {
		case known:
			return false
		case len(parts) > 2 && (parts[1] == replacedDir || parts[1] == metaDir && path.Ext(file) == changesSuffix):
			return true
		case isParquet:
			return !m.series.PredatesManifests(day)
		}
		return false
	})
	var all []checksum.FileSum
	for _, file := range append(state, series...) {
		all = append(all, checksum.FileSum{File: file, Bytes: sums[file].Bytes, SHA256: sums[file].SHA256})
		delete(sums, file)
	}
	var gone []checksum.FileSum
	for file, sum := range sums {
		gone = append(gone, checksum.FileSum{File: file, Bytes: sum.Bytes, SHA256: sum.SHA256})
	}
	slices.SortFunc(gone, func(x, y checksum.FileSum) int { return cmp.Compare(x.File, y.File) })
	return append(all, gone...), nil
}

func isLockFile(file string) bool {
	return path.Dir(file) == stateDir && (path.Base(file) == lockFile || path.Ext(file) == lockSuffix)
}

// listFiles lists the files below a folder. Hidden files are not complete. Hidden folders belong to
// the series, but below state/ to a running command.
func (m *Mirror) listFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(m.folder.Path(dir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case dir == stateDir && entry.IsDir() && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), "."):
			files = append(files, m.folder.Relative(path))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the files of a backup: %w", err)
	}
	return files, nil
}

// knownSums returns the checksums in the manifests of days and of changes of meta, and the
// checksums of the manifests themselves. A run that replaces a day replaces the files and the
// manifest, and a backup must not mix them. Damaged manifests are skipped; verify reports them.
func (m *Mirror) knownSums() (map[string]checksum.FileSum, error) {
	days, err := filepath.Glob(m.folder.DayManifestPath("*"))
	if err != nil {
		return nil, err
	}
	sums := map[string]checksum.FileSum{}
	for _, path := range days {
		if day, own, err := m.versions.readManifestSum(path, ""); err == nil && DayOf(day.SnapshotAt) == DayIn(path) {
			sums[own.File] = own
			for _, t := range day.Tables {
				sums[m.folder.Relative(m.series.FilePath(t, day.SnapshotAt))] = t.FileSum
			}
		}
	}
	if data, err := os.ReadFile(m.series.IndexPath()); err == nil {
		file := m.folder.Relative(m.series.IndexPath())
		sums[file] = checksum.SumText(file, data)
	}
	changes, err := filepath.Glob(m.folder.RunManifestPath("*"))
	if err != nil {
		return nil, err
	}
	for _, path := range changes {
		if v, own, err := m.versions.readManifestSum(path, ""); err == nil && v.Meta != nil {
			sums[own.File] = own
			sums[m.folder.Relative(m.folder.ChangesPath(v.RunID))] = v.Meta.FileSum
		}
	}
	return sums, nil
}

// Copies returns the other paths with a possibly intact copy of a file of the series: in versions,
// and among the old files that a night keeps while it replaces a day.
func (m *Mirror) Copies(file string) []string {
	if _, _, ok := SplitSeriesFile(file); !ok {
		return nil
	}
	var copies []string
	for _, pattern := range []string{m.folder.Path(SeriesDir, replacedDir, "*", path.Base(file)), m.folder.Path(VersionsDir, "*", path.Base(file))} {
		found, err := filepath.Glob(pattern)
		if err == nil {
			copies = append(copies, found...)
		}
	}
	return copies
}

// Path returns the path of a file of a backup. Names come from a bucket and are not trusted: locks,
// names outside parquet/ and state/, and names that path.Clean changes are errors.
func (m *Mirror) Path(file string) (string, error) {
	top, _, _ := strings.Cut(file, "/")
	if path.Clean(file) != file || isLockFile(file) || !filepath.IsLocal(filepath.FromSlash(file)) || strings.Contains(file, `\`) || top != SeriesDir && top != stateDir || file == top {
		return "", fmt.Errorf("place %q: it is not a file of parquet/ or state/", file)
	}
	return m.folder.Path(filepath.FromSlash(file)), nil
}

// Place creates a file of a backup with the bytes that fill writes. If fill fails, the file is not
// created.
func (m *Mirror) Place(file string, fill func(f *os.File) error) error {
	path, err := m.Path(file)
	if err != nil {
		return err
	}
	if strings.HasPrefix(file, stateDir+"/") {
		if err := os.MkdirAll(filepath.Dir(path), privateDir); err != nil {
			return err
		}
		return m.folder.disk.WriteAtomically(path, privateFile, fill)
	}
	if err := m.folder.MakePublicAbove(path); err != nil {
		return err
	}
	return m.folder.disk.WriteAtomically(path, publicFile, func(f *os.File) error {
		err := fill(f)
		if err == nil && m.folder.mode != 0 {
			err = f.Chmod(m.folder.mode)
		}
		return err
	})
}

// CheckEmpty returns an error if the folder contains a version, or if its ledger contains a
// published run and is not the ledger of the backup (isOurs). A restore would destroy them. A night
// that failed in an incomplete restore leaves neither.
func (m *Mirror) CheckEmpty(isOurs func() bool) error {
	versions, err := m.versions.List()
	if err != nil {
		return err
	}
	runs, err := m.ledger.Runs()
	if err != nil {
		return err
	}
	if len(versions) > 0 || slices.ContainsFunc(runs, ledger.Run.IsPublished) && !isOurs() {
		return fmt.Errorf("restore into %s: it has a warehouse; nothing was changed: name a new folder as warehouse.dir", m.folder.dir)
	}
	return nil
}

// LedgerFile is the name of the ledger in Files. A restore writes it last. Until then a night fails,
// because there are snapshots without a ledger.
func (m *Mirror) LedgerFile() string { return m.folder.Relative(m.ledger.Path()) }
