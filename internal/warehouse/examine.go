package warehouse

import (
	"bufio"
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
)

// The commands that verify names.
const (
	byRun     = "placementsync run"
	byRebuild = "placementsync rebuild"
	bySeries  = "placementsync rebuild --series"
	bySkip    = "placementsync rebuild --skip-damaged"
)

// Examined is what a look at the whole warehouse found.
type Examined struct {
	Damage []Damage
	// Notes are what is worth knowing and no damage.
	Notes []string
	// Files were looked at, and Bytes read of them.
	Files int
	Bytes int64
}

// Examiner looks for damage in the whole warehouse. It changes nothing but the
// record of what it found.
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
	// latest is the version that readers see, and manifest its own.
	latest   string
	manifest Manifest
	// catalog is set where the catalog that readers see is whole.
	catalog bool
	// reported are the files that have been complained of.
	reported map[string]bool
}

// Examine looks at links, ledger, notes, versions, series and what is kept beside it:
// structure and sizes, and where readData is set every byte of them. It changes
// nothing.
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
	if e.reported[d.File] {
		return
	}
	e.reported[d.File] = true
	e.Damage = append(e.Damage, d)
}

// examineLinks looks at the links.
func (e *examination) examineLinks() {
	e.Files++
	e.latest, _, _ = e.x.versions.Latest()
	var lost *LostError
	switch err := e.x.identity.Check(); {
	case errors.As(err, &lost):
		text, _, _ := strings.Cut(strings.TrimPrefix(lost.Error(), "find the newest version: "), "; ")
		e.addDamage(Damage{File: latestLink, Problem: text, Cost: "readers find no snapshot, or not the last one, and no night begins", Repair: e.relinkCommand(*lost)})
	case err != nil:
		e.addDamage(Damage{File: latestLink, Problem: err.Error(), Cost: "nobody can tell what readers see", Repair: byRebuild, Lost: true})
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

// relinkCommand is the command that sets the link right.
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

// examineVersions looks at the files of every version. Parquet files that are those of the
// series are told of with it.
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

// versionDamage says what a damaged file of a version costs.
func (e *examination) versionDamage(run string, d Damage) Damage {
	name := filepath.Base(d.File)
	table, parquet := strings.CutSuffix(name, ".parquet")
	switch {
	case parquet && run == e.latest:
		d.Cost, d.Repair = "readers of "+latestLink+"/"+name+" (table "+table+")", bySeries
	case parquet:
		d.Cost, d.Repair = "table "+table+" in Parquet, for who rolls back to "+run, bySeries
	case (name == MetaFile || name == runFile) && run == e.latest:
		d.Cost, d.Repair, d.copied = "the copy of what the ledger or the series has, too", byRebuild, true
	case name == MetaFile || name == runFile:
		d.Cost, d.Repair = "the copy of what the ledger or the series has, too", "placementsync prune --version "+run
	case run == e.latest:
		d.Cost, d.Repair = "readers get errors or wrong answers, and no night begins", byRebuild
	default:
		d.Cost, d.Repair, d.Lost = "there is no rollback to "+run, "placementsync prune --version "+run, true
	}
	return d
}

// examineSeries looks at every day.
func (e *examination) examineSeries() {
	days, found := e.x.series.expectedDays()
	e.Files++
	for _, d := range found {
		d.Repair, d.copied = bySeries, true
		e.addDamage(d)
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		run := days[day]
		m, err := e.x.series.dayManifest(day, run)
		e.Files += 1 + len(m.Tables)
		if own, ownErr := e.x.versions.readManifest(e.x.folder.dayManifestPath(day), run); run != "" && (ownErr != nil || dayOf(own.SnapshotAt) != day) {
			e.addDamage(e.dayManifestDamage(day, run, ownErr, err))
		}
		if err != nil {
			if run == "" {
				e.Notes = append(e.Notes, "the files of "+day+" have no manifest: they are of an earlier program, and believed as they are")
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
			e.Notes = append(e.Notes, fmt.Sprintf("lost of %s since it was damaged: %s", day, strings.Join(m.Lost, ", ")))
		}
	}
}

func (e *examination) dayManifestDamage(day, run string, own, any error) Damage {
	d := Damage{File: e.x.folder.relativePath(e.x.folder.dayManifestPath(day)), Problem: "it is the one of another day", Cost: "the checksums of " + day + "; a copy of it is whole", Repair: bySeries, copied: true}
	if own != nil {
		d.Problem = describeProblem(own)
	}
	if any != nil {
		d.Cost, d.Repair, d.Lost, d.copied = "all tables of "+day, bySkip, true, false
		if len(e.x.series.filesOfDay(day)) == 0 {
			d.Problem = "the whole day is gone"
		}
	}
	return d
}

// examineMetaLog looks at what is kept of meta beside the series.
func (e *examination) examineMetaLog() {
	if e.latest == "" || e.manifest.Meta == nil {
		return
	}
	chain, err := e.x.metaLog.manifestChain(e.latest)
	var broken *DamagedError
	if errors.As(err, &broken) {
		e.addDamage(Damage{File: broken.File, Problem: broken.Problem, Cost: "what a rebuild would know of meta", Repair: byRebuild})
	}
	for _, m := range chain {
		e.Files += 2
		file, list := e.x.folder.metaPath(m.RunID, metaSuffix), e.x.folder.metaPath(m.RunID, manifestSuffix)
		if _, err := e.x.versions.readManifest(list, m.RunID); err != nil {
			e.addDamage(Damage{File: e.x.folder.relativePath(list), Problem: describeProblem(err), Cost: "the copy of a manifest that is whole elsewhere", Repair: bySeries, copied: true})
		}
		if problem := e.known.compareFile(file, m.Meta.ManifestFileSum, e.deep); problem != "" {
			e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: problem, Cost: "what a rebuild would know of meta of run " + m.RunID, Repair: byRebuild})
		}
	}
}

// examineLedger looks at every line.
func (e *examination) examineLedger() {
	e.Files++
	const cost = "what a run says of itself; meta.runs in the catalog has it too, if a later night was published"
	file := e.x.ledger.path()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && e.latest == "" {
		return
	}
	if err != nil {
		e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: describeProblem(err), Cost: cost, Repair: byRun, Lost: true})
		return
	}
	if n := len(damagedLines(data)); n > 0 {
		e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: fmt.Sprintf("lines that are damaged: %d", n), Cost: cost, Repair: byRun, Lost: true})
	}
	if runs, err := e.x.ledger.Runs(); err == nil && e.latest != "" && entryOf(runs, e.latest).ID == "" {
		e.addDamage(Damage{File: e.x.folder.relativePath(file), Problem: "it has no line of the version that readers see", Cost: cost, Repair: byRun})
	}
}

// damagedLines are those that cannot be believed; the last may be torn, which a crash
// explains.
func damagedLines(data []byte) [][]byte {
	damaged := unreadableLines(data)
	if n := len(damaged); n > 0 && !bytes.HasSuffix(data, []byte("\n")) && bytes.HasSuffix(data, damaged[n-1]) {
		damaged = damaged[:n-1]
	}
	return damaged
}

func unreadableLines(data []byte) (damaged [][]byte) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var r Run
		if len(lines.Bytes()) > 0 && unsealLine(lines.Bytes(), &r) != nil {
			damaged = append(damaged, bytes.Clone(lines.Bytes()))
		}
	}
	return damaged
}

// examineNotes looks at the notes of runs that are not done, and at what killed ones left.
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
		if err != nil {
			e.addDamage(Damage{File: e.x.folder.relativePath(path), Problem: err.Error(), Cost: "a run that was interrupted is not taken up, and asks again", Repair: byRun})
		}
	}
	left, _ := filepath.Glob(e.x.folder.path(versionsDir, ".*"))
	for _, path := range left {
		e.Notes = append(e.Notes, e.x.folder.relativePath(path)+" was left by a run that was killed: the next one removes it")
	}
}

// chooseRepairs decides, when all has been seen, what can be had from what is whole: a catalog
// from the series, the series from the catalog.
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

// readCatalog reads every row of the catalog that readers see, and compares main with
// its Parquet files, value by value.
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
