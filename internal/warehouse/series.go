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

// Meta are the definitions of the tables of meta.
func (w *Warehouse) Meta() []stream.Definition { return w.meta }

// place is where a file of a version stands in the series. A twin is a copy, so that
// what rots in one of the two is whole in the other; Parquet is too large for that.
type place struct {
	from, to string
	twin     bool
}

// lasting are the places of what stays of every version: its manifest, and what it
// changed in meta.
func (w *Warehouse) lasting(m Manifest) []place {
	if m.Meta == nil {
		return nil
	}
	return []place{
		{filepath.Join(w.VersionPath(m.RunID), m.Meta.File), w.metaPath(m.RunID, metaSuffix), true},
		{filepath.Join(w.VersionPath(m.RunID), ManifestFile), w.metaPath(m.RunID, manifestSuffix), true},
	}
}

// daily are the places of what stays of the last version of a day. The manifest is
// the last of them: it stands for all that it names.
func (w *Warehouse) daily(m Manifest) []place {
	var all []place
	for _, t := range m.Tables {
		all = append(all, place{filepath.Join(w.VersionPath(m.RunID), t.File), w.seriesFile(t, m.SnapshotAt), false})
	}
	return append(all, place{filepath.Join(w.VersionPath(m.RunID), ManifestFile), w.dayManifestPath(dayOf(m.SnapshotAt)), true})
}

// extendSeries gives the files of versions, oldest first, their places in the
// series: Parquet files one a table and day, of the last run of the day. What is in
// its place already costs a look at it.
func (w *Warehouse) extendSeries(line ...Manifest) error {
	var all []place
	for _, m := range line {
		all = append(all, w.lasting(m)...)
	}
	days := lastOfDay(line)
	for _, m := range days {
		all = append(all, w.daily(m)...)
	}
	for _, p := range all {
		if err := w.put(p); err != nil {
			return err
		}
	}
	return w.changeIndex(func(known map[string]string) {
		for _, m := range days {
			known[dayOf(m.SnapshotAt)] = m.RunID
		}
	})
}

// put links a file into its place, unless it is there.
func (w *Warehouse) put(p place) error {
	if durable.SameFile(p.from, p.to) {
		return nil
	}
	if _, err := os.Stat(p.from); errors.Is(err, fs.ErrNotExist) {
		return w.damaged(p.from, "it is gone", err)
	}
	err := w.disk.Do("folder for", p.to, func() error { return w.makePublicAbove(p.to) })
	if err != nil {
		return err
	}
	if p.twin {
		return w.disk.Copy(p.from, p.to)
	}
	return w.disk.Link(p.from, p.to)
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

// takeBackSeries removes the series' files of versions that the target was not
// built on. It tells them by the files themselves, so that it needs no manifest.
func (w *Warehouse) takeBackSeries(target string) error {
	versions, err := w.Versions()
	if err != nil {
		return err
	}
	line := w.lineage(target)
	for _, run := range versions {
		if slices.ContainsFunc(line, func(m Manifest) bool { return m.RunID == run }) {
			continue
		}
		if err := w.takeBack(run); err != nil {
			return err
		}
	}
	return nil
}

func (w *Warehouse) takeBack(run string) error {
	files, err := filepath.Glob(filepath.Join(w.VersionPath(run), "*.parquet"))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		if _, err := w.takeBackFile(file, w.path(seriesDir, strings.TrimSuffix(name, ".parquet"), seriesDay+"*", name)); err != nil {
			return err
		}
	}
	taken, err := w.takeBackFile(filepath.Join(w.VersionPath(run), ManifestFile), w.dayManifestPath("*"))
	if err != nil || len(taken) == 0 {
		return err
	}
	return w.changeIndex(func(days map[string]string) {
		for _, path := range taken {
			delete(days, dayIn(path))
		}
	})
}

// takeBackFile removes the names of a file in the series.
func (w *Warehouse) takeBackFile(file, places string) (taken []string, err error) {
	found, err := filepath.Glob(places)
	if err != nil {
		return nil, err
	}
	for _, placed := range found {
		if !durable.SameFile(file, placed) {
			continue
		}
		if err := durable.RemoveUp(placed, w.path(seriesDir)); err != nil {
			return taken, err
		}
		taken = append(taken, placed)
	}
	return taken, nil
}

// seriesFile is the place of a table's file in the series.
func (w *Warehouse) seriesFile(t ManifestTable, at time.Time) string {
	return w.path(seriesDir, t.Name, seriesDay+dayOf(at), t.File)
}

// seriesDay starts the name of a day's folder, in the form that readers of
// partitioned Parquet take for a column.
const seriesDay = "snapshot_date="

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }
