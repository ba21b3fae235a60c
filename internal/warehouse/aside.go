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
func (r *Mender) SetAside(run string, found []Damage) error {
	lost := map[string][]string{}
	for _, d := range found {
		parts := strings.Split(d.File, "/")
		if len(parts) == 4 && parts[0] == seriesDir && strings.HasPrefix(parts[2], seriesDay) {
			lost[dayIn(parts[2])] = append(lost[dayIn(parts[2])], parts[1])
		}
		if err := r.moveAside(run, d.File); err != nil {
			return err
		}
		if filepath.Dir(r.folder.path(d.File)) == r.folder.path(seriesDir, manifestsDir) && d.File != r.folder.relativePath(r.series.indexPath()) {
			if err := r.forgetDay(run, dayIn(d.File)); err != nil {
				return err
			}
		}
	}
	for day, tables := range lost {
		if err := r.forgetTables(day, tables); err != nil {
			return err
		}
	}
	return nil
}

// moveAside moves a file, if it is there, to the same path below the folder of damaged
// files.
func (r *Mender) moveAside(run, file string) error {
	from, to := r.folder.path(file), r.folder.path(damagedDir, run, file)
	if _, err := os.Lstat(from); err != nil {
		return nil // gone: there is nothing to set aside
	}
	// The version that was built stands in the same place where it has the file.
	if latest, ok, err := r.versions.Latest(); err == nil && ok && latest == run && durable.SameFile(from, filepath.Join(r.folder.VersionPath(run), filepath.Base(file))) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), privateDir); err != nil {
		return err
	}
	return r.folder.disk.Rename(from, to)
}

// forgetDay forgets a day of which no manifest tells, with what there is of it.
func (r *Mender) forgetDay(run, day string) error {
	for _, file := range r.series.filesOfDay(day) {
		if err := r.moveAside(run, r.folder.relativePath(file)); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // unless something else is in it
	}
	return r.series.changeIndex(func(days map[string]string) {
		if days[day] != run {
			delete(days, day)
		}
	})
}

// forgetTables leaves tables out of the manifest of a day, unless the version that
// readers see stands for the day now.
func (r *Mender) forgetTables(day string, tables []string) error {
	i, err := r.series.readIndex()
	if err != nil {
		return err
	}
	latest, _, err := r.versions.Latest()
	if err != nil || i.Days[day] == latest {
		return err
	}
	m, err := r.series.dayManifest(day, i.Days[day])
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
	data, err := sealObject(m)
	if err != nil {
		return err
	}
	return r.folder.writePublic(r.folder.dayManifestPath(day), data)
}
