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

// SetAside moves damaged files of the series into a folder of the run that skipped them,
// and removes their tables from the manifests of their days. The loss is then recorded
// once, in the ledger and in meta, and later checks do not report it again. It needs the
// Lock.
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

// SetDayAside moves all files of a day that no manifest accounts for into the folder of the
// run that did not use them. It needs the Lock.
func (r *Mender) SetDayAside(run, day string) error {
	if err := r.forgetDay(run, day); err != nil {
		return err
	}
	return r.moveAside(run, r.folder.relativePath(r.folder.dayManifestPath(day)))
}

// moveAside moves a file, if it exists, to the same path below damagedDir.
func (r *Mender) moveAside(run, file string) error {
	from, to := r.folder.path(file), r.folder.path(damagedDir, run, file)
	if _, err := os.Lstat(from); err != nil {
		return nil // it does not exist
	}
	// The file is one of the version that was just built.
	if latest, ok, err := r.versions.Latest(); err == nil && ok && latest == run && durable.SameFile(from, filepath.Join(r.folder.VersionPath(run), filepath.Base(file))) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), privateDir); err != nil {
		return err
	}
	return r.folder.disk.Rename(from, to)
}

// forgetDay removes a day that has no readable manifest from the series.
func (r *Mender) forgetDay(run, day string) error {
	for _, file := range r.series.filesOfDay(day) {
		if err := r.moveAside(run, r.folder.relativePath(file)); err != nil {
			return err
		}
		_ = os.Remove(filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".next")) // of a killed run
		_ = os.Remove(filepath.Dir(file))                                                 // fails when it is not empty
	}
	return r.series.changeIndex(func(days map[string]string) {
		if days[day] != run {
			delete(days, day)
		}
	})
}

// forgetTables removes tables from the manifest of a day, unless the day is that of the
// version that readers see.
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
	return r.folder.writeSealed(r.folder.dayManifestPath(day), m)
}
