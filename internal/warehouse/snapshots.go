package warehouse

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// Snapshots lists the days of the series, oldest first, with the files whose checksum is
// that of the manifest, and what is missing or damaged. A day of which several runs have
// files is that of one run. A day that was being written when the warehouse was copied, so
// that no run of it is complete, is left out and returned as Unfinished.
//
// The files of a day of an earlier program without a manifest are trusted, by the run and
// time in their metadata.
func (d *Draft) Snapshots(ctx context.Context) ([]Snapshot, []Damage, error) {
	days, found := d.w.Series.expectedDays()
	missing, err := d.w.Series.missing()
	if err != nil {
		return nil, nil, err
	}
	runs, err := d.w.Ledger.Runs()
	if err != nil {
		return nil, nil, err
	}
	newer := map[string]Manifest{}
	for _, m := range lastOfDay(missing) {
		newer[dayOf(m.SnapshotAt)], days[dayOf(m.SnapshotAt)] = m, cmp.Or(days[dayOf(m.SnapshotAt)], m.RunID)
	}
	known, byRun := checksum.NewCache(context.Background()), map[string]Snapshot{}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		m, err := d.w.Series.dayManifest(day, days[day])
		if err == nil && m.Format > Format {
			return nil, nil, &NewerError{m.RunID, m.Program, m.Format}
		}
		isComplete := func(m Manifest) bool { return len(d.w.Series.damagedTables(known, m)) == 0 }
		if n, ok := newer[day]; ok && isComplete(n) {
			d.w.Series.enterDay(byRun, known, n)
			continue
		}
		if err == nil && isComplete(m) {
			d.w.Series.enterDay(byRun, known, m)
			continue
		}
		others := d.w.Series.otherManifests(day, m.RunID)
		complete := slices.IndexFunc(others, isComplete)
		switch {
		case complete >= 0:
			d.w.Series.enterDay(byRun, known, others[complete])
		case err == nil && d.w.Series.isUnfinished(known, runs, m, others):
			found = append(found, unfinishedDay(day, m.RunID))
		case err == nil:
			found = append(found, d.w.Series.enterDay(byRun, known, m)...)
		case days[day] != "":
			lost := Damage{File: d.w.Folder.relativePath(d.w.Folder.dayManifestPath(day)),
				Problem: describeProblem(err), Cost: "all tables of " + day, Day: day}
			if len(d.w.Series.filesOfDay(day)) == 0 {
				lost.Problem = "the whole day is gone"
			}
			found = append(found, lost)
		case !d.w.Series.mayBeOfEarlierProgram(day):
			found = append(found, unfinishedDay(day, ""))
		default:
			lost, err := d.enterEarlierDay(ctx, byRun, day)
			if err != nil {
				return nil, nil, err
			}
			found = append(found, lost...)
		}
	}
	all := slices.SortedFunc(maps.Values(byRun), func(a, b Snapshot) int { return a.At.Compare(b.At) })
	return all, found, ctx.Err()
}

func unfinishedDay(day, run string) Damage {
	d := Damage{File: seriesDir + "/*/" + seriesDay + day, Problem: "it is not complete: it has files and no manifest",
		Cost: "nothing that was published before it", Day: day, Unfinished: true}
	if run != "" {
		d.Problem = "it is not complete: run " + run + " was writing it"
	}
	return d
}

// isUnfinished reports whether a day that is not complete was being written when it was
// copied, and is not damaged: its run had not been entered in the ledger, which is written
// last, or each of its other files is one of another run of the day.
func (s *Series) isUnfinished(known *checksum.Cache, runs []ledger.Run, m Manifest, others []Manifest) bool {
	newest := ""
	for _, r := range runs {
		newest = max(newest, r.VisibleVersion())
	}
	if newest != "" && m.RunID > newest {
		return true
	}
	for _, t := range s.damagedTables(known, m) {
		place := s.filePath(t, m.SnapshotAt)
		if !slices.ContainsFunc(others, func(other Manifest) bool {
			return known.Compare(place, other.tableNamed(t.Name).FileSum, true) == ""
		}) {
			return false
		}
	}
	return true
}

// damagedTables are those of a day without an intact file.
func (s *Series) damagedTables(known *checksum.Cache, m Manifest) (damaged []ManifestTable) {
	for _, t := range m.Tables {
		if s.intactFile(known, m, t) == "" {
			damaged = append(damaged, t)
		}
	}
	return damaged
}

// otherManifests are those of other runs of a day, newest first.
func (s *Series) otherManifests(day, run string) (others []Manifest) {
	found, err := filepath.Glob(s.folder.metaPath("*", manifestSuffix))
	if err != nil {
		return nil
	}
	for _, path := range found {
		other := strings.TrimSuffix(filepath.Base(path), manifestSuffix)
		at, ok := RunTime(other)
		if !ok || other == run || dayOf(at) < day {
			continue // a rebuilt version has a later id than its day
		}
		if m, err := s.versions.readManifest(path, other); err == nil && dayOf(m.SnapshotAt) == day {
			others = append(others, m)
		}
	}
	slices.Reverse(others)
	return others
}

// mayBeOfEarlierProgram reports whether a day without a manifest is older than all days with
// one: only programs before the first manifests wrote such days.
func (s *Series) mayBeOfEarlierProgram(day string) bool {
	i, _ := s.readIndex()
	known, err := s.manifestDays()
	if err != nil {
		return false
	}
	maps.Copy(known, i.Days)
	for other := range known {
		if other <= day {
			return false
		}
	}
	found, err := filepath.Glob(s.folder.metaPath("*", manifestSuffix))
	return err == nil && !slices.ContainsFunc(found, func(path string) bool {
		at, ok := RunTime(strings.TrimSuffix(filepath.Base(path), manifestSuffix))
		return ok && dayOf(at) <= day
	})
}

// expectedDays are the days that exist and those that the index names, each with its
// run.
func (s *Series) expectedDays() (map[string]string, []Damage) {
	i, err := s.readIndex()
	var found []Damage
	if problem := describeProblem(err); problem != "" && len(s.listDays()) > 0 {
		if _, statErr := os.Stat(s.folder.path(seriesDir, manifestsDir)); statErr == nil {
			found = append(found, Damage{File: s.folder.relativePath(s.indexPath()), Problem: problem, Cost: "the list of days: a lost day would not be noticed"})
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

// enterDay adds the files of a day that are intact, and returns the others.
func (s *Series) enterDay(byRun map[string]Snapshot, known *checksum.Cache, m Manifest) (found []Damage) {
	for _, t := range m.Tables {
		file := s.intactFile(known, m, t)
		if file == "" {
			place := s.filePath(t, m.SnapshotAt)
			found = append(found, Damage{File: s.folder.relativePath(place), Problem: known.Compare(place, t.FileSum, true),
				Cost: costOf(t.Name, dayOf(m.SnapshotAt)), Day: dayOf(m.SnapshotAt)})
			continue
		}
		snapshot := snapshotOf(byRun, m)
		snapshot.Files[t.Name], snapshot.Tables[t.Name] = file, t
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

// enterEarlierDay adds the files of a day without a manifest, if one run of a program up to
// 1.0.0 wrote them all: those programs wrote the run into each file.
func (d *Draft) enterEarlierDay(ctx context.Context, byRun map[string]Snapshot, day string) (found []Damage, err error) {
	var snapshot Snapshot
	files := d.w.Series.filesOfDay(day)
	for table, file := range files {
		var run, at sql.NullString
		if err := d.DB.QueryRowContext(ctx, string(catalogSQL.Render("run_of_parquet_file", nil)), file).Scan(&run, &at); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			found = append(found, Damage{File: d.w.Folder.relativePath(file), Problem: "read its metadata: " + err.Error(), Cost: costOf(table, day), Day: day})
			continue
		}
		when, err := time.Parse(time.RFC3339Nano, at.String)
		if err != nil || snapshot.Run != "" && snapshot.Run != run.String {
			return []Damage{unfinishedDay(day, "")}, nil
		}
		if snapshot.Run == "" {
			snapshot = snapshotOf(map[string]Snapshot{}, Manifest{RunID: run.String, SnapshotAt: when})
		}
		snapshot.Files[table] = file
	}
	if snapshot.Run != "" {
		byRun[snapshot.Run] = snapshot
	}
	return found, nil
}
