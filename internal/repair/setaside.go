package repair

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"placementsync/internal/durable"
	"placementsync/internal/warehouse"
)

// SetAside moves damaged files of the Parquet series to damaged/<run> and removes their tables from the
// manifests of their days. If a day is unfinished or its manifest is damaged, it moves all files of the day.
// Later calls of Check do not report the moved files again. run is the id of the rebuild that skipped the files.
// The caller must hold the lock of the warehouse.
func SetAside(w *warehouse.Warehouse, run string, damage []Damage) error {
	lostTables := map[string][]string{}
	for _, d := range damage {
		path := w.Folder.Path(d.File)
		if d.Unfinished {
			path = w.Folder.DayManifestPath(d.Day)
		}
		if _, err := w.Series.Index(); path == w.Series.IndexPath() && err == nil {
			continue // the rebuild has written a new index
		}
		if table, day, ok := warehouse.SplitSeriesFile(d.File); ok {
			lostTables[day] = append(lostTables[day], table)
		}
		if err := moveAside(w, run, path); err != nil {
			return err
		}
		if day := warehouse.DayIn(path); path == w.Folder.DayManifestPath(day) {
			if err := removeDay(w, run, day); err != nil {
				return err
			}
		}
	}
	for day, tables := range lostTables {
		if err := removeTables(w, day, tables); err != nil {
			return err
		}
	}
	return nil
}

func moveAside(w *warehouse.Warehouse, run, path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	// The rebuild has written the files of its own day again. Its version can also contain an unchanged file of
	// an earlier day, so the day decides.
	fileInVersion := filepath.Join(w.Folder.VersionPath(run), filepath.Base(path))
	if w.Series.IndexOrManifests()[warehouse.DayIn(filepath.Dir(path))] == run && durable.SameFile(path, fileInVersion) {
		return nil
	}
	target := w.Folder.Path("damaged", run, w.Folder.Relative(path))
	if err := w.Folder.Disk().MakeFolder(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return w.Folder.Disk().Rename(path, target)
}

// removeDay moves the table files of a day aside. It also removes the day from the index, unless the
// day has this run in the index.
func removeDay(w *warehouse.Warehouse, run, day string) error {
	for _, file := range w.Series.DayFiles(day) {
		if err := moveAside(w, run, file); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // fails if the folder is not empty
	}
	return w.Series.ChangeIndex(func(days map[string]string) {
		if days[day] != run {
			delete(days, day)
		}
	})
}

// removeTables removes tables from the manifest of a day and from the copy of this manifest beside the changes of
// the run, because a repair of the series would try to restore the files. If readers see the version of the day,
// the manifests are not changed.
func removeTables(w *warehouse.Warehouse, day string, tables []string) error {
	inv, err := takeInventory(context.Background(), w, false)
	if err != nil || inv.indexDays[day] == inv.visible {
		return err
	}
	dayManifest, ok, err := inv.dayManifest(day, inv.indexDays[day])
	if !ok {
		return err
	}
	remove := func(m warehouse.Manifest) warehouse.Manifest {
		m.Tables = slices.DeleteFunc(m.Tables, func(t warehouse.ManifestTable) bool { return slices.Contains(tables, t.Name) })
		m.Lost = append(m.Lost, tables...)
		return m
	}
	copyPath := w.Folder.RunManifestPath(dayManifest.RunID)
	if manifestCopy, err := w.Versions.ReadManifestFile(copyPath, dayManifest.RunID); err == nil {
		if err := w.Folder.WriteSealed(copyPath, remove(manifestCopy)); err != nil {
			return err
		}
	}
	return w.Folder.WriteSealed(w.Folder.DayManifestPath(day), remove(dayManifest))
}
