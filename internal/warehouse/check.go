package warehouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// Report is the result of Check.
type Report struct {
	Damage []Damage
	// Notes are remarks that are not damage.
	Notes []string
	// Files were checked, and Bytes of them read.
	Files int
	Bytes int64
}

// Checker looks for damage in the whole warehouse. It changes nothing but the record of
// its result.
type Checker struct {
	folder   *Folder
	versions *Versions
	ledger   *Ledger
	series   *Series
	metaLog  *MetaLog
	identity *Identity
	verifier *verifier
}

// check is the state of one Check.
type check struct {
	Report
	c    *Checker
	inv  *inventory
	deep bool
	// manifest is that of the version that readers see, catalog is set when its catalog is
	// intact.
	manifest Manifest
	catalog  bool
	// reported are the files that Damage names.
	reported map[string]bool
}

// Check checks links, ledger, notes, versions and series: structure and sizes, and with
// readData every byte. It changes nothing.
func (c *Checker) Check(ctx context.Context, readData bool) (Report, error) {
	if err := c.folder.Exists(); err != nil {
		return Report{}, err
	}
	inv, err := c.series.takeInventory(ctx, c.ledger, readData)
	if err != nil {
		return Report{}, err
	}
	k := &check{c: c, inv: inv, deep: readData, reported: map[string]bool{}}
	k.manifest, _ = inv.manifest(inv.latest)
	k.catalog = inv.catalogs[inv.latest]
	k.checkLinks()
	for _, run := range inv.kept {
		k.checkVersion(run)
	}
	k.checkSeries()
	k.checkMetaLog()
	k.checkLedger()
	k.checkNotes()
	if readData && k.catalog {
		k.readCatalog(ctx)
	}
	k.leaveOutWhatIsLost()
	k.Bytes += inv.known.Bytes
	return k.Report, ctx.Err()
}

func (k *check) addDamage(d Damage) {
	if !k.reported[d.File] {
		k.reported[d.File] = true
		k.Damage = append(k.Damage, d)
	}
}

func (k *check) checkLinks() {
	inv := k.inv
	k.Files++
	var lost *LostError
	switch err := k.c.identity.Check(); {
	case errors.As(err, &lost):
		text, _, _ := strings.Cut(strings.TrimPrefix(lost.Error(), "find the newest version: "), "; ")
		k.addDamage(k.repairSight(Damage{File: latestLink, Problem: text, Cost: "readers find no snapshot, or not the last one, and no night can begin"}))
	case err != nil:
		k.addDamage(k.repairSight(Damage{File: latestLink, Problem: err.Error(), Cost: "it is unknown what readers see"}))
	case inv.target != inv.latest:
		at, _ := inv.timeOf(inv.target)
		k.addDamage(k.repairSight(Damage{File: latestLink, Problem: fmt.Sprintf("readers see %s, and the series has %s of %s", inv.latest, inv.target, dayOf(at)),
			Cost: "readers lack what changed since " + inv.latest}))
	}
	if inv.latest == "" {
		return
	}
	k.Files++
	if target, err := os.Readlink(k.c.folder.CatalogPath()); err != nil || target != filepath.Join(latestLink, CatalogFile) {
		d := k.repairSight(Damage{File: CatalogFile, Problem: "it is not the link to " + latestLink + "/" + CatalogFile,
			Cost: "readers do not find the catalog by its name"})
		k.addDamage(d)
	}
}

// repairSight chooses how readers see the target again: by the link when its catalog is
// intact, else by a rebuild of what is left.
func (k *check) repairSight(d Damage) Damage {
	inv := k.inv
	base, since := inv.newestCatalog()
	switch {
	case inv.catalogs[inv.target]:
		d.Repair = Repair{RollBack, inv.target}
	case inv.hasSnapshot(inv.target):
		d.Repair.Kind = RebuildCatalog
	case k.hasSnapshotAfter(since):
		d.Repair.Kind, d.Lost = RebuildFromRest, true
	case base != "":
		d.Repair, d.Lost = Repair{RollBack, base}, true
	default:
		d.Repair.Kind, d.Lost = RestoreBackup, true
	}
	return d
}

// hasSnapshotAfter reports whether any file of the series or of a version is intact that is
// newer than the newest intact catalog.
func (k *check) hasSnapshotAfter(since time.Time) bool {
	for run := range k.inv.line {
		m, ok := k.inv.manifest(run)
		if ok && m.SnapshotAt.After(since) && slices.ContainsFunc(m.Tables, func(t ManifestTable) bool {
			_, found := k.inv.find(t.FileSum, "")
			return found
		}) {
			return true
		}
	}
	return false
}

// checkVersion checks the files of a version. Damage of a version that readers do not see
// costs at most a rollback to it.
func (k *check) checkVersion(run string) {
	folder, superseded := k.c.folder, run != k.inv.latest
	report := func(file, problem, cost string, repair Repair) {
		d := Damage{File: folder.relativePath(filepath.Join(folder.VersionPath(run), file)), Problem: problem, Cost: cost, Repair: repair}
		switch {
		case superseded && repair.Kind == RebuildCatalog:
			d.Cost, d.Repair = "there is no rollback to "+run+"; readers lose nothing", Repair{DropVersion, run}
		case repair.Kind == RebuildCatalog:
			d = k.repairSight(d)
		}
		k.addDamage(d)
	}
	k.Files++
	m, err := k.c.versions.ReadManifest(run)
	if err != nil {
		repair := Repair{Kind: RebuildCatalog}
		if _, ok := k.inv.manifest(run); ok {
			repair.Kind = MendSeries
		}
		report(ManifestFile, describeProblem(err), "readers cannot tell whether the version is intact, and no night can begin", repair)
		if m, _ = k.inv.manifest(run); m.RunID == "" {
			return
		}
	}
	compare := func(want checksum.FileSum) string {
		k.Files++
		return k.inv.known.Compare(filepath.Join(folder.VersionPath(run), want.File), want, k.deep)
	}
	if problem := compare(m.Catalog); problem != "" {
		report(CatalogFile, problem, "readers get errors or wrong answers, and no night can begin", Repair{Kind: RebuildCatalog})
	}
	for _, t := range m.Tables {
		problem := compare(t.FileSum)
		if problem == "" {
			continue
		}
		repair := Repair{Kind: RebuildCatalog}
		if _, ok := k.inv.find(t.FileSum, ""); ok || k.inv.line[run] && k.inv.covers(m.SnapshotAt) {
			repair.Kind = MendSeries
		}
		cost := "readers of " + latestLink + "/" + t.File + " (table " + t.Name + ")"
		if superseded {
			cost = "table " + t.Name + " in Parquet, after a rollback to " + run
		}
		report(t.File, problem, cost, repair)
	}
	if m.Meta != nil {
		if problem := compare(m.Meta.FileSum); problem != "" {
			repair := Repair{Kind: RebuildCatalog}
			if _, ok := k.inv.find(m.Meta.FileSum, ""); ok || !superseded && k.catalog {
				repair.Kind = MendSeries
			}
			report(m.Meta.File, problem, "a copy of what the run changed in meta and past", repair)
		}
	}
	if m.Entry != nil {
		if problem := compare(*m.Entry); problem != "" {
			report(m.Entry.File, problem, "a copy of the run's line in the ledger", Repair{Kind: MendSeries})
		}
	}
}

func (k *check) checkSeries() {
	inv := k.inv
	days := inv.expectedDays()
	k.Files++
	if problem := k.indexProblem(days); problem != "" {
		k.addDamage(Damage{File: k.c.folder.relativePath(k.c.series.indexPath()), Problem: problem, Cost: "the list of days: a lost day would not be noticed", Repair: Repair{Kind: MendSeries}})
	}
	missing := k.checkMissingDays()
	for _, day := range slices.Sorted(maps.Keys(days)) {
		if !missing[day] {
			k.checkDay(day, days[day])
		}
	}
}

// checkMissingDays reports the days of versions that could not be added to the series.
func (k *check) checkMissingDays() map[string]bool {
	days := map[string]bool{}
	if note, ok, err := readNote(k.c.ledger.asidePath()); err == nil && ok && note.Kind == ledger.Rollback {
		return days // checkNotes reports a killed rollback, which has removed days
	}
	missing, err := k.c.series.missing()
	if err != nil {
		k.addDamage(Damage{File: seriesDir, Problem: err.Error(), Cost: "it is unknown which days it lacks", Repair: Repair{Kind: MendSeries}})
	}
	for _, m := range lastOfDay(missing) {
		day, lacking := dayOf(m.SnapshotAt), 0
		for _, t := range m.Tables {
			if k.inv.known.Compare(k.c.series.filePath(t, m.SnapshotAt), t.FileSum, k.deep) != "" {
				lacking++
			}
		}
		days[day] = true
		k.addDamage(Damage{File: k.c.folder.relativePath(k.c.folder.dayManifestPath(day)), Repair: Repair{Kind: MendSeries},
			Problem: fmt.Sprintf("run %s has not completed its day: %d of %d tables are missing; the next run completes it too", m.RunID, lacking, len(m.Tables)),
			Cost:    day + " in the Parquet series; the catalog has it"})
	}
	return days
}

// indexProblem says what is wrong with the index of the series; empty means nothing. A
// warehouse of a program that wrote no manifests has no index.
func (k *check) indexProblem(days map[string]string) string {
	hasManifests := k.manifest.Meta != nil || len(k.inv.manifests) > len(k.inv.kept)
	if k.inv.indexErr != nil {
		if hasManifests {
			return describeProblem(k.inv.indexErr)
		}
		return ""
	}
	for day, run := range days {
		if k.inv.days[day] == "" && run != "" {
			return "it lacks " + day
		}
	}
	return ""
}

func (k *check) checkDay(day, run string) {
	inv, folder := k.inv, k.c.folder
	path := folder.dayManifestPath(day)
	m, err := k.c.versions.readManifest(path, run)
	if err == nil && dayOf(m.SnapshotAt) != day {
		err = folder.damagedErr(path, "it is the one of "+dayOf(m.SnapshotAt), nil)
	}
	k.Files++
	if err != nil {
		var ok bool
		m, ok = inv.manifest(run)
		at, _ := time.Parse(time.DateOnly, day)
		d := Damage{File: folder.relativePath(path), Problem: describeProblem(err), Cost: "the checksums of " + day + "; its copy is intact", Repair: Repair{Kind: MendSeries}}
		switch {
		case ok:
		case run == "" && inv.indexErr == nil && !k.c.series.mayBeOfEarlierProgram(day):
			d.Problem, d.Repair.Kind = "it is gone, and the index does not name the day", RebuildCatalog
			d.Cost = "the files of " + day + " in Parquet, which cannot be checked; the catalog does not need them"
		case run == "" && len(inv.days) == 0 && inv.indexErr != nil && k.manifest.Meta == nil:
			k.Notes = append(k.Notes, "the files of "+day+" have no manifest: an earlier program wrote them, and they cannot be checked")
			return
		case inv.covers(at.AddDate(0, 0, 1)) || inv.covers(k.timeOfDay(at)):
			d.Cost = "the checksums of " + day
		default:
			d.Cost, d.Repair.Kind, d.Lost = "all tables of "+day, RebuildFromRest, true
			if len(k.c.series.filesOfDay(day)) == 0 {
				d.Problem = "the whole day is gone"
			}
		}
		k.addDamage(d)
	}
	for _, t := range m.Tables {
		k.Files++
		file := k.c.series.filePath(t, m.SnapshotAt)
		problem := inv.known.Compare(file, t.FileSum, k.deep)
		if problem == "" {
			continue
		}
		d := Damage{File: folder.relativePath(file), Problem: problem, Cost: costOf(t.Name, day), Repair: Repair{Kind: MendSeries}}
		if _, ok := inv.find(t.FileSum, ""); !ok && !inv.covers(m.SnapshotAt) {
			d.Repair.Kind, d.Lost = RebuildFromRest, true
		}
		k.addDamage(d)
	}
	if len(m.Lost) > 0 {
		k.Notes = append(k.Notes, fmt.Sprintf("tables of %s that were damaged and are lost: %s", day, strings.Join(m.Lost, ", ")))
	}
}

// timeOfDay is the time of a day's snapshot when no manifest of it is left: the one of the
// newest intact catalog if that is of the day, else the day's end.
func (k *check) timeOfDay(day time.Time) time.Time {
	if _, at := k.inv.newestCatalog(); dayOf(at) == dayOf(day) {
		return at
	}
	return day.AddDate(0, 0, 1)
}

// checkMetaLog checks the changes of meta and past beside the series.
func (k *check) checkMetaLog() {
	inv := k.inv
	if m, ok := inv.manifest(inv.target); !ok || m.Meta == nil {
		return
	}
	chain, err := k.c.metaLog.manifestChain(inv.target)
	repair := func(d Damage, run string) Damage {
		d.Repair.Kind = MendSeries
		if at, ok := inv.timeOf(run); !ok || !inv.covers(at) {
			d.Repair.Kind, d.Lost = RebuildFromRest, true
		}
		return d
	}
	var broken *DamagedError
	if errors.As(err, &broken) {
		run := strings.TrimSuffix(filepath.Base(broken.File), manifestSuffix)
		k.addDamage(repair(Damage{File: broken.File, Problem: broken.Problem, Cost: "meta and closed rows of run " + run + " and of those before it, in a rebuild"}, run))
	}
	for _, m := range chain {
		k.Files += 2
		file, list := k.c.folder.metaPath(m.RunID, metaSuffix), k.c.folder.metaPath(m.RunID, manifestSuffix)
		if _, err := k.c.versions.readManifest(list, m.RunID); err != nil {
			k.addDamage(Damage{File: k.c.folder.relativePath(list), Problem: describeProblem(err), Cost: "a copy of a manifest that is intact elsewhere", Repair: Repair{Kind: MendSeries}})
		}
		if problem := inv.known.Compare(file, m.Meta.FileSum, k.deep); problem != "" {
			d := Damage{File: k.c.folder.relativePath(file), Problem: problem, Cost: "meta and closed rows of run " + m.RunID + ", in a rebuild", Repair: Repair{Kind: MendSeries}}
			if _, ok := inv.find(m.Meta.FileSum, ""); !ok {
				d = repair(d, m.RunID)
			}
			k.addDamage(d)
		}
	}
}

func (k *check) checkLedger() {
	k.Files++
	const cost = "the entries of runs; meta.runs in the catalog has them too if a later night was published"
	file, run := k.c.ledger.path(), Repair{Kind: RunNight}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && k.inv.target == "" {
		return
	}
	if err != nil {
		k.addDamage(Damage{File: k.c.folder.relativePath(file), Problem: describeProblem(err), Cost: cost, Repair: run, Lost: true})
		return
	}
	_, damaged := parseLedger(data)
	n := len(damaged)
	if n > 0 && !bytes.HasSuffix(data, []byte("\n")) && bytes.HasSuffix(data, damaged[n-1]) {
		n-- // a crash explains a torn last line
	}
	if n > 0 {
		k.addDamage(Damage{File: k.c.folder.relativePath(file), Problem: fmt.Sprintf("damaged lines: %d", n), Cost: cost, Repair: run, Lost: true})
	}
	if runs, err := k.c.ledger.Runs(); err == nil && k.inv.hasVersion(k.inv.latest) && entryOf(runs, k.inv.latest).ID == "" {
		k.addDamage(Damage{File: k.c.folder.relativePath(file), Problem: "it has no line of the version that readers see", Cost: cost, Repair: run})
	}
}

// checkNotes checks the notes of runs that have not ended, and lists what killed runs left.
func (k *check) checkNotes() {
	for _, path := range []string{k.c.ledger.unfinishedPath(), k.c.ledger.asidePath()} {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		k.Files++
		var u Unfinished
		if err == nil {
			err = checksum.Unseal(data, &u)
		}
		switch {
		case err != nil:
			k.addDamage(Damage{File: k.c.folder.relativePath(path), Problem: err.Error(), Cost: "an interrupted run cannot be resumed: the next run asks again", Repair: Repair{Kind: RunNight}})
		case u.Kind == ledger.Rollback && !k.c.isLockedByOther():
			k.addDamage(Damage{File: k.c.folder.relativePath(path), Problem: "the rollback to " + u.Version + " was killed and is not finished",
				Cost: "days of the Parquet series", Repair: Repair{Kind: RunNight}})
		}
	}
	left, _ := filepath.Glob(k.c.folder.path(versionsDir, ".*"))
	for _, path := range left {
		k.Notes = append(k.Notes, k.c.folder.relativePath(path)+" is left over from a killed run: the next run removes it")
	}
}

// isLockedByOther reports whether another process holds the lock now.
func (c *Checker) isLockedByOther() bool {
	var held *HeldError
	return errors.As(c.folder.Held(), &held) && held.PID != os.Getpid()
}

// leaveOutWhatIsLost lets a rebuild that is needed leave out the files that nothing restores.
func (k *check) leaveOutWhatIsLost() {
	if !slices.ContainsFunc(k.Damage, func(d Damage) bool { return d.Repair.Kind == RebuildFromRest }) {
		return
	}
	for i := range k.Damage {
		if k.Damage[i].Repair.Kind == RebuildCatalog {
			k.Damage[i].Repair.Kind = RebuildFromRest
		}
	}
}

// readCatalog reads every row of the catalog that readers see and compares main with its
// Parquet files, value by value.
func (k *check) readCatalog(ctx context.Context) {
	latest, folder := k.inv.latest, k.c.folder
	err := k.c.verifier.readAll(ctx, latest, k.manifest, func(table string, differs error) {
		k.addDamage(Damage{File: folder.relativePath(filepath.Join(folder.VersionPath(latest), table+".parquet")), Problem: differs.Error(),
			Cost: "catalog and Parquet disagree on table " + table, Repair: Repair{Kind: MendSeries}})
	})
	if err != nil {
		k.addDamage(Damage{File: folder.relativePath(folder.VersionCatalog(latest)), Problem: firstLine(err.Error()), Cost: "readers get errors", Repair: Repair{Kind: RebuildCatalog}})
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
