package warehouse

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/durable"
)

// damagedDir is where SetAside brings what is damaged.
const damagedDir = "damaged"

// SetAside takes damaged files of the series out of it, into a folder of the run that
// has passed them over, and leaves their tables out of the manifests of their days:
// what is lost is told once, in the ledger and in meta, and not by every later check.
// It needs the Lock.
func (w *Warehouse) SetAside(run string, found []Damage) error {
	lost := map[string][]string{}
	for _, d := range found {
		parts := strings.Split(d.File, "/")
		if len(parts) == 4 && parts[0] == seriesDir && strings.HasPrefix(parts[2], seriesDay) {
			lost[dayIn(parts[2])] = append(lost[dayIn(parts[2])], parts[1])
		}
		if err := w.setAside(run, d.File); err != nil {
			return err
		}
		if filepath.Dir(w.path(d.File)) == w.path(seriesDir, manifestsDir) && d.File != w.relative(w.indexPath()) {
			if err := w.loseDay(run, dayIn(d.File)); err != nil {
				return err
			}
		}
	}
	for day, tables := range lost {
		if err := w.loseTables(day, tables); err != nil {
			return err
		}
	}
	return nil
}

// setAside moves a file, if it is there, to the same path below the folder of damaged
// files.
func (w *Warehouse) setAside(run, file string) error {
	from, to := w.path(file), w.path(damagedDir, run, file)
	if _, err := os.Lstat(from); err != nil {
		return nil // gone: there is nothing to set aside
	}
	// The version that was built stands in the same place where it has the file.
	if latest, ok, err := w.Latest(); err == nil && ok && latest == run && durable.SameFile(from, filepath.Join(w.VersionPath(run), filepath.Base(file))) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), privateDir); err != nil {
		return err
	}
	return w.disk.Rename(from, to)
}

// loseDay forgets a day of which no manifest tells, with what there is of it.
func (w *Warehouse) loseDay(run, day string) error {
	for _, file := range w.filesOfDay(day) {
		if err := w.setAside(run, w.relative(file)); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // unless something else is in it
	}
	return w.changeIndex(func(days map[string]string) {
		if days[day] != run {
			delete(days, day)
		}
	})
}

// loseTables leaves tables out of the manifest of a day, unless the version that
// readers see stands for the day now.
func (w *Warehouse) loseTables(day string, tables []string) error {
	i, err := w.readIndex()
	if err != nil {
		return err
	}
	latest, _, err := w.Latest()
	if err != nil || i.Days[day] == latest {
		return err
	}
	m, err := w.dayManifest(day, i.Days[day])
	if err != nil {
		return err
	}
	var kept []ManifestTable
	for _, t := range m.Tables {
		if !slices.Contains(tables, t.Name) {
			kept = append(kept, t)
		}
	}
	m.Tables, m.Lost = kept, append(m.Lost, tables...)
	data, err := seal(m)
	if err != nil {
		return err
	}
	return w.writePublic(w.dayManifestPath(day), data)
}
