package warehouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/sqltext"
	"placementsync/schema"
)

// Draft is an unpublished version in a private folder. Its catalog begins as a copy of the catalog of
// an earlier version. A run changes this copy. Publish makes the draft the version that readers see.
type Draft struct {
	*Instance
	Run string
	// At is the time of the snapshot.
	At time.Time
	// Kind is ledger.Run.Kind. Empty means a night.
	Kind string
	Dir  string
	// Previous is the version whose catalog was copied. It is empty if the draft began with an empty
	// catalog, as on the first night.
	Previous string
	// Source is the run whose snapshot a rebuilt version contains.
	Source string

	Schema *Schema

	w                *Warehouse
	previousManifest Manifest
	meta             *ManifestMeta // of the new manifest
	// copied are the tables whose files CopyUnchanged copied, as in the manifest of Previous.
	copied map[string]ManifestTable
}

// MetaBase returns Previous if the series contains its changes of the schemas meta and past. Otherwise it
// returns an empty string, and the draft must write all rows of both schemas. This happens on the first night,
// if release 1.0.0 or older wrote Previous, and if the file of changes or its manifest is lost.
func (d *Draft) MetaBase() string {
	if d.Previous == "" {
		return ""
	}
	if _, err := os.Stat(d.w.Folder.ChangesPath(d.Previous)); err != nil {
		return ""
	}
	m, err := d.w.Versions.ReadManifestFile(d.w.Folder.RunManifestPath(d.Previous), d.Previous)
	if err != nil || m.Meta == nil || !m.Meta.HasPast {
		return ""
	}
	return d.Previous
}

// RecordMetaBase records that the file MetaFile of the draft contains the changes of the schemas meta and
// past relative to base. Publish writes this into the manifest.
func (d *Draft) RecordMetaBase(base string) {
	d.meta = &ManifestMeta{Base: base, HasPast: true, FileSum: checksum.FileSum{File: MetaFile}}
}

// VersionCatalog returns the path of the DuckDB file of a published version.
func (d *Draft) VersionCatalog(run string) string { return d.w.Folder.VersionCatalog(run) }

// Begin completes the work of killed runs, and starts a draft from the version that readers see. It
// returns the *LostError of CheckLink. The caller must have the Lock.
func (w *Warehouse) Begin(ctx context.Context, run string, at time.Time) (*Draft, error) {
	if err := w.CheckLink(); err != nil {
		return nil, err
	}
	latest, _, err := w.Versions.Latest()
	if err != nil {
		return nil, err
	}
	return w.BeginFrom(ctx, run, at, latest)
}

// BeginFrom is like Begin, but starts from the version base, or from an empty catalog if base is
// empty. It does not check the link "latest".
func (w *Warehouse) BeginFrom(ctx context.Context, run string, at time.Time, base string) (*Draft, error) {
	if err := w.finishKilledRuns(); err != nil {
		return nil, err
	}
	var m Manifest
	if base != "" {
		var err error
		m, err = w.Versions.ReadManifest(base)
		// After the clock was set back, rows could end before they begin.
		if err == nil && !at.After(m.SnapshotAt) {
			err = fmt.Errorf("the snapshot's time %s is not after the time of version %s, %s; nothing was published: if the clock of this machine is wrong, correct the clock and run again; if it was wrong when version %[2]s was published, roll back to an earlier version, then run again",
				at.UTC().Format(time.RFC3339), base, m.SnapshotAt.Format(time.RFC3339))
		}
		if err != nil {
			return nil, fmt.Errorf("begin version %s: %w", run, w.WithRemedy(err, base))
		}
	}
	d := &Draft{Run: run, At: at.UTC().Truncate(time.Microsecond), Previous: base, previousManifest: m, Schema: w.Schema, w: w,
		Dir: w.Folder.Path(VersionsDir, "."+run+draftSuffix), copied: map[string]ManifestTable{}}
	if err := d.openCatalog(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("begin version %s: %w", run, w.WithRemedy(err, base)), d.Discard())
	}
	return d, nil
}

func (d *Draft) openCatalog(ctx context.Context) error {
	if err := d.w.Folder.disk.MakeFolder(d.Dir, privateDir); err != nil {
		return err
	}
	path := filepath.Join(d.Dir, CatalogFile)
	if d.Previous != "" {
		if err := d.w.Folder.copyIntact(d.w.Folder.VersionCatalog(d.Previous), path, d.previousManifest.Catalog); err != nil {
			return err
		}
	}
	in, err := d.w.openDatabase(ctx, path, d.Dir)
	if err != nil {
		return err
	}
	d.Instance = in
	if !d.Schema.isSchemaOf(d.previousManifest) {
		if err := d.Schema.ensureTables(ctx, in, d.previousManifest.Program); err != nil {
			return err
		}
	}
	return d.WriteStatuses(ctx)
}

// WriteStatuses replaces the rows of the table meta.statuses by Config.Statuses.
func (d *Draft) WriteStatuses(ctx context.Context) error {
	statements := []sqltext.SQL{catalogSQL.Render("delete_statuses", nil)}
	if len(d.w.cfg.Statuses) > 0 {
		rows := sqltext.Join(d.w.cfg.Statuses, ", ", func(s Status) sqltext.SQL {
			return catalogSQL.Render("status_row", sqltext.Values{"prefix": s.Prefix, "state": s.State, "waits_for": s.WaitsFor, "is_revision": s.IsRevision})
		})
		statements = append(statements, catalogSQL.Render("insert_statuses", sqltext.Values{"rows": rows}))
	}
	if err := d.Atomically(ctx, statements); err != nil {
		return fmt.Errorf("write the meanings of the statuses: %w", err)
	}
	return nil
}

// ReadClosed closes the catalog of the draft, calls read with its path, and opens the catalog again. Another
// DuckDB instance can open the file meanwhile. The caller must have closed the stages of the draft.
func (d *Draft) ReadClosed(ctx context.Context, read func(catalog string) error) error {
	err := d.Exec(ctx, "CHECKPOINT")
	if err == nil {
		err = d.Instance.Close()
		d.Instance = nil
	}
	if err != nil {
		return fmt.Errorf("close the draft of version %s for reading: %w", d.Run, err)
	}
	path := filepath.Join(d.Dir, CatalogFile)
	readErr := read(path)
	in, err := d.w.openDatabase(ctx, path, d.Dir)
	if err != nil {
		return errors.Join(readErr, fmt.Errorf("open the draft of version %s again: %w", d.Run, err))
	}
	d.Instance = in
	return readErr
}

func (d *Draft) Threads() int {
	if n := d.w.cfg.Threads; n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

func (d *Draft) Discard() error {
	var err error
	if d.Instance != nil {
		err = d.Instance.Close()
		d.Instance = nil
	}
	return errors.Join(err, d.w.Folder.disk.RemoveAll(d.Dir))
}

func (d *Draft) WriteLedgerCopy(r ledger.Run) error {
	_, err := d.w.RunLog.WriteCopy(d.Dir, r)
	return err
}

// finishKilledRuns also completes a publish that was interrupted after it switched the link "latest".
func (w *Warehouse) finishKilledRuns() error {
	for _, path := range w.Folder.Glob(w.Folder.Path(VersionsDir, ".*")) {
		if err := w.Folder.disk.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the draft of a killed run: %w", err)
		}
	}
	if err := w.finishKilledHeldPublish(); err != nil {
		return err
	}
	if err := w.Folder.disk.RemoveAll(w.Folder.Path(StateDir, SeenDir)); err != nil {
		return fmt.Errorf("remove a cache of an earlier release: %w", err)
	}
	run, ok, err := w.Versions.Latest()
	if err != nil || !ok {
		return err
	}
	if _, err := os.Stat(w.Folder.VersionPath(run)); errors.Is(err, fs.ErrNotExist) {
		return nil // BeginFrom reports the missing version
	}
	err = w.finishPublish(run)
	if errors.As(err, new(*DamagedError)) || errors.As(err, new(*ExtendError)) {
		// These errors must not stop the night. If the draft needs the damaged file, openCatalog reports
		// the damage. If the series could not be extended, the next publish tries again.
		return nil
	}
	return err
}

// LastGrade returns the Grade, Reason and AgeSince of a stream in the newest snapshot that has a grade of
// the stream. Without old rows, AgeSince is the time of the snapshot. ok is false if no snapshot has such a
// grade.
func (d *Draft) LastGrade(ctx context.Context, stream string) (last ledger.Stream, ok bool, err error) {
	err = d.DB.QueryRowContext(ctx, string(catalogSQL.Render("last_grade", sqltext.Values{"stream": stream}))).
		Scan(&last.Grade, &last.Reason, &last.AgeSince)
	if errors.Is(err, sql.ErrNoRows) {
		return last, false, nil
	}
	if err != nil {
		return last, false, fmt.Errorf("find the last grade of %s: %w", stream, err)
	}
	return last, true, nil
}

// RowsReadSince returns the time since which all rows of a stream were read. A snapshot with the grade exact,
// repaired, bounded or best_effort has such a time: age_since or, if age_since is NULL, the time of the snapshot.
// RowsReadSince returns the latest of these times. ok is false if no snapshot has one of these grades.
func (d *Draft) RowsReadSince(ctx context.Context, stream string) (since time.Time, ok bool, err error) {
	var oldest sql.NullTime
	err = d.DB.QueryRowContext(ctx, string(catalogSQL.Render("rows_read_since", sqltext.Values{"stream": stream}))).Scan(&oldest)
	if err != nil {
		return since, false, fmt.Errorf("find when %s was last read: %w", stream, err)
	}
	return oldest.Time, oldest.Valid, nil
}

// Label is a key with its value in the metadata of a Parquet file.
type Label struct{ Key, Value string }

// Labels returns the labels of the Parquet files that the draft writes. Later nights copy the file while its
// table is unchanged, so the run in the labels can be earlier than the run of the version. Releases up to 1.0.0
// wrote run_id and snapshot_at instead of changed_run and changed_at.
func (d *Draft) Labels() []Label {
	return []Label{{"changed_run", d.Run}, {"changed_at", d.At.Format(time.RFC3339Nano)}, {"schema_version", schema.SchemaVersion()}}
}

// CopyUnchanged copies the Parquet file of an unchanged table from Previous into the draft. It does not
// link the file, because repairs rely on independent copies. isCopied is false if the file must be written
// again: Previous has no such file, the file is damaged, or another program version or schema version wrote it,
// because the layout may differ. Damage is reported by a verify.
func (d *Draft) CopyUnchanged(table string) (isCopied bool, err error) {
	previous := d.previousManifest.Table(table)
	if previous.File == "" || d.previousManifest.Program != d.w.cfg.Program || d.previousManifest.Schema != schema.SchemaVersion() {
		return false, nil
	}
	from, to := filepath.Join(d.w.Folder.VersionPath(d.Previous), previous.File), filepath.Join(d.Dir, previous.File)
	err = d.w.Folder.copyIntact(from, to, previous.FileSum)
	if err == nil {
		d.copied[table] = previous
		return true, nil
	}
	// If err is no *DamagedError, reading the file may have failed, or writing the copy.
	isIntact := !errors.As(err, new(*DamagedError)) && checksum.NewCache(context.Background()).IsIntact(from, previous.FileSum)
	if isIntact {
		return false, fmt.Errorf("copy the unchanged %s: %w", previous.File, err)
	}
	return false, d.w.Folder.disk.Remove(to)
}
