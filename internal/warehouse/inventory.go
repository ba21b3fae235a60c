package warehouse

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
)

// inventory is what the warehouse holds, damaged or not: the intact manifests of all runs,
// the places of the files that they name, and the run that readers should see.
type inventory struct {
	folder *Folder
	series *Series
	known  *checksum.Cache
	// deep compares checksums, else sizes are compared.
	deep bool
	// manifests are the intact manifests of each run: that of its version, that beside the
	// changes of meta, that of its day. They can differ: a repair may have replaced a
	// checksum, or left out a lost table.
	manifests map[string][]Manifest
	// places are the paths at which a file with this SHA-256 should be.
	places map[string][]string
	// kept are the runs whose versions are kept, oldest first; latest is the one that
	// readers see.
	kept   []string
	latest string
	// days are the runs of the days in the index of the series, or without an intact index
	// in the manifests of the days.
	days     map[string]string
	indexErr error
	// published is the last version in the ledger, target the run that readers should see,
	// and line the runs that it builds on, with itself.
	published, target string
	line              map[string]bool
	// catalogs are the kept versions with an intact catalog.
	catalogs map[string]bool
}

// takeInventory reads all manifests. Without deep it compares no checksums.
func (s *Series) takeInventory(ctx context.Context, l *Ledger, deep bool) (*inventory, error) {
	inv := &inventory{folder: s.folder, series: s, known: checksum.NewCache(ctx), deep: deep, manifests: map[string][]Manifest{},
		places: map[string][]string{}, line: map[string]bool{}, catalogs: map[string]bool{}}
	var err error
	if inv.kept, err = s.versions.List(); err != nil {
		return nil, err
	}
	inv.latest, _, _ = s.versions.Latest() // a check of the links reports the error
	for _, run := range inv.kept {
		inv.addManifest(s.versions.ReadManifest(run))
	}
	beside, err := filepath.Glob(s.folder.metaPath("*", manifestSuffix))
	if err != nil {
		return nil, err
	}
	for _, path := range beside {
		inv.addManifest(s.versions.readManifest(path, strings.TrimSuffix(filepath.Base(path), manifestSuffix)))
	}
	ofDays, err := filepath.Glob(s.folder.dayManifestPath("*"))
	if err != nil {
		return nil, err
	}
	for _, path := range ofDays {
		if m, err := s.versions.readManifest(path, ""); err == nil && dayOf(m.SnapshotAt) == dayIn(path) {
			inv.addManifest(m, nil)
		}
	}
	i, err := s.readIndex()
	if inv.days, inv.indexErr = i.Days, err; err != nil {
		if inv.days, err = s.manifestDays(); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(l.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	runs, damaged := parseLedger(data)
	for _, r := range runs {
		inv.published = cmp.Or(r.VisibleVersion(), inv.published)
	}
	inv.findTarget(len(damaged) == 0)
	for _, run := range inv.kept {
		if m, ok := inv.manifest(run); ok && inv.known.Compare(s.folder.VersionCatalog(run), m.Catalog, deep) == "" {
			inv.catalogs[run] = true
		}
	}
	return inv, ctx.Err()
}

func (inv *inventory) addManifest(m Manifest, err error) {
	if err != nil {
		return
	}
	inv.manifests[m.RunID] = append(inv.manifests[m.RunID], m)
	version := inv.folder.VersionPath(m.RunID)
	add := func(sum checksum.FileSum, paths ...string) {
		for _, path := range paths {
			if !slices.Contains(inv.places[sum.SHA256], path) {
				inv.places[sum.SHA256] = append(inv.places[sum.SHA256], path)
			}
		}
	}
	for _, t := range m.Tables {
		add(t.FileSum, inv.series.filePath(t, m.SnapshotAt), filepath.Join(version, t.File))
	}
	if m.Meta != nil {
		add(m.Meta.FileSum, inv.folder.metaPath(m.RunID, metaSuffix), filepath.Join(version, MetaFile))
	}
}

// manifest returns a run's manifest from the first place that has an intact one.
func (inv *inventory) manifest(run string) (Manifest, bool) {
	if all := inv.manifests[run]; len(all) > 0 {
		return all[0], true
	}
	return Manifest{}, false
}

// findTarget finds the run that readers should see: the last one in the ledger or, when the
// series has a newer one, that. A rollback removes the days that it leaves from the series,
// so that a newer day there is one that readers lost. A ledger that lost lines may not know
// the version that readers see.
func (inv *inventory) findTarget(ledgerIntact bool) {
	inv.target = cmp.Or(inv.published, inv.latest)
	if inv.target == "" && len(inv.kept) > 0 {
		inv.target = inv.kept[len(inv.kept)-1]
	}
	seen, _ := inv.timeOf(inv.latest)
	if was, _ := inv.timeOf(inv.target); !ledgerIntact && inv.hasVersion(inv.latest) && seen.After(was) {
		inv.target = inv.latest
	}
	at, _ := inv.timeOf(inv.target)
	for _, day := range slices.Sorted(maps.Keys(inv.days)) {
		if m, ok := inv.manifest(inv.days[day]); ok && m.SnapshotAt.After(at) {
			inv.target, at = m.RunID, m.SnapshotAt
		}
	}
	for run := inv.target; run != "" && !inv.line[run]; {
		inv.line[run] = true
		m, _ := inv.manifest(run)
		if m.Previous != "" { // a refresh counts too
			run = m.Previous
		} else {
			run = m.Night
		}
	}
	for _, run := range inv.days {
		inv.line[run] = true
	}
}

// timeOf is the time of a run's snapshot. Without a manifest it is when the run began.
func (inv *inventory) timeOf(run string) (time.Time, bool) {
	if m, ok := inv.manifest(run); ok {
		return m.SnapshotAt, true
	}
	return RunTime(run)
}

// find returns the path of an intact file with this checksum, other than not.
func (inv *inventory) find(want checksum.FileSum, not string) (path string, ok bool) {
	for _, place := range inv.places[want.SHA256] {
		if place != not && inv.known.Compare(place, want, inv.deep) == "" {
			return place, true
		}
	}
	return "", false
}

// newestCatalog is the newest intact catalog among those that readers see or that the target
// builds on; empty when there is none.
func (inv *inventory) newestCatalog() (run string, at time.Time) {
	for _, one := range inv.kept {
		if !inv.catalogs[one] || !inv.line[one] && one != inv.latest {
			continue
		}
		if when, ok := inv.timeOf(one); ok && !when.Before(at) {
			run, at = one, when
		}
	}
	return run, at
}

// covers reports whether history in an intact catalog reaches to a time.
func (inv *inventory) covers(at time.Time) bool {
	run, until := inv.newestCatalog()
	return run != "" && !until.Before(at)
}

// hasSnapshot reports whether every table of a run has an intact file somewhere.
func (inv *inventory) hasSnapshot(run string) bool {
	m, ok := inv.manifest(run)
	return ok && !slices.ContainsFunc(m.Tables, func(t ManifestTable) bool {
		_, found := inv.find(t.FileSum, "")
		return !found
	})
}

// hasVersion reports whether the folder of a version exists.
func (inv *inventory) hasVersion(run string) bool {
	_, err := os.Stat(inv.folder.VersionPath(run))
	return run != "" && err == nil
}

// expectedDays are the days that the series must have, each with its run: those of the
// index or, without an intact one, those of which any file or manifest is left. The run is
// empty when no manifest of the day is left.
func (inv *inventory) expectedDays() map[string]string {
	days := maps.Clone(inv.days)
	for _, day := range inv.series.listDays() {
		if days[day] != "" {
			continue
		}
		days[day] = ""
		for run := range inv.manifests {
			if at, _ := inv.timeOf(run); inv.line[run] && dayOf(at) == day && run > days[day] {
				days[day] = run
			}
		}
	}
	return days
}
