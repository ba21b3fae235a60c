package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

type seriesRestore struct {
	lockedRepair
	*checker
	draft *warehouse.Draft // a copy of the newest intact catalog
}

// RestoreSeries restores damaged and missing files of the Parquet series and of versions, and damaged and
// missing files of changes. It does not restore catalogs. It uses intact copies, or else the history in the
// newest intact catalog. If the index of the series is lost, RestoreSeries restores the days that retention
// keeps. It returns the restored files. The error names the files that could not be restored. These files
// are not changed.
func RestoreSeries(ctx context.Context, cfg Config, retention warehouse.Retention) (files []string, err error) {
	r, err := beginRepair(cfg)
	if err != nil {
		return nil, err
	}
	m := &seriesRestore{lockedRepair: r}
	files, err = m.restore(ctx, retention)
	return files, errors.Join(r.wh.Folder.DiskFullErr(err), r.lock.Release())
}

func (m *seriesRestore) restore(ctx context.Context, retention warehouse.Retention) (files []string, err error) {
	completedDays, err := m.wh.Series.Complete()
	if err != nil && !errors.As(err, new(*warehouse.DamagedError)) {
		return nil, err
	}
	if m.checker, err = newChecker(ctx, m.wh, true, nil); err != nil {
		return nil, err
	}
	m.checker.progress = m.cfg.Progress
	for _, day := range completedDays {
		m.result.Files = append(m.result.Files, "the files of "+day)
	}
	m.checkFiles()
	if err := m.carryOutFixes(); err != nil {
		return m.result.Files, err
	}
	isStillDamaged := len(m.result.Unrepaired)+len(m.result.DaysWithoutManifest) > 0 || m.result.IsChainBroken
	if m.result.Source != "" && (isStillDamaged || m.indexErr != nil) {
		err = m.restoreFromCatalog(ctx, retention)
		return m.result.Files, err
	}
	if err := m.writeIndex(); err != nil {
		return m.result.Files, err
	}
	if isStillDamaged {
		err = errors.Join(errors.New("restore the Parquet series: no catalog is intact: run placementsync rebuild --skip-damaged, or restore a backup"),
			m.writeFiles(ctx, m.result.Unrepaired))
	}
	return m.result.Files, err
}

func (m *seriesRestore) restoreFromCatalog(ctx context.Context, retention warehouse.Retention) (err error) {
	if m.draft, err = m.wh.BeginFrom(ctx, m.id, m.at, m.result.Source); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.draft.Discard()) }()
	snapshotTimes, err := load.LastSnapshotsOfDays(ctx, m.draft, m.result.At)
	if err != nil {
		return err
	}
	m.findLostDays(snapshotTimes, retention)
	// The index must name the lost days before the first of them is restored. If the power then fails, the next repair
	// restores the other days.
	if err := m.writeIndex(); err != nil {
		return err
	}
	if m.result.IsChainBroken {
		if err := m.writeMeta(ctx); err != nil {
			return err
		}
	}
	return errors.Join(m.writeFiles(ctx, m.result.Unrepaired), m.addDays(ctx, snapshotTimes))
}

// findLostDays finds the run of each day without a manifest. If the index is lost, it adds the days that retention keeps.
func (m *seriesRestore) findLostDays(snapshotTimes map[string]time.Time, retention warehouse.Retention) {
	runOf := map[string]string{} // the run of the last snapshot of each day
	for run, at := range snapshotTimes {
		runOf[warehouse.DayOf(at)] = run
	}
	days := m.result.DaysWithoutManifest
	if m.indexErr != nil {
		for day := range retention.KeptDays(slices.Collect(maps.Keys(runOf))) {
			if _, isKnown := m.result.days[day]; !isKnown {
				days = append(days, day)
			}
		}
	}
	for _, day := range days {
		m.result.days[day] = cmp.Or(runOf[day], m.result.days[day])
	}
	slices.Sort(days)
	m.result.DaysWithoutManifest = days
}

// writeMeta writes one file with all changes so far. The files of later runs contain the later changes.
func (m *seriesRestore) writeMeta(ctx context.Context) error {
	m.draft.Previous = "" // the file contains all rows
	if err := load.WriteMeta(ctx, m.draft, m.wh.Schema.MetaDefinitions, m.wh.Schema.Tables); err != nil {
		return err
	}
	file, err := replaceMeta(m.wh, m.draft, m.result.Source)
	if err == nil {
		m.result.Files = append(m.result.Files, file)
	}
	return err
}

func (m *seriesRestore) writeFiles(ctx context.Context, files []warehouse.SeriesFile) (err error) {
	m.expectedFiles += len(files)
	for _, file := range files {
		_, writeErr := m.writeFile(ctx, file)
		err = errors.Join(err, writeErr)
	}
	return err
}

func (m *seriesRestore) writeFile(ctx context.Context, file warehouse.SeriesFile) (sum checksum.FileSum, err error) {
	m.countFile()
	if file.DayManifest.SnapshotAt.After(m.result.At) {
		return sum, fmt.Errorf("restore table %s of %s: there is no intact copy, and no intact catalog has its rows: "+
			"placementsync rebuild --skip-damaged builds the catalog without it", file.Table.Name, file.DayManifest.SnapshotAt.Format(time.DateOnly))
	}
	i := slices.IndexFunc(m.wh.Schema.Tables, func(t stream.Table) bool { return t.Name == file.Table.Name })
	if i < 0 {
		return sum, fmt.Errorf("restore table %s: this version of placementsync has no such table; its file was not changed", file.Table.Name)
	}
	if err := load.WriteDay(ctx, m.draft, m.wh.Schema.Tables[i], file); err != nil {
		return sum, err
	}
	sum, err = replaceFile(m.wh, file, filepath.Join(m.draft.Dir, file.Table.File))
	if err == nil {
		m.result.Files = append(m.result.Files, fmt.Sprintf("table %s of %s", file.Table.Name, file.DayManifest.SnapshotAt.Format(time.DateOnly)))
	}
	return sum, err
}

// The rows of an added day come from history; its run, row counts and grades come from meta.
func (m *seriesRestore) addDays(ctx context.Context, snapshotTimes map[string]time.Time) (err error) {
	for _, day := range m.result.DaysWithoutManifest {
		run := m.result.days[day]
		at := snapshotTimes[run].UTC()
		if warehouse.DayOf(at) != day {
			err = errors.Join(err, fmt.Errorf("restore the day %s: meta.runs has no snapshot of this day", day))
			continue
		}
		err = errors.Join(err, m.addDay(ctx, run, at))
	}
	return err
}

// addDay restores a day with the manifest of its run. Without a manifest, it uses only the history.
func (m *seriesRestore) addDay(ctx context.Context, run string, at time.Time) error {
	day := warehouse.DayOf(at)
	if _, ok, _ := m.dayManifest(day, run); ok {
		m.result.Unrepaired = nil
		m.checkDay(day, run)
		if err := m.carryOutFixes(); err != nil {
			return err
		}
		return m.writeFiles(ctx, m.result.Unrepaired)
	}
	manifest := warehouse.Manifest{RunID: run, SnapshotAt: at, Program: m.cfg.Warehouse.Program, Schema: schema.SchemaVersion(), Format: warehouse.Format}
	rows, err := load.RowCounts(ctx, m.draft, run)
	if err != nil {
		return err
	}
	grades, err := load.Grades(ctx, m.draft, run)
	if err != nil {
		return err
	}
	m.expectedFiles += len(m.wh.Schema.Tables)
	for _, t := range m.wh.Schema.Tables {
		rowCount, isKnown := rows[t.Name]
		if !isKnown {
			rowCount = -1
		}
		file := warehouse.SeriesFile{DayManifest: manifest, Table: warehouse.ManifestTable{Name: t.Name, Rows: rowCount, FileSum: checksum.FileSum{File: t.Name + ".parquet"}}}
		grade, _ := stream.GradeTable(m.cfg.Streams, t.Name, grades)
		file.Table.Grade, file.Table.Note = grade.Grade, grade.Note
		if file.Table.FileSum, err = m.writeFile(ctx, file); err != nil {
			return err
		}
		tables := []warehouse.ManifestTable{file.Table}
		if err := m.draft.MeasureTables(ctx, tables); err != nil {
			return err
		}
		manifest.Tables = append(manifest.Tables, tables...)
	}
	path := m.wh.Folder.DayManifestPath(day)
	if err := m.wh.Folder.WriteSealed(path, manifest); err != nil {
		return err
	}
	m.addFile(path)
	return nil
}

// replaceMeta replaces the file of changes of a run by the file MetaFile of a draft. MetaFile must
// contain all rows of the schemas meta and past. The chain of changes then begins with this run.
func replaceMeta(w *warehouse.Warehouse, d *warehouse.Draft, run string) (file string, err error) {
	sum, err := checksum.SumFile(context.Background(), d.Dir, warehouse.MetaFile)
	if err != nil {
		return "", err
	}
	manifest, err := w.Versions.ReadManifest(run)
	if err != nil {
		return "", err
	}
	file = w.Folder.Relative(w.Folder.ChangesPath(run))
	if err := placeMeta(w, manifest, filepath.Join(d.Dir, warehouse.MetaFile)); err != nil {
		return "", fmt.Errorf("restore %s: %w", file, err)
	}
	meta := &warehouse.ManifestMeta{HasPast: true, FileSum: sum}
	return file, changeManifests(w, manifest, func(m *warehouse.Manifest) { m.Meta = meta })
}

// placeMeta copies a file of changes into the chain and into the version of its run. It also writes a missing copy of
// the manifest beside it.
func placeMeta(w *warehouse.Warehouse, m warehouse.Manifest, from string) error {
	inChain, inVersion := w.Folder.ChangesPath(m.RunID), filepath.Join(w.Folder.VersionPath(m.RunID), warehouse.MetaFile)
	if err := w.Folder.SetPublicMode(from); err != nil {
		return err
	}
	if err := w.Folder.MakePublic(filepath.Dir(inChain)); err != nil {
		return err
	}
	for _, to := range []string{inChain, inVersion} {
		if err := w.Folder.Disk().Copy(from, to); err != nil {
			return err
		}
	}
	runManifest := w.Folder.RunManifestPath(m.RunID)
	if _, err := w.Versions.ReadManifestFile(runManifest, m.RunID); err == nil {
		return nil
	}
	return w.Folder.WriteSealed(runManifest, m)
}

// replaceFile moves file to the path of a lost file in the series. file contains the rows of the lost file,
// possibly in another order. If the version of the day has an intact manifest, replaceFile also links file into
// the version. If file has another checksum than the lost file, the manifests get the new checksum. A
// lost file without a checksum is in no manifest, so that version and manifests are not changed.
func replaceFile(w *warehouse.Warehouse, lost warehouse.SeriesFile, file string) (checksum.FileSum, error) {
	sum, err := checksum.SumFile(context.Background(), filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return sum, err
	}
	seriesPath := w.Series.FilePath(lost.Table, lost.DayManifest.SnapshotAt)
	if err := placeFile(w, lost, file, seriesPath); err != nil {
		return sum, fmt.Errorf("restore %s: %w", w.Folder.Relative(seriesPath), err)
	}
	if lost.Table.SHA256 == "" || sum.SHA256 == lost.Table.SHA256 {
		return sum, nil
	}
	return sum, changeManifests(w, lost.DayManifest, func(m *warehouse.Manifest) {
		for i := range m.Tables {
			if m.Tables[i].Name == lost.Table.Name {
				m.Tables[i].FileSum = sum
			}
		}
	})
}

func placeFile(w *warehouse.Warehouse, lost warehouse.SeriesFile, file, seriesPath string) error {
	if err := w.Folder.SetPublicMode(file); err != nil {
		return err
	}
	if err := w.Folder.MakePublicAbove(seriesPath); err != nil {
		return err
	}
	if err := w.Folder.Disk().Rename(file, seriesPath); err != nil {
		return err
	}
	run := lost.DayManifest.RunID
	_, err := w.Versions.ReadManifest(run)
	if hasVersion := err == nil; !hasVersion || lost.Table.SHA256 == "" {
		return nil
	}
	return w.Folder.Disk().Link(seriesPath, filepath.Join(w.Folder.VersionPath(run), lost.Table.File))
}
