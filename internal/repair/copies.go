package repair

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
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
	// days are the days that the series must have, each with its run.
	days map[string]string
}

// fix is a damaged file that can be written again without a catalog.
type fix struct {
	path string
	// sum is the checksum of the file. twin is a hard link of the file in an intact warehouse, or empty.
	sum  checksum.FileSum
	twin string
	// manifest is set instead of sum if the file is a copy of this manifest.
	manifest *warehouse.Manifest
	// ledgerLineOf is set instead of sum if the file is the copy of the ledger line of this version.
	ledgerLineOf *warehouse.Manifest
}

// RepairFromCopies repairs the files that have an intact copy elsewhere: manifests, the index, Parquet
// files, files of changes, and copies of ledger lines. The caller must hold the lock of the warehouse.
func RepairFromCopies(ctx context.Context, w *warehouse.Warehouse) (Result, error) {
	c, err := newChecker(ctx, w, true, nil)
	if err != nil {
		return Result{}, err
	}
	if err = c.repairFromCopies(); err == nil {
		err = c.writeIndex()
	}
	return c.result, err
}

// repairFromCopies leaves a lost index to writeIndex.
func (c *checker) repairFromCopies() error {
	c.checkFiles()
	c.result.IsIndexLost = c.indexErr != nil
	return c.carryOutFixes()
}

// writeIndex writes the days with a run to the index of the series, unless it contains exactly these days.
func (c *checker) writeIndex() error {
	days := maps.Clone(c.result.days)
	maps.DeleteFunc(days, func(_, run string) bool { return run == "" })
	if c.indexErr == nil && maps.Equal(days, c.indexDays) || len(days) == 0 {
		return nil
	}
	c.addFile(c.w.Series.IndexPath())
	return c.w.Series.WriteIndex(days)
}

func (c *checker) addFile(path string) {
	c.result.Files = append(c.result.Files, c.w.Folder.Relative(path))
}

func (c *checker) carryOutFixes() error {
	for _, f := range c.fixes {
		var err error
		switch {
		case f.manifest != nil:
			err = c.w.Folder.WriteSealed(f.path, *f.manifest)
		case f.ledgerLineOf != nil:
			err = c.repairLedgerLine(f.path, *f.ledgerLineOf)
		default:
			err = c.repairFile(f)
		}
		if err != nil {
			return err
		}
		c.addFile(f.path)
	}
	c.fixes = nil
	return nil
}

// repairLedgerLine writes a damaged copy of a run's ledger line again, or removes it if the ledger lacks the
// run. The line can have changed since, so the manifests get the new checksum.
func (c *checker) repairLedgerLine(path string, m warehouse.Manifest) error {
	var sum *checksum.FileSum
	if ledgerRun := ledger.Find(c.runs, m.RunID); ledgerRun.ID != "" {
		written, err := c.w.RunLog.WriteCopy(c.w.Folder.VersionPath(m.RunID), ledgerRun)
		if err != nil {
			return err
		}
		sum = &written
	} else if err := c.w.Folder.Disk().Remove(path); err != nil {
		return err
	}
	for _, f := range c.fixes {
		if f.manifest != nil && f.manifest.RunID == m.RunID {
			f.manifest.LedgerLine = sum // of a manifest that is not written yet
		}
	}
	return changeManifests(c.w, m, func(m *warehouse.Manifest) { m.LedgerLine = sum })
}

// repairFile replaces a damaged file by an intact copy. In an intact warehouse, the file and its twin are hard links of
// one file, so repairFile links an intact twin. It copies any other intact file, because repairs rely on independent
// copies.
func (c *checker) repairFile(f fix) error {
	if err := c.w.Folder.MakePublicAbove(f.path); err != nil {
		return err
	}
	if f.twin != "" && c.compare(f.twin, f.sum) == "" {
		return c.w.Folder.Disk().Link(f.twin, f.path)
	}
	return c.w.Folder.Disk().Copy(c.findCopy(f.sum), f.path)
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
	file = w.Folder.Relative(w.Folder.ChangesPath(run))
	if err := placeMeta(w, manifest, filepath.Join(d.Dir, warehouse.MetaFile)); err != nil {
		return "", fmt.Errorf("restore %s: %w", file, err)
	}
	meta := &warehouse.ManifestMeta{HasPast: true, FileSum: sum}
	return file, changeManifests(w, manifest, func(m *warehouse.Manifest) { m.Meta = meta })
}

// placeMeta copies a file of changes into the chain and into the version of its run. It also writes a missing copy of
// the manifest beside it.
func placeMeta(w *warehouse.Warehouse, m warehouse.Manifest, from string) error {
	inChain, inVersion := w.Folder.ChangesPath(m.RunID), filepath.Join(w.Folder.VersionPath(m.RunID), warehouse.MetaFile)
	if err := w.Folder.SetPublicMode(from); err != nil {
		return err
	}
	if err := w.Folder.MakePublic(filepath.Dir(inChain)); err != nil {
		return err
	}
	for _, to := range []string{inChain, inVersion} {
		if err := w.Folder.Disk().Copy(from, to); err != nil {
			return err
		}
	}
	runManifest := w.Folder.RunManifestPath(m.RunID)
	if _, err := w.Versions.ReadManifestFile(runManifest, m.RunID); err == nil {
		return nil
	}
	return w.Folder.WriteSealed(runManifest, m)
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
	seriesPath := w.Series.FilePath(lost.Table, lost.DayManifest.SnapshotAt)
	if err := placeFile(w, lost, file, seriesPath); err != nil {
		return sum, fmt.Errorf("restore %s: %w", w.Folder.Relative(seriesPath), err)
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

func placeFile(w *warehouse.Warehouse, lost warehouse.SeriesFile, file, seriesPath string) error {
	if err := w.Folder.SetPublicMode(file); err != nil {
		return err
	}
	if err := w.Folder.MakePublicAbove(seriesPath); err != nil {
		return err
	}
	if err := w.Folder.Disk().Rename(file, seriesPath); err != nil {
		return err
	}
	run := lost.DayManifest.RunID
	_, err := w.Versions.ReadManifest(run)
	if hasVersion := err == nil; !hasVersion || lost.Table.SHA256 == "" {
		return nil
	}
	return w.Folder.Disk().Link(seriesPath, filepath.Join(w.Folder.VersionPath(run), lost.Table.File))
}
