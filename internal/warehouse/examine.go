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

	"placementsync/internal/ledger"
)

// The commands that Examine suggests.
const (
	byRun     = "placementsync run"
	byRebuild = "placementsync rebuild"
	bySeries  = "placementsync rebuild --series"
	bySkip    = "placementsync rebuild --skip-damaged"
)

// Examined is the result of Examine.
type Examined struct {
	Damage []Damage
	// Notes are remarks about what is not damage.
	Notes []string
	// Files were examined, and Bytes of them read.
	Files int
	Bytes int64
}

// Examiner looks for damage in the whole warehouse. It changes nothing but the record of
// its result.
type Examiner struct {
	folder   *Folder
	versions *Versions
	ledger   *Ledger
	series   *Series
	metaLog  *MetaLog
	identity *Identity
	verifier *verifier
}

// examination is the state of one Examine.
type examination struct {
	Examined
	x     *Examiner
	deep  bool
	known *sumCache
	// latest is the version that readers see, manifest its manifest.
	latest   string
	manifest Manifest
	// catalog is set when the catalog that readers see is intact.
	catalog bool
	// reported are the files that Damage names.
	reported map[string]bool
}

// Examine checks links, ledger, notes, versions and series: structure and sizes, and
// with readData every byte. It changes nothing.
func (x *Examiner) Examine(ctx context.Context, readData bool) (Examined, error) {
	if err := x.folder.Exists(); err != nil {
		return Examined{}, err
	}
	e := &examination{x: x, deep: readData, known: newSumCacheUntil(ctx), reported: map[string]bool{}}
	e.examineLinks()
	e.examineVersions()
	e.examineSeries()
	e.examineMetaLog()
	e.examineLedger()
	e.examineNotes()
	if readData && e.catalog {
		e.readCatalog(ctx)
	}
	e.chooseRepairs()
	e.Bytes += e.known.bytes
	return e.Examined, ctx.Err()
}

func (e *examination) addDamage(d Damage) {
	if !e.reported[d.File] {
		e.reported[d.File] = true
		e.Damage = append(e.Damage, d)
	}
}

func (e *examination) examineLinks() {
	e.Files++
	e.latest, _, _ = e.x.versions.Latest()
	var lost *LostError
	switch err := e.x.identity.Check(); {
	case errors.As(err, &lost):
		text, _, _ := strings.Cut(strings.TrimPrefix(lost.Error(), "find the newest version: "), "; ")
		e.addDamage(Damage{File: latestLink, Problem: text, Cost: "readers find no snapshot, or not the last one, and no night can begin", Repair: e.relinkCommand(*lost)})
	case err != nil:
		e.addDamage(Damage{File: latestLink, Problem: err.Error(), Cost: "it is unknown what readers see", Repair: byRebuild, Lost: true})
	}
	if e.latest == "" {
		return
	}
	e.Files++
	if target, err := os.Readlink(e.x.folder.CatalogPath()); err != nil || target != filepath.Join(latestLink, CatalogFile) {
		e.addDamage(Damage{File: CatalogFile, Problem: "it is not the link to " + latestLink + "/" + CatalogFile,
			Cost: "readers do not find the catalog by its name", Repair: "placementsync rollback " + e.latest})
	}
}

func (e *examination) relinkCommand(lost LostError) string {
	versions, err := e.x.versions.List()
	switch n := len(versions); {
	case err != nil || n == 0:
		return byRebuild
	case slices.Contains(versions, lost.Published):
		return "placementsync rollback " + lost.Published
	default:
		return "placementsync rollback " + versions[n-1]
	}
}

// examineVersions checks the files of every version. A Parquet file that is also in the
// series is reported with the series.
func (e *examination) examineVersions() {
	runs, err := e.x.versions.List()
	if err != nil {
		e.addDamage(Damage{File: versionsDir, Problem: err.Error(), Cost: "no version can be read", Repair: byRebuild})
		return
	}
	for _, run := range runs {
		found := e.x.versions.damagedFiles(e.known, run, e.deep)
		m, err := e.x.versions.ReadManifest(run)
		e.Files += 1 + len(m.fileSums())
		if run == e.latest {
			e.manifest = m
			e.catalog = err == nil && !slices.ContainsFunc(found, func(d Damage) bool { return filepath.Base(d.File) == CatalogFile })
		}
		for _, d := range found {
			e.addDamage(e.versionDamage(run, d))
		}
	}
}

// versionDamage adds to a damaged file of a version what it costs and how to repair it.
func (e *examination) versionDamage(run string, d Damage) Damage {
	name := filepath.Base(d.File)
	table, parquet := strings.CutSuffix(name, ".parquet")
	switch {
	case parquet && run == e.latest:
		d.Cost, d.Repair = "readers of "+latestLink+"/"+name+" (table "+table+")", bySeries
	case parquet:
		d.Cost, d.Repair = "table "+table+" in Parquet, after a rollback to "+run, bySeries
	case (name == MetaFile || name == runFile) && run == e.latest:
		d.Cost, d.Repair, d.copied = "a copy; the ledger or the series has the same", byRebuild, true
	case name == MetaFile || name == runFile:
		d.Cost, d.Repair = "a copy; the ledger or the series has the same", "placementsync prune --version "+run
	case run == e.latest:
		d.Cost, d.Repair = "readers get errors or wrong answers, and no night can begin", byRebuild
	default:
		d.Cost, d.Repair, d.Lost = "there is no rollback to "+run, "placementsync prune --version "+run, true
	}
	return d
}

func (e *examination) examineSeries() {
	days, found := e.x.series.expectedDays()
	e.Files++
	for _, d := range found {
		d.Repair, d.copied = bySeries, true
		e.addDamage(d)
	}
	missing := e.examineMissingDays()
	for _, day := range slices.Sorted(maps.Keys(days)) {
		run := days[day]
		if missing[day] {
			continue
		}
		m, err := e.x.series.dayManifest(day, run)
		e.Files += 1 + len(m.Tables)
		if own, ownErr := e.x.versions.readManifest(e.x.folder.dayManifestPath(day), run); run != "" && (ownErr != nil || dayOf(own.SnapshotAt) != day) {
			e.addDamage(e.dayManifestDamage(day, ownErr, err))
		}
		if err != nil {
			switch {
			case run != "":
			case !e.x.series.mayBeOfEarlierProgram(day):
				e.addDamage(Damage{File: e.x.folder.relativePath(e.x.folder.dayManifestPath(day)), Problem: "it is gone, and the index does not name the day",
					Cost: "the files of " + day + " in Parquet, which cannot be checked; the catalog does not need them", Repair: byRebuild, copied: true})
			default:
				e.Notes = append(e.Notes, "the files of "+day+" have no manifest: an earlier program wrote them, and they cannot be checked")
			}
			continue
		}
		for _, t := range m.Tables {
			file := e.x.series.filePath(t, m.SnapshotAt)
			if problem := e.known.compareFile(file, t.ManifestFileSum, e.deep); problem != "" {
				e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: problem, Cost: costOf(t.Name, day), Repair: bySeries})
			}
		}
		if len(m.Lost) > 0 {
			e.Notes = append(e.Notes, fmt.Sprintf("tables of %s that were damaged and are lost: %s", day, strings.Join(m.Lost, ", ")))
		}
	}
}

// examineMissingDays reports the days of versions that could not be added to the series.
func (e *examination) examineMissingDays() map[string]bool {
	days := map[string]bool{}
	if note, ok, err := readNote(e.x.ledger.asidePath()); err == nil && ok && note.Kind == ledger.Rollback {
		return days // examineNotes reports a killed rollback, which has removed days
	}
	missing, err := e.x.series.missing()
	if err != nil {
		e.addDamage(Damage{File: seriesDir, Problem: err.Error(), Cost: "it is unknown which days it lacks", Repair: bySeries, copied: true})
	}
	for _, m := range lastOfDay(missing) {
		day, lacking := dayOf(m.SnapshotAt), 0
		for _, t := range m.Tables {
			if e.known.compareFile(e.x.series.filePath(t, m.SnapshotAt), t.ManifestFileSum, e.deep) != "" {
				lacking++
			}
		}
		days[day] = true
		e.addDamage(Damage{File: e.x.folder.relativePath(e.x.folder.dayManifestPath(day)), copied: true, Repair: bySeries,
			Problem: fmt.Sprintf("run %s has not completed its day: %d of %d tables are missing; the next run completes it too", m.RunID, lacking, len(m.Tables)),
			Cost:    day + " in the Parquet series; the catalog has it"})
	}
	return days
}

// dayManifestDamage describes a damaged manifest of a day. anyErr is set when no copy of it
// is intact either.
func (e *examination) dayManifestDamage(day string, ownErr, anyErr error) Damage {
	d := Damage{File: e.x.folder.relativePath(e.x.folder.dayManifestPath(day)), Problem: "it is the one of another day", Cost: "the checksums of " + day + "; its copy is intact", Repair: bySeries, copied: true}
	if ownErr != nil {
		d.Problem = describeProblem(ownErr)
	}
	if anyErr != nil {
		d.Cost, d.Repair, d.Lost, d.copied = "all tables of "+day, bySkip, true, false
		if len(e.x.series.filesOfDay(day)) == 0 {
			d.Problem = "the whole day is gone"
		}
	}
	return d
}

// examineMetaLog checks the changes of meta beside the series.
func (e *examination) examineMetaLog() {
	if e.latest == "" || e.manifest.Meta == nil {
		return
	}
	chain, err := e.x.metaLog.manifestChain(e.latest)
	var broken *DamagedError
	if errors.As(err, &broken) {
		e.addDamage(Damage{File: broken.File, Problem: broken.Problem, Cost: "what a rebuild can restore of meta", Repair: byRebuild})
	}
	for _, m := range chain {
		e.Files += 2
		file, list := e.x.folder.metaPath(m.RunID, metaSuffix), e.x.folder.metaPath(m.RunID, manifestSuffix)
		if _, err := e.x.versions.readManifest(list, m.RunID); err != nil {
			e.addDamage(Damage{File: e.x.folder.relativePath(list), Problem: describeProblem(err), Cost: "a copy of a manifest that is intact elsewhere", Repair: bySeries, copied: true})
		}
		if problem := e.known.compareFile(file, m.Meta.ManifestFileSum, e.deep); problem != "" {
			e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: problem, Cost: "what a rebuild can restore of meta of run " + m.RunID, Repair: byRebuild})
		}
	}
}

func (e *examination) examineLedger() {
	e.Files++
	const cost = "the entries of runs; meta.runs in the catalog has them too if a later night was published"
	file := e.x.ledger.path()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && e.latest == "" {
		return
	}
	if err != nil {
		e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: describeProblem(err), Cost: cost, Repair: byRun, Lost: true})
		return
	}
	_, damaged := parseLedger(data)
	n := len(damaged)
	if n > 0 && !bytes.HasSuffix(data, []byte("\n")) && bytes.HasSuffix(data, damaged[n-1]) {
		n-- // a crash explains a torn last line
	}
	if n > 0 {
		e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: fmt.Sprintf("damaged lines: %d", n), Cost: cost, Repair: byRun, Lost: true})
	}
	if runs, err := e.x.ledger.Runs(); err == nil && e.latest != "" && entryOf(runs, e.latest).ID == "" {
		e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: "it has no line of the version that readers see", Cost: cost, Repair: byRun})
	}
}

// examineNotes checks the notes of runs that have not ended, and lists what killed runs
// left.
func (e *examination) examineNotes() {
	for _, path := range []string{e.x.ledger.unfinishedPath(), e.x.ledger.asidePath()} {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		e.Files++
		var u Unfinished
		if err == nil {
			err = unsealObject(data, &u)
		}
		switch {
		case err != nil:
			e.addDamage(Damage{File: e.x.folder.relativePath(path), Problem: err.Error(), Cost: "an interrupted run cannot be resumed: the next run asks again", Repair: byRun})
		case u.Kind == ledger.Rollback && !e.x.isLockedByOther():
			e.addDamage(Damage{File: e.x.folder.relativePath(path), Problem: "the rollback to " + u.Version + " was killed and is not finished",
				Cost: "days of the Parquet series", Repair: byRun})
		}
	}
	left, _ := filepath.Glob(e.x.folder.path(versionsDir, ".*"))
	for _, path := range left {
		e.Notes = append(e.Notes, e.x.folder.relativePath(path)+" is left over from a killed run: the next run removes it")
	}
}

// isLockedByOther reports whether another process holds the lock now.
func (x *Examiner) isLockedByOther() bool {
	var held *HeldError
	return errors.As(x.folder.Held(), &held) && held.PID != os.Getpid()
}

// chooseRepairs decides at the end what can be repaired from what is intact: the catalog
// from the series, or the series from the catalog.
func (e *examination) chooseRepairs() {
	series := slices.ContainsFunc(e.Damage, func(d Damage) bool {
		return d.Repair == bySeries && strings.HasPrefix(d.File, seriesDir+"/") || d.Repair == bySkip
	})
	for i, d := range e.Damage {
		switch {
		case d.Repair == bySeries && !e.catalog && !d.copied:
			e.Damage[i].Repair, e.Damage[i].Lost = bySkip, true
		case d.Repair == byRebuild && series && e.catalog:
			e.Damage[i].Repair = bySeries + ", then " + byRebuild
		case d.Repair == byRebuild && series:
			e.Damage[i].Repair = bySkip
		}
	}
}

// readCatalog reads every row of the catalog that readers see and compares main with its
// Parquet files, value by value.
func (e *examination) readCatalog(ctx context.Context) {
	err := e.x.verifier.readAll(ctx, e.latest, e.manifest, func(table string, missing error) {
		e.addDamage(Damage{File: e.x.folder.relativePath(filepath.Join(e.x.folder.VersionPath(e.latest), table+".parquet")), Problem: missing.Error(),
			Cost: "catalog and Parquet disagree on table " + table, Repair: bySeries})
	})
	if err != nil {
		e.addDamage(Damage{File: e.x.folder.relativePath(e.x.folder.VersionCatalog(e.latest)), Problem: firstLine(err.Error()), Cost: "readers get errors", Repair: byRebuild})
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
