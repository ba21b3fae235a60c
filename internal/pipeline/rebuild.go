package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Rebuilt is what Rebuild came to.
type Rebuilt struct {
	Snapshots int
	First     time.Time
	Last      time.Time
	Manifest  warehouse.Manifest
	// Passed is what was damaged or missing, and passed over.
	Passed []warehouse.Damage
	// Between counts the snapshots from First to Last that meta knows and the
	// series has no day of: history is coarser there.
	Between int
	// Meta is set where the tables of meta were restored.
	Meta bool
}

// SeriesError says that the series or what is kept beside it is damaged.
type SeriesError struct {
	Found []warehouse.Damage
	// Whole is set where the catalog that readers see is whole.
	Whole bool
}

func (e *SeriesError) Error() string {
	var b strings.Builder
	b.WriteString("rebuild: the Parquet series is damaged; nothing was changed")
	for _, d := range e.Found {
		fmt.Fprintf(&b, "\n  %s: %s; with it goes %s", d.File, d.Problem, d.Cost)
	}
	if e.Whole {
		b.WriteString("\nthe catalog that readers see is whole: placementsync rebuild --series writes the damaged files of the series again from it")
	}
	b.WriteString("\nplacementsync rebuild --skip-damaged builds from all else, and says in meta.runs what it passed over")
	return b.String()
}

// Rebuild makes the catalogue anew from the retained Parquet series and from what is
// kept beside it, history included, and publishes it. Its history is as fine as the
// series: one version a day. Every file is compared with the checksum that the
// manifest of its day has; what is damaged or missing is a *SeriesError, or passed
// over where that is asked.
func Rebuild(ctx context.Context, cfg Config, skipDamaged bool) (r Rebuilt, err error) {
	wh, err := warehouse.Open(cfg.Warehouse)
	if err != nil {
		return r, err
	}
	now := cfg.Now().UTC().Truncate(time.Microsecond)
	id, err := wh.Folder.NewRunID(now)
	if err != nil {
		return r, err
	}
	lock, err := wh.LockExisting(id, now)
	if err != nil {
		return r, err
	}
	b := &rebuilding{cfg: cfg, wh: wh, skip: skipDamaged}
	b.run = warehouse.Run{ID: id, Kind: warehouse.Rebuild, StartedAt: now, Program: cfg.Warehouse.Program}
	err = b.publish(ctx)
	return b.Rebuilt, errors.Join(wh.Folder.FullErr(err), lock.Release())
}

// rebuilding is the state of one Rebuild.
type rebuilding struct {
	Rebuilt
	cfg   Config
	wh    *warehouse.Warehouse
	draft *warehouse.Draft
	skip  bool
	run   warehouse.Run
	// last is the newest snapshot of the series.
	last warehouse.Snapshot
}

func (b *rebuilding) publish(ctx context.Context) (err error) {
	if b.draft, err = b.wh.BeginFrom(ctx, b.run.ID, b.run.StartedAt, ""); err != nil {
		return err
	}
	d := b.draft
	defer func() { err = errors.Join(err, d.Discard()) }()
	if err := b.replay(ctx); err != nil {
		return err
	}
	if err := b.restoreMeta(ctx); err != nil {
		return err
	}
	b.close()
	if len(b.Passed) > 0 {
		note := b.run
		note.SnapshotAt = time.Time{} // the snapshot is that of the night
		if err := load.NoteRun(ctx, d, note); err != nil {
			return err
		}
	}
	files, err := b.parquet(ctx)
	if err == nil {
		err = errors.Join(load.WriteMeta(ctx, d, b.wh.Catalog.MetaDefinitions()), d.WriteEntry(b.run))
	}
	if err != nil {
		return err
	}
	d.Run, d.At, d.Kind, d.Source = b.run.ID, b.last.At, warehouse.Rebuild, b.last.Run
	b.Manifest, err = d.Publish(ctx, files)
	var after *warehouse.AfterSwitchError
	if errors.As(err, &after) {
		warnIncomplete(b.cfg.Log, b.run.ID, err)
		err = nil
	}
	if err != nil {
		return err
	}
	return errors.Join(b.wh.Mender.SetAside(b.run.ID, b.Passed), b.wh.Ledger.Record(b.run))
}

// replay brings main and past to what the series holds.
func (b *rebuilding) replay(ctx context.Context) error {
	snapshots, damaged, err := b.draft.Snapshots(ctx)
	if err != nil {
		return err
	}
	if len(damaged) > 0 && !b.skip {
		return &SeriesError{damaged, b.catalogWhole()}
	}
	if len(snapshots) == 0 {
		return errors.New("rebuild: there is no Parquet snapshot to build from; nothing was changed")
	}
	for _, snap := range snapshots {
		if err := load.Replay(ctx, b.draft, b.wh.Catalog.Tables(), snap); err != nil {
			return err
		}
		b.cfg.Log.Info("snapshot replayed", "run", snap.Run, "tables", len(snap.Files))
	}
	b.Passed = damaged
	b.last = snapshots[len(snapshots)-1]
	b.Snapshots, b.First, b.Last = len(snapshots), snapshots[0].At, b.last.At
	return nil
}

// catalogWhole tells whether readers see a catalog that is what its manifest says.
func (b *rebuilding) catalogWhole() bool {
	latest, ok, err := b.wh.Versions.Latest()
	return err == nil && ok && b.wh.Versions.CheckCatalog(latest) == nil
}

// restoreMeta takes meta from the catalog that readers see, if that is whole, and else
// from what each version told of its changes.
func (b *rebuilding) restoreMeta(ctx context.Context) error {
	latest, _, err := b.wh.Versions.Latest()
	if err == nil && b.catalogWhole() {
		if err = load.AdoptMeta(ctx, b.draft, b.wh.Folder.VersionCatalog(latest), b.wh.Catalog.MetaDefinitions()); err == nil {
			b.Meta = true
			return b.lookBetween(ctx)
		}
		b.cfg.Log.Warn("meta not taken over", "run", latest, "error", err)
	}
	if !b.wh.MetaLog.HasChanges() {
		b.cfg.Log.Warn("meta not restored: the versions are of a program that did not keep it beside the series")
		return nil
	}
	files, damaged := b.wh.MetaLog.Files(b.last.Version)
	if len(damaged) > 0 && !b.skip {
		return &SeriesError{damaged, false}
	}
	b.Passed, b.Meta = append(b.Passed, damaged...), true
	if err := load.RestoreMeta(ctx, b.draft, b.wh.Catalog.MetaDefinitions(), files); err != nil {
		return err
	}
	return b.lookBetween(ctx)
}

// lookBetween finds what meta knows and the series does not have.
func (b *rebuilding) lookBetween(ctx context.Context) error {
	if err := load.NameClosing(ctx, b.draft, b.wh.Catalog.Tables()); err != nil {
		return err
	}
	var known int
	err := b.draft.DB.QueryRowContext(ctx, "SELECT count(DISTINCT snapshot_at) FROM meta.runs WHERE snapshot_at BETWEEN ? AND ?", b.First, b.Last).Scan(&known)
	b.Between = max(0, known-b.Snapshots)
	return err
}

// close completes the ledger's entry.
func (b *rebuilding) close() {
	r := &b.run
	r.EndedAt = r.StartedAt.Add(max(0, b.cfg.Now().Sub(r.StartedAt)))
	r.SnapshotAt, r.Outcome = b.Last, warehouse.Complete
	if len(b.Passed) == 0 {
		return
	}
	r.Outcome, r.ExitCode = warehouse.Partial, warehouse.Partial.ExitCode()
	var lost []string
	for _, d := range b.Passed {
		lost = append(lost, d.Cost+" ("+d.File+": "+d.Problem+")")
	}
	r.Error = "passed over what is damaged or missing: " + strings.Join(lost, "; ")
}

// parquet gives the version its Parquet files: those of the newest day of the series
// where this program would write the same, and new ones elsewhere.
func (b *rebuilding) parquet(ctx context.Context) ([]warehouse.ManifestTable, error) {
	same := b.last.Program == b.cfg.Warehouse.Program && b.last.Schema == warehouse.SchemaVersion()
	var left []stream.Table
	var files []warehouse.ManifestTable
	for _, t := range b.wh.Catalog.Tables() {
		from, known := b.last.Files[t.Name], b.last.Tables[t.Name]
		if !same || from == "" || known.File == "" {
			left = append(left, t)
			continue
		}
		if err := b.wh.Folder.Disk().Link(from, filepath.Join(b.draft.Dir, known.File)); err != nil {
			return nil, fmt.Errorf("rebuild: %w", err)
		}
		files = append(files, known)
	}
	// What is written now is labelled as the night's.
	b.draft.Run, b.draft.At = b.last.Run, b.last.At
	written, err := load.WriteParquet(ctx, b.draft, b.wh.Catalog.Definitions(), left, nil)
	if err != nil {
		return nil, err
	}
	for i := range written {
		written[i].Grade = b.last.Tables[written[i].Name].Grade
	}
	files = append(files, written...)
	slices.SortFunc(files, func(x, y warehouse.ManifestTable) int {
		return cmp.Compare(b.place(x.Name), b.place(y.Name))
	})
	return files, nil
}

func (b *rebuilding) place(table string) int {
	return slices.IndexFunc(b.wh.Catalog.Tables(), func(t stream.Table) bool { return t.Name == table })
}
