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
	s := &seriesRestore{lockedRepair: r}
	files, err = s.restore(ctx, retention)
	return files, errors.Join(r.wh.Folder.DiskFullErr(err), r.lock.Release())
}

func (s *seriesRestore) restore(ctx context.Context, retention warehouse.Retention) (files []string, err error) {
	completedDays, err := s.wh.Series.Complete()
	if err != nil && !errors.As(err, new(*warehouse.DamagedError)) {
		return nil, err
	}
	if s.checker, err = newChecker(ctx, s.wh, true, nil); err != nil {
		return nil, err
	}
	s.checker.progress = s.cfg.Progress
	for _, day := range completedDays {
		s.result.Files = append(s.result.Files, "the files of "+day)
	}
	s.checkFiles()
	if err := s.carryOutFixes(); err != nil {
		return s.result.Files, err
	}
	isStillDamaged := len(s.result.Unrepaired)+len(s.result.DaysWithoutManifest) > 0 || s.result.IsChainBroken
	if s.result.Source != "" && (isStillDamaged || s.indexErr != nil) {
		err = s.restoreFromCatalog(ctx, retention)
		return s.result.Files, err
	}
	if err := s.writeIndex(); err != nil {
		return s.result.Files, err
	}
	if isStillDamaged {
		err = errors.Join(errors.New("restore the Parquet series: no catalog is intact: run placementsync rebuild --skip-damaged, or restore a backup"),
			s.writeFiles(ctx, s.result.Unrepaired))
	}
	return s.result.Files, err
}

func (s *seriesRestore) restoreFromCatalog(ctx context.Context, retention warehouse.Retention) (err error) {
	if s.draft, err = s.wh.BeginFrom(ctx, s.id, s.at, s.result.Source); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.draft.Discard()) }()
	snapshotTimes, err := load.LastSnapshotsOfDays(ctx, s.draft, s.result.At)
	if err != nil {
		return err
	}
	s.findLostDays(snapshotTimes, retention)
	// The index must name the lost days before the first of them is restored. If the power then fails, the next repair
	// restores the other days.
	if err := s.writeIndex(); err != nil {
		return err
	}
	if s.result.IsChainBroken {
		if err := s.writeMeta(ctx); err != nil {
			return err
		}
	}
	return errors.Join(s.writeFiles(ctx, s.result.Unrepaired), s.addDays(ctx, snapshotTimes))
}

// findLostDays finds the run of each day without a manifest. If the index is lost, it adds the days that retention keeps.
func (s *seriesRestore) findLostDays(snapshotTimes map[string]time.Time, retention warehouse.Retention) {
	runByDay := map[string]string{} // the run of the last snapshot of each day
	for run, at := range snapshotTimes {
		runByDay[warehouse.DayOf(at)] = run
	}
	days := s.result.DaysWithoutManifest
	if s.indexErr != nil {
		for day := range retention.KeptDays(slices.Collect(maps.Keys(runByDay))) {
			if _, isKnown := s.result.days[day]; !isKnown {
				days = append(days, day)
			}
		}
	}
	for _, day := range days {
		s.result.days[day] = cmp.Or(runByDay[day], s.result.days[day])
	}
	slices.Sort(days)
	s.result.DaysWithoutManifest = days
}

// writeMeta writes one file with all changes so far. The files of later runs contain the later changes.
func (s *seriesRestore) writeMeta(ctx context.Context) error {
	s.draft.Previous = "" // the file contains all rows
	if err := load.WriteMeta(ctx, s.draft, s.wh.Schema.MetaDefinitions, s.wh.Schema.Tables); err != nil {
		return err
	}
	file, err := replaceMeta(s.wh, s.draft, s.result.Source)
	if err == nil {
		s.result.Files = append(s.result.Files, file)
	}
	return err
}

func (s *seriesRestore) writeFiles(ctx context.Context, files []warehouse.SeriesFile) (err error) {
	s.expectedFiles += len(files)
	for _, file := range files {
		_, writeErr := s.writeFile(ctx, file)
		err = errors.Join(err, writeErr)
	}
	return err
}

func (s *seriesRestore) writeFile(ctx context.Context, file warehouse.SeriesFile) (sum checksum.FileSum, err error) {
	s.countFile()
	if file.DayManifest.SnapshotAt.After(s.result.At) {
		return sum, fmt.Errorf("restore table %s of %s: there is no intact copy, and no intact catalog has its rows: "+
			"placementsync rebuild --skip-damaged builds the catalog without it", file.Table.Name, file.DayManifest.SnapshotAt.Format(time.DateOnly))
	}
	i := slices.IndexFunc(s.wh.Schema.Tables, func(t stream.Table) bool { return t.Name == file.Table.Name })
	if i < 0 {
		return sum, fmt.Errorf("restore table %s: this version of placementsync has no such table; its file was not changed", file.Table.Name)
	}
	if err := load.WriteDay(ctx, s.draft, s.wh.Schema.Tables[i], file); err != nil {
		return sum, err
	}
	sum, err = replaceFile(s.wh, file, filepath.Join(s.draft.Dir, file.Table.File))
	if err == nil {
		s.result.Files = append(s.result.Files, fmt.Sprintf("table %s of %s", file.Table.Name, file.DayManifest.SnapshotAt.Format(time.DateOnly)))
	}
	return sum, err
}

// addDays restores the days without a manifest. Their rows are from history, and their runs, row counts and grades from meta.
func (s *seriesRestore) addDays(ctx context.Context, snapshotTimes map[string]time.Time) (err error) {
	for _, day := range s.result.DaysWithoutManifest {
		run := s.result.days[day]
		at := snapshotTimes[run].UTC()
		if warehouse.DayOf(at) != day {
			err = errors.Join(err, fmt.Errorf("restore the day %s: meta.runs has no snapshot of this day", day))
			continue
		}
		err = errors.Join(err, s.addDay(ctx, run, at))
	}
	return err
}

// addDay restores a day with the manifest of its run. Without a manifest, it uses only the history.
func (s *seriesRestore) addDay(ctx context.Context, run string, at time.Time) error {
	day := warehouse.DayOf(at)
	if _, ok, _ := s.dayManifest(day, run); ok {
		s.result.Unrepaired = nil // checkDay adds the files of this day
		s.checkDay(day, run)
		if err := s.carryOutFixes(); err != nil {
			return err
		}
		return s.writeFiles(ctx, s.result.Unrepaired)
	}
	manifest := warehouse.Manifest{RunID: run, SnapshotAt: at, Program: s.cfg.Warehouse.Program, Schema: schema.SchemaVersion(), Format: warehouse.Format}
	rows, err := load.RowCounts(ctx, s.draft, run)
	if err != nil {
		return err
	}
	grades, err := load.Grades(ctx, s.draft, run)
	if err != nil {
		return err
	}
	s.expectedFiles += len(s.wh.Schema.Tables)
	for _, t := range s.wh.Schema.Tables {
		rowCount, isKnown := rows[t.Name]
		if !isKnown {
			rowCount = -1
		}
		file := warehouse.SeriesFile{DayManifest: manifest, Table: warehouse.ManifestTable{Name: t.Name, Rows: rowCount, FileSum: checksum.FileSum{File: t.Name + ".parquet"}}}
		grade, _ := stream.GradeTable(s.cfg.Streams, t.Name, grades)
		file.Table.Grade, file.Table.Note = grade.Grade, grade.Note
		if file.Table.FileSum, err = s.writeFile(ctx, file); err != nil {
			return err
		}
		tables := []warehouse.ManifestTable{file.Table}
		if err := s.draft.MeasureTables(ctx, tables); err != nil {
			return err
		}
		manifest.Tables = append(manifest.Tables, tables...)
	}
	path := s.wh.Folder.DayManifestPath(day)
	if err := s.wh.Folder.WriteSealed(path, manifest); err != nil {
		return err
	}
	s.addFile(path)
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
	if _, err := w.Versions.ReadManifest(run); err != nil || lost.Table.SHA256 == "" {
		return nil // there is no version, or its manifest does not have this file
	}
	return w.Folder.Disk().Link(seriesPath, filepath.Join(w.Folder.VersionPath(run), lost.Table.File))
}
