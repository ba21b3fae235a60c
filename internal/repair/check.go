package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

// Report is the result of Check.
type Report struct {
	Damage []Damage
	// Notes are remarks about files that are not damaged.
	Notes []string
	// Files is the number of checked files. Bytes is the number of bytes that were read.
	Files int
	Bytes int64
}

type checker struct {
	Report
	*inventory
	// isReported contains the files in Damage.
	isReported map[string]bool
	// replay builds the expected version again from stored responses, if canReplay is set.
	replay    Step
	canReplay bool
}

// Check looks for damage of links, published versions, the Parquet series, the ledger, unfinished-run
// files and the held night. Without readData it compares only names and sizes of files. With readData it also
// compares checksums and, if the catalog that readers see is intact, its rows with Parquet. Check changes no file.
func Check(ctx context.Context, w *warehouse.Warehouse, readData bool) (Report, error) {
	return check(ctx, w, readData, storedResponses(w, nil))
}

// hasResponses reports whether all stored responses of a run are intact.
func check(ctx context.Context, w *warehouse.Warehouse, readData bool, hasResponses func(run string) bool) (Report, error) {
	if err := w.Folder.CheckExists(); err != nil {
		return Report{}, err
	}
	inv, err := takeInventory(ctx, w, readData)
	if err != nil {
		return Report{}, err
	}
	c := &checker{inventory: inv, isReported: map[string]bool{}}
	c.replay, c.canReplay = inv.replayStep(hasResponses)
	c.checkLinks()
	for _, run := range inv.versions {
		c.checkVersion(run)
	}
	damagedHeld, fileCount := w.VerifyHeld(ctx, readData)
	c.Files += fileCount
	for _, d := range damagedHeld {
		c.add(Damage{File: d.File, Problem: d.Problem, Affected: "the held night cannot be published; readers lose nothing", Repair: Step{Kind: DiscardHeld}})
	}
	c.checkSeries()
	c.checkMetaChanges()
	c.checkLedger()
	c.checkUnfinished()
	if readData && inv.hasIntactCatalog(inv.visible) {
		if err := c.checkRows(ctx); err != nil {
			problem, _, _ := strings.Cut(err.Error(), "\n")
			c.addPath(w.Folder.VersionCatalog(inv.visible), problem, "readers get errors", Step{Kind: RebuildCatalog})
		}
	}
	c.makeRebuildsSkipDamage()
	c.Bytes += inv.sums.Bytes
	return c.Report, ctx.Err()
}

// add reports damage of a file. The first damage of a file is kept, because it has the most specific cause.
func (c *checker) add(d Damage) {
	if !c.isReported[d.File] {
		c.isReported[d.File] = true
		c.Damage = append(c.Damage, d)
	}
}

func (c *checker) addPath(path, problem, affected string, repair Step) {
	c.add(Damage{File: c.w.Folder.Relative(path), Problem: problem, Affected: affected, Repair: repair})
}

func (c *checker) checkLinks() {
	c.Files++
	var lost *warehouse.LostError
	switch err := c.w.CheckLink(); {
	case errors.As(err, &lost):
		problem, _, _ := strings.Cut(strings.TrimPrefix(lost.Error(), "find the newest version: "), "; ")
		c.addSnapshotDamage(Damage{File: warehouse.LatestLink, Problem: problem, Affected: "readers find no snapshot or an older snapshot, and no night can begin"})
	case err != nil:
		c.addSnapshotDamage(Damage{File: warehouse.LatestLink, Problem: err.Error(), Affected: "the version that readers see is unknown"})
	case c.expected != c.visible:
		at, _ := c.timeOf(c.expected)
		c.addSnapshotDamage(Damage{File: warehouse.LatestLink, Problem: fmt.Sprintf("readers see %s, but should see %s of %s", c.visible, c.expected, warehouse.DayOf(at)),
			Affected: "readers lack the changes since " + c.visible})
	}
	if c.visible == "" {
		return
	}
	c.Files++
	want := filepath.Join(warehouse.LatestLink, warehouse.CatalogFile)
	if link, err := os.Readlink(c.w.Folder.CatalogPath()); err != nil || link != want {
		c.addSnapshotDamage(Damage{File: warehouse.CatalogFile, Problem: "it is not the link to " + filepath.ToSlash(want),
			Affected: "readers do not find the catalog by its name"})
	}
}

// addSnapshotDamage reports damage because of which readers do not see c.expected, the version that they
// should see.
func (c *checker) addSnapshotDamage(d Damage) {
	d.Repair, d.Lost = c.stepOfSnapshot()
	c.add(d)
}

// checkVersion checks the files of a version. Damage of a superseded version, which readers do not
// see, only prevents a rollback to this version.
func (c *checker) checkVersion(run string) {
	version, isSuperseded := c.w.Folder.VersionPath(run), run != c.visible
	noRollback := "a rollback to " + run + " is not possible; readers lose nothing"
	report := func(file, problem, affected string, repair Kind) {
		d := Damage{File: c.w.Folder.Relative(filepath.Join(version, file)), Problem: problem, Affected: affected, Repair: Step{Kind: repair}}
		switch {
		case isSuperseded && repair == RebuildCatalog:
			d.Affected, d.Repair = noRollback, Step{Kind: DropVersion, Version: run}
			c.add(d)
		case repair == RebuildCatalog:
			c.addSnapshotDamage(d)
		default:
			c.add(d)
		}
	}
	c.Files++
	m, err := c.w.Versions.ReadManifest(run)
	if err != nil {
		manifestCopy, hasCopy := c.manifest(run)
		affected, repair := "readers cannot tell whether the version is intact, and no night can begin", RebuildCatalog
		if isSuperseded {
			affected = noRollback
		}
		if hasCopy {
			repair = RebuildSeries
		}
		report(warehouse.ManifestFile, warehouse.ProblemOf(err), affected, repair)
		if !hasCopy {
			return
		}
		m = manifestCopy
	}
	problemOf := func(want checksum.FileSum) string {
		c.Files++
		return c.compare(filepath.Join(version, want.File), want)
	}
	if problem := problemOf(m.Catalog); problem != "" {
		report(warehouse.CatalogFile, problem, "readers get errors or wrong answers, and no night can begin", RebuildCatalog)
	}
	for _, t := range m.Tables {
		problem := problemOf(t.FileSum)
		if problem == "" {
			continue
		}
		repair := RebuildCatalog
		canWriteAgain := c.lineage[run] && c.hasHistoryUntil(m.SnapshotAt) && (!isSuperseded || c.isInSeries(m, t.Name))
		if c.hasCopy(t.FileSum) || canWriteAgain {
			repair = RebuildSeries
		}
		affected := "readers of " + warehouse.LatestLink + "/" + t.File + " (table " + t.Name + ")"
		if isSuperseded {
			affected = "table " + t.Name + " in Parquet, after a rollback to " + run
		}
		report(t.File, problem, affected, repair)
	}
	if m.Meta != nil {
		if problem := problemOf(m.Meta.FileSum); problem != "" {
			repair := RebuildCatalog
			if c.hasCopy(m.Meta.FileSum) || !isSuperseded && c.hasIntactCatalog(run) {
				repair = RebuildSeries
			}
			report(m.Meta.File, problem, "a spare copy of the rows that the run changed in the schemas meta and past", repair)
		}
	}
	if m.LedgerLine != nil {
		if problem := problemOf(*m.LedgerLine); problem != "" {
			report(m.LedgerLine.File, problem, "a spare copy of the run's line in the ledger", RebuildSeries)
		}
	}
}

// isInSeries reports whether a repair of the series writes the file of a table of a superseded version again. It
// does not if another run of the same day replaced the file, or if the file was accepted as lost.
func (c *checker) isInSeries(m warehouse.Manifest, table string) bool {
	day := warehouse.DayOf(m.SnapshotAt)
	if c.indexDays[day] != m.RunID {
		return false
	}
	dayManifest, err := c.w.Series.ReadDayManifest(day, m.RunID)
	return err != nil || dayManifest.Table(table).File != ""
}

func (c *checker) checkSeries() {
	days := c.expectedDays()
	c.Files++
	if problem := c.indexProblem(days); problem != "" {
		c.addPath(c.w.Series.IndexPath(), problem, affectedIndex, Step{Kind: RebuildSeries})
	}
	isMissing := c.checkMissingDays()
	for _, day := range slices.Sorted(maps.Keys(days)) {
		if !isMissing[day] {
			c.checkDay(day, days[day])
		}
	}
}

// checkMissingDays also returns the days that it reports.
func (c *checker) checkMissingDays() map[string]bool {
	days := map[string]bool{}
	if c.missingErr != nil {
		c.add(Damage{File: warehouse.SeriesDir, Problem: c.missingErr.Error(), Affected: "the missing days of the series are unknown", Repair: Step{Kind: RebuildSeries}})
	}
	for _, m := range c.missing {
		day, missingFiles := warehouse.DayOf(m.SnapshotAt), 0
		for _, t := range m.Tables {
			if c.compare(c.w.Series.FilePath(t, m.SnapshotAt), t.FileSum) != "" {
				missingFiles++
			}
		}
		days[day] = true
		c.addPath(c.w.Folder.DayManifestPath(day),
			fmt.Sprintf("run %s has not completed its day: %d of %d tables are missing; the next run completes the day", m.RunID, missingFiles, len(m.Tables)),
			day+" in the Parquet series; the catalog contains its rows", Step{Kind: RebuildSeries})
	}
	return days
}

// indexProblem returns the problem of the index of the series, or "" if it is intact. days are the
// expected days.
func (c *checker) indexProblem(days map[string]string) string {
	if c.indexErr != nil && len(days)+len(c.versions) > 0 {
		return warehouse.ProblemOf(c.indexErr)
	}
	for _, day := range c.w.Series.Days() {
		if c.indexDays[day] == "" && days[day] != "" {
			return "it lacks " + day
		}
	}
	return ""
}

// checkDay checks the manifest and the files of a day. run is the id of the run that wrote the day. It is
// empty if the index does not name the day and no manifest of the day is intact.
func (c *checker) checkDay(day, run string) {
	path := c.w.Folder.DayManifestPath(day)
	m, err := c.w.Series.ReadDayManifest(day, run)
	c.Files++
	if err != nil {
		var hasCopy bool
		m, hasCopy = c.manifest(run)
		at, _ := time.Parse(time.DateOnly, day)
		d := Damage{File: c.w.Folder.Relative(path), Problem: warehouse.ProblemOf(err), Affected: "the checksums of " + day + "; a copy of the manifest is intact", Repair: Step{Kind: RebuildSeries}}
		switch {
		case hasCopy:
		case run == "" && c.indexErr == nil:
			d.Problem, d.Repair.Kind = "it is missing, and the index does not name the day", RebuildCatalog
			d.Affected = "the files of " + day + " in Parquet, which cannot be checked; the catalog does not need them"
		case c.hasHistoryUntil(at): // a catalog of this day or of a later day is intact
			d.Affected = "the checksums of " + day
		default:
			d.Affected, d.Problem = "all tables of "+day, dayProblem(c.w, day, err)
			d.Repair, d.Lost = c.stepOfDay(at)
		}
		c.add(d)
	}
	for _, t := range m.Tables {
		c.Files++
		file := c.w.Series.FilePath(t, m.SnapshotAt)
		problem := c.compare(file, t.FileSum)
		if problem == "" {
			continue
		}
		d := Damage{File: c.w.Folder.Relative(file), Problem: problem, Affected: affectedTable(t.Name, day), Repair: Step{Kind: RebuildSeries}}
		if !c.hasCopy(t.FileSum) {
			d.Repair, d.Lost = c.stepOfDay(m.SnapshotAt)
		}
		c.add(d)
	}
	if len(m.Lost) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("tables of %s that were damaged and are lost: %s", day, strings.Join(m.Lost, ", ")))
	}
}

// checkMetaChanges checks the chain of files of changes, which a rebuild applies in order, and the copies of
// manifests beside them.
func (c *checker) checkMetaChanges() {
	if m, ok := c.manifest(c.expected); !ok || m.Meta == nil {
		return
	}
	chain, err := c.w.Series.MetaChain(c.expected)
	if broken, ok := errors.AsType[*warehouse.DamagedError](err); ok {
		run := runOf(broken.File)
		d := Damage{File: broken.File, Problem: broken.Problem, Affected: affectedMeta(run) + " and of earlier runs; a rebuild needs them"}
		d.Repair, d.Lost = c.stepOfChanges(run)
		c.add(d)
	}
	for _, m := range chain {
		c.Files += 2
		path := c.w.Folder.RunManifestPath(m.RunID)
		if _, err := c.w.Versions.ReadManifestFile(path, m.RunID); err != nil {
			c.addPath(path, warehouse.ProblemOf(err), "a copy of a manifest; another copy is intact", Step{Kind: RebuildSeries})
		}
		path = c.w.Folder.ChangesPath(m.RunID)
		if problem := c.compare(path, m.Meta.FileSum); problem != "" {
			d := Damage{File: c.w.Folder.Relative(path), Problem: problem, Affected: affectedMeta(m.RunID) + "; a rebuild needs them", Repair: Step{Kind: RebuildSeries}}
			if !c.hasCopy(m.Meta.FileSum) {
				d.Repair, d.Lost = c.stepOfChanges(m.RunID)
			}
			c.add(d)
		}
	}
}

func (c *checker) checkLedger() {
	c.Files++
	if c.ledgerText == nil && c.expected == "" {
		return
	}
	count := len(c.damagedLines)
	if count > 0 && bytes.HasSuffix(c.ledgerText, c.damagedLines[count-1]) {
		count-- // a crash may leave an unfinished last line
	}
	d := Damage{File: c.w.Folder.Relative(c.w.RunLog.Path()), Repair: Step{Kind: RunNight}, Lost: true,
		Affected: "the list of runs; meta.runs in the catalog contains each run that was followed by a published night"}
	switch {
	case c.ledgerText == nil:
		d.Problem = "it is missing"
	case count > 0:
		d.Problem = fmt.Sprintf("damaged lines: %d", count)
	case c.hasVersion(c.visible) && ledger.Find(c.runs, c.visible).ID == "":
		d.Problem, d.Lost = "it has no line of the version that readers see", false
	default:
		return
	}
	c.add(d)
}

// checkUnfinished checks the unfinished-run files, and lists the drafts of killed runs.
func (c *checker) checkUnfinished() {
	locked, isLocked := errors.AsType[*warehouse.LockedError](c.w.Folder.CheckUnlocked())
	isRunning := isLocked && locked.PID != os.Getpid()
	for _, path := range []string{c.w.RunLog.ResumableRunPath(), c.w.RunLog.UnresumableRunPath()} {
		var u warehouse.UnfinishedRun
		exists, err := c.w.Folder.StateFile(filepath.Base(path)).Read(&u)
		if err == nil && !exists {
			continue
		}
		c.Files++
		switch {
		case err != nil:
			c.addPath(path, warehouse.ProblemOf(err), "an interrupted run cannot be resumed: the next run repeats its requests", Step{Kind: RunNight})
		case u.Kind == ledger.Rollback && !isRunning:
			c.addPath(path, "the rollback to "+u.Version+" was killed and is not finished", "days of the Parquet series, which the next run restores", Step{Kind: RunNight})
		}
	}
	for _, path := range c.w.Folder.Glob(c.w.Folder.Path(warehouse.VersionsDir, ".*")) {
		c.Notes = append(c.Notes, c.w.Folder.Relative(path)+" is left over from a killed run: the next run removes it")
	}
}
