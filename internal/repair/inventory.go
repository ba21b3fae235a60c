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
	// days are the days in the index of the Parquet series, each with its run. If the index cannot be
	// read, indexErr is the error, and days are the days of the intact manifests.
	days     map[string]string
	indexErr error
	// visible is the version that readers see, and expected the version that readers should see.
	visible, expected string
	// lineage contains the expected version, the runs on which it builds, and the runs of all days.
	lineage map[string]bool
	// intactCatalogs are the versions with an intact catalog.
	intactCatalogs map[string]bool
}

// takeInventory reads all manifests. With readData it also reads all catalogs.
func takeInventory(ctx context.Context, w *warehouse.Warehouse, readData bool) (*inventory, error) {
	inv := &inventory{w: w, sums: checksum.NewCache(ctx), readData: readData, manifests: map[string][]warehouse.Manifest{},
		pathsBySum: map[string][]string{}, lineage: map[string]bool{}, intactCatalogs: map[string]bool{}}
	var err error
	if inv.versions, err = w.Versions.List(); err != nil {
		return nil, err
	}
	inv.visible, _, _ = w.Versions.Latest() // checkLinks reports the error
	inv.readManifests()
	if inv.days, inv.indexErr = w.Series.Index(); inv.indexErr != nil {
		inv.days = w.Series.ManifestDays()
	}
	if inv.ledgerText, err = os.ReadFile(w.RunLog.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	inv.runs, inv.damagedLines = warehouse.ParseRunLog(inv.ledgerText)
	inv.setExpected()
	for _, run := range inv.versions {
		if m, ok := inv.manifest(run); ok && inv.compare(w.Folder.VersionCatalog(run), m.Catalog) == "" {
			inv.intactCatalogs[run] = true
		}
	}
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
	version := inv.w.Folder.VersionPath(m.RunID)
	add := func(sum checksum.FileSum, paths ...string) {
		for _, path := range paths {
			if !slices.Contains(inv.pathsBySum[sum.SHA256], path) {
				inv.pathsBySum[sum.SHA256] = append(inv.pathsBySum[sum.SHA256], path)
			}
		}
	}
	for _, t := range m.Tables {
		add(t.FileSum, inv.w.Series.FilePath(t, m.SnapshotAt), filepath.Join(version, t.File))
	}
	if m.Meta != nil {
		add(m.Meta.FileSum, inv.w.Folder.ChangesPath(m.RunID), filepath.Join(version, warehouse.MetaFile))
	}
}

func (inv *inventory) manifest(run string) (warehouse.Manifest, bool) {
	if copies := inv.manifests[run]; len(copies) > 0 {
		return copies[0], true
	}
	return warehouse.Manifest{}, false
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
	if visibleAt, _ := inv.timeOf(inv.visible); len(inv.damagedLines) > 0 && inv.hasVersion(inv.visible) && visibleAt.After(at) {
		inv.expected, at = inv.visible, visibleAt
	}
	for _, day := range slices.Sorted(maps.Keys(inv.days)) {
		if m, ok := inv.manifest(inv.days[day]); ok && m.SnapshotAt.After(at) {
			inv.expected, at = m.RunID, m.SnapshotAt
		}
	}
	for run := inv.expected; run != "" && !inv.lineage[run]; {
		inv.lineage[run] = true
		m, _ := inv.manifest(run)
		run = cmp.Or(m.Previous, m.Night) // a rebuilt version has no Previous, only a Night
	}
	for _, run := range inv.days {
		inv.lineage[run] = true
	}
}

// timeOf returns the time of a run's snapshot or, without an intact manifest, the time in the id of the run.
func (inv *inventory) timeOf(run string) (time.Time, bool) {
	if m, ok := inv.manifest(run); ok {
		return m.SnapshotAt, true
	}
	return warehouse.RunTime(run)
}

func (inv *inventory) compare(path string, want checksum.FileSum) (problem string) {
	return inv.sums.Compare(path, want, inv.readData)
}

func (inv *inventory) findCopy(want checksum.FileSum) (path string, ok bool) {
	for _, candidate := range inv.pathsBySum[want.SHA256] {
		if inv.compare(candidate, want) == "" {
			return candidate, true
		}
	}
	return "", false
}

func (inv *inventory) hasCopy(want checksum.FileSum) bool {
	_, ok := inv.findCopy(want)
	return ok
}

// newestCatalog returns the version with the newest intact catalog, among the version that readers see and
// the versions in lineage. run is empty if none of these catalogs is intact.
func (inv *inventory) newestCatalog() (run string, at time.Time) {
	for _, version := range inv.versions {
		if !inv.intactCatalogs[version] || !inv.lineage[version] && version != inv.visible {
			continue
		}
		if versionAt, ok := inv.timeOf(version); ok && !versionAt.Before(at) {
			run, at = version, versionAt
		}
	}
	return run, at
}

func (inv *inventory) hasHistoryUntil(at time.Time) bool {
	run, until := inv.newestCatalog()
	return run != "" && !until.Before(at)
}

func (inv *inventory) hasAllTables(run string) bool {
	m, ok := inv.manifest(run)
	return ok && !slices.ContainsFunc(m.Tables, func(t warehouse.ManifestTable) bool { return !inv.hasCopy(t.FileSum) })
}

func (inv *inventory) hasTableAfter(at time.Time) bool {
	for run := range inv.lineage {
		m, ok := inv.manifest(run)
		if ok && m.SnapshotAt.After(at) && slices.ContainsFunc(m.Tables, func(t warehouse.ManifestTable) bool { return inv.hasCopy(t.FileSum) }) {
			return true
		}
	}
	return false
}

func (inv *inventory) hasVersion(run string) bool {
	_, err := os.Stat(inv.w.Folder.VersionPath(run))
	return run != "" && err == nil
}

// expectedDays returns the days that the series must have, each with its run: the days of the index,
// and the days with any file. If a day is not in the index, its run is the newest run of the lineage on
// this day. Without such a run it is the newest run whose tables are all intact in the series, because a rebuild
// reads the day from these files. The run is empty if no manifest of such a run is intact.
func (inv *inventory) expectedDays() map[string]string {
	days := maps.Clone(inv.days)
	for _, day := range inv.w.Series.Days() {
		if days[day] != "" {
			continue
		}
		var ofLineage, whole string
		for run := range inv.manifests {
			m, _ := inv.manifest(run)
			if warehouse.DayOf(m.SnapshotAt) != day {
				continue
			}
			if inv.lineage[run] {
				ofLineage = max(ofLineage, run)
			} else if run > whole && inv.hasWholeDay(m) {
				whole = run
			}
		}
		days[day] = cmp.Or(ofLineage, whole)
	}
	return days
}

// hasWholeDay reports whether the files of the series are the intact files of the manifest of a run.
func (inv *inventory) hasWholeDay(m warehouse.Manifest) bool {
	return !slices.ContainsFunc(m.Tables, func(t warehouse.ManifestTable) bool {
		return inv.compare(inv.w.Series.FilePath(t, m.SnapshotAt), t.FileSum) != ""
	})
}

// runOf returns the run id in the name of a run's manifest or of a file of changes.
func runOf(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
