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

// Snapshots lists the days of the series, oldest first, with the files whose checksum is
// that of the manifest, and what is missing or damaged. The files of a day of an earlier
// program without a manifest are trusted, by the run and time in their metadata.
func (d *Draft) Snapshots(ctx context.Context) ([]Snapshot, []Damage, error) {
	days, found := d.w.Series.expectedDays()
	known := newSumCache()
	byRun := map[string]Snapshot{}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		m, err := d.w.Series.dayManifest(day, days[day])
		if err == nil && m.Format > Format {
			return nil, nil, &NewerError{m.RunID, m.Program, m.Format}
		}
		if err == nil {
			found = append(found, d.w.Series.enterDay(byRun, known, m)...)
			continue
		}
		files := d.w.Series.filesOfDay(day)
		if days[day] != "" {
			lost := Damage{File: d.w.Folder.relativePath(d.w.Folder.dayManifestPath(day)),
				Problem: describeProblem(err), Cost: "all tables of " + day, Day: day}
			if len(files) == 0 {
				lost.Problem = "the whole day is gone"
			}
			found = append(found, lost)
			continue
		}
		for table, file := range files {
			if err := d.enterFile(ctx, byRun, table, file); err != nil {
				found = append(found, Damage{File: d.w.Folder.relativePath(file), Problem: err.Error(), Cost: costOf(table, day), Day: day})
			}
		}
	}
	all := slices.SortedFunc(maps.Values(byRun), func(a, b Snapshot) int { return a.At.Compare(b.At) })
	return all, found, ctx.Err()
}

// expectedDays are the days that exist and those that the index names, each with its
// run.
func (s *Series) expectedDays() (map[string]string, []Damage) {
	i, err := s.readIndex()
	var found []Damage
	if problem := describeProblem(err); problem != "" && len(s.listDays()) > 0 {
		if _, statErr := os.Stat(s.folder.path(seriesDir, manifestsDir)); statErr == nil {
			found = append(found, Damage{File: s.folder.relativePath(s.indexPath()), Problem: problem, Cost: "a day that is missing could not be noticed"})
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

// enterDay adds the files of a day that are intact, or their intact copies.
func (s *Series) enterDay(byRun map[string]Snapshot, known *sumCache, m Manifest) (found []Damage) {
	for _, t := range m.Tables {
		file, of := s.filePath(t, m.SnapshotAt), m
		if problem := known.compareFile(file, t.ManifestFileSum, true); problem != "" {
			twin := filepath.Join(s.folder.VersionPath(m.RunID), t.File)
			other, ok := s.otherOfDay(known, m, t.Name)
			switch {
			case known.compareFile(twin, t.ManifestFileSum, true) == "":
				file = twin
			case ok:
				of = other
			default:
				found = append(found, Damage{File: s.folder.relativePath(file), Problem: problem, Cost: costOf(t.Name, dayOf(m.SnapshotAt)), Day: dayOf(m.SnapshotAt)})
				continue
			}
		}
		snapshot := snapshotOf(byRun, of)
		snapshot.Files[t.Name], snapshot.Tables[t.Name] = file, of.tableNamed(t.Name)
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

// otherOfDay finds another run of the day that a file is of: a backup taken while a
// second run of the day was published has files of both.
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
	return firstOf(m.Tables, func(t ManifestTable) bool { return t.Name == name })
}

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

func costOf(table, day string) string { return "table " + table + " of " + day }

// enterFile adds a file without a manifest, by the run in its metadata.
func (d *Draft) enterFile(ctx context.Context, byRun map[string]Snapshot, table, file string) error {
	var run, at string
	err := d.DB.QueryRowContext(ctx, string(catalogSQL.Render("run_of_parquet_file", nil)), file).Scan(&run, &at)
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
