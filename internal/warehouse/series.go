package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/stream"
)

// Snapshot is one day of the Parquet series.
type Snapshot struct {
	// Run and At are those of the run that wrote the files.
	Run string
	At  time.Time
	// Files are paths by table.
	Files map[string]string
}

// Snapshots lists the days of the series, oldest first, with the run and time
// that the files name in their metadata.
func (d *Draft) Snapshots(ctx context.Context) ([]Snapshot, error) {
	byRun := map[string]Snapshot{}
	for _, t := range d.w.cfg.Tables {
		days, err := folders(d.w.path(seriesDir, t.Name))
		if err != nil {
			return nil, fmt.Errorf("list the series of %s: %w", t.Name, err)
		}
		for _, day := range days {
			file := d.w.path(seriesDir, t.Name, day, t.Name+".parquet")
			if _, err := os.Stat(file); err != nil {
				continue
			}
			if err := d.enlist(ctx, byRun, t.Name, file); err != nil {
				return nil, fmt.Errorf("read the metadata of %s: %w", file, err)
			}
		}
	}
	all := make([]Snapshot, 0, len(byRun))
	for _, s := range byRun {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Snapshot) int { return a.At.Compare(b.At) })
	return all, nil
}

func (d *Draft) enlist(ctx context.Context, byRun map[string]Snapshot, table, file string) error {
	var run, at string
	err := d.DB.QueryRowContext(ctx, `SELECT max(value::VARCHAR) FILTER (key = 'run_id'),
		max(value::VARCHAR) FILTER (key = 'snapshot_at') FROM parquet_kv_metadata(?)`, file).Scan(&run, &at)
	if err != nil {
		return err
	}
	s, ok := byRun[run]
	if !ok {
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return err
		}
		s = Snapshot{Run: run, At: when, Files: map[string]string{}}
	}
	s.Files[table] = file
	byRun[run] = s
	return nil
}

// Meta are the definitions of the tables of meta.
func (w *Warehouse) Meta() []stream.Definition { return w.meta }

// extendSeries gives the Parquet files of versions, oldest first, their places
// in the series: one a table and day, the last run of the day. What is in its
// place already costs a look at it.
func (w *Warehouse) extendSeries(line ...Manifest) error {
	for _, m := range lastOfDay(line) {
		for _, t := range m.Tables {
			from, to := filepath.Join(w.VersionPath(m.RunID), t.File), w.seriesFile(t, m.SnapshotAt)
			if sameFile(from, to) {
				continue
			}
			err := w.disk.around("folder for", to, func() error {
				return errors.Join(w.disk.makePublic(filepath.Dir(filepath.Dir(to))), w.disk.makePublic(filepath.Dir(to)))
			})
			if err == nil {
				err = w.disk.placeLink(from, to)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
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
// built on.
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
		m, err := w.ReadManifest(run)
		if errors.Is(err, fs.ErrNotExist) {
			continue // what it had in the series cannot be told
		}
		if err != nil {
			return err
		}
		if err := w.takeBack(m); err != nil {
			return err
		}
	}
	return nil
}

func (w *Warehouse) takeBack(m Manifest) error {
	for _, t := range m.Tables {
		placed := w.seriesFile(t, m.SnapshotAt)
		if !sameFile(filepath.Join(w.VersionPath(m.RunID), t.File), placed) {
			continue
		}
		if err := removeUp(placed, w.path(seriesDir)); err != nil {
			return err
		}
	}
	return nil
}

// sameFile tells whether two names lead to one file, or to a copy that
// placeLink made of the other: where a file system has no hard links the copy
// carries the time of its origin to the nanosecond.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX != nil || errY != nil {
		return false
	}
	return os.SameFile(x, y) || x.Size() == y.Size() && x.ModTime().Equal(y.ModTime())
}

// seriesFile is the place of a table's file in the series.
func (w *Warehouse) seriesFile(t ManifestTable, at time.Time) string {
	return w.path(seriesDir, t.Name, seriesDay+dayOf(at), t.File)
}

// seriesDay starts the name of a day's folder, in the form that readers of
// partitioned Parquet take for a column.
const seriesDay = "snapshot_date="

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// removeUp removes a file and the folders above it that it leaves empty, up to
// a root that stays.
func removeUp(path, root string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for dir := filepath.Dir(path); dir != root; dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return syncPath(dir) // not empty: another file lives there
		}
	}
	return nil
}
