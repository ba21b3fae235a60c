package repair

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/warehouse"
)

// checkFiles checks the files of versions, of the series and of the chain of changes. It also lists the fixes of the
// damaged files, in the order in which they must be carried out.
func (c *checker) checkFiles() {
	for _, run := range c.versions {
		c.checkVersion(run)
	}
	c.checkSeries()
	c.checkMetaChanges()
}

// checkFile compares a file with its checksum. If it is damaged and has an intact copy, checkFile adds a fix. twin is a
// hard link of the file in an intact warehouse, or empty.
func (c *checker) checkFile(path string, want checksum.FileSum, twin string) (problem string, hasCopy bool) {
	c.countFile()
	if problem = c.compare(path, want); problem == "" {
		return "", true
	}
	if !c.hasCopy(want) {
		return problem, false
	}
	c.fixes = append(c.fixes, fix{path: path, sum: want, twin: twin})
	return problem, true
}

// checkVersion checks the files of a version. Damage of a superseded version, which readers do not
// see, only prevents a rollback to this version.
func (c *checker) checkVersion(run string) {
	version, isSuperseded := c.w.Folder.VersionPath(run), run != c.visible
	noRollback := "a rollback to " + run + " is not possible; readers lose nothing"
	report := func(file, problem, affected string, canRestore bool) {
		d := Damage{File: c.w.Folder.Relative(filepath.Join(version, file)), Problem: problem, Affected: affected}
		switch {
		case canRestore:
			d.Repair = Step{Kind: RebuildSeries}
		case isSuperseded:
			d.Affected, d.Repair = noRollback, Step{Kind: DropVersion, Version: run}
		default:
			d.Repair, d.Lost = c.stepOfSnapshot()
		}
		c.add(d)
	}
	c.countFile()
	m, err := c.w.Versions.ReadManifest(run)
	if err != nil {
		manifestCopy, hasCopy := c.manifest(run)
		affected := "readers cannot tell whether the version is intact, and no night can begin"
		if isSuperseded {
			affected = noRollback
		}
		report(warehouse.ManifestFile, warehouse.ProblemOf(err), affected, hasCopy)
		if !hasCopy {
			return
		}
		m = manifestCopy
		c.fixes = append(c.fixes, fix{path: filepath.Join(version, warehouse.ManifestFile), manifest: &m})
	}
	c.countFile()
	if problem := c.compare(filepath.Join(version, m.Catalog.File), m.Catalog); problem != "" {
		report(warehouse.CatalogFile, problem, "readers get errors or wrong answers, and no night can begin", false)
	}
	for _, t := range m.Tables {
		problem, hasCopy := c.checkFile(filepath.Join(version, t.File), t.FileSum, c.w.Series.FilePath(t, m.SnapshotAt))
		if problem == "" {
			continue
		}
		affected := "readers of " + warehouse.LatestLink + "/" + t.File + " (table " + t.Name + ")"
		if isSuperseded {
			affected = "table " + t.Name + " in Parquet, after a rollback to " + run
		}
		report(t.File, problem, affected, hasCopy || c.canWriteAgain(m, t.Name))
	}
	if m.Meta != nil {
		if problem, hasCopy := c.checkFile(filepath.Join(version, m.Meta.File), m.Meta.FileSum, ""); problem != "" {
			report(m.Meta.File, problem, "a spare copy of the rows that the run changed in the schemas meta and past",
				hasCopy || !isSuperseded && c.hasIntactCatalog(run))
		}
	}
	if m.LedgerLine != nil {
		c.countFile()
		path := filepath.Join(version, m.LedgerLine.File)
		if problem := c.compare(path, *m.LedgerLine); problem != "" {
			report(m.LedgerLine.File, problem, "a spare copy of the run's line in the ledger", true)
			c.fixes = append(c.fixes, fix{path: path, ledgerLineOf: &m})
		}
	}
}

// canWriteAgain reports whether a repair of the series writes the file of a table and day again from a catalog, and with
// it the file of the version. It does not if another run of the same day replaced the file, or if the file was accepted
// as lost.
func (c *checker) canWriteAgain(m warehouse.Manifest, table string) bool {
	if !c.lineage[m.RunID] || !c.hasHistoryUntil(m.SnapshotAt) {
		return false
	}
	if m.RunID == c.visible {
		return true
	}
	day := warehouse.DayOf(m.SnapshotAt)
	if c.indexDays[day] != m.RunID {
		return false
	}
	dayManifest, err := c.w.Series.ReadDayManifest(day, m.RunID)
	return err != nil || dayManifest.Table(table).File != ""
}

func (c *checker) checkSeries() {
	c.result.days = c.expectedDays()
	c.countFile()
	if problem := c.indexProblem(); problem != "" {
		c.addPath(c.w.Series.IndexPath(), problem, affectedIndex, RebuildSeries)
	}
	if c.missingErr != nil {
		c.addPath(c.w.Folder.Path(warehouse.SeriesDir), c.missingErr.Error(), "the missing days of the series are unknown", RebuildSeries)
	}
	for _, day := range slices.Sorted(maps.Keys(c.result.days)) {
		c.checkDay(day, c.result.days[day])
	}
}

// indexProblem returns the problem of the index of the series, or "" if it is intact.
func (c *checker) indexProblem() string {
	if c.indexErr != nil && len(c.result.days)+len(c.versions) > 0 {
		return warehouse.ProblemOf(c.indexErr)
	}
	for _, day := range c.w.Series.Days() {
		if c.indexDays[day] == "" && c.result.days[day] != "" {
			return "it lacks " + day
		}
	}
	return ""
}

// checkDay checks the manifest and the files of a day. run is the id of the run that wrote the day. It is
// empty if the index does not name the day and no manifest of the day is intact.
func (c *checker) checkDay(day, run string) {
	c.countFile()
	m, hasManifest, err := c.dayManifest(day, run)
	if !hasManifest {
		c.addDayWithoutManifest(day, err)
		return
	}
	manifestPath := c.w.Folder.DayManifestPath(day)
	isMissing := slices.ContainsFunc(c.missing, func(missing warehouse.Manifest) bool { return missing.RunID == run })
	if err != nil && !isMissing {
		c.addPath(manifestPath, warehouse.ProblemOf(err), "the checksums of "+day+"; a copy of the manifest is intact", RebuildSeries)
	}
	damagedTables := 0
	for _, t := range m.Tables {
		path := c.w.Series.FilePath(t, m.SnapshotAt)
		problem, hasCopy := c.checkFile(path, t.FileSum, filepath.Join(c.w.Folder.VersionPath(m.RunID), t.File))
		if problem == "" {
			continue
		}
		damagedTables++
		if !hasCopy {
			c.result.Unrepaired = append(c.result.Unrepaired, warehouse.SeriesFile{DayManifest: m, Table: t})
		}
		if !isMissing {
			d := Damage{File: c.w.Folder.Relative(path), Problem: problem, Affected: affectedTable(t.Name, day)}
			d.Repair, d.Lost = c.stepOfRows(hasCopy, m.SnapshotAt)
			c.add(d)
		}
	}
	if err != nil { // the manifest is written last, so that a day with a manifest is complete
		c.fixes = append(c.fixes, fix{path: manifestPath, manifest: &m})
	}
	if isMissing {
		c.addPath(manifestPath, fmt.Sprintf("run %s has not completed its day: %d of %d tables are missing; the next run completes the day", run, damagedTables, len(m.Tables)),
			day+" in the Parquet series; the catalog contains its rows", RebuildSeries)
	}
	if len(m.Lost) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("tables of %s that were damaged and are lost: %s", day, strings.Join(m.Lost, ", ")))
	}
}

// addDayWithoutManifest reports a day of which no manifest is intact. err is the error of the manifest in the series.
func (c *checker) addDayWithoutManifest(day string, err error) {
	at, _ := time.Parse(time.DateOnly, day)
	d := Damage{File: c.w.Folder.Relative(c.w.Folder.DayManifestPath(day)), Problem: warehouse.ProblemOf(err), Affected: "the checksums of " + day}
	c.result.DaysWithoutManifest = append(c.result.DaysWithoutManifest, day)
	d.Repair, d.Lost = c.stepOfRows(false, at)
	if !c.hasHistoryUntil(at) { // no catalog of this day or of a later day is intact
		d.Affected, d.Problem = "all tables of "+day, dayProblem(c.w, day, err)
	}
	c.add(d)
}

// checkMetaChanges checks the chain of files of changes, which a rebuild applies in order, and the copies of
// manifests beside them.
func (c *checker) checkMetaChanges() {
	if m, ok := c.manifest(c.expected); !ok || m.Meta == nil {
		return
	}
	chain, err := c.w.Series.MetaChain(c.expected)
	c.result.IsChainBroken = err != nil
	if broken, ok := errors.AsType[*warehouse.DamagedError](err); ok {
		run := runOf(broken.File)
		d := Damage{File: broken.File, Problem: broken.Problem, Affected: affectedMeta(run) + " and of earlier runs; a rebuild needs them"}
		at, _ := c.timeOf(run)
		d.Repair, d.Lost = c.stepOfRows(false, at)
		c.add(d)
	}
	for _, m := range chain {
		c.countFile()
		path := c.w.Folder.RunManifestPath(m.RunID)
		if _, err := c.w.Versions.ReadManifestFile(path, m.RunID); err != nil {
			c.addPath(path, warehouse.ProblemOf(err), "a copy of a manifest; another copy is intact", RebuildSeries)
			c.fixes = append(c.fixes, fix{path: path, manifest: &m})
		}
		path = c.w.Folder.ChangesPath(m.RunID)
		problem, hasCopy := c.checkFile(path, m.Meta.FileSum, "")
		if problem == "" {
			continue
		}
		if !hasCopy && !m.SnapshotAt.After(c.result.At) {
			c.result.IsChainBroken = true
		}
		d := Damage{File: c.w.Folder.Relative(path), Problem: problem, Affected: affectedMeta(m.RunID) + "; a rebuild needs them"}
		d.Repair, d.Lost = c.stepOfRows(hasCopy, m.SnapshotAt)
		c.add(d)
	}
}
