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

// lockFile is locked while a command changes the warehouse.
const lockFile = "lock"

// Mirror is what parquet/ and state/ hold, which together are a backup, for whoever
// copies it elsewhere and back.
type Mirror struct {
	folder   *Folder
	versions *Versions
	ledger   *Ledger
	series   *Series
}

// Files lists what a backup holds: state before parquet, as in every backup, since the
// ledger may name less than the series has, and never more. The File of each is relative
// to the warehouse, with slashes. A file of the series has the checksum of its manifest,
// also when it is gone, and manifests and index the checksum that they had then; another one
// has none. A day that a night is writing for the first time is not listed: no manifest names
// its files yet.
func (m *Mirror) Files() ([]checksum.FileSum, error) {
	// What a newer program wrote may lie where this one does not look.
	if err := m.versions.CheckFormat(); err != nil {
		return nil, err
	}
	state, err := m.listFiles(stateDir)
	if err != nil {
		return nil, err
	}
	state = slices.DeleteFunc(state, func(file string) bool {
		// What nights remember of lists is a cache.
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

// listFiles lists the files below a folder. Hidden ones are not complete yet; hidden
// folders belong to the series, and below state/ they are of a command at work.
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
		return nil, fmt.Errorf("list what a backup holds: %w", err)
	}
	return files, nil
}

// knownSums are the checksums in the manifests of days and of changes of meta, and those
// of the manifests as they were read: a day that runs again replaces both, and the files of
// one go with the manifest of the other otherwise. A damaged manifest names nothing: verify
// reports it.
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

// Twins are other places where a file of the series may be intact: a night that replaces the
// files of a day keeps the earlier ones until it is complete.
func (m *Mirror) Twins(file string) []string {
	if _, _, ok := SplitSeriesFile(file); !ok {
		return nil
	}
	var twins []string
	for _, pattern := range []string{m.folder.Path(SeriesDir, replacedDir, "*", path.Base(file)), m.folder.Path(VersionsDir, "*", path.Base(file))} {
		found, err := filepath.Glob(pattern)
		if err == nil {
			twins = append(twins, found...)
		}
	}
	return twins
}

// Path is where a file of a backup is. It refuses a lock, and a name that leads out of
// parquet/ and state/ or is written in another way: what a bucket says is not to be trusted.
func (m *Mirror) Path(file string) (string, error) {
	top, _, _ := strings.Cut(file, "/")
	if path.Clean(file) != file || isLockFile(file) || !filepath.IsLocal(filepath.FromSlash(file)) || strings.Contains(file, `\`) || top != SeriesDir && top != stateDir || file == top {
		return "", fmt.Errorf("place %q: it is no file of parquet/ or state/", file)
	}
	return m.folder.Path(filepath.FromSlash(file)), nil
}

// Place writes a file of a backup to its place, which appears whole. fill may be asked
// for nothing twice; after its error nothing is there.
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

// CheckEmpty returns an error when the folder has anything that a restore would spoil: a
// version, or the ledger of a published run. A night that was refused in half a restore
// leaves neither. isOurs reports whether the ledger is that of the backup.
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

// LedgerFile is the name of the ledger among Files. A night that finds snapshots and no
// ledger is refused, so a restore writes it last.
func (m *Mirror) LedgerFile() string { return m.folder.Relative(m.ledger.Path()) }

// Lock keeps a second backup of this warehouse from starting. Nights do not wait for it.
func (m *Mirror) Lock() (unlock func() error, err error) {
	return m.folder.StateFile(ledger.Backup + lockSuffix).lock()
}
