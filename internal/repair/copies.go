package repair

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Result is the result of RepairFromCopies.
type Result struct {
	// Files are the repaired files, relative to the warehouse.
	Files []string
	// Unrepaired are the files of the series without an intact copy, oldest first.
	Unrepaired []warehouse.SeriesFile
	// DaysWithoutManifest are the days without an intact manifest. If IsIndexLost is set, more days may be
	// missing.
	DaysWithoutManifest []string
	IsIndexLost         bool
	// Source is the version with the newest intact catalog, or empty. At is its snapshot time.
	Source string
	At     time.Time
	// IsChainBroken means that the manifest of a run in the chain is lost, or the file of changes of a run up to At. All
	// rows of the schemas meta and past in the catalog of Source must then be written to a new file of changes.
	IsChainBroken bool
}

// RepairFromCopies repairs the files that have an intact copy elsewhere: manifests, the index, Parquet
// files, files of changes, and copies of ledger lines. The caller must hold the lock of the warehouse.
func RepairFromCopies(ctx context.Context, w *warehouse.Warehouse) (Result, error) {
	inv, err := takeInventory(ctx, w, true)
	if err != nil {
		return Result{}, err
	}
	c := &repairer{inventory: inv}
	result := &c.result
	result.Source, result.At = inv.newestCatalog()
	for _, run := range inv.versions {
		if err := c.repairVersion(run); err != nil {
			return *result, err
		}
	}
	result.IsIndexLost = inv.indexErr != nil
	days := c.expectedDays()
	for _, day := range slices.Sorted(maps.Keys(days)) {
		manifest, ok := inv.manifest(days[day])
		if !ok {
			// If the index is intact and does not contain the day, a rebuild moves the files of the
			// day aside.
			if inv.indexErr != nil || inv.indexDays[day] != "" {
				result.DaysWithoutManifest = append(result.DaysWithoutManifest, day)
			}
			continue
		}
		if err := c.repairDay(day, manifest); err != nil {
			return *result, err
		}
	}
	if err := c.repairMetaChanges(); err != nil {
		return *result, err
	}
	maps.DeleteFunc(days, func(_, run string) bool { return run == "" })
	if inv.indexErr == nil && maps.Equal(days, inv.indexDays) || len(days) == 0 {
		return *result, nil
	}
	c.addFile(w.Series.IndexPath())
	return *result, w.Series.WriteIndex(days)
}

type repairer struct {
	*inventory
	result Result
}

func (c *repairer) addFile(path string) {
	c.result.Files = append(c.result.Files, c.w.Folder.Relative(path))
}

func (c *repairer) repairVersion(run string) error {
	manifestCopy, ok := c.manifest(run)
	if !ok {
		return nil
	}
	version := c.w.Folder.VersionPath(run)
	m, err := c.w.Versions.ReadManifest(run)
	if err != nil {
		m = manifestCopy
	}
	if err := c.repairManifest(filepath.Join(version, warehouse.ManifestFile), m); err != nil {
		return err
	}
	for _, t := range m.Tables {
		if err := c.repairFile(filepath.Join(version, t.File), c.w.Series.FilePath(t, m.SnapshotAt), t.FileSum); err != nil {
			return err
		}
	}
	if m.Meta != nil {
		if err := c.repairFile(filepath.Join(version, m.Meta.File), "", m.Meta.FileSum); err != nil {
			return err
		}
	}
	return c.repairLedgerCopy(m)
}

// repairLedgerCopy writes a damaged copy of a run's ledger line again, or removes it if the ledger lacks the
// run. The line can have changed since, so the manifests get the new checksum.
func (c *repairer) repairLedgerCopy(m warehouse.Manifest) error {
	if m.LedgerLine == nil {
		return nil
	}
	version := c.w.Folder.VersionPath(m.RunID)
	path := filepath.Join(version, m.LedgerLine.File)
	if c.sums.IsIntact(path, *m.LedgerLine) {
		return nil
	}
	var sum *checksum.FileSum
	if ledgerRun := ledger.Find(c.runs, m.RunID); ledgerRun.ID != "" {
		written, err := c.w.RunLog.WriteCopy(version, ledgerRun)
		if err != nil {
			return err
		}
		sum = &written
	} else if err := c.w.Folder.Disk().Remove(path); err != nil {
		return err
	}
	c.addFile(path)
	return changeManifests(c.w, m, func(m *warehouse.Manifest) { m.LedgerLine = sum })
}

// changeManifests changes all intact copies of a run's manifest, the manifest of the day last: if the repair is
// killed earlier, the next repair finds the old checksum there and starts again.
func changeManifests(w *warehouse.Warehouse, original warehouse.Manifest, change func(m *warehouse.Manifest)) error {
	for _, path := range w.Folder.ManifestPaths(original.RunID, warehouse.DayOf(original.SnapshotAt)) {
		m, err := w.Versions.ReadManifestFile(path, original.RunID)
		if err != nil {
			continue // the manifest does not exist or is damaged, or another run of the day wrote it
		}
		change(&m)
		if err := w.Folder.WriteSealed(path, m); err != nil {
			return err
		}
	}
	return nil
}

// repairFile replaces a damaged file by an intact file with the checksum want. In an intact warehouse, path
// and hardLink are hard links of one file, so repairFile links path to an intact hardLink. It copies any
// other intact file, because repairs rely on independent copies.
func (c *repairer) repairFile(path, hardLink string, want checksum.FileSum) error {
	if c.sums.IsIntact(path, want) {
		return nil
	}
	from := c.findCopy(want, hardLink)
	if from == "" {
		return nil
	}
	if err := c.w.Folder.MakePublicAbove(path); err != nil {
		return err
	}
	disk := c.w.Folder.Disk()
	copyOrLink := disk.Copy
	if from == hardLink {
		copyOrLink = disk.Link
	}
	if err := copyOrLink(from, path); err != nil {
		return err
	}
	c.addFile(path)
	return nil
}

func (c *repairer) repairDay(day string, m warehouse.Manifest) error {
	if dayManifest, err := c.w.Series.ReadDayManifest(day, m.RunID); err == nil {
		m = dayManifest // an earlier repair may have removed a lost table from it
	}
	for _, t := range m.Tables {
		path := c.w.Series.FilePath(t, m.SnapshotAt)
		if err := c.repairFile(path, filepath.Join(c.w.Folder.VersionPath(m.RunID), t.File), t.FileSum); err != nil {
			return err
		}
		if !c.sums.IsIntact(path, t.FileSum) {
			c.result.Unrepaired = append(c.result.Unrepaired, warehouse.SeriesFile{DayManifest: m, Table: t})
		}
	}
	return c.repairManifest(c.w.Folder.DayManifestPath(day), m)
}

func (c *repairer) repairManifest(path string, m warehouse.Manifest) error {
	isRepaired, err := repairManifest(c.w, path, m)
	if isRepaired {
		c.addFile(path)
	}
	return err
}

// repairManifest writes a manifest to path unless an intact manifest of its run is there.
func repairManifest(w *warehouse.Warehouse, path string, m warehouse.Manifest) (isRepaired bool, err error) {
	if _, err := w.Versions.ReadManifestFile(path, m.RunID); err == nil {
		return false, nil
	}
	return true, w.Folder.WriteSealed(path, m)
}

func (c *repairer) repairMetaChanges() error {
	if m, ok := c.manifest(c.expected); !ok || m.Meta == nil {
		return nil
	}
	chain, err := c.w.Series.MetaChain(c.expected)
	c.result.IsChainBroken = err != nil
	for _, m := range chain {
		if err := c.repairManifest(c.w.Folder.RunManifestPath(m.RunID), m); err != nil {
			return err
		}
		path := c.w.Folder.ChangesPath(m.RunID)
		if err := c.repairFile(path, "", m.Meta.FileSum); err != nil {
			return err
		}
		if !c.sums.IsIntact(path, m.Meta.FileSum) && !m.SnapshotAt.After(c.result.At) {
			c.result.IsChainBroken = true
		}
	}
	return nil
}

// ReplaceMeta replaces the file of changes of a run by the file MetaFile of a draft. MetaFile must
// contain all rows of the schemas meta and past. The chain of changes then begins with this run.
func ReplaceMeta(w *warehouse.Warehouse, d *warehouse.Draft, run string) (file string, err error) {
	sum, err := checksum.SumFile(context.Background(), d.Dir, warehouse.MetaFile)
	if err != nil {
		return "", err
	}
	manifest, err := w.Versions.ReadManifest(run)
	if err != nil {
		return "", err
	}
	seriesPath, from := w.Folder.ChangesPath(run), filepath.Join(d.Dir, warehouse.MetaFile)
	err = w.Folder.SetPublicMode(from)
	if err == nil {
		err = w.Folder.MakePublic(filepath.Dir(seriesPath))
	}
	for _, to := range []string{seriesPath, filepath.Join(w.Folder.VersionPath(run), warehouse.MetaFile)} {
		if err == nil {
			err = w.Folder.Disk().Copy(from, to)
		}
	}
	if err == nil {
		_, err = repairManifest(w, w.Folder.RunManifestPath(run), manifest)
	}
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", w.Folder.Relative(seriesPath), err)
	}
	meta := &warehouse.ManifestMeta{HasPast: true, FileSum: sum}
	return w.Folder.Relative(seriesPath), changeManifests(w, manifest, func(m *warehouse.Manifest) { m.Meta = meta })
}

// ReplaceFile moves file to the path of a lost file in the series. file contains the rows of the lost file,
// possibly in another order. If the version of the day has an intact manifest, ReplaceFile also links file into
// the version. If file has another checksum than the lost file, the manifests get the new checksum. A
// lost file without a checksum is in no manifest, so that version and manifests are not changed.
func ReplaceFile(w *warehouse.Warehouse, lost warehouse.SeriesFile, file string) (checksum.FileSum, error) {
	sum, err := checksum.SumFile(context.Background(), filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return sum, err
	}
	folder := w.Folder
	seriesPath := w.Series.FilePath(lost.Table, lost.DayManifest.SnapshotAt)
	err = folder.SetPublicMode(file)
	if err == nil {
		err = folder.MakePublicAbove(seriesPath)
	}
	if err == nil {
		err = folder.Disk().Rename(file, seriesPath)
	}
	if _, readErr := w.Versions.ReadManifest(lost.DayManifest.RunID); err == nil && readErr == nil && lost.Table.SHA256 != "" {
		err = folder.Disk().Link(seriesPath, filepath.Join(folder.VersionPath(lost.DayManifest.RunID), lost.Table.File))
	}
	if err != nil {
		return sum, fmt.Errorf("restore %s: %w", folder.Relative(seriesPath), err)
	}
	if lost.Table.SHA256 == "" || sum.SHA256 == lost.Table.SHA256 {
		return sum, nil
	}
	return sum, changeManifests(w, lost.DayManifest, func(m *warehouse.Manifest) {
		for i := range m.Tables {
			if m.Tables[i].Name == lost.Table.Name {
				m.Tables[i].FileSum = sum
			}
		}
	})
}

// RepairDay repairs the day of a run and adds it to the index of the series. ok is false if no manifest
// of the run is intact.
func RepairDay(ctx context.Context, w *warehouse.Warehouse, run string) (result Result, ok bool, err error) {
	inv, err := takeInventory(ctx, w, true)
	if err != nil {
		return Result{}, false, err
	}
	c := &repairer{inventory: inv}
	manifest, ok := inv.manifest(run)
	if !ok {
		return Result{}, false, nil
	}
	day := warehouse.DayOf(manifest.SnapshotAt)
	if err := c.repairDay(day, manifest); err != nil {
		return c.result, true, err
	}
	return c.result, true, w.Series.ChangeIndex(func(days map[string]string) { days[day] = run })
}

// AddDay writes the manifest of a day and adds the day to the index.
func AddDay(w *warehouse.Warehouse, manifest warehouse.Manifest) (file string, err error) {
	day := warehouse.DayOf(manifest.SnapshotAt)
	path := w.Folder.DayManifestPath(day)
	if err := w.Folder.WriteSealed(path, manifest); err != nil {
		return "", err
	}
	return w.Folder.Relative(path), w.Series.ChangeIndex(func(days map[string]string) { days[day] = manifest.RunID })
}
