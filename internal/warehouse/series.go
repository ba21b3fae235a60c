package warehouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
)

// Snapshot is one day of the Parquet series. Files contains the paths of the intact files by table. The
// manifest contains only these tables.
type Snapshot struct {
	Manifest
	Files map[string]string
}

// SeriesFile is the Parquet file of a table and day.
type SeriesFile struct {
	// DayManifest is the manifest of the day, or a new manifest if the manifest is lost.
	DayManifest Manifest
	// Table is the table in DayManifest. In a new manifest the checksum of the table is empty. A negative
	// number of rows means that the number is unknown.
	Table ManifestTable
}

// Series consists of the Parquet files by table and day, a manifest of each day, an index of the days, and
// each version's changes of the schemas meta and past.
type Series struct {
	folder   *Folder
	versions *Versions
}

// extendSeries adds versions, oldest first, to the series: the manifest of each version, its changes
// of the schemas meta and past, and the Parquet files of the last version of each day. If a file is damaged,
// extendSeries adds all other files and then returns a *DamagedError.
func (s *Series) extendSeries(versions ...Manifest) error {
	e := extension{Series: s, cache: checksum.NewCache(context.Background())}
	for _, m := range versions {
		if err := e.addChanges(m); err != nil {
			return err
		}
	}
	var lastOfDays []Manifest
	for i, m := range versions {
		isLast := i == len(versions)-1 || DayOf(versions[i+1].SnapshotAt) != DayOf(m.SnapshotAt)
		if isLast {
			lastOfDays = append(lastOfDays, m)
		}
	}
	for _, m := range lastOfDays {
		if err := e.addDay(m); err != nil {
			return err
		}
	}
	// Early programs wrote no index and no files of changes, so versions without Meta get an index too.
	hasEarlierNights := slices.ContainsFunc(versions, func(m Manifest) bool { return m.Previous != "" && m.Meta != nil })
	err := s.addToIndex(lastOfDays, hasEarlierNights)
	if err != nil || len(e.damaged) > 0 {
		return errors.Join(append(e.damaged, err)...)
	}
	replaced := s.folder.Path(SeriesDir, ReplacedDir)
	if _, err := os.Lstat(replaced); err != nil {
		return nil // no old files are kept
	}
	return s.folder.disk.RemoveAll(replaced)
}

// addToIndex adds days to the index. Before the first night there is no index.
func (s *Series) addToIndex(days []Manifest, hasEarlierNights bool) error {
	addDays := func(runByDay map[string]string) {
		for _, m := range days {
			runByDay[DayOf(m.SnapshotAt)] = m.RunID
		}
	}
	_, err := s.Index()
	if !isLostIndex(err) || hasEarlierNights {
		return s.ChangeIndex(addDays)
	}
	runByDay := s.ManifestDays()
	addDays(runByDay)
	return s.WriteIndex(runByDay)
}

// extension adds files of versions to the series. Manifests and files of changes are copied, so that a damaged file
// has an intact copy. Parquet files are linked, because they are large.
type extension struct {
	*Series
	cache   *checksum.Cache
	damaged []error // the damaged files, which were not added
}

// addChanges adds the changes of the schemas meta and past, and their manifest. Early programs wrote none.
func (e *extension) addChanges(m Manifest) error {
	if m.Meta == nil {
		return nil
	}
	if err := e.addFile(m, m.Meta.FileSum, e.folder.ChangesPath(m.RunID), e.folder.disk.Copy); err != nil {
		return err
	}
	return e.addManifest(m, e.folder.RunManifestPath(m.RunID))
}

// addDay adds the Parquet files and the manifest of a day.
func (e *extension) addDay(m Manifest) error {
	if err := e.keepReplacedFiles(m); err != nil {
		return err
	}
	for _, t := range m.Tables {
		if err := e.addFile(m, t.FileSum, e.FilePath(t, m.SnapshotAt), e.folder.disk.Link); err != nil {
			return err
		}
	}
	// The manifest is added last, because it names all other files of the day.
	return e.addManifest(m, e.folder.DayManifestPath(DayOf(m.SnapshotAt)))
}

func (e *extension) addManifest(m Manifest, to string) error {
	_, sum, err := e.versions.ReadManifestSum(filepath.Join(e.folder.VersionPath(m.RunID), ManifestFile), m.RunID)
	if err != nil {
		return err
	}
	return e.addFile(m, sum, to, e.folder.disk.Copy)
}

// addFile adds a file of a version, unless the file is damaged.
func (e *extension) addFile(m Manifest, want checksum.FileSum, to string, linkOrCopy func(from, to string) error) error {
	from := filepath.Join(e.folder.VersionPath(m.RunID), filepath.Base(want.File))
	if durable.SameFile(from, to) {
		return nil
	}
	// In a warehouse that was copied without its hard links, one file can be damaged while the other is
	// intact. The damaged file must not replace the intact file.
	if problem := e.cache.Compare(from, want, true); problem != "" {
		e.damaged = append(e.damaged, e.folder.DamagedErr(from, problem, nil))
		return nil
	}
	if err := e.folder.MakePublicAbove(to); err != nil {
		return err
	}
	return linkOrCopy(from, to)
}

// ReplacedDir contains the old files of a day while another run replaces the day. The old files are in a
// folder with the id of the old run.
const ReplacedDir = ".replaced"

func (s *Series) replacedPath(run string, t ManifestTable) string {
	return s.folder.Path(SeriesDir, ReplacedDir, run, t.File)
}

// keepReplacedFiles links the files of an earlier run of the same day to ReplacedDir. extendSeries removes the
// links after it has added all files. A copy of parquet/ made meanwhile then contains all files of at least one
// of the two runs.
func (s *Series) keepReplacedFiles(m Manifest) error {
	earlier, err := s.versions.ReadManifestFile(s.folder.DayManifestPath(DayOf(m.SnapshotAt)), "")
	if err != nil {
		return nil // the day has no run yet, or no intact manifest
	}
	cache := checksum.NewCache(context.Background())
	for _, t := range earlier.Tables {
		if t.SHA256 == m.Table(t.Name).SHA256 {
			continue // the file is not replaced
		}
		from := s.IntactFile(cache, earlier, t)
		if from == "" {
			continue // the file is lost
		}
		copyPath := s.replacedPath(earlier.RunID, t)
		err := s.folder.MakePublicAbove(copyPath)
		if err == nil {
			err = s.folder.disk.Link(from, copyPath)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TablePaths returns the paths at which the file of a table may be: in the series, in ReplacedDir, and in the version.
// m is the manifest that contains t.
func (s *Series) TablePaths(m Manifest, t ManifestTable) []string {
	return []string{s.FilePath(t, m.SnapshotAt), s.replacedPath(m.RunID, t), filepath.Join(s.folder.VersionPath(m.RunID), t.File)}
}

// IntactFile returns the first of TablePaths with the checksum in t, or "".
func (s *Series) IntactFile(cache *checksum.Cache, m Manifest, t ManifestTable) string {
	for _, path := range s.TablePaths(m, t) {
		if cache.IsIntact(path, t.FileSum) {
			return path
		}
	}
	return ""
}

// ExtendError means that the Parquet series lacks files of published versions. The catalogs of these
// versions are intact.
type ExtendError struct {
	// Days are the missing or incomplete days.
	Days []string
	Err  error
}

func (e *ExtendError) Error() string {
	return fmt.Sprintf("extend the Parquet series by %s: %v; the catalog has the data, and the next run or \"placementsync rebuild --series\" tries again",
		strings.Join(e.Days, ", "), e.Err)
}

func (e *ExtendError) Unwrap() error { return e.Err }

func daysOf(versions []Manifest) []string {
	var days []string
	for _, m := range versions {
		days = append(days, DayOf(m.SnapshotAt))
	}
	return slices.Compact(days)
}

// Missing returns the versions that could not be added to the series when they were published, oldest
// first. It looks at the version that readers see, then at the version on which that version was built, and
// so on. It ends at a version that is in the series, or that has no intact manifest. Older versions are not
// considered, because their days may have been pruned.
func (s *Series) Missing() (missing []Manifest, err error) {
	runByDay := s.indexOrManifests()
	run, _, err := s.versions.Latest()
	if err != nil {
		return nil, err
	}
	for run != "" {
		m, err := s.versions.ReadManifest(run)
		if err != nil || m.Previous >= run {
			break // the manifest is missing, damaged or wrong
		}
		if runByDay[DayOf(m.SnapshotAt)] == run {
			break // the version is in the series
		}
		missing = append(missing, m)
		run = m.Previous
	}
	slices.Reverse(missing)
	return missing, nil
}

// MissingDays are the days of versions that could not be added to the series.
func (s *Series) MissingDays() ([]string, error) {
	missing, err := s.Missing()
	return daysOf(missing), err
}

// Complete adds the missing versions to the series, and returns their days. The caller must have the
// Lock.
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

// removeDaysOutsideLineage removes the days of kept versions on which the target does not build. If the
// version of a day is lost, the day is kept for a rebuild.
func (s *Series) removeDaysOutsideLineage(target string) error {
	versions, err := s.versions.List()
	if err != nil {
		return err
	}
	runByDay := s.indexOrManifests()
	lineage, _ := s.versions.Lineage(target) // the lineage ends at a damaged manifest
	outside := slices.DeleteFunc(versions, func(run string) bool {
		return slices.ContainsFunc(lineage, func(m Manifest) bool { return m.RunID == run })
	})
	for _, run := range outside {
		// If the disk failed while the day was added, some of its files may exist although the index lacks it.
		if m, err := s.versions.ReadManifest(run); err == nil && runByDay[DayOf(m.SnapshotAt)] == "" {
			runByDay[DayOf(m.SnapshotAt)] = run
		}
	}
	for _, day := range slices.Sorted(maps.Keys(runByDay)) {
		if !slices.Contains(outside, runByDay[day]) {
			continue
		}
		for _, path := range append(s.DayFiles(day), s.folder.DayManifestPath(day)) {
			if err := s.folder.disk.RemoveWithEmptyParents(path, s.folder.Path(SeriesDir)); err != nil {
				return err
			}
		}
		if err := s.ChangeIndex(func(runByDay map[string]string) { delete(runByDay, day) }); err != nil {
			return err
		}
	}
	return nil
}

// FilePath returns the path of the Parquet file of a table and day.
func (s *Series) FilePath(t ManifestTable, at time.Time) string {
	return s.folder.Path(SeriesDir, t.Name, DayPrefix+DayOf(at), t.File)
}

// DayPrefix begins the name of the folder of a day. Readers of partitioned Parquet files convert the
// name to a column snapshot_date.
const DayPrefix = "snapshot_date="

// DayOf is the UTC day of a time, as in the names of the series.
func DayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Days lists the days with a Parquet file or a manifest, oldest first.
func (s *Series) Days() []string {
	var days []string
	for _, path := range s.DayFiles("*") {
		days = append(days, DayIn(filepath.Dir(path)))
	}
	for _, path := range s.folder.Glob(s.folder.DayManifestPath("*")) {
		days = append(days, DayIn(path))
	}
	days = slices.DeleteFunc(days, func(day string) bool {
		_, err := time.Parse(time.DateOnly, day)
		return err != nil
	})
	slices.Sort(days)
	return slices.Compact(days)
}

// DayFiles returns the existing Parquet files of a day. It leaves out temporary files of killed runs.
func (s *Series) DayFiles(day string) []string {
	return s.folder.Glob(s.folder.Path(SeriesDir, "*", DayPrefix+day, "[^.]*.parquet"))
}

// oldDays returns the manifests and folders of the days to remove. The manifest of a day precedes its folders,
// so that a partly removed day has no manifest.
func (s *Series) oldDays(r Retention) (old []string) {
	days := s.Days()
	keep := r.KeptDays(days)
	for _, day := range days {
		if !keep[day] {
			old = append(old, s.folder.Glob(s.folder.Path(SeriesDir, "*", DayPrefix+day+"*"))...)
		}
	}
	return old
}

// MetaChain returns manifests, oldest first. Each describes a file of changes. Together, these files contain
// the schemas meta and past of the version run. If all copies of a manifest are missing or damaged,
// MetaChain returns a *DamagedError and the later manifests.
func (s *Series) MetaChain(run string) (chain []Manifest, err error) {
	for run != "" {
		var m Manifest
		m, err = s.readMetaManifest(run)
		if err != nil {
			break
		}
		chain = append(chain, m)
		run = m.Meta.Base
	}
	slices.Reverse(chain)
	return chain, err
}

// readMetaManifest reads a manifest that names a file of changes. If RunManifestPath is not intact, it reads another copy.
func (s *Series) readMetaManifest(run string) (Manifest, error) {
	m, err := s.versions.ReadManifestFile(s.folder.RunManifestPath(run), run)
	if err == nil {
		return m, nil
	}
	at, _ := RunTime(run)
	for _, path := range s.folder.ManifestPaths(run, DayOf(at)) {
		if m, err := s.versions.ReadManifestFile(path, run); err == nil && m.Meta != nil {
			return m, nil
		}
	}
	return m, err
}

// unneededMetaChanges returns the paths of the files of changes that no kept version needs, and of the
// manifests beside these files. If the chain of a kept version is broken, it returns no path.
func (s *Series) unneededMetaChanges() ([]string, error) {
	runs, err := s.versions.List()
	if err != nil {
		return nil, err
	}
	latest, _, err := s.versions.Latest()
	if err != nil {
		return nil, err
	}
	isNeeded := map[string]bool{}
	for _, run := range append(runs, latest) {
		chain, err := s.MetaChain(run)
		if err != nil {
			return nil, nil // a repair may need the other files
		}
		for _, m := range chain {
			isNeeded[m.RunID] = true
		}
	}
	var unneeded []string
	for _, path := range s.folder.Glob(s.folder.Path(SeriesDir, metaDir, "*")) {
		run := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), manifestSuffix), changesSuffix)
		if !isNeeded[run] && !strings.HasPrefix(run, ".") {
			unneeded = append(unneeded, path)
		}
	}
	return unneeded, nil
}
