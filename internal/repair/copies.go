package repair

import (
	"maps"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// repairResult contains the files that are repaired from intact copies, and the damage that remains.
type repairResult struct {
	// Files are the repaired files, relative to the warehouse.
	Files []string
	// Unrepaired are the files of the series without an intact copy, oldest first.
	Unrepaired []warehouse.SeriesFile
	// DaysWithoutManifest are the days without an intact manifest. If the index is lost, more days may be missing.
	DaysWithoutManifest []string
	// Source is the version with the newest intact catalog, or empty. At is its snapshot time.
	Source string
	At     time.Time
	// IsChainBroken means that the changes cannot be followed from run to run up to At, because the manifest or the file
	// of changes of a run is lost. All rows of the schemas meta and past in the catalog of Source must then be written to
	// a new file of changes.
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

// writeIndex writes the days with a run to the index of the series, unless it contains exactly these days.
func (c *checker) writeIndex() error {
	days := maps.Clone(c.result.days)
	maps.DeleteFunc(days, func(_, run string) bool { return run == "" })
	isUpToDate := c.indexErr == nil && maps.Equal(days, c.indexDays)
	if isUpToDate || len(days) == 0 {
		return nil
	}
	c.addFile(c.w.Series.IndexPath())
	return c.w.Series.WriteIndex(days)
}

func (c *checker) addFile(path string) {
	c.result.Files = append(c.result.Files, c.w.Folder.Relative(path))
}

// carryOutFixes repairs the files that have an intact copy elsewhere: manifests, Parquet files, files of changes, and
// copies of ledger lines. It leaves the index to writeIndex.
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
// run. The line can have changed since the copy was written, so the manifests get the new checksum.
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
			f.manifest.LedgerLine = sum // carryOutFixes has not written this manifest yet
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

// changeManifests changes all intact copies of a run's manifest, in the order of ManifestPaths. The manifest of the day
// is last: if the repair is killed earlier, the next repair finds the old checksum there and starts again.
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
