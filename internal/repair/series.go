package repair

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

type seriesReader struct {
	w    *warehouse.Warehouse
	sums *checksum.Cache
	runs []ledger.Run // in the ledger
	// snapshots and damage are the result.
	snapshots []warehouse.Snapshot
	damage    []Damage
}

// ReadSeries returns the days of the Parquet series, oldest first, with their intact files. It also
// returns the missing and damaged files. The files of a day are from one run, even if several runs
// wrote the day. If the warehouse is a copy that was made while a run was writing a day, and no run
// of the day has intact files of all its tables, ReadSeries returns a Damage with Unfinished set instead
// of the day.
func ReadSeries(ctx context.Context, w *warehouse.Warehouse) ([]warehouse.Snapshot, []Damage, error) {
	runs, err := w.RunLog.Runs()
	if err != nil {
		return nil, nil, err
	}
	r := &seriesReader{w: w, sums: checksum.NewCache(ctx), runs: runs}
	days := r.expectedDays()
	missing, err := w.Series.Missing()
	if err != nil {
		return nil, nil, err
	}
	notAdded := map[string]warehouse.Manifest{} // the days that a run could not add to the series
	for _, m := range warehouse.LastOfDay(missing) {
		day := warehouse.DayOf(m.SnapshotAt)
		notAdded[day], days[day] = m, cmp.Or(days[day], m.RunID)
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		if m, ok := notAdded[day]; ok && r.isComplete(m) {
			r.addDay(m)
		} else if err := r.readDay(day, days[day]); err != nil {
			return nil, nil, err
		}
	}
	return r.snapshots, r.damage, ctx.Err()
}

// A day that is not in the index has the run "".
func (r *seriesReader) expectedDays() map[string]string {
	days, err := r.w.Series.Index()
	if err != nil && len(r.w.Series.Days()) > 0 {
		r.damage = append(r.damage, seriesDamage(r.w, r.w.Series.IndexPath(), warehouse.ProblemOf(err), affectedIndex, ""))
	}
	for _, day := range r.w.Series.Days() {
		if _, ok := days[day]; !ok {
			days[day] = ""
		}
	}
	return days
}

// run is the run id of the day in the index, or empty.
func (r *seriesReader) readDay(day, run string) error {
	m, err := readDayManifest(r.w, day, run)
	if err == nil {
		if err := m.CheckFormat(); err != nil {
			return err
		}
		if r.isComplete(m) {
			r.addDay(m)
			return nil
		}
	}
	others := r.otherManifests(day, m.RunID)
	i := slices.IndexFunc(others, r.isComplete)
	switch {
	case i >= 0:
		r.addDay(others[i])
	case err == nil && r.isUnfinished(m, others):
		r.damage = append(r.damage, unfinishedDay(day, m.RunID))
	case err == nil:
		r.addDay(m)
	case run != "" || !errors.Is(err, fs.ErrNotExist): // the manifest is written last, so the day was complete
		r.damage = append(r.damage, seriesDamage(r.w, r.w.Folder.DayManifestPath(day), dayProblem(r.w, day, err), "all tables of "+day, day))
	default:
		r.damage = append(r.damage, unfinishedDay(day, ""))
	}
	return nil
}

// readDayManifest reads the manifest of a day or, if it is damaged, another copy of the run's manifest.
func readDayManifest(w *warehouse.Warehouse, day, run string) (warehouse.Manifest, error) {
	m, err := w.Series.ReadDayManifest(day, run)
	if err == nil || run == "" {
		return m, err
	}
	for _, path := range w.Folder.ManifestPaths(run, day) {
		if manifestCopy, copyErr := w.Versions.ReadManifestFile(path, run); copyErr == nil && warehouse.DayOf(manifestCopy.SnapshotAt) == day {
			return manifestCopy, nil
		}
	}
	return m, err
}

func unfinishedDay(day, run string) Damage {
	d := Damage{File: warehouse.SeriesDir + "/*/" + warehouse.DayPrefix + day, Problem: "it is not complete: it has files, but no manifest",
		Affected: "no published data", Day: day, Unfinished: true}
	if run != "" {
		d.Problem = "it is not complete: run " + run + " was writing it"
	}
	return d
}

// isUnfinished reports whether the warehouse is a copy that was made while the run of an incomplete day
// was still writing the day, so that the day is not damaged. This is assumed if the run is later than the
// newest published run of the ledger, or if each file that differs from its manifest is an intact file of
// another run.
func (r *seriesReader) isUnfinished(m warehouse.Manifest, others []warehouse.Manifest) bool {
	newest := ""
	for _, run := range r.runs {
		newest = max(newest, run.VisibleVersion())
	}
	if newest != "" && m.RunID > newest {
		return true
	}
	return !slices.ContainsFunc(m.Tables, func(t warehouse.ManifestTable) bool {
		path := r.w.Series.FilePath(t, m.SnapshotAt)
		return r.w.Series.IntactFile(r.sums, m, t) == "" &&
			!slices.ContainsFunc(others, func(other warehouse.Manifest) bool { return r.sums.IsIntact(path, other.Table(t.Name).FileSum) })
	})
}

func (r *seriesReader) isComplete(m warehouse.Manifest) bool {
	return !slices.ContainsFunc(m.Tables, func(t warehouse.ManifestTable) bool { return r.w.Series.IntactFile(r.sums, m, t) == "" })
}

// The manifests are sorted, newest first.
func (r *seriesReader) otherManifests(day, run string) (others []warehouse.Manifest) {
	for _, path := range r.w.Folder.Glob(r.w.Folder.RunManifestPath("*")) {
		m, err := r.w.Versions.ReadManifestFile(path, runOf(path))
		if err == nil && m.RunID != run && warehouse.DayOf(m.SnapshotAt) == day {
			others = append(others, m)
		}
	}
	slices.Reverse(others)
	return others
}

func (r *seriesReader) addDay(m warehouse.Manifest) {
	files := map[string]string{}
	m.Tables = slices.DeleteFunc(m.Tables, func(t warehouse.ManifestTable) bool {
		file := r.w.Series.IntactFile(r.sums, m, t)
		if file != "" {
			files[t.Name] = file
			return false
		}
		path, day := r.w.Series.FilePath(t, m.SnapshotAt), warehouse.DayOf(m.SnapshotAt)
		r.damage = append(r.damage, seriesDamage(r.w, path, r.sums.Compare(path, t.FileSum, true), affectedTable(t.Name, day), day))
		return true
	})
	if len(files) > 0 {
		r.snapshots = append(r.snapshots, warehouse.Snapshot{Manifest: m, Files: files})
	}
}

// FilesOfChanges returns the files of changes from which the schema meta of a version can be rebuilt,
// oldest first, and the missing and damaged files. hasPast means that the schema past can be rebuilt too.
func FilesOfChanges(w *warehouse.Warehouse, run string) (files []string, hasPast bool, damage []Damage) {
	chain, err := w.Series.MetaChain(run)
	hasPast = len(chain) > 0 && !slices.ContainsFunc(chain, func(m warehouse.Manifest) bool { return !m.Meta.HasPast })
	if broken, ok := errors.AsType[*warehouse.DamagedError](err); ok {
		damage = append(damage, Damage{File: broken.File, Problem: broken.Problem, Affected: affectedMeta(runOf(broken.File)) + " and of earlier runs"})
	} else if err != nil {
		damage = append(damage, seriesDamage(w, filepath.Dir(w.Folder.ChangesPath(run)), err.Error(), "the schema meta", ""))
	}
	sums := checksum.NewCache(context.Background())
	for _, m := range chain {
		file, fileInVersion := w.Folder.ChangesPath(m.RunID), filepath.Join(w.Folder.VersionPath(m.RunID), m.Meta.File)
		problem := sums.Compare(file, m.Meta.FileSum, true)
		switch {
		case problem == "":
			files = append(files, file)
		case sums.IsIntact(fileInVersion, m.Meta.FileSum):
			files = append(files, fileInVersion)
		default:
			damage = append(damage, seriesDamage(w, file, problem, affectedMeta(m.RunID), ""))
		}
	}
	return files, hasPast, damage
}
