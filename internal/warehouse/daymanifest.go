package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Beside the Parquet files of the series stands what makes it a backup that can be
// trusted, in folders that no reader of Parquet looks into: a manifest for each day,
// which is that of the day's version, with the checksum of each file; an index of the
// days that there have to be; and, of every version that was published, its manifest
// and what it changed in meta.
const (
	manifestsDir   = ".manifests"
	metaDir        = ".meta"
	indexFile      = "index.json"
	manifestSuffix = ".json"
	metaSuffix     = ".changes"
)

// MetaFile is the file of a version with what it changed in meta.
const MetaFile = "meta.changes"

// dayIn is the day that a path of the series names.
func dayIn(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), seriesDay), manifestSuffix)
}

// index names the days of the series, each with the run that its files are of. A day
// that is gone without having been removed here is lost.
type index struct {
	Days map[string]string `json:"days"`
}

func (s *Series) indexPath() string { return s.folder.path(seriesDir, manifestsDir, indexFile) }

// readIndex is a *DamagedError where it cannot be believed.
func (s *Series) readIndex() (index, error) {
	i := index{map[string]string{}}
	data, err := os.ReadFile(s.indexPath())
	if err != nil {
		return i, err
	}
	if err := unsealObject(data, &i); err != nil {
		return index{map[string]string{}}, s.folder.damagedErr(s.indexPath(), err.Error(), err)
	}
	return i, nil
}

// changeIndex writes the index if that changes it. One that is gone or damaged is
// made anew of the manifests that there are.
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
	data, err := sealObject(i)
	if err != nil {
		return err
	}
	return s.folder.writePublic(s.indexPath(), data)
}

// manifestDays are the days that have a manifest which can be read.
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

// SourceRun is the run whose snapshot a version shows: its own, or that of the night
// which a rebuilt one was built from.
func (m Manifest) SourceRun() string {
	if m.Kind == Rebuild && m.Night != "" {
		return m.Night
	}
	return m.RunID
}

// dayManifest reads the manifest of a day. Where that is lost, the version's own, or
// the one that is kept beside meta, stands for it.
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

// forgetDays takes days out of the index before anything of them goes: what is left
// of one should the process be killed is removed by the next prune, and not missed.
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
