package repair

import (
	"cmp"
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
	"placementsync/internal/warehouse"
)

// inventory contains the intact manifests of a warehouse, the files in these manifests, and the version
// that readers should see.
type inventory struct {
	w    *warehouse.Warehouse
	sums *checksum.Cache
	// readData means that checksums are compared, not only sizes.
	readData bool
	// manifests are the intact copies of each run's manifest: in the version of the run, beside the
	// file of changes, and as the manifest of the day. The copies can differ, because a repair may have
	// replaced a checksum or removed a lost table.
	manifests map[string][]warehouse.Manifest
	// pathsBySum contains for each SHA-256 the paths of the files that should have this checksum.
	pathsBySum map[string][]string
	// ledgerText is the text of the ledger. It is nil if there is no ledger.
	ledgerText   []byte
	runs         []ledger.Run // in the ledger
	damagedLines [][]byte     // of the ledger
	// versions are the runs with a version, oldest first.
	versions []string
	// indexDays are the days in the index of the Parquet series, each with its run. If the index cannot be
	// read, indexErr is the error, and indexDays are the days of the intact manifests.
	indexDays map[string]string
	indexErr  error
	// missing are the versions that could not be added to the series. missingErr is set if they are unknown.
	missing    []warehouse.Manifest
	missingErr error
	// visible is the version that readers see, and expected the version that readers should see.
	visible, expected string
	// lineage contains the expected version, the runs on which it builds, and the runs of all days.
	lineage map[string]bool
}

// takeInventory reads all manifests. With readData, files are compared with their checksums.
func takeInventory(ctx context.Context, w *warehouse.Warehouse, readData bool) (*inventory, error) {
	inv := &inventory{w: w, sums: checksum.NewCache(ctx), readData: readData, manifests: map[string][]warehouse.Manifest{},
		pathsBySum: map[string][]string{}, lineage: map[string]bool{}}
	var err error
	if inv.versions, err = w.Versions.List(); err != nil {
		return nil, err
	}
	inv.visible, _, _ = w.Versions.Latest() // checkLinks reports the error
	inv.readManifests()
	if inv.indexDays, inv.indexErr = w.Series.Index(); inv.indexErr != nil {
		inv.indexDays = w.Series.ManifestDays()
	}
	if inv.ledgerText, err = os.ReadFile(w.RunLog.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	inv.runs, inv.damagedLines = warehouse.ParseRunLog(inv.ledgerText)
	if _, isKilled, err := w.RunLog.KilledRollback(); !isKilled || err != nil { // a killed rollback has removed days
		inv.missing, inv.missingErr = w.Series.Missing()
	}
	inv.setExpected()
	return inv, ctx.Err()
}

func (inv *inventory) readManifests() {
	for _, pattern := range inv.w.Folder.ManifestPaths("*", "*") {
		for _, path := range inv.w.Folder.Glob(pattern) {
			m, err := inv.w.Versions.ReadManifestFile(path, "")
			if err == nil && slices.Contains(inv.w.Folder.ManifestPaths(m.RunID, warehouse.DayOf(m.SnapshotAt)), path) {
				inv.addManifest(m)
			}
		}
	}
}

func (inv *inventory) addManifest(m warehouse.Manifest) {
	inv.manifests[m.RunID] = append(inv.manifests[m.RunID], m)
	add := func(sum checksum.FileSum, paths ...string) {
		for _, path := range paths {
			if !slices.Contains(inv.pathsBySum[sum.SHA256], path) {
				inv.pathsBySum[sum.SHA256] = append(inv.pathsBySum[sum.SHA256], path)
			}
		}
	}
	for _, t := range m.Tables {
		add(t.FileSum, inv.w.Series.TablePaths(m, t)...)
	}
	if m.Meta != nil {
		add(m.Meta.FileSum, inv.w.Folder.ChangesPath(m.RunID), filepath.Join(inv.w.Folder.VersionPath(m.RunID), warehouse.MetaFile))
	}
}

func (inv *inventory) manifest(run string) (warehouse.Manifest, bool) {
	if copies := inv.manifests[run]; len(copies) > 0 {
		return copies[0], true
	}
	return warehouse.Manifest{}, false
}

// dayManifest returns the manifest of a run in the series or, if it is damaged, another copy of it. err is the error of
// the manifest in the series. If run is empty, a manifest of any run is accepted.
func (inv *inventory) dayManifest(day, run string) (m warehouse.Manifest, ok bool, err error) {
	if m, err = inv.w.Series.ReadDayManifest(day, run); err == nil {
		return m, true, nil
	}
	for _, manifestCopy := range inv.manifests[run] {
		if warehouse.DayOf(manifestCopy.SnapshotAt) == day {
			return manifestCopy, true, err
		}
	}
	return warehouse.Manifest{}, false, err
}

// setExpected sets expected and lineage. The expected version is the last published version in the ledger.
// If the ledger has no such version, it is the version that readers see, or else the newest version.
//
// In two cases a newer version is expected. In the first case readers see the newer version, and a damaged
// line of the ledger may be the line of that version. In the second case the newer version has a day in the
// series. A rollback would have removed the day.
func (inv *inventory) setExpected() {
	inv.expected = inv.visible
	for _, r := range slices.Backward(inv.runs) {
		if version := r.VisibleVersion(); version != "" {
			inv.expected = version
			break
		}
	}
	if inv.expected == "" && len(inv.versions) > 0 {
		inv.expected = inv.versions[len(inv.versions)-1]
	}
	at, _ := inv.timeOf(inv.expected)
	visibleAt, _ := inv.timeOf(inv.visible)
	mayHaveLostLine := len(inv.damagedLines) > 0 && inv.hasVersion(inv.visible)
	if mayHaveLostLine && visibleAt.After(at) {
		inv.expected, at = inv.visible, visibleAt
	}
	for _, day := range slices.Sorted(maps.Keys(inv.indexDays)) {
		if dayAt, ok := inv.timeOf(inv.indexDays[day]); ok && dayAt.After(at) {
			inv.expected, at = inv.indexDays[day], dayAt
		}
	}
	for run := inv.expected; run != "" && !inv.lineage[run]; {
		inv.lineage[run] = true
		m, _ := inv.manifest(run)
		run = cmp.Or(m.Previous, m.Night) // a rebuilt version has no Previous, only a Night
	}
	for _, run := range inv.indexDays {
		inv.lineage[run] = true
	}
}

// timeOf returns the time of a run's snapshot. Without an intact manifest it is the time in the ledger or, without a
// line in the ledger, the time in the id of the run.
func (inv *inventory) timeOf(run string) (time.Time, bool) {
	if m, ok := inv.manifest(run); ok {
		return m.SnapshotAt, true
	}
	if at := ledger.Find(inv.runs, run).SnapshotAt; !at.IsZero() {
		return at, true
	}
	return warehouse.RunTime(run)
}

func (inv *inventory) isReplay(run string) bool {
	m, _ := inv.manifest(run)
	return m.Kind == ledger.Replay || ledger.Find(inv.runs, run).Kind == ledger.Replay
}

func (inv *inventory) compare(path string, want checksum.FileSum) (problem string) {
	return inv.sums.Compare(path, want, inv.readData)
}

// firstIntact returns the first path with an intact file, or "".
func (inv *inventory) firstIntact(want checksum.FileSum, paths ...string) string {
	for _, path := range paths {
		if inv.compare(path, want) == "" {
			return path
		}
	}
	return ""
}

// findCopy returns the path of an intact file with the same bytes, or "".
func (inv *inventory) findCopy(want checksum.FileSum) string {
	return inv.firstIntact(want, inv.pathsBySum[want.SHA256]...)
}

func (inv *inventory) hasCopy(want checksum.FileSum) bool { return inv.findCopy(want) != "" }

func (inv *inventory) hasCopyOfTable(t warehouse.ManifestTable) bool { return inv.hasCopy(t.FileSum) }

func (inv *inventory) hasIntactCatalog(run string) bool {
	m, ok := inv.manifest(run)
	return ok && inv.compare(inv.w.Folder.VersionCatalog(run), m.Catalog) == ""
}

// newestCatalog returns the version with the newest intact catalog, among the version that readers see and
// the versions in lineage. run is empty if none of these catalogs is intact.
func (inv *inventory) newestCatalog() (run string, at time.Time) {
	for _, version := range slices.Backward(inv.catalogsByTime()) {
		if inv.hasIntactCatalog(version) {
			at, _ = inv.timeOf(version)
			return version, at
		}
	}
	return "", time.Time{}
}

// catalogNotBefore is like newestCatalog, for the oldest of the intact catalogs that are not older than at.
func (inv *inventory) catalogNotBefore(at time.Time) (run string) {
	var runAt time.Time
	for _, version := range slices.Backward(inv.catalogsByTime()) {
		versionAt, _ := inv.timeOf(version)
		if versionAt.Before(at) {
			break
		}
		isOlder := run == "" || versionAt.Before(runAt)
		if isOlder && inv.hasIntactCatalog(version) {
			run, runAt = version, versionAt
		}
	}
	return run
}

// catalogsByTime returns the version that readers see and the versions in lineage, oldest snapshot first.
func (inv *inventory) catalogsByTime() []string {
	versions := slices.DeleteFunc(slices.Clone(inv.versions), func(version string) bool {
		return !inv.lineage[version] && version != inv.visible
	})
	slices.SortStableFunc(versions, func(a, b string) int {
		atA, _ := inv.timeOf(a)
		atB, _ := inv.timeOf(b)
		return atA.Compare(atB)
	})
	return versions
}

func (inv *inventory) hasHistoryUntil(at time.Time) bool {
	run, until := inv.newestCatalog()
	return run != "" && !until.Before(at)
}

// hasAllTables reports whether each table of a manifest has a file with the same bytes.
func (inv *inventory) hasAllTables(m warehouse.Manifest) bool {
	return !slices.ContainsFunc(m.Tables, func(t warehouse.ManifestTable) bool { return !inv.hasCopyOfTable(t) })
}

func (inv *inventory) hasTableAfter(at time.Time) bool {
	for run := range inv.lineage {
		if m, ok := inv.manifest(run); ok && m.SnapshotAt.After(at) && slices.ContainsFunc(m.Tables, inv.hasCopyOfTable) {
			return true
		}
	}
	return false
}

func (inv *inventory) hasVersion(run string) bool { return slices.Contains(inv.versions, run) }

// runOf returns the run id in the name of a run's manifest or of a file of changes.
func runOf(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
