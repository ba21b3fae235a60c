package warehouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// VerifyError says that a version is not what its manifest claims, so that it
// was not published.
type VerifyError struct{ Run, Table, Problem string }

func (e *VerifyError) Error() string {
	return fmt.Sprintf("verify version %s: table %s: %s: nothing was published, the last snapshot stays",
		e.Run, e.Table, e.Problem)
}

// AfterSwitchError says that a version is published, and that something that
// follows was not done: the next run does it.
type AfterSwitchError struct {
	Run string
	Err error
}

func (e *AfterSwitchError) Error() string {
	return fmt.Sprintf("finish version %s: %v: readers see it already, the next run finishes it", e.Run, e.Err)
}

func (e *AfterSwitchError) Unwrap() error { return e.Err }

// Publish seals the draft, verifies it as a reader would open it, and makes it
// visible in one step: the symlink "latest" moves from the last version to
// this one. Until that step readers and disk show the last snapshot, after it
// the new one; a crash in between leaves one of the two, never a mixture.
//
// tables carry name, grade and file of each table; rows, key range, size and
// checksum are filled in here. An *AfterSwitchError means that the version is
// published all the same; any other error that nothing is.
func (d *Draft) Publish(ctx context.Context, tables []ManifestTable) (Manifest, error) {
	m := Manifest{RunID: d.Run, Kind: d.Kind, Night: cmp.Or(d.Source, d.w.Versions.nightBefore(d.Previous)), SnapshotAt: d.At, Program: d.w.cfg.Program, Schema: SchemaVersion(), Format: Format,
		Previous: d.Previous, Tables: tables}
	if err := d.sealAndVerify(ctx, &m); err != nil {
		return m, err
	}
	// A run that was killed between rename and switch and taken up again
	// finds its own folder, which nobody has seen.
	if err := d.w.Folder.disk.RemoveAll(d.w.Folder.VersionPath(d.Run)); err != nil {
		return m, fmt.Errorf("publish version %s: %w", d.Run, err)
	}
	if err := d.w.Folder.disk.Rename(d.Dir, d.w.Folder.VersionPath(d.Run)); err != nil {
		return m, fmt.Errorf("publish version %s: %w", d.Run, err)
	}
	// The name at the top leads through the switch: it has to be there first.
	if err := d.w.Versions.linkCatalog(); err != nil {
		return m, err
	}
	if err := d.w.Folder.disk.SwapLink(filepath.Join(versionsDir, d.Run), d.w.Folder.path(latestLink)); err != nil {
		return m, fmt.Errorf("switch to version %s: %w: %s", d.Run, err, d.w.Versions.describeFailedSwitch(d.Run))
	}
	if err := d.w.finishPublish(d.Run); err != nil {
		return m, &AfterSwitchError{d.Run, err}
	}
	return m, nil
}

// sealAndVerify has the DuckDB that verifies start up while the version is sealed,
// and takes the checksum of the catalogue, which nobody changes any more, while it
// verifies.
func (d *Draft) sealAndVerify(ctx context.Context, m *Manifest) (err error) {
	mode, err := d.w.Folder.publicMode(d.Dir)
	if err != nil {
		return d.unpublishedErr("publish", err)
	}
	var reader *Instance
	var sealing, judging errgroup.Group
	sealing.Go(func() (err error) {
		reader, err = d.newReader(ctx)
		return err
	})
	sealing.Go(func() error { return d.sealFiles(ctx, m, mode) })
	err = sealing.Wait()
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
	judging.Go(func() (err error) {
		if m.Catalog, err = sumFile(d.Dir, CatalogFile); err != nil {
			return d.unpublishedErr("publish", err)
		}
		return nil
	})
	judging.Go(func() error { return d.w.verifier.verifyVersion(ctx, reader, d.Dir, claimed) })
	if err := judging.Wait(); err != nil {
		return err
	}
	if err := d.writeManifest(m, mode); err != nil {
		return d.unpublishedErr("publish", err)
	}
	return nil
}

func (d *Draft) unpublishedErr(what string, err error) error {
	return fmt.Errorf("%s version %s: %w: nothing was published, the last snapshot stays", what, d.Run, err)
}

// sealers is how many files are being sealed at once: what they wait for is mostly
// the disk, which takes their syncs together.
const sealers = 8

// sealFiles writes the files to disk: the catalogue checkpointed and closed, and those
// of the tables, with their sizes and checksums for the manifest.
func (d *Draft) sealFiles(ctx context.Context, m *Manifest, mode fs.FileMode) error {
	sums := make([]ManifestFileSum, len(m.Tables))
	var sealing errgroup.Group
	sealing.SetLimit(sealers)
	sealing.Go(func() error { return d.sealCatalog(ctx, m, mode) })
	for i := range sums {
		sealing.Go(func() (err error) {
			sums[i], err = d.sealFile(m.Tables[i].File, mode)
			return err
		})
	}
	if err := sealing.Wait(); err != nil {
		return err
	}
	for i, sum := range sums {
		m.Tables[i].ManifestFileSum = sum
	}
	return d.sealNotes(m, mode)
}

// sealNotes seals what the version tells of its run, where it does.
func (d *Draft) sealNotes(m *Manifest, mode fs.FileMode) (err error) {
	if d.meta != nil {
		if d.meta.ManifestFileSum, err = d.sealFile(MetaFile, mode); err != nil {
			return err
		}
		m.Meta = d.meta
	}
	entry, err := sumFile(d.Dir, runFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m.Entry = &entry
	return err
}

// writeManifest writes what the version says of itself, and syncs the folder.
func (d *Draft) writeManifest(m *Manifest, mode fs.FileMode) error {
	data, err := sealObject(m)
	if err != nil {
		return err
	}
	if err := d.w.Folder.disk.WriteFileExact(filepath.Join(d.Dir, ManifestFile), data, mode); err != nil {
		return err
	}
	return d.w.Folder.setModeAndSync(d.Dir, folderMode(mode))
}

func (d *Draft) sealCatalog(ctx context.Context, m *Manifest, mode fs.FileMode) error {
	err := d.measureTables(ctx, m.Tables)
	if err == nil {
		err = d.Step("before checkpoint")
	}
	if err == nil {
		err = d.closeCatalog(ctx)
	}
	if err == nil {
		err = d.Step("after checkpoint")
	}
	if err != nil {
		return err
	}
	return d.w.Folder.setModeAndSync(filepath.Join(d.Dir, CatalogFile), mode)
}

func (d *Draft) sealFile(name string, mode fs.FileMode) (ManifestFileSum, error) {
	if err := d.w.Folder.setModeAndSync(filepath.Join(d.Dir, name), mode); err != nil {
		return ManifestFileSum{}, err
	}
	return sumFile(d.Dir, name)
}

func (d *Draft) closeCatalog(ctx context.Context) error {
	if err := d.Exec(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	err := d.Instance.Close()
	d.Instance = nil
	return errors.Join(err, os.RemoveAll(filepath.Join(d.Dir, "spill")))
}

// measureTables counts the rows of every table and finds the range of its key, in one
// statement for all.
func (d *Draft) measureTables(ctx context.Context, tables []ManifestTable) error {
	var parts []string
	for i := range tables {
		key, err := d.w.Catalog.firstKey(tables[i].Name)
		if err != nil {
			return err
		}
		parts = append(parts, fmt.Sprintf("SELECT %d, count(*), coalesce(min(%[2]s), ''), coalesce(max(%[2]s), '') FROM main.%[3]s",
			i, Quote(key), Quote(tables[i].Name)))
	}
	return d.EachRow(ctx, parts, func(scan func(...any) error) error {
		var i int
		var one ManifestTable
		if err := scan(&i, &one.Rows, &one.KeyMin, &one.KeyMax); err != nil {
			return err
		}
		t := &tables[i]
		t.Rows, t.KeyMin, t.KeyMax = one.Rows, one.KeyMin, one.KeyMax
		return nil
	})
}
