package repair

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"placementsync/internal/durable"
	"placementsync/internal/warehouse"
)

// setAside moves damaged files of the Parquet series to damaged/<run> and removes their tables from the
// manifests of their days. If the manifest of a day is missing or damaged, it moves all files of the day.
// Later calls of Check do not report the moved files again. run is the id of the rebuild that skipped the files.
// The caller must hold the lock of the warehouse.
func setAside(w *warehouse.Warehouse, run string, damage []Damage) error {
	inv, err := takeInventory(context.Background(), w, false)
	if err != nil {
		return err
	}
	lostTables := map[string][]string{}
	for _, d := range damage {
		path := w.Folder.Path(d.File)
		if path == w.Series.IndexPath() && inv.indexErr == nil {
			continue // the rebuild has written a new index
		}
		if table, day, ok := warehouse.SplitSeriesFile(d.File); ok {
			lostTables[day] = append(lostTables[day], table)
		}
		if err := inv.moveAside(run, path); err != nil {
			return err
		}
		if day := warehouse.DayIn(path); path == w.Folder.DayManifestPath(day) {
			if err := inv.removeDay(run, day); err != nil {
				return err
			}
		}
	}
	for day, tables := range lostTables {
		if err := inv.removeTables(day, tables); err != nil {
			return err
		}
	}
	return nil
}

func (inv *inventory) moveAside(run, path string) error {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	folder := inv.w.Folder
	// The rebuild has written the files of its own day again. Its version can also contain an unchanged file of
	// an earlier day, so the day decides.
	fileInVersion := filepath.Join(folder.VersionPath(run), filepath.Base(path))
	if inv.indexDays[warehouse.DayIn(filepath.Dir(path))] == run && durable.SameFile(path, fileInVersion) {
		return nil
	}
	target := folder.Path("damaged", run, folder.Relative(path))
	if err := folder.Disk().MakeFolder(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return folder.Disk().Rename(path, target)
}

// removeDay moves the table files of a day aside. It also removes the day from the index, unless the
// day has this run in the index.
func (inv *inventory) removeDay(run, day string) error {
	for _, file := range inv.w.Series.DayFiles(day) {
		if err := inv.moveAside(run, file); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // fails if the folder is not empty
	}
	return inv.w.Series.ChangeIndex(func(days map[string]string) {
		if days[day] != run {
			delete(days, day)
		}
	})
}

// removeTables removes tables from the manifest of a day and from the copy of this manifest beside the changes of
// the run, because a repair of the series would try to restore the files. If readers see the version of the day,
// the manifests are not changed. A day without a manifest is not in the series.
func (inv *inventory) removeTables(day string, tables []string) error {
	run := inv.indexDays[day]
	if run == inv.visible {
		return nil
	}
	m, hasManifest, _ := inv.dayManifest(day, run)
	if !hasManifest {
		return nil
	}
	remove := func(m *warehouse.Manifest) {
		m.Tables = slices.DeleteFunc(m.Tables, func(t warehouse.ManifestTable) bool { return slices.Contains(tables, t.Name) })
		m.Lost = append(m.Lost, tables...)
	}
	copyPath := inv.w.Folder.RunManifestPath(m.RunID)
	if manifestCopy, err := inv.w.Versions.ReadManifestFile(copyPath, m.RunID); err == nil {
		remove(&manifestCopy)
		if err := inv.w.Folder.WriteSealed(copyPath, manifestCopy); err != nil {
			return err
		}
	}
	remove(&m)
	return inv.w.Folder.WriteSealed(inv.w.Folder.DayManifestPath(day), m)
}
