package warehouse

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Snapshots lists what the series holds, oldest first: each file compared with the
// checksum that the manifest of its day has, and left out where it is another. What
// is missing or damaged is told beside. A day from before there were manifests is
// believed as it is, by the run and the time that its files name in their metadata.
func (d *Draft) Snapshots(ctx context.Context) ([]Snapshot, []Damage, error) {
	days, found := d.w.Series.expectedDays()
	known := newSumCache()
	byRun := map[string]Snapshot{}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		m, err := d.w.Series.dayManifest(day, days[day])
		if err == nil {
			found = append(found, d.w.Series.enterDay(byRun, known, m)...)
			continue
		}
		files := d.w.Series.filesOfDay(day)
		if days[day] != "" {
			found = append(found, d.w.Series.dayWithoutManifest(day, len(files), err))
			continue
		}
		for table, file := range files {
			if err := d.enterFile(ctx, byRun, table, file); err != nil {
				found = append(found, Damage{File: d.w.Folder.relativePath(file), Problem: err.Error(), Cost: costOf(table, day)})
			}
		}
	}
	all := slices.SortedFunc(maps.Values(byRun), func(a, b Snapshot) int { return a.At.Compare(b.At) })
	return all, found, ctx.Err()
}

// expectedDays are the days that there are and those that there have to be, each with
// the run that the index names for it.
func (s *Series) expectedDays() (map[string]string, []Damage) {
	i, err := s.readIndex()
	var found []Damage
	if problem := describeManifestProblem(err); problem != "" && len(s.listDays()) > 0 {
		if _, statErr := os.Stat(s.folder.path(seriesDir, manifestsDir)); statErr == nil {
			found = append(found, Damage{File: s.folder.relativePath(s.indexPath()), Problem: problem, Cost: "that a whole day is missing could not be noticed"})
		}
	}
	days := i.Days
	for _, day := range s.listDays() {
		if _, ok := days[day]; !ok {
			days[day] = ""
		}
	}
	return days, found
}

// enterDay enters the files of a day that are what its manifest says, or those of a
// twin of theirs.
func (s *Series) enterDay(byRun map[string]Snapshot, known *sumCache, m Manifest) (found []Damage) {
	for _, t := range m.Tables {
		file := s.filePath(t, m.SnapshotAt)
		problem := known.compareFile(file, t.ManifestFileSum, true)
		if problem == "" {
			enter := snapshotOf(byRun, m)
			enter.Files[t.Name], enter.Tables[t.Name] = file, t
			continue
		}
		twin := filepath.Join(s.folder.VersionPath(m.RunID), t.File)
		if known.compareFile(twin, t.ManifestFileSum, true) == "" {
			enter := snapshotOf(byRun, m)
			enter.Files[t.Name], enter.Tables[t.Name] = twin, t
			continue
		}
		if other, ok := s.otherOfDay(known, m, t.Name); ok {
			enter := snapshotOf(byRun, other)
			enter.Files[t.Name], enter.Tables[t.Name] = file, other.tableNamed(t.Name)
			continue
		}
		found = append(found, Damage{File: s.folder.relativePath(file), Problem: problem, Cost: costOf(t.Name, dayOf(m.SnapshotAt))})
	}
	return found
}

func snapshotOf(byRun map[string]Snapshot, m Manifest) Snapshot {
	s, ok := byRun[m.RunID]
	if !ok {
		s = Snapshot{Run: m.SourceRun(), At: m.SnapshotAt, Version: m.RunID, Program: m.Program, Schema: m.Schema,
			Files: map[string]string{}, Tables: map[string]ManifestTable{}}
		byRun[m.RunID] = s
	}
	return s
}

// otherOfDay looks for another run of the day that a file may be of: a copy that was
// taken while a second run of the day was being published has some files of each.
func (s *Series) otherOfDay(known *sumCache, m Manifest, table string) (Manifest, bool) {
	found, err := filepath.Glob(s.folder.metaPath("*", manifestSuffix))
	if err != nil {
		return m, false
	}
	for _, path := range found {
		run := strings.TrimSuffix(filepath.Base(path), manifestSuffix)
		other, err := s.versions.readManifest(path, run)
		if err != nil || run == m.RunID || dayOf(other.SnapshotAt) != dayOf(m.SnapshotAt) {
			continue
		}
		if t := other.tableNamed(table); t.File != "" && known.compareFile(s.filePath(t, m.SnapshotAt), t.ManifestFileSum, true) == "" {
			return other, true
		}
	}
	return m, false
}

func (m Manifest) tableNamed(name string) ManifestTable {
	i := slices.IndexFunc(m.Tables, func(t ManifestTable) bool { return t.Name == name })
	if i < 0 {
		return ManifestTable{}
	}
	return m.Tables[i]
}

// filesOfDay are the files of a day by table.
func (s *Series) filesOfDay(day string) map[string]string {
	files := map[string]string{}
	for _, t := range s.tables {
		file := s.folder.path(seriesDir, t.Name, seriesDay+day, t.Name+".parquet")
		if _, err := os.Stat(file); err == nil {
			files[t.Name] = file
		}
	}
	return files
}

func (s *Series) dayWithoutManifest(day string, files int, err error) Damage {
	d := Damage{File: s.folder.relativePath(s.folder.dayManifestPath(day)), Problem: describeProblem(err), Cost: "all tables of " + day}
	if files == 0 {
		d.Problem = "the whole day is gone"
	}
	return d
}

func costOf(table, day string) string { return "table " + table + " of " + day }

// enterFile reads of a file itself which run it is of.
func (d *Draft) enterFile(ctx context.Context, byRun map[string]Snapshot, table, file string) error {
	var run, at string
	err := d.DB.QueryRowContext(ctx, `SELECT max(value::VARCHAR) FILTER (key = 'run_id'),
		max(value::VARCHAR) FILTER (key = 'snapshot_at') FROM parquet_kv_metadata(?)`, file).Scan(&run, &at)
	if err != nil {
		return fmt.Errorf("read its metadata: %w", err)
	}
	when, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return err
	}
	snapshotOf(byRun, Manifest{RunID: run, SnapshotAt: when}).Files[table] = file
	return nil
}
