package warehouse

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

const lockFile = "lock"

// Mirror lists the files that a backup copies, and restores them. A backup contains files of parquet/ and
// state/.
type Mirror struct {
	folder   *Folder
	versions *Versions
	ledger   *RunLog
	series   *Series
}

// Files lists the files of a backup, relative to the warehouse, with slashes. Files of state/ are
// first, so that the copied ledger names no run that the copied series lacks. Parquet files and files of
// changes are listed with the checksum in their manifest, even if they are missing. Files that a night is
// writing, and that no manifest names yet, are not listed. Manifests and the index have their current
// checksum, and other files none.
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
		// A cache of earlier releases is not part of a backup.
		return isLockFile(file) || strings.HasPrefix(file, stateDir+"/"+seenDir+"/")
	})
	sums := m.knownSums()
	series, err := m.listFiles(SeriesDir)
	if err != nil {
		return nil, err
	}
	series = slices.DeleteFunc(series, func(file string) bool {
		parts := strings.Split(file, "/")
		_, day, isParquet := SplitSeriesFile(file)
		switch _, isKnown := sums[file]; {
		case isKnown:
			return false
		case isParquet:
			// A night adds its file of changes before its Parquet files. If the day has no file of changes, no
			// night is writing the day: its manifest is lost, and the file is listed.
			return len(m.folder.Glob(m.folder.ChangesPath(strings.ReplaceAll(day, "-", "")+"T*"))) > 0
		}
		return len(parts) > 2 && (parts[1] == replacedDir || parts[1] == metaDir && path.Ext(file) == changesSuffix)
	})
	var all []checksum.FileSum
	for _, file := range append(state, series...) {
		all = append(all, cmp.Or(sums[file], checksum.FileSum{File: file}))
		delete(sums, file)
	}
	missing := slices.SortedFunc(maps.Values(sums), func(x, y checksum.FileSum) int { return cmp.Compare(x.File, y.File) })
	return append(all, missing...), nil
}

func isLockFile(file string) bool {
	return path.Dir(file) == stateDir && (path.Base(file) == lockFile || path.Ext(file) == lockSuffix)
}

// listFiles lists the files below a folder. It leaves out hidden files, which are incomplete, and the
// hidden folders of state/, which belong to running commands.
func (m *Mirror) listFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(m.folder.Path(dir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // another process removed the file
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

// knownSums returns, by file, the checksums in the manifests of days and runs, and the checksums of these
// manifests and of the index. With them a backup notices that a run replaced a day meanwhile. Damaged manifests
// are skipped, because verify reports them.
func (m *Mirror) knownSums() map[string]checksum.FileSum {
	sums := map[string]checksum.FileSum{}
	add := func(path string, sum checksum.FileSum) {
		sum.File = m.folder.Relative(path)
		sums[sum.File] = sum
	}
	for _, path := range m.folder.Glob(m.folder.DayManifestPath("*")) {
		if dayManifest, manifestSum, err := m.versions.readManifestSum(path, ""); err == nil && DayOf(dayManifest.SnapshotAt) == DayIn(path) {
			add(path, manifestSum)
			for _, t := range dayManifest.Tables {
				add(m.series.FilePath(t, dayManifest.SnapshotAt), t.FileSum)
			}
		}
	}
	if data, err := os.ReadFile(m.series.IndexPath()); err == nil {
		add(m.series.IndexPath(), checksum.SumText("", data))
	}
	for _, path := range m.folder.Glob(m.folder.RunManifestPath("*")) {
		if runManifest, manifestSum, err := m.versions.readManifestSum(path, ""); err == nil && runManifest.Meta != nil {
			add(path, manifestSum)
			add(m.folder.ChangesPath(runManifest.RunID), runManifest.Meta.FileSum)
		}
	}
	return sums
}

// Copies returns the paths of files that may be copies of a Parquet file of the series: files in
// versions, and old files that a night keeps while it replaces a day.
func (m *Mirror) Copies(file string) []string {
	if _, _, ok := SplitSeriesFile(file); !ok {
		return nil
	}
	name := path.Base(file)
	return append(m.folder.Glob(m.folder.Path(SeriesDir, replacedDir, "*", name)), m.folder.Glob(m.folder.Path(VersionsDir, "*", name))...)
}

// Path returns the path of a file of a backup. Names from a bucket are not trusted: Path accepts only
// clean names below parquet/ and state/, and no lock files.
func (m *Mirror) Path(file string) (string, error) {
	top, _, _ := strings.Cut(file, "/")
	if path.Clean(file) != file || isLockFile(file) || !filepath.IsLocal(filepath.FromSlash(file)) || strings.Contains(file, `\`) || top != SeriesDir && top != stateDir || file == top {
		return "", fmt.Errorf("restore %q: a backup must not contain a file of this name; the file was not written: run placementsync backup --verify", file)
	}
	return m.folder.Path(filepath.FromSlash(file)), nil
}

// Restore writes a file of a backup to the warehouse, atomically. fill writes the content. If fill fails, an
// existing file is unchanged.
func (m *Mirror) Restore(file string, fill func(f *os.File) error) error {
	path, err := m.Path(file)
	if err != nil {
		return err
	}
	if strings.HasPrefix(file, stateDir+"/") {
		if err := m.folder.disk.MakeFolder(filepath.Dir(path), privateDir); err != nil {
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

// CheckEmpty returns an error if a restore would destroy data: the folder contains a version, or its ledger
// contains a published run and was not restored from this backup. isLedgerRestored means that it was.
func (m *Mirror) CheckEmpty(isLedgerRestored bool) error {
	versions, err := m.versions.List()
	if err != nil {
		return err
	}
	runs, err := m.ledger.Runs()
	if err != nil {
		return err
	}
	if len(versions) > 0 || slices.ContainsFunc(runs, ledger.Run.IsPublished) && !isLedgerRestored {
		return fmt.Errorf("restore into %s: it has a warehouse; nothing was changed: name a new folder as warehouse.dir", m.folder.dir)
	}
	return nil
}

// LedgerFile returns the name of the ledger in Files. A restore writes the ledger last.
func (m *Mirror) LedgerFile() string { return m.folder.Relative(m.ledger.Path()) }
