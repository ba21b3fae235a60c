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
	"placementsync/internal/ledger"
)

// The series is a backup: hidden folders beside the Parquet files hold a manifest of
// each day with the checksum of each file, which is the manifest of the day's version;
// an index of the days that must exist; and the manifest and the changes of meta of
// every published version.
const (
	manifestsDir   = ".manifests"
	metaDir        = ".meta"
	indexFile      = "index.json"
	manifestSuffix = ".json"
	metaSuffix     = ".changes"
)

// MetaFile is the file of a version with what it changed in meta and past.
const MetaFile = "meta.changes"

// dayIn returns the day in the name of a file or folder of the series.
func dayIn(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), seriesDay), manifestSuffix)
}

// index names the days of the series, each with the run that its files are of. A day in
// it whose files do not exist is lost.
type index struct {
	Days map[string]string `json:"days"`
}

func (s *Series) indexPath() string { return s.folder.path(seriesDir, manifestsDir, indexFile) }

// readIndex returns a *DamagedError when the index is not what was written.
func (s *Series) readIndex() (index, error) {
	i := index{map[string]string{}}
	data, err := os.ReadFile(s.indexPath())
	if err != nil {
		return i, err
	}
	if err := checksum.Unseal(data, &i); err != nil {
		return index{map[string]string{}}, s.folder.damagedErr(s.indexPath(), err.Error(), err)
	}
	return i, nil
}

// changeIndex changes the index and writes it if it differs. A missing or damaged index
// is built from the manifests of the days.
func (s *Series) changeIndex(change func(days map[string]string)) error {
	i, err := s.readIndex()
	anew := errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DamagedError))
	if anew {
		i.Days, err = s.manifestDays()
	}
	if err != nil {
		return fmt.Errorf("read the index of the series: %w", err)
	}
	before := maps.Clone(i.Days)
	change(i.Days)
	if !anew && maps.Equal(before, i.Days) {
		return nil
	}
	if err := s.folder.makePublic(filepath.Dir(s.indexPath())); err != nil {
		return err
	}
	return s.folder.writeSealed(s.indexPath(), i)
}

func (s *Series) manifestDays() (map[string]string, error) {
	found, err := filepath.Glob(s.folder.dayManifestPath("*"))
	if err != nil {
		return nil, err
	}
	days := map[string]string{}
	for _, path := range found {
		if m, err := s.versions.readManifest(path, ""); err == nil && dayOf(m.SnapshotAt) == dayIn(path) {
			days[dayIn(path)] = m.RunID
		}
	}
	return days, nil
}

// SourceRun is the run whose snapshot a version shows: its own, or for a rebuilt version
// that of the night it was built from.
func (m Manifest) SourceRun() string {
	if m.Kind == ledger.Rebuild && m.Night != "" {
		return m.Night
	}
	return m.RunID
}

// dayManifest reads the manifest of a day. When that is damaged it reads the copy in the
// version or beside meta.
func (s *Series) dayManifest(day, run string) (Manifest, error) {
	m, err := s.versions.readManifest(s.folder.dayManifestPath(day), run)
	if err == nil && dayOf(m.SnapshotAt) != day {
		err = s.folder.damagedErr(s.folder.dayManifestPath(day), "it is the one of "+dayOf(m.SnapshotAt), nil)
	}
	if err == nil || run == "" {
		return m, err
	}
	for _, path := range []string{s.folder.metaPath(run, manifestSuffix), filepath.Join(s.folder.VersionPath(run), ManifestFile)} {
		if twin, twinErr := s.versions.readManifest(path, run); twinErr == nil && dayOf(twin.SnapshotAt) == day {
			return twin, nil
		}
	}
	return m, err
}

// forgetDays removes days from the index before their files are removed: if the process
// is killed in between, the next prune removes the rest, and nothing is reported as
// lost.
func (s *Series) forgetDays(doomed []string) error {
	if _, err := os.Stat(s.indexPath()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.changeIndex(func(days map[string]string) {
		for _, path := range doomed {
			if filepath.Dir(path) == s.folder.path(seriesDir, manifestsDir) {
				delete(days, dayIn(path))
			}
		}
	})
}
