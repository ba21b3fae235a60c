package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// Snapshot is one day of the Parquet series.
type Snapshot struct {
	// Run and At are those of the run that wrote the files.
	Run string
	At  time.Time
	// Version is the published version that the files belong to: that of the run, or
	// one that was rebuilt from it.
	Version string
	// Files are paths by table, Tables the entries of their manifest.
	Files  map[string]string
	Tables map[string]ManifestTable
	// Program and Schema are those that wrote the files.
	Program, Schema string
}

// SeriesFile is the Parquet file of a table and day.
type SeriesFile struct {
	// Day is the manifest of the day, Table its entry of the file. If no manifest of the day is
	// left, the checksum is empty. Rows are negative if they are unknown.
	Day   Manifest
	Table ManifestTable
}

// Series are the Parquet files by table and day, with a manifest of each day and an
// index of the days.
type Series struct {
	folder   *Folder
	versions *Versions
	tables   []stream.Table // as in Config.Tables
}

// extendSeries places the files of versions, oldest first, in the series: of each
// version its manifest and what it changed in meta, and of the last version of a day
// one Parquet file for each table. A file that is in place costs one look. Manifests
// are copies, so that damage of one leaves the other; Parquet files are too large for
// that and are linked.
func (s *Series) extendSeries(line ...Manifest) error {
	var damaged []error
	place := func(m Manifest, want checksum.FileSum, to string, place func(from, to string) error) error {
		err := s.placeFile(m, want, to, place)
		if errors.As(err, new(*DamagedError)) {
			damaged = append(damaged, err)
			return nil
		}
		return err
	}
	placeManifest := func(m Manifest, to string) error {
		_, own, err := s.versions.readManifestSum(filepath.Join(s.folder.VersionPath(m.RunID), ManifestFile), m.RunID)
		if err != nil {
			return err
		}
		return place(m, own, to, s.folder.disk.Copy)
	}
	for _, m := range line {
		if m.Meta == nil {
			continue
		}
		if err := place(m, m.Meta.FileSum, s.folder.ChangesPath(m.RunID), s.folder.disk.Copy); err != nil {
			return err
		}
		if err := placeManifest(m, s.folder.RunManifestPath(m.RunID)); err != nil {
			return err
		}
	}
	days := LastOfDay(line)
	for _, m := range days {
		if err := s.keepReplaced(m); err != nil {
			return err
		}
		for _, t := range m.Tables {
			if err := place(m, t.FileSum, s.FilePath(t, m.SnapshotAt), s.folder.disk.Link); err != nil {
				return err
			}
		}
		// The manifest comes last: it names all other files of the day.
		if err := placeManifest(m, s.folder.DayManifestPath(DayOf(m.SnapshotAt))); err != nil {
			return err
		}
	}
	// A lost index is not begun anew: it would name this day alone, and nothing would tell
	// that the days before are lost. The repair of the series writes it.
	if _, err := s.Index(); err != nil && slices.ContainsFunc(line, func(m Manifest) bool { return m.Previous != "" && m.Meta != nil }) {
		return errors.Join(damaged...)
	}
	err := s.ChangeIndex(func(known map[string]string) {
		for _, m := range days {
			known[DayOf(m.SnapshotAt)] = m.RunID
		}
	})
	if _, statErr := os.Lstat(s.folder.Path(SeriesDir, replacedDir)); statErr == nil && err == nil && len(damaged) == 0 {
		err = s.folder.disk.RemoveAll(s.folder.Path(SeriesDir, replacedDir))
	}
	return errors.Join(append(damaged, err)...)
}

// replacedDir holds, by run, the files of the run whose day another one is about to replace.
const replacedDir = ".replaced"

func (s *Series) replacedPath(run string, t ManifestTable) string {
	return s.folder.Path(SeriesDir, replacedDir, run, t.File)
}

// keepReplaced links the files of an earlier run of the day that this one replaces, until it
// is complete: a copy of parquet/ that is made meanwhile then has either of the two runs.
func (s *Series) keepReplaced(m Manifest) error {
	before, err := s.versions.ReadManifestFile(s.folder.DayManifestPath(DayOf(m.SnapshotAt)), "")
	if err != nil || before.RunID == m.RunID {
		return nil // a day without an intact manifest has no run that could be kept
	}
	known := checksum.NewCache(context.Background())
	for _, t := range before.Tables {
		kept := s.replacedPath(before.RunID, t)
		if t.SHA256 == m.Table(t.Name).SHA256 || known.Compare(kept, t.FileSum, true) == "" {
			continue
		}
		from := s.IntactFile(known, before, t)
		if from == "" {
			continue
		}
		err := s.folder.disk.Do("folder for", kept, func() error { return s.folder.MakePublicAbove(kept) })
		if err == nil {
			err = s.folder.disk.Link(from, kept)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// IntactFile returns a path of a table's file with the checksum of its manifest: in the series,
// among the files that another run is replacing, or in the version. It returns "" if no file is
// intact.
func (s *Series) IntactFile(known *checksum.Cache, m Manifest, t ManifestTable) string {
	for _, path := range []string{s.FilePath(t, m.SnapshotAt), s.replacedPath(m.RunID, t), filepath.Join(s.folder.VersionPath(m.RunID), t.File)} {
		if known.Compare(path, t.FileSum, true) == "" {
			return path
		}
	}
	return ""
}

// ExtendError says that published versions are not in the Parquet series, or not whole. Their
// catalogs are whole.
type ExtendError struct {
	// Days are those that the series lacks or that may be incomplete.
	Days []string
	Err  error
}

func (e *ExtendError) Error() string {
	return fmt.Sprintf("extend the Parquet series by %s: %v; the catalog has the data, and the next run or placementsync rebuild --series tries again",
		strings.Join(e.Days, ", "), e.Err)
}

func (e *ExtendError) Unwrap() error { return e.Err }

func daysOf(line []Manifest) []string {
	var days []string
	for _, m := range line {
		days = append(days, DayOf(m.SnapshotAt))
	}
	return slices.Compact(days)
}

// missingVersions are a version and those that led to it, oldest first, as far as they are
// newer than the newest one in the series. Older versions whose days prune removed are not
// among them.
func (s *Series) missingVersions(run string) (missing []Manifest, err error) {
	days, err := s.indexOrManifests()
	if err != nil {
		return nil, err
	}
	for run != "" {
		m, err := s.versions.ReadManifest(run)
		if err != nil || days[DayOf(m.SnapshotAt)] == run || m.Previous >= run {
			break // the series has it, or it is no longer kept
		}
		missing = append(missing, m)
		run = m.Previous
	}
	slices.Reverse(missing)
	return missing, nil
}

// Missing returns the versions that lead to the one that readers see and that could not be added
// to the series when they were published, oldest first.
func (s *Series) Missing() ([]Manifest, error) {
	latest, ok, err := s.versions.Latest()
	if err != nil || !ok {
		return nil, err
	}
	return s.missingVersions(latest)
}

// MissingDays are the days of versions that could not be added to the series.
func (s *Series) MissingDays() ([]string, error) {
	missing, err := s.Missing()
	return daysOf(missing), err
}

// Complete adds the missing versions to the series, and returns their days. It needs the Lock.
func (s *Series) Complete() (days []string, err error) {
	missing, err := s.Missing()
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if err := s.extendSeries(missing...); err != nil {
		return nil, &ExtendError{daysOf(missing), err}
	}
	return daysOf(missing), nil
}

// placeFile links or copies a file of a version to its place in the series, unless it is
// there. It compares the file with its checksum first: a warehouse that was copied file by
// file has no links, and a damaged file of the version must not replace an intact one.
func (s *Series) placeFile(m Manifest, want checksum.FileSum, to string, place func(from, to string) error) error {
	from := filepath.Join(s.folder.VersionPath(m.RunID), filepath.Base(want.File))
	if durable.SameFile(from, to) {
		return nil
	}
	if problem := checksum.NewCache(context.Background()).Compare(from, want, true); problem != "" {
		return s.folder.DamagedErr(from, problem, nil)
	}
	err := s.folder.disk.Do("folder for", to, func() error { return s.folder.MakePublicAbove(to) })
	if err != nil {
		return err
	}
	return place(from, to)
}

// LastOfDay returns the versions without those that have a later one of the same day.
func LastOfDay(line []Manifest) []Manifest {
	var last []Manifest
	for _, m := range line {
		if n := len(last); n > 0 && DayOf(last[n-1].SnapshotAt) == DayOf(m.SnapshotAt) {
			last = last[:n-1]
		}
		last = append(last, m)
	}
	return last
}

// withdrawAllBut removes the days of kept versions that the target does not build on from
// the series. A day whose version is lost stays: readers can get it back by a rebuild.
func (s *Series) withdrawAllBut(target string) error {
	versions, err := s.versions.List()
	if err != nil {
		return err
	}
	line, _ := s.versions.Lineage(target) // a damaged one ends it
	for _, run := range versions {
		if !slices.ContainsFunc(line, func(m Manifest) bool { return m.RunID == run }) {
			if err := s.withdrawVersion(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// withdrawVersion removes the days of a version from the series. Days of other versions stay,
// even where two versions share a file.
func (s *Series) withdrawVersion(run string) error {
	days, err := s.indexOrManifests()
	if err != nil {
		return err
	}
	for day, of := range days {
		if of != run {
			continue
		}
		files, err := filepath.Glob(s.folder.Path(SeriesDir, "*", DayPrefix+day, "*.parquet"))
		if err != nil {
			return err
		}
		for _, path := range append(files, s.folder.DayManifestPath(day)) {
			if err := durable.RemoveWithEmptyParents(path, s.folder.Path(SeriesDir)); err != nil {
				return err
			}
		}
		if err := s.ChangeIndex(func(days map[string]string) { delete(days, day) }); err != nil {
			return err
		}
	}
	return nil
}

// FilePath is the Parquet file of a table and day.
func (s *Series) FilePath(t ManifestTable, at time.Time) string {
	return s.folder.Path(SeriesDir, t.Name, DayPrefix+DayOf(at), t.File)
}

// DayPrefix begins the name of a day's folder. Readers of partitioned Parquet take it
// for a column.
const DayPrefix = "snapshot_date="

// DayOf is the UTC day of a time, as in the names of the series.
func DayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Days lists the days with a Parquet file or a manifest, oldest first.
func (s *Series) Days() []string {
	files, err := filepath.Glob(s.folder.Path(SeriesDir, "*", DayPrefix+"*", "*.parquet"))
	manifests, otherErr := filepath.Glob(s.folder.DayManifestPath("*"))
	if err != nil || otherErr != nil {
		return nil
	}
	var days []string
	for _, path := range append(files, manifests...) {
		if strings.HasPrefix(filepath.Base(path), ".") {
			continue // a killed run left it
		}
		if filepath.Ext(path) == ".parquet" {
			path = filepath.Dir(path)
		}
		day := DayIn(path)
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// oldDays finds the days that retention does not keep: of each the manifest first, since
// it names all others.
func (s *Series) oldDays(r Retention) ([]string, error) {
	var days []time.Time
	for _, name := range s.Days() {
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
		found, err := filepath.Glob(s.folder.Path(SeriesDir, "*", DayPrefix+day.Format(time.DateOnly)+"*"))
		if err != nil {
			return nil, err
		}
		old = append(old, found...)
	}
	return old, nil
}
