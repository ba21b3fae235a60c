package repair

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"placementsync/internal/warehouse"
)

// expectedDays returns the days that the series must have, each with its run: the days of the index, the days with any
// file, and the days of the versions that could not be added. If the index is lost, it adds the days of the versions
// in lineage. The run is empty if no manifest of the day is intact.
func (inv *inventory) expectedDays() map[string]string {
	days := maps.Clone(inv.indexDays)
	notAdded := inv.missing
	if m, ok := inv.manifest(inv.expected); ok && m.Meta != nil && inv.hasVersion(inv.expected) {
		notAdded = append(slices.Clone(notAdded), m)
	}
	for _, m := range notAdded {
		day := warehouse.DayOf(m.SnapshotAt)
		if at, ok := inv.timeOf(days[day]); !ok || at.Before(m.SnapshotAt) {
			days[day] = m.RunID
		}
	}
	others := inv.w.Series.Days()
	if inv.indexErr != nil {
		for _, run := range inv.versions {
			if m, ok := inv.manifest(run); ok && m.Meta != nil && inv.lineage[run] {
				others = append(others, warehouse.DayOf(m.SnapshotAt))
			}
		}
	}
	for _, day := range others {
		days[day] = cmp.Or(days[day], inv.runOfDay(day))
	}
	return days
}

// runOfDay returns the run of a day that is not in the index: the newest run of the lineage on this day. Without such a
// run it is the newest run whose tables are all intact in the series, because a rebuild reads the day from these files.
func (inv *inventory) runOfDay(day string) string {
	var ofLineage, whole string
	for run := range inv.manifests {
		m, _ := inv.manifest(run)
		if warehouse.DayOf(m.SnapshotAt) != day {
			continue
		}
		isDamaged := func(t warehouse.ManifestTable) bool {
			return inv.compare(inv.w.Series.FilePath(t, m.SnapshotAt), t.FileSum) != ""
		}
		if inv.lineage[run] {
			ofLineage = max(ofLineage, run)
		} else if run > whole && !slices.ContainsFunc(m.Tables, isDamaged) {
			whole = run
		}
	}
	return cmp.Or(ofLineage, whole)
}

// Series contains the files that a rebuild reads.
type Series struct {
	// Snapshots are the days, oldest first, with their intact files. The files of a day are from one run, even if
	// several runs wrote the day.
	Snapshots []warehouse.Snapshot
	Damage    []Damage // missing and damaged files of the days
	// Changes are the files of changes from which the schema meta of the newest snapshot can be rebuilt, oldest first.
	// HasPast means that the schema past can be rebuilt too. DamagedChanges are the missing and damaged ones.
	Changes        []string
	HasPast        bool
	DamagedChanges []Damage
}

// ReadSeries returns the days of the Parquet series and the files of changes.
func ReadSeries(ctx context.Context, w *warehouse.Warehouse) (Series, error) {
	inv, err := takeInventory(ctx, w, true)
	if err != nil {
		return Series{}, err
	}
	return inv.readSeries(ctx)
}

func (inv *inventory) readSeries(ctx context.Context) (s Series, err error) {
	if inv.missingErr != nil {
		return s, inv.missingErr
	}
	days := inv.expectedDays()
	if inv.indexErr != nil && len(days) > 0 {
		s.Damage = append(s.Damage, seriesDamage(inv.w, inv.w.Series.IndexPath(), warehouse.ProblemOf(inv.indexErr), affectedIndex, ""))
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		m, problem, err := inv.chooseRun(day, days[day])
		if err != nil {
			return s, err
		}
		if problem != nil {
			s.Damage = append(s.Damage, *problem)
			continue
		}
		inv.addDay(&s, m)
	}
	if n := len(s.Snapshots); n > 0 {
		inv.addChanges(&s, s.Snapshots[n-1].RunID)
	}
	return s, ctx.Err()
}

// addDay adds the files of a run to s. A day of which only some tables have an intact file, all of them equal files of
// other days, is no snapshot.
func (inv *inventory) addDay(s *Series, m warehouse.Manifest) {
	snapshot := warehouse.Snapshot{Manifest: m, Files: map[string]string{}}
	snapshot.Tables = nil // those with an intact file
	hasOwnFile := false
	for _, t := range m.Tables {
		ownFile := inv.firstIntact(t.FileSum, inv.w.Series.TablePaths(m, t)...)
		hasOwnFile = hasOwnFile || ownFile != ""
		file := cmp.Or(ownFile, inv.findCopy(t.FileSum))
		if file == "" {
			path, day := inv.w.Series.FilePath(t, m.SnapshotAt), warehouse.DayOf(m.SnapshotAt)
			s.Damage = append(s.Damage, seriesDamage(inv.w, path, inv.compare(path, t.FileSum), affectedTable(t.Name, day), day))
			continue
		}
		snapshot.Tables = append(snapshot.Tables, t)
		snapshot.Files[t.Name] = file
	}
	isWhole := len(snapshot.Tables) > 0 && len(snapshot.Tables) == len(m.Tables)
	if hasOwnFile || isWhole {
		s.Snapshots = append(s.Snapshots, snapshot)
	}
}

// chooseRun returns the manifest of the run from whose files a day is rebuilt. This is run or, if some of its files
// have no intact copy, the newest other run of the day whose files all have one. damage is set if the day cannot be
// used.
func (inv *inventory) chooseRun(day, run string) (m warehouse.Manifest, damage *Damage, err error) {
	m, ok, readErr := inv.dayManifest(day, run)
	if err := m.CheckFormat(); err != nil {
		return m, nil, err
	}
	if ok && inv.hasAllTables(m) {
		return m, nil, nil
	}
	for _, other := range slices.Backward(slices.Sorted(maps.Keys(inv.manifests))) {
		candidate, _ := inv.manifest(other)
		if warehouse.DayOf(candidate.SnapshotAt) == day && inv.hasAllTables(candidate) {
			return candidate, nil, nil
		}
	}
	if ok {
		return m, nil, nil
	}
	d := seriesDamage(inv.w, inv.w.Folder.DayManifestPath(day), dayProblem(inv.w, day, readErr), "all tables of "+day, day)
	return m, &d, nil
}

// addChanges sets the fields of s for the files of changes of a version.
func (inv *inventory) addChanges(s *Series, run string) {
	chain, err := inv.w.Series.MetaChain(run)
	s.HasPast = !slices.ContainsFunc(chain, func(m warehouse.Manifest) bool { return !m.Meta.HasPast })
	if broken, ok := errors.AsType[*warehouse.DamagedError](err); ok {
		s.DamagedChanges = append(s.DamagedChanges, Damage{File: broken.File, Problem: broken.Problem, Affected: affectedMeta(runOf(broken.File)) + " and of earlier runs"})
	} else if err != nil {
		s.DamagedChanges = append(s.DamagedChanges, seriesDamage(inv.w, filepath.Dir(inv.w.Folder.ChangesPath(run)), err.Error(), "the schema meta", ""))
	}
	for _, m := range chain {
		path := inv.w.Folder.ChangesPath(m.RunID)
		if file := inv.findCopy(m.Meta.FileSum); file != "" {
			s.Changes = append(s.Changes, file)
			continue
		}
		s.DamagedChanges = append(s.DamagedChanges, seriesDamage(inv.w, path, inv.compare(path, m.Meta.FileSum), affectedMeta(m.RunID), ""))
	}
}
