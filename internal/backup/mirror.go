package backup

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
	"placementsync/internal/warehouse"
)

// filesOf lists the files of a backup of a warehouse, relative to the warehouse, with slashes. Files of state/ are
// first, so the ledger is copied first. A run that ends during the backup is then in the series only. Parquet files and files of
// changes are listed with the checksum in their manifest, even if they are missing. Files that a night is
// writing, and that no manifest names yet, are not listed. Manifests and the index have their current
// checksum, and other files none.
func filesOf(w *warehouse.Warehouse) ([]checksum.FileSum, error) {
	// A newer program may have added files in other places.
	if err := w.Versions.CheckFormat(); err != nil {
		return nil, err
	}
	state, err := listFiles(w, warehouse.StateDir)
	if err != nil {
		return nil, err
	}
	state = slices.DeleteFunc(state, func(file string) bool {
		// A cache of earlier releases is not part of a backup.
		return warehouse.IsLockFile(file) || strings.HasPrefix(file, warehouse.StateDir+"/"+warehouse.SeenDir+"/")
	})
	sums := knownSums(w)
	series, err := listFiles(w, warehouse.SeriesDir)
	if err != nil {
		return nil, err
	}
	series = slices.DeleteFunc(series, func(file string) bool {
		_, hasManifest := sums[file]
		return !hasManifest && mayBeInProgress(w, file)
	})
	var all []checksum.FileSum
	for _, file := range append(state, series...) {
		all = append(all, cmp.Or(sums[file], checksum.FileSum{File: file}))
		delete(sums, file)
	}
	missing := slices.SortedFunc(maps.Values(sums), func(x, y checksum.FileSum) int { return cmp.Compare(x.File, y.File) })
	return append(all, missing...), nil
}

// mayBeInProgress reports whether a night may be writing a file of the series that no manifest names.
func mayBeInProgress(w *warehouse.Warehouse, file string) bool {
	if _, day, isParquet := warehouse.SplitSeriesFile(file); isParquet {
		// A night adds its file of changes first, so without one the day is not being written: its manifest
		// is lost.
		runsOfDay := strings.ReplaceAll(day, "-", "") + "T*"
		changes := w.Folder.Glob(w.Folder.ChangesPath(runsOfDay))
		return len(changes) > 0
	}
	isChanges, _ := path.Match(w.Folder.Relative(w.Folder.ChangesPath("*")), file)
	isReplaced := strings.HasPrefix(file, warehouse.SeriesDir+"/"+warehouse.ReplacedDir+"/")
	return isChanges || isReplaced
}

// listFiles lists the files below a folder. It leaves out hidden files, which are incomplete, and the
// hidden folders of state/, which belong to running commands.
func listFiles(w *warehouse.Warehouse, dir string) (files []string, err error) {
	err = filepath.WalkDir(w.Folder.Path(dir), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // another process removed the file
		case err != nil:
			return err
		case dir == warehouse.StateDir && entry.IsDir() && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), "."):
			files = append(files, w.Folder.Relative(path))
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
// are skipped.
func knownSums(w *warehouse.Warehouse) map[string]checksum.FileSum {
	sums := map[string]checksum.FileSum{}
	add := func(path string, sum checksum.FileSum) {
		sum.File = w.Folder.Relative(path)
		sums[sum.File] = sum
	}
	for _, path := range w.Folder.Glob(w.Folder.DayManifestPath("*")) {
		dayManifest, manifestSum, err := w.Versions.ReadManifestSum(path, "")
		if err != nil {
			continue // verify reports it
		}
		if warehouse.DayOf(dayManifest.SnapshotAt) != warehouse.DayIn(path) {
			continue // a manifest of another day proves no file of this day
		}
		add(path, manifestSum)
		for _, t := range dayManifest.Tables {
			add(w.Series.FilePath(t, dayManifest.SnapshotAt), t.FileSum)
		}
	}
	if data, err := os.ReadFile(w.Series.IndexPath()); err == nil {
		add(w.Series.IndexPath(), checksum.SumText("", data))
	}
	for _, path := range w.Folder.Glob(w.Folder.RunManifestPath("*")) {
		runManifest, manifestSum, err := w.Versions.ReadManifestSum(path, "")
		if err != nil {
			continue // verify reports it
		}
		if runManifest.Meta != nil {
			add(path, manifestSum)
			add(w.Folder.ChangesPath(runManifest.RunID), runManifest.Meta.FileSum)
		}
	}
	return sums
}

// copiesOf returns the paths of files that may be copies of a Parquet file of the series: files in
// versions, and old files that a night keeps while it replaces a day.
func copiesOf(w *warehouse.Warehouse, file string) []string {
	if _, _, ok := warehouse.SplitSeriesFile(file); !ok {
		return nil
	}
	name := path.Base(file)
	replaced := w.Folder.Glob(w.Folder.Path(warehouse.SeriesDir, warehouse.ReplacedDir, "*", name))
	inVersions := w.Folder.Glob(w.Folder.Path(warehouse.VersionsDir, "*", name))
	return append(replaced, inVersions...)
}

// pathOf returns the path of a file of a backup. Names from a bucket are not trusted: pathOf accepts only
// clean names below parquet/ and state/, and no lock files.
func pathOf(w *warehouse.Warehouse, file string) (string, error) {
	isClean := path.Clean(file) == file && filepath.IsLocal(filepath.FromSlash(file)) && !strings.Contains(file, `\`)
	isOfBackup := strings.HasPrefix(file, warehouse.SeriesDir+"/") || strings.HasPrefix(file, warehouse.StateDir+"/")
	if !isClean || !isOfBackup || warehouse.IsLockFile(file) {
		return "", fmt.Errorf("restore %q: a backup must not contain a file of this name; the file was not written: run placementsync backup --verify", file)
	}
	return w.Folder.Path(filepath.FromSlash(file)), nil
}

// checkEmpty returns an error if a restore would destroy data: the folder contains a version, or its ledger
// contains a published run and was not restored from this backup. isLedgerRestored means that it was.
func checkEmpty(w *warehouse.Warehouse, isLedgerRestored bool) error {
	versions, err := w.Versions.List()
	if err != nil {
		return err
	}
	runs, err := w.RunLog.Runs()
	if err != nil {
		return err
	}
	hasOtherRuns := !isLedgerRestored && slices.ContainsFunc(runs, ledger.Run.IsPublished)
	if len(versions) > 0 || hasOtherRuns {
		return fmt.Errorf("restore into %s: it has a warehouse; nothing was changed: name a new folder as warehouse.dir", w.Folder.Dir())
	}
	return nil
}

// ledgerName returns the name of the ledger in filesOf. A restore writes the ledger last.
func ledgerName(w *warehouse.Warehouse) string { return w.Folder.Relative(w.RunLog.Path()) }
