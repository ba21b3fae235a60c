package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
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

func (w *Warehouse) dayManifestPath(day string) string {
	return w.path(seriesDir, manifestsDir, seriesDay+day+manifestSuffix)
}

func (w *Warehouse) metaPath(run, suffix string) string {
	return w.path(seriesDir, metaDir, run+suffix)
}

// dayIn is the day that a path of the series names.
func dayIn(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), seriesDay), manifestSuffix)
}

// index names the days of the series, each with the run that its files are of. A day
// that is gone without having been removed here is lost.
type index struct {
	Days map[string]string `json:"days"`
}

func (w *Warehouse) indexPath() string { return w.path(seriesDir, manifestsDir, indexFile) }

// readIndex is a *DamagedError where it cannot be believed.
func (w *Warehouse) readIndex() (index, error) {
	i := index{map[string]string{}}
	data, err := os.ReadFile(w.indexPath())
	if err != nil {
		return i, err
	}
	if err := unseal(data, &i); err != nil {
		return index{map[string]string{}}, w.damaged(w.indexPath(), err.Error(), err)
	}
	return i, nil
}

// changeIndex writes the index if that changes it. One that is gone or damaged is
// made anew of the manifests that there are.
func (w *Warehouse) changeIndex(change func(days map[string]string)) error {
	i, err := w.readIndex()
	anew := errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DamagedError))
	if anew {
		i.Days, err = w.manifestDays()
	}
	if err != nil {
		return fmt.Errorf("read the index of the series: %w", err)
	}
	before := maps.Clone(i.Days)
	change(i.Days)
	if !anew && maps.Equal(before, i.Days) {
		return nil
	}
	if err := w.makePublic(filepath.Dir(w.indexPath())); err != nil {
		return err
	}
	data, err := seal(i)
	if err != nil {
		return err
	}
	return w.writePublic(w.indexPath(), data)
}

// writePublic replaces a file of the series that is none of a version.
func (w *Warehouse) writePublic(path string, data []byte) error {
	if w.cfg.PublishedMode != 0 {
		return w.disk.WriteFileExact(path, data, w.cfg.PublishedMode)
	}
	return w.disk.WriteFile(path, data, publicFile)
}

// manifestDays are the days that have a manifest which can be read.
func (w *Warehouse) manifestDays() (map[string]string, error) {
	found, err := filepath.Glob(w.dayManifestPath("*"))
	if err != nil {
		return nil, err
	}
	days := map[string]string{}
	for _, path := range found {
		if m, err := w.readManifest(path, ""); err == nil && dayOf(m.SnapshotAt) == dayIn(path) {
			days[dayIn(path)] = m.RunID
		}
	}
	return days, nil
}

// Source is the run whose snapshot a version shows: its own, or that of the night
// which a rebuilt one was built from.
func (m Manifest) Source() string {
	if m.Kind == Rebuild && m.Night != "" {
		return m.Night
	}
	return m.RunID
}

// dayManifest reads the manifest of a day. Where that is lost, the version's own, or
// the one that is kept beside meta, stands for it.
func (w *Warehouse) dayManifest(day, run string) (Manifest, error) {
	m, err := w.readManifest(w.dayManifestPath(day), run)
	if err == nil && dayOf(m.SnapshotAt) != day {
		err = w.damaged(w.dayManifestPath(day), "it is the one of "+dayOf(m.SnapshotAt), nil)
	}
	if err == nil || run == "" {
		return m, err
	}
	for _, path := range []string{w.metaPath(run, manifestSuffix), filepath.Join(w.VersionPath(run), ManifestFile)} {
		if twin, twinErr := w.readManifest(path, run); twinErr == nil && dayOf(twin.SnapshotAt) == day {
			return twin, nil
		}
	}
	return m, err
}

// metaChain are the versions whose changes make up the meta of a version, oldest
// first. It is a *DamagedError where one of them is gone or damaged; those behind it
// are returned all the same.
func (w *Warehouse) metaChain(run string) (chain []Manifest, err error) {
	for run != "" {
		m, readErr := w.readManifest(w.metaPath(run, manifestSuffix), run)
		if readErr != nil {
			m, readErr = w.twinOfMeta(run, readErr)
		}
		if readErr != nil {
			err = readErr
			break
		}
		chain = append(chain, m)
		run = m.Meta.Base
	}
	slices.Reverse(chain)
	return chain, err
}

// twinOfMeta looks for the manifest of a run elsewhere.
func (w *Warehouse) twinOfMeta(run string, err error) (Manifest, error) {
	places := []string{filepath.Join(w.VersionPath(run), ManifestFile)}
	if at, ok := RunTime(run); ok {
		places = append(places, w.dayManifestPath(dayOf(at)))
	}
	for _, path := range places {
		if m, twinErr := w.readManifest(path, run); twinErr == nil && m.Meta != nil {
			return m, nil
		}
	}
	return Manifest{}, err
}

// MetaChanges are the files that together tell the meta of a version, each compared
// with its checksum. What is missing or damaged is left out, and told beside.
func (w *Warehouse) MetaChanges(run string) (files []string, found []Damage) {
	const cost = "what meta alone has of run %s: its grades, rejects, deletions, events and what is known of details"
	chain, err := w.metaChain(run)
	var broken *DamagedError
	if errors.As(err, &broken) {
		lost := strings.TrimSuffix(filepath.Base(broken.File), manifestSuffix)
		found = append(found, Damage{File: broken.File, Problem: broken.Problem, Cost: fmt.Sprintf(cost+", and of those before it", lost)})
	} else if err != nil {
		found = append(found, Damage{File: w.relative(w.path(seriesDir, metaDir)), Problem: err.Error(), Cost: "meta"})
	}
	known := newSums()
	for _, m := range chain {
		file, twin := w.metaPath(m.RunID, metaSuffix), filepath.Join(w.VersionPath(m.RunID), m.Meta.File)
		problem := known.compare(file, m.Meta.ManifestFileSum, true)
		switch {
		case problem == "":
			files = append(files, file)
		case known.compare(twin, m.Meta.ManifestFileSum, true) == "":
			files = append(files, twin)
		default:
			found = append(found, Damage{File: w.relative(file), Problem: problem, Cost: fmt.Sprintf(cost, m.RunID)})
		}
	}
	return files, found
}

// HasMetaChanges tells whether any version has told what it changed in meta: those of
// earlier programs have not.
func (w *Warehouse) HasMetaChanges() bool {
	found, err := filepath.Glob(w.metaPath("*", metaSuffix))
	return err == nil && len(found) > 0
}

// oldMeta finds what is kept of versions that neither readers nor a rollback can come
// back to. Where a chain is broken all stays.
func (w *Warehouse) oldMeta(Retention, time.Time) ([]string, error) {
	runs, err := w.Versions()
	if err != nil {
		return nil, err
	}
	latest, _, err := w.Latest()
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, run := range append(runs, latest) {
		chain, err := w.metaChain(run)
		if err != nil {
			return nil, nil // what is damaged may be of use to whoever repairs it
		}
		for _, m := range chain {
			needed[m.RunID] = true
		}
	}
	found, err := filepath.Glob(w.metaPath("*", ""))
	var old []string
	for _, path := range found {
		run := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), manifestSuffix), metaSuffix)
		if !needed[run] && !strings.HasPrefix(run, ".") {
			old = append(old, path)
		}
	}
	return old, err
}
