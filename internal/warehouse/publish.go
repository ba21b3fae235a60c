package warehouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"placementsync/internal/checksum"
	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
)

// AfterSwitchError means that a version is published, but a later step failed. The next run
// completes it.
type AfterSwitchError struct {
	Run string
	Err error
}

func (e *AfterSwitchError) Error() string {
	return fmt.Sprintf("version %s is published, but a later step failed: %v", e.Run, e.Err)
}

func (e *AfterSwitchError) Unwrap() error { return e.Err }

// Publish seals the draft, verifies it and switches readers to it in one step, by moving the
// symlink "latest". After a crash readers see the last snapshot or the new one, never a mixture.
//
// tables contain the name, grade and file of each table. Publish adds rows, key range, size and
// checksum. After an *AfterSwitchError the version is published. After any other error it is not.
func (d *Draft) Publish(ctx context.Context, tables []ManifestTable) (Manifest, error) {
	m, err := d.seal(ctx, tables)
	if err != nil {
		return m, err
	}
	// A resumed run that was killed between rename and switch finds its own folder. No reader
	// has seen it.
	if err := d.w.Folder.disk.RemoveAll(d.w.Folder.VersionPath(d.Run)); err != nil {
		return m, fmt.Errorf("publish version %s: %w", d.Run, err)
	}
	if err := d.w.Folder.disk.Rename(d.Dir, d.w.Folder.VersionPath(d.Run)); err != nil {
		return m, fmt.Errorf("publish version %s: %w", d.Run, err)
	}
	// The link catalog.duckdb points to a path below "latest". It must exist before the switch.
	if err := d.w.Versions.linkCatalog(); err != nil {
		return m, err
	}
	if err := d.w.Versions.switchTo(d.Run); err != nil {
		seen := "nothing was published; readers keep the last snapshot"
		// The link may be moved without being synced.
		if latest, _, readErr := d.w.Versions.Latest(); readErr == nil && latest == d.Run {
			seen = "readers see it, but a power cut may take it back: look at the disk, then run again"
		}
		return m, fmt.Errorf("switch to version %s: %w: %s", d.Run, err, seen)
	}
	if err := d.w.finishPublish(d.Run); err != nil {
		return m, &AfterSwitchError{d.Run, err}
	}
	return m, nil
}

// seal makes the manifest of the draft, seals its files and verifies them.
func (d *Draft) seal(ctx context.Context, tables []ManifestTable) (Manifest, error) {
	m := Manifest{RunID: d.Run, Kind: d.Kind, Night: cmp.Or(d.Source, d.w.Versions.nightBefore(d.Previous)), SnapshotAt: d.At, Program: d.w.cfg.Program, Schema: dictionary.SchemaVersion(), Format: Format,
		Previous: d.Previous, Tables: tables}
	return m, d.sealAndVerify(ctx, &m)
}

// sealAndVerify starts a DuckDB for the verification while the files are sealed. It then verifies
// the catalog and takes its checksum at the same time.
func (d *Draft) sealAndVerify(ctx context.Context, m *Manifest) (err error) {
	mode, err := d.publicMode()
	if err != nil {
		return d.unpublishedErr("publish", err)
	}
	var reader *Instance
	err = runBoth(func() (err error) {
		if reader, err = d.w.engine.openMemory(ctx, d.w.Folder); err != nil {
			return err
		}
		return reader.LimitMemory(ctx, true)
	}, func() error { return d.sealFiles(ctx, m, mode) })
	if reader != nil {
		defer func() { err = errors.Join(err, reader.Close()) }()
	}
	if err != nil {
		return d.unpublishedErr("publish", err)
	}
	if err := d.Step("before verify"); err != nil {
		return d.unpublishedErr("verify", err)
	}
	claimed := *m
	err = runBoth(func() (err error) {
		if m.Catalog, err = checksum.SumFile(context.Background(), d.Dir, CatalogFile); err != nil {
			return d.unpublishedErr("publish", err)
		}
		return nil
	}, func() error { return d.verify(ctx, reader, claimed) })
	if err != nil {
		return err
	}
	data, err := checksum.Seal(m)
	if err == nil {
		err = d.w.Folder.disk.WriteFileExact(filepath.Join(d.Dir, ManifestFile), data, mode)
	}
	if err == nil {
		err = d.w.Folder.setModeAndSync(d.Dir, folderMode(mode))
	}
	if err != nil {
		return d.unpublishedErr("publish", err)
	}
	return nil
}

// runBoth runs two functions at the same time and joins their errors.
func runBoth(one, other func() error) error {
	failed := make(chan error, 1)
	go func() { failed <- one() }()
	err := other()
	return errors.Join(<-failed, err)
}

func (d *Draft) unpublishedErr(verb string, err error) error {
	return fmt.Errorf("%s version %s: %w: nothing was published; readers keep the last snapshot", verb, d.Run, err)
}

// sealFiles writes and closes the catalog, syncs all files and adds their checksums to the
// manifest.
func (d *Draft) sealFiles(ctx context.Context, m *Manifest, mode fs.FileMode) error {
	for _, t := range m.Tables {
		d.SealFile(t.File)
	}
	if d.meta != nil {
		d.SealFile(MetaFile)
	}
	err := d.sealCatalog(ctx, m, mode)
	sums, sealErr := d.sealing.wait()
	if err = errors.Join(err, sealErr); err != nil {
		return err
	}
	for i, t := range m.Tables {
		m.Tables[i].FileSum = sums[t.File]
	}
	if d.meta != nil {
		d.meta.FileSum = sums[MetaFile]
		m.Meta = d.meta
	}
	entry, err := checksum.SumFile(context.Background(), d.Dir, runFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m.Entry = &entry
	return err
}

func (d *Draft) sealCatalog(ctx context.Context, m *Manifest, mode fs.FileMode) error {
	err := d.measureTables(ctx, m.Tables)
	if err == nil {
		err = d.Step("before checkpoint")
	}
	if err == nil {
		err = d.writeCatalog(ctx, len(d.carried) < len(m.Tables))
	}
	if err == nil {
		err = d.Step("after checkpoint")
	}
	if err != nil {
		return err
	}
	return d.w.Folder.setModeAndSync(filepath.Join(d.Dir, CatalogFile), mode)
}

// measureTables counts the rows of every table and finds the range of its key, in one statement.
// An unchanged table has the values of the previous version.
func (d *Draft) measureTables(ctx context.Context, tables []ManifestTable) error {
	var parts []sqltext.SQL
	for i := range tables {
		if was, ok := d.carried[tables[i].Name]; ok {
			tables[i].Rows, tables[i].KeyMin, tables[i].KeyMax = was.Rows, was.KeyMin, was.KeyMax
			continue
		}
		key := d.w.Catalog.tableKey(tables[i].Name)
		if key == nil {
			return fmt.Errorf("find the key of table %q: no stream fills it", tables[i].Name)
		}
		parts = append(parts, verifySQL.Render("measure_table", sqltext.Values{"index": i, "key": sqltext.Name(key[0]), "table": sqltext.Name(tables[i].Name)}))
	}
	return d.EachRow(ctx, parts, func(scan func(...any) error) error {
		var i int
		var one ManifestTable
		if err := scan(&i, &one.Rows, &one.KeyMin, &one.KeyMax); err != nil {
			return err
		}
		tables[i].Rows, tables[i].KeyMin, tables[i].KeyMax = one.Rows, one.KeyMin, one.KeyMax
		return nil
	})
}

// finishPublish links catalog.duckdb, extends the series and removes versions beyond keep_versions.
// It runs after the switch and can be repeated.
func (w *Warehouse) finishPublish(run string) error {
	if err := w.Versions.linkCatalog(); err != nil {
		return err
	}
	m, err := w.Versions.ReadManifest(run)
	if err != nil {
		return err
	}
	missing, err := w.Series.missingVersions(run)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		missing = []Manifest{m} // the series has the day, but may have lost files of it
	}
	if err := w.Series.extendSeries(missing...); err != nil {
		return &ExtendError{daysOf(missing), err}
	}
	old, err := w.Versions.oldPaths()
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := w.Folder.disk.Discard(path); err != nil {
			return fmt.Errorf("remove the old version %s: %w", path, err)
		}
	}
	return w.dropStaleHeld()
}
