package warehouse

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// Snapshot is one day of the Parquet series.
type Snapshot struct {
	// Run and At are those of the run that wrote the files.
	Run string
	At  time.Time
	// Version is the published version that the files belong to: that run, or one
	// that was rebuilt from what it had published.
	Version string
	// Files are paths by table, Tables what their manifest says of them.
	Files  map[string]string
	Tables map[string]ManifestTable
	// Program and Schema are those that wrote the files.
	Program, Schema string
}

// Series are the Parquet files by table and day, with a manifest of each day and an
// index of the days.
type Series struct {
	folder   *Folder
	versions *Versions
	tables   []stream.Table // as in Config.Tables
}

// placedFile is where a file of a version stands in the series. A twin is a copy, so that
// what rots in one of the two is whole in the other; Parquet is too large for that.
type placedFile struct {
	from, to string
	twin     bool
}

// lastingPlaces are the places of what stays of every version: its manifest, and what it
// changed in meta.
func (s *Series) lastingPlaces(m Manifest) []placedFile {
	if m.Meta == nil {
		return nil
	}
	return []placedFile{
		{filepath.Join(s.folder.VersionPath(m.RunID), m.Meta.File), s.folder.metaPath(m.RunID, metaSuffix), true},
		{filepath.Join(s.folder.VersionPath(m.RunID), ManifestFile), s.folder.metaPath(m.RunID, manifestSuffix), true},
	}
}

// dailyPlaces are the places of what stays of the last version of a day. The manifest is
// the last of them: it stands for all that it names.
func (s *Series) dailyPlaces(m Manifest) []placedFile {
	var all []placedFile
	for _, t := range m.Tables {
		all = append(all, placedFile{filepath.Join(s.folder.VersionPath(m.RunID), t.File), s.filePath(t, m.SnapshotAt), false})
	}
	return append(all, placedFile{filepath.Join(s.folder.VersionPath(m.RunID), ManifestFile), s.folder.dayManifestPath(dayOf(m.SnapshotAt)), true})
}

// extendSeries gives the files of versions, oldest first, their places in the
// series: Parquet files one a table and day, of the last run of the day. What is in
// its place already costs a look at it.
func (s *Series) extendSeries(line ...Manifest) error {
	var all []placedFile
	for _, m := range line {
		all = append(all, s.lastingPlaces(m)...)
	}
	days := lastOfDay(line)
	for _, m := range days {
		all = append(all, s.dailyPlaces(m)...)
	}
	for _, p := range all {
		if err := s.placeFile(p); err != nil {
			return err
		}
	}
	return s.changeIndex(func(known map[string]string) {
		for _, m := range days {
			known[dayOf(m.SnapshotAt)] = m.RunID
		}
	})
}

// placeFile links a file into its place, unless it is there.
func (s *Series) placeFile(p placedFile) error {
	if durable.SameFile(p.from, p.to) {
		return nil
	}
	if _, err := os.Stat(p.from); errors.Is(err, fs.ErrNotExist) {
		return s.folder.damagedErr(p.from, "it is gone", err)
	}
	err := s.folder.disk.Do("folder for", p.to, func() error { return s.folder.makePublicAbove(p.to) })
	if err != nil {
		return err
	}
	if p.twin {
		return s.folder.disk.Copy(p.from, p.to)
	}
	return s.folder.disk.Link(p.from, p.to)
}

// lastOfDay drops the versions that a later one of the same day has replaced
// in the series.
func lastOfDay(line []Manifest) []Manifest {
	var last []Manifest
	for _, m := range line {
		if n := len(last); n > 0 && dayOf(last[n-1].SnapshotAt) == dayOf(m.SnapshotAt) {
			last = last[:n-1]
		}
		last = append(last, m)
	}
	return last
}

// withdrawAllBut removes the series' files of versions that the target was not
// built on. It tells them by the files themselves, so that it needs no manifest.
func (s *Series) withdrawAllBut(target string) error {
	versions, err := s.versions.List()
	if err != nil {
		return err
	}
	line := s.versions.baseManifests(target)
	for _, run := range versions {
		if slices.ContainsFunc(line, func(m Manifest) bool { return m.RunID == run }) {
			continue
		}
		if err := s.withdrawVersion(run); err != nil {
			return err
		}
	}
	return nil
}

func (s *Series) withdrawVersion(run string) error {
	files, err := filepath.Glob(filepath.Join(s.folder.VersionPath(run), "*.parquet"))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		if _, err := s.withdrawFile(file, s.folder.path(seriesDir, strings.TrimSuffix(name, ".parquet"), seriesDay+"*", name)); err != nil {
			return err
		}
	}
	taken, err := s.withdrawFile(filepath.Join(s.folder.VersionPath(run), ManifestFile), s.folder.dayManifestPath("*"))
	if err != nil || len(taken) == 0 {
		return err
	}
	return s.changeIndex(func(days map[string]string) {
		for _, path := range taken {
			delete(days, dayIn(path))
		}
	})
}

// withdrawFile removes the names of a file in the series.
func (s *Series) withdrawFile(file, places string) (taken []string, err error) {
	found, err := filepath.Glob(places)
	if err != nil {
		return nil, err
	}
	for _, placed := range found {
		if !durable.SameFile(file, placed) {
			continue
		}
		if err := durable.RemoveUp(placed, s.folder.path(seriesDir)); err != nil {
			return taken, err
		}
		taken = append(taken, placed)
	}
	return taken, nil
}

// filePath is the place of a table's file in the series.
func (s *Series) filePath(t ManifestTable, at time.Time) string {
	return s.folder.path(seriesDir, t.Name, seriesDay+dayOf(at), t.File)
}

// seriesDay starts the name of a day's folder, in the form that readers of
// partitioned Parquet take for a column.
const seriesDay = "snapshot_date="

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// listDays are the days of the Parquet series, oldest first, of whatever table;
// none where it cannot be read.
func (s *Series) listDays() []string {
	found, err := filepath.Glob(s.folder.path(seriesDir, "*", seriesDay+"*"))
	if err != nil {
		return nil
	}
	var days []string
	for _, path := range found {
		day := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), seriesDay), ".json")
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// oldDays finds the days of the series that no grain keeps: of each the manifest
// first, since it stands for all that it names.
func (s *Series) oldDays(r Retention, _ time.Time) ([]string, error) {
	var days []time.Time
	for _, name := range s.listDays() {
		if day, err := time.Parse(time.DateOnly, name); err == nil {
			days = append(days, day)
		}
	}
	keep := r.KeptDays(days)
	var old []string
	for _, day := range days {
		if keep[day] {
			continue
		}
		found, err := filepath.Glob(s.folder.path(seriesDir, "*", seriesDay+day.Format(time.DateOnly)+"*"))
		if err != nil {
			return nil, err
		}
		old = append(old, found...)
	}
	return old, nil
}
