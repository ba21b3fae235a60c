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
	"strings"
	"time"

	"placementsync/internal/stream"
)

// Draft is a version being built in a private folder: a copy of the newest
// catalogue to which a run applies its changes. Nobody sees it before Publish.
type Draft struct {
	*Instance
	// Run is the run's id, At the time of its snapshot.
	Run string
	At  time.Time
	// Kind is that of the run; empty: a night.
	Kind string
	// Dir is the private folder; scratch files may live in it until Seal.
	Dir string
	// Previous is the version that the draft started from; empty on the first
	// night.
	Previous string
	// Source is the run whose snapshot a rebuilt version shows.
	Source string

	w    *Warehouse
	meta *ManifestMeta
}

// MetaBase is the version whose meta a draft's changes are told against: the one that
// it started from, if what that one changed is kept; else none, and all is told.
func (d *Draft) MetaBase() string {
	if _, err := os.Stat(d.w.Folder.metaPath(d.Previous, metaSuffix)); d.Previous == "" || err != nil {
		return ""
	}
	if _, err := d.w.Versions.readManifest(d.w.Folder.metaPath(d.Previous, manifestSuffix), d.Previous); err != nil {
		return ""
	}
	return d.Previous
}

// SetMetaBase says that the draft's MetaFile tells what differs from the meta of base.
func (d *Draft) SetMetaBase(base string) { d.meta = &ManifestMeta{Base: base} }

// Catalog is the file of a published version, for a draft to compare itself with.
func (d *Draft) Catalog(run string) string { return d.w.Folder.VersionCatalog(run) }

// Begin starts a version from the newest one. It needs the Lock: leftovers of
// killed runs are removed, and a publish that was cut short is finished first.
func (w *Warehouse) Begin(ctx context.Context, run string, at time.Time) (*Draft, error) {
	if err := w.Identity.Check(); err != nil {
		return nil, err
	}
	latest, _, err := w.Versions.Latest()
	if err != nil {
		return nil, err
	}
	return w.BeginFrom(ctx, run, at, latest)
}

// BeginFrom starts a version from the one of another run, or from nothing when
// base is empty, as Begin does.
func (w *Warehouse) BeginFrom(ctx context.Context, run string, at time.Time, base string) (*Draft, error) {
	if err := w.finishKilledRuns(); err != nil {
		return nil, err
	}
	if err := w.checkBase(base, at); err != nil {
		return nil, fmt.Errorf("begin version %s: %w", run, w.Examiner.WithRemedy(err, base))
	}
	d := &Draft{Run: run, At: at.UTC().Truncate(time.Microsecond), Previous: base, w: w,
		Dir: w.Folder.path(versionsDir, "."+run+draftSuffix)}
	if err := d.openCatalog(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("begin version %s: %w", run, w.Examiner.WithRemedy(err, base)), d.Discard())
	}
	return d, nil
}

func (d *Draft) openCatalog(ctx context.Context) error {
	if err := os.MkdirAll(d.Dir, privateDir); err != nil {
		return err
	}
	path := filepath.Join(d.Dir, CatalogFile)
	if err := d.copyPrevious(ctx, path); err != nil {
		return err
	}
	in, err := d.w.engine.open(ctx, path, d.Dir)
	if err != nil {
		return err
	}
	d.Instance = in
	return d.w.Catalog.ensureTables(ctx, in, d.w.Versions.manifestOrNone(d.Previous))
}

func (d *Draft) copyPrevious(ctx context.Context, path string) error {
	if d.Previous == "" {
		return d.w.engine.createFile(ctx, path)
	}
	m, err := d.w.Versions.ReadManifest(d.Previous)
	if err != nil {
		return err
	}
	from := d.w.Folder.VersionCatalog(d.Previous)
	// The bytes pass through here: hashing them costs no second reading.
	var sum string
	err = d.w.Folder.disk.CopyWith(from, path, func(dst, src *os.File) (err error) {
		sum, err = copyAndSum(dst, src)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return d.w.Folder.damagedErr(from, "it is gone", err)
	}
	if err == nil && sum != m.Catalog.SHA256 {
		err = d.w.Folder.damagedErr(from, "its checksum is not the one of its manifest", nil)
	}
	return err
}

// Step tells a trial where the work on the draft is. An error is one that the
// disk would give there.
func (d *Draft) Step(name string) error { return d.w.Folder.disk.Reach(name) }

// Cores is how many threads DuckDB may have.
func (d *Draft) Cores() int {
	if d.w.cfg.Threads > 0 {
		return d.w.cfg.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Stamp is the snapshot's time as SQL.
func (d *Draft) Stamp() string { return timestampLiteral(d.At) }

// StampOf is a time as SQL, as Stamp is the snapshot's.
func (d *Draft) StampOf(at time.Time) string { return timestampLiteral(at) }

// Definition gives the columns of a table of main.
func (d *Draft) Definition(table string) stream.Definition { return d.w.Catalog.defs[table] }

// Discard drops the draft. What was published stays as it was.
func (d *Draft) Discard() error {
	var err error
	if d.Instance != nil {
		err = d.Instance.Close()
		d.Instance = nil
	}
	return errors.Join(err, d.w.Folder.disk.RemoveAll(d.Dir))
}

// finishKilledRuns removes what killed runs left behind and finishes a publish that was
// cut between the switch and the series.
func (w *Warehouse) finishKilledRuns() error {
	entries, err := os.ReadDir(w.Folder.path(versionsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tidy the versions: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			if err := w.Folder.disk.RemoveAll(w.Folder.path(versionsDir, e.Name())); err != nil {
				return fmt.Errorf("remove the leftover of a killed run: %w", err)
			}
		}
	}
	run, ok, err := w.Versions.Latest()
	if err != nil || !ok {
		return err
	}
	if _, err := os.Stat(w.Folder.VersionPath(run)); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing to finish; ready tells whoever builds on it
	}
	err = w.finishPublish(run)
	if errors.As(err, new(*DamagedError)) {
		return nil // whoever builds on it is told; rollback and rebuild do without
	}
	return err
}

// checkBase checks what a draft is to build on: a version that is there, of an
// earlier time. With a clock that went back, history would end before it began.
func (w *Warehouse) checkBase(base string, at time.Time) error {
	if base == "" {
		return nil
	}
	m, err := w.Versions.ReadManifest(base)
	if err != nil {
		return err
	}
	if !at.After(m.SnapshotAt) {
		return fmt.Errorf("the snapshot's time %s is not after that of version %s, %s: look at the clock; nothing was changed",
			at.UTC().Format(time.RFC3339), base, m.SnapshotAt.Format(time.RFC3339))
	}
	return nil
}

// LastGrade is what the last snapshot says of a stream: its grade with the
// reason, and since when its oldest rows are proven. ok is false when it says
// nothing.
func (d *Draft) LastGrade(ctx context.Context, stream string) (last RunStream, ok bool, err error) {
	err = d.DB.QueryRowContext(ctx, `SELECT grade, coalesce(reason, ''), coalesce(s.age_since, r.snapshot_at)
		FROM meta.streams s JOIN meta.runs r USING (run_id)
		WHERE s.stream = ? AND r.snapshot_at IS NOT NULL ORDER BY r.snapshot_at DESC LIMIT 1`, stream).
		Scan(&last.Grade, &last.Reason, &last.AgeSince)
	if errors.Is(err, sql.ErrNoRows) {
		return last, false, nil
	}
	if err != nil {
		return last, false, fmt.Errorf("find the last grade of %s: %w", stream, err)
	}
	return last, true, nil
}

// LastProven tells when a stream was last read, by the grades of earlier runs
// in meta; ok is false when it never was.
func (d *Draft) LastProven(ctx context.Context, stream string) (at time.Time, ok bool, err error) {
	var last sql.NullTime
	err = d.DB.QueryRowContext(ctx, `SELECT max(coalesce(s.age_since, r.snapshot_at)) FROM meta.streams s JOIN meta.runs r USING (run_id)
		WHERE s.stream = ? AND s.grade IN ('exact', 'repaired', 'bounded', 'best_effort')`, stream).Scan(&last)
	if err != nil {
		return at, false, fmt.Errorf("find the last proof of %s: %w", stream, err)
	}
	return last.Time, last.Valid, nil
}

// finishPublish does what follows the switch and may be repeated: the name at the
// top, the series for BI, and the removal of versions past keep_versions.
func (w *Warehouse) finishPublish(run string) error {
	if err := w.Versions.linkCatalog(); err != nil {
		return err
	}
	m, err := w.Versions.ReadManifest(run)
	if err != nil {
		return err
	}
	// Only the newest: what prune removed of the others shall not come back.
	if err := w.Series.extendSeries(m); err != nil {
		return fmt.Errorf("extend the Parquet series: %w", err)
	}
	return w.Versions.dropOld()
}
