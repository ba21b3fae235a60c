package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/schema"
)

// AfterSwitchError means that a version is published, but a later step failed. The next run
// completes the step.
type AfterSwitchError struct {
	Run string
	Err error
}

func (e *AfterSwitchError) Error() string {
	return fmt.Sprintf("version %s is published, but a step after it failed: %v; readers see the version, and the next run completes the step", e.Run, e.Err)
}

func (e *AfterSwitchError) Unwrap() error { return e.Err }

// UnsyncedSwitchError means that readers see a version, but the link "latest" could not be synced.
type UnsyncedSwitchError struct {
	Run string
	Err error
}

func (e *UnsyncedSwitchError) Error() string {
	return fmt.Sprintf("switch to version %s: %v; readers see the version, but a power cut may undo the switch: check the disk, then run placementsync verify", e.Run, e.Err)
}

func (e *UnsyncedSwitchError) Unwrap() error { return e.Err }

// switchErr returns the error of a failed switch to a version: an *UnsyncedSwitchError if readers see the
// version, and otherwise an error whose message ends with consequence.
func (v *Versions) switchErr(run string, err error, consequence string) error {
	if latest, _, readErr := v.Latest(); readErr == nil && latest == run {
		return &UnsyncedSwitchError{run, err}
	}
	return fmt.Errorf("switch to version %s: %w; %s", run, err, consequence)
}

// Publish finishes the draft, verifies it and switches readers to it in one step, by replacing the
// symlink "latest". After a crash readers see the last snapshot or the new one, never a mixture.
//
// tables contain the name, grade and file of each table. Publish adds the number of rows, the range of
// keys, the size and the checksum. After an *AfterSwitchError the version is published. After an
// *UnsyncedSwitchError readers see the version, but a power cut may undo the switch. After any other error the
// version is not published.
func (d *Draft) Publish(ctx context.Context, tables []ManifestTable) (Manifest, error) {
	m, err := d.finish(ctx, tables)
	if err != nil {
		return m, err
	}
	if err = d.w.Versions.moveDraft(d.Dir, d.Run); err == nil {
		// The link catalog.duckdb points to a path below "latest". It must exist before the switch.
		err = d.w.Versions.linkCatalog()
	}
	if err != nil {
		return m, d.unpublishedErr("publish", err)
	}
	if err := d.w.Versions.switchTo(d.Run); err != nil {
		return m, d.w.Versions.switchErr(d.Run, err, "nothing was published; readers keep the last snapshot")
	}
	if err := d.w.finishPublish(d.Run); err != nil {
		return m, &AfterSwitchError{d.Run, err}
	}
	return m, nil
}

func (d *Draft) finish(ctx context.Context, tables []ManifestTable) (m Manifest, err error) {
	m = Manifest{RunID: d.Run, Kind: d.Kind, Night: d.Source, SnapshotAt: d.At, Program: d.w.cfg.Program, Schema: schema.SchemaVersion(), Format: Format,
		Previous: d.Previous, Tables: tables, Meta: d.meta}
	if m.Night == "" && d.previousManifest.Kind == ledger.Refresh {
		m.Night = d.previousManifest.baseRun()
	}
	mode, err := d.w.Folder.publicMode(d.Dir)
	if err == nil {
		err = d.finishFiles(ctx, &m, mode)
	}
	if err != nil {
		return m, d.unpublishedErr("publish", err)
	}
	var catalog checksum.FileSum
	var group errgroup.Group
	group.Go(func() error { return d.verify(ctx, m) })
	group.Go(func() (err error) {
		if catalog, err = checksum.SumFile(ctx, d.Dir, CatalogFile); err != nil {
			return d.unpublishedErr("publish", err)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return m, err
	}
	m.Catalog = catalog
	if err := d.w.Folder.writeManifest(d.Dir, m, mode); err != nil {
		return m, d.unpublishedErr("publish", err)
	}
	return m, nil
}

func (f *Folder) writeManifest(dir string, m Manifest, mode fs.FileMode) error {
	data, err := checksum.Seal(m)
	if err != nil {
		return err
	}
	if err := f.disk.WriteFileExactMode(filepath.Join(dir, ManifestFile), data, mode); err != nil {
		return err
	}
	return f.setModeAndSync(dir, FolderMode(mode))
}

func (d *Draft) unpublishedErr(verb string, err error) error {
	return fmt.Errorf("%s version %s: %w; nothing was published; readers keep the last snapshot", verb, d.Run, err)
}

// finishFiles makes all files except runFile public, and adds all checksums except that of the catalog to the manifest.
func (d *Draft) finishFiles(ctx context.Context, m *Manifest, mode fs.FileMode) error {
	if err := d.MeasureTables(ctx, m.Tables); err != nil {
		return err
	}
	var sums []*checksum.FileSum
	for i := range m.Tables {
		sums = append(sums, &m.Tables[i].FileSum)
	}
	if m.Meta != nil {
		sums = append(sums, &m.Meta.FileSum)
	}
	const parallel = 8
	var group errgroup.Group
	group.SetLimit(parallel)
	group.Go(func() error {
		isChanged := len(d.copied) < len(m.Tables)
		if err := d.writeCatalog(ctx, isChanged); err != nil {
			return err
		}
		return d.w.Folder.setModeAndSync(filepath.Join(d.Dir, CatalogFile), mode)
	})
	for _, sum := range sums {
		group.Go(func() (err error) {
			if err := d.w.Folder.setModeAndSync(filepath.Join(d.Dir, sum.File), mode); err != nil {
				return err
			}
			*sum, err = checksum.SumFile(ctx, d.Dir, sum.File)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	line, err := checksum.SumFile(ctx, d.Dir, runFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m.LedgerLine = &line
	return err
}

// A DuckDB file consists of blocks of one size, and tables do not share blocks. With blocks of the
// default size of 256 KiB, a hundred small tables take four times the space of their rows. With blocks
// of 16 KiB, a million rows take a third more space than with large blocks.
// docs/performance.md contains the measurement.
const (
	smallBlock = 16 << 10
	largeBlock = 256 << 10
	manyRows   = 250_000 // a catalog with at least this number of rows has large blocks
	// If a table changed and the file of the previous version has at most compactSize bytes, the whole catalog
	// is written to a new file. This takes no longer than writing the changes, and leaves no free blocks in the file.
	compactSize = 8 << 20
)

// writeCatalog writes the catalog of the draft and closes it. isChanged means that a table of the schema
// main changed. If chooseBlockSize returns a size, writeCatalog copies the catalog to a new file, because
// DuckDB sets the size of blocks when it creates a file.
func (d *Draft) writeCatalog(ctx context.Context, isChanged bool) error {
	path := filepath.Join(d.Dir, CatalogFile)
	newFile := path + ".moved"
	newSize, err := d.chooseBlockSize(ctx, isChanged)
	if err != nil {
		return fmt.Errorf("choose the blocks of the catalog: %w", err)
	}
	write := sqltext.SQL("CHECKPOINT")
	if newSize != 0 {
		write = instanceSQL.Render("copy_catalog", sqltext.Values{"file": newFile, "size": newSize, "storage": StorageVersion})
	}
	if err := d.Exec(ctx, write); err != nil {
		return err
	}
	err = d.Instance.Close()
	d.Instance = nil
	if err != nil || newSize == 0 {
		return err
	}
	return d.w.Folder.disk.Rename(newFile, path)
}

// chooseBlockSize returns the size of blocks for a new file, or 0 if the changes are written to the
// existing file.
func (d *Draft) chooseBlockSize(ctx context.Context, isChanged bool) (int64, error) {
	var blockSize, rows int64
	if err := d.DB.QueryRowContext(ctx, string(instanceSQL.Render("measure_catalog", nil))).Scan(&blockSize, &rows); err != nil {
		return 0, err
	}
	var size int64 = smallBlock
	if rows >= manyRows {
		size = largeBlock
	}
	wasSmallFile := d.Previous != "" && d.previousManifest.Catalog.Bytes <= compactSize
	if size != blockSize || isChanged && wasSmallFile {
		return size, nil
	}
	return 0, nil
}

// MeasureTables sets the number of rows and the range of the first key column of every table, in one
// statement. A table whose file was copied keeps the values of the previous version.
func (d *Draft) MeasureTables(ctx context.Context, tables []ManifestTable) error {
	var queries []sqltext.SQL
	for i := range tables {
		if previous, ok := d.copied[tables[i].Name]; ok {
			tables[i].Rows, tables[i].KeyMin, tables[i].KeyMax = previous.Rows, previous.KeyMin, previous.KeyMax
			continue
		}
		key := d.Schema.tableKey(tables[i].Name)
		if key == nil {
			return fmt.Errorf("find the key of table %q: no stream fills it", tables[i].Name)
		}
		queries = append(queries, verifySQL.Render("measure_table", sqltext.Values{"index": i, "key": sqltext.Name(key[0]), "table": sqltext.Name(tables[i].Name)}))
	}
	return d.EachRow(ctx, queries, func(scan func(...any) error) error {
		var i int
		var measured ManifestTable
		err := scan(&i, &measured.Rows, &measured.KeyMin, &measured.KeyMax)
		tables[i].Rows, tables[i].KeyMin, tables[i].KeyMax = measured.Rows, measured.KeyMin, measured.KeyMax
		return err
	})
}

// VerifyError means that a draft does not match its manifest. The draft was not published.
type VerifyError struct{ Run, Table, Problem string }

func (e *VerifyError) Error() string {
	return fmt.Sprintf("verify version %s: table %s: %s; nothing was published; readers keep the last snapshot: check the disk, then run placementsync replay %[1]s",
		e.Run, e.Table, e.Problem)
}

// verify opens the closed catalog of the draft read-only, as readers do. It compares the row counts
// in the catalog and in the Parquet files with the manifest, and checks that keys are unique.
func (d *Draft) verify(ctx context.Context, m Manifest) (err error) {
	reader, err := d.w.openMemory(ctx)
	if err != nil {
		return d.unpublishedErr("verify", err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if err = reader.ReduceMemory(ctx); err == nil {
		err = reader.attachReadOnly(ctx, filepath.Join(d.Dir, CatalogFile))
	}
	if err != nil {
		return d.unpublishedErr("verify", err)
	}
	var queries []sqltext.SQL
	for i, t := range m.Tables {
		queries = append(queries, verifySQL.Render("count_rows", sqltext.Values{"index": i, "table": sqltext.Name(t.Name),
			"key": sqltext.Names(d.Schema.tableKey(t.Name)), "file": filepath.Join(d.Dir, t.File)}))
	}
	err = reader.EachRow(ctx, queries, func(scan func(...any) error) error {
		var i int
		var rows, hashes, fileRows int64 // hashes counts the different hashes of keys
		if err := scan(&i, &rows, &hashes, &fileRows); err != nil {
			return err
		}
		t := m.Tables[i]
		switch {
		case rows != t.Rows:
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in the catalog, %d in the manifest", rows, t.Rows)}
		case fileRows != t.Rows:
			return &VerifyError{m.RunID, t.Name, fmt.Sprintf("%d rows in Parquet, %d in the manifest", fileRows, t.Rows)}
		case hashes != rows: // a key is repeated or, rarely, two keys have the same hash
			return d.verifyKeys(ctx, reader, m.RunID, t)
		}
		return nil
	})
	if err != nil && !errors.As(err, new(*VerifyError)) {
		return &VerifyError{m.RunID, "(any)", err.Error()}
	}
	return err
}

// verifyKeys compares the number of different keys of a table with its rows.
func (d *Draft) verifyKeys(ctx context.Context, reader *Instance, run string, t ManifestTable) error {
	var keys int64
	count := verifySQL.Render("count_keys", sqltext.Values{"table": sqltext.Name(t.Name), "key": sqltext.Names(d.Schema.tableKey(t.Name))})
	if err := reader.DB.QueryRowContext(ctx, string(count)).Scan(&keys); err != nil {
		return err
	}
	if keys != t.Rows {
		problem := "%d rows repeat the key of an earlier row: the merge stored them twice, which is a fault of this program, or the disk is damaged"
		return &VerifyError{run, t.Name, fmt.Sprintf(problem, t.Rows-keys)}
	}
	return nil
}

// finishPublish can be called again for the same run.
func (w *Warehouse) finishPublish(run string) error {
	if err := w.Versions.linkCatalog(); err != nil {
		return err
	}
	m, err := w.Versions.ReadManifest(run)
	if err != nil {
		return err
	}
	missing, err := w.Series.Missing()
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		missing = []Manifest{m} // the series has the day, but may lack some of its files
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
	stale, err := w.Versions.staleHeld()
	if err != nil {
		return err
	}
	return w.discardHeldFolders(stale)
}
