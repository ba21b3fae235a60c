package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"placementsync/internal/checksum"
)

// The series contains all data of the warehouse, so a rebuild needs no other files. manifestsDir
// contains a manifest for each day, copied from the last version of the day, and an index of the days
// that must exist. metaDir contains the manifest of each version, and its changes of the schemas meta and
// past.
const (
	manifestsDir   = ".manifests"
	metaDir        = ".meta"
	indexFile      = "index.json"
	manifestSuffix = ".json"
	changesSuffix  = ".changes"
)

// MetaFile is the file of a version with its changes of the schemas meta and past.
const MetaFile = "meta.changes"

// DayIn returns the day in the name of a file or folder of the series.
func DayIn(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), DayPrefix), manifestSuffix)
}

// SplitSeriesFile returns the table and the day of a Parquet file of the series. file is a path
// relative to the warehouse, with slashes.
func SplitSeriesFile(file string) (table, day string, ok bool) {
	parts := strings.Split(file, "/")
	if len(parts) != 4 || parts[0] != SeriesDir || !strings.HasPrefix(parts[2], DayPrefix) {
		return "", "", false
	}
	return parts[1], DayIn(parts[2]), true
}

type seriesIndex struct {
	Days map[string]string `json:"days"`
}

func (s *Series) IndexPath() string { return s.folder.Path(SeriesDir, manifestsDir, indexFile) }

// Index returns the days that must exist, each with the run that wrote its files. It returns fs.ErrNotExist
// or a *DamagedError if the index is missing or damaged, and then an empty map.
func (s *Series) Index() (days map[string]string, err error) {
	index := seriesIndex{map[string]string{}}
	data, err := os.ReadFile(s.IndexPath())
	if err != nil {
		return index.Days, err
	}
	if err := checksum.Unseal(data, &index); err != nil {
		return map[string]string{}, s.folder.DamagedErr(s.IndexPath(), err.Error(), err)
	}
	return index.Days, nil
}

// indexOrManifests returns the days of the index or, if the index cannot be read, the days with a manifest.
func (s *Series) indexOrManifests() map[string]string {
	if days, err := s.Index(); err == nil {
		return days
	}
	return s.ManifestDays()
}

// ChangeIndex calls change with the days of the index, and writes the index if the days changed. A missing or damaged
// index is not written again: the new index would lack days whose files are lost too. The repair of the series writes it.
func (s *Series) ChangeIndex(change func(days map[string]string)) error {
	days, err := s.Index()
	if isLostIndex(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the index of the series: %w", err)
	}
	daysBefore := maps.Clone(days)
	change(days)
	if maps.Equal(daysBefore, days) {
		return nil
	}
	return s.WriteIndex(days)
}

// isLostIndex reports whether an error of Index means that the index is missing or damaged.
func isLostIndex(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DamagedError))
}

func (s *Series) WriteIndex(days map[string]string) error {
	return s.folder.WriteSealed(s.IndexPath(), seriesIndex{days})
}

// ManifestDays returns the days with an intact manifest, each with its run.
func (s *Series) ManifestDays() map[string]string {
	days := map[string]string{}
	for _, path := range s.folder.Glob(s.folder.DayManifestPath("*")) {
		if m, err := s.ReadDayManifest(DayIn(path), ""); err == nil {
			days[DayIn(path)] = m.RunID
		}
	}
	return days
}

// ReadDayManifest reads the manifest of a day. It returns a *DamagedError if the manifest is missing,
// damaged, or of another day or run. If run is empty, a manifest of any run is accepted.
func (s *Series) ReadDayManifest(day, run string) (Manifest, error) {
	path := s.folder.DayManifestPath(day)
	m, err := s.versions.ReadManifestFile(path, run)
	if err == nil && DayOf(m.SnapshotAt) != day {
		err = s.folder.DamagedErr(path, "it is the manifest of "+DayOf(m.SnapshotAt), nil)
	}
	return m, err
}

// forgetDays removes from the index the days whose manifests are among the paths. Prune calls it first: if
// Prune is killed, verify reports no lost day, and the next prune removes the files.
func (s *Series) forgetDays(paths []string) error {
	return s.ChangeIndex(func(days map[string]string) {
		for _, path := range paths {
			if filepath.Dir(path) == s.folder.Path(SeriesDir, manifestsDir) {
				delete(days, DayIn(path))
			}
		}
	})
}
