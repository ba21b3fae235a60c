package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
	"placementsync/schema"
)

// RebuildResult describes the version that Rebuild published.
type RebuildResult struct {
	// Snapshots counts the snapshots of the series. First and Last are the times of the first and the
	// last of them.
	Snapshots   int
	First, Last time.Time
	Manifest    warehouse.Manifest
	Skipped     []Damage // damaged and missing files that were needed
	Unused      []Damage // damaged and missing files of the series that were not needed
	// LostRun is a published run whose snapshot is newer than every intact day of the series, or a replay of the newest
	// day without its files. It is empty if there is none. Two runs are tried: first the version that readers should
	// see, then the version that they see.
	LostRun string
	// SnapshotsWithoutDay counts the snapshots in meta, from First to Last, that have no day in the series.
	// It is 0 unless history was computed by comparing the snapshots of the series.
	SnapshotsWithoutDay int
	// HasMeta is set unless the catalog and all files of changes are lost. A file of changes contains what a
	// run changed in meta and which rows it closed.
	HasMeta bool
	// RestoredRuns is the number of runs whose files of changes gave the closed rows of history. Zero means
	// that history was copied from the catalog or computed by comparing the snapshots.
	RestoredRuns int
}

// SeriesError means that the series or the files of changes are damaged.
type SeriesError struct {
	Damage []Damage
	// IsCatalogWhole is set if the catalog that readers see was checked and is not damaged.
	IsCatalogWhole bool
}

func (e *SeriesError) Error() string {
	var b strings.Builder
	b.WriteString("rebuild the catalog: the Parquet series is damaged; nothing was published")
	for _, d := range e.Damage {
		fmt.Fprintf(&b, "\n  %s: %s; this would be lost: %s", d.File, d.Problem, d.Affected)
	}
	if e.IsCatalogWhole {
		b.WriteString("\nthe catalog that readers see is undamaged: run placementsync rebuild --series to restore the damaged files of the series from it")
	}
	b.WriteString("\nplacementsync verify --read-data names repairs that lose less, if there are any; " +
		"run placementsync rebuild --skip-damaged to build from the rest, and to record the skipped files in meta.runs")
	return b.String()
}

// Rebuild builds the catalog from the retained Parquet series and the files of changes, and publishes the
// catalog. Current rows come from the newest day of the series. Closed rows and meta come from the files
// of changes of all runs, or from an intact catalog that is not older than the series. If neither contains the
// closed rows, history has at most one version of a row for each day of the series. Every file is compared with the
// checksum in its manifest. Damaged and missing files that are needed cause a *SeriesError. With
// skipDamaged they are skipped instead.
func Rebuild(ctx context.Context, cfg Config, skipDamaged bool) (RebuildResult, error) {
	r, err := beginRepair(cfg)
	if err != nil {
		return RebuildResult{}, err
	}
	b := &rebuild{lockedRepair: r, skipDamaged: skipDamaged}
	b.run = ledger.Run{ID: r.id, Kind: ledger.Rebuild, StartedAt: r.at, Program: cfg.Warehouse.Program}
	err = b.publish(ctx)
	return b.RebuildResult, errors.Join(r.wh.Folder.DiskFullErr(err), r.lock.Release())
}

// lockedRepair is a run that repairs the warehouse without requests to the service.
type lockedRepair struct {
	cfg  Config
	wh   *warehouse.Warehouse
	lock *warehouse.Lock
	id   string
	at   time.Time
}

func beginRepair(cfg Config) (r lockedRepair, err error) {
	r.cfg, r.wh = cfg, warehouse.New(cfg.Warehouse)
	r.at = cfg.Now().UTC().Truncate(time.Microsecond)
	if r.lock, err = r.wh.LockExisting(ledger.Rebuild, r.at); err != nil {
		return r, err
	}
	if r.id, err = r.wh.NameRun(r.lock, r.at, r.at); err != nil {
		return r, errors.Join(err, r.lock.Release())
	}
	return r, nil
}

type rebuild struct {
	RebuildResult
	lockedRepair
	inv         *inventory
	series      Series
	draft       *warehouse.Draft
	skipDamaged bool
	run         ledger.Run
	// catalog is the version with the oldest intact catalog that is not older than the series, or empty.
	catalog string
	// hasExactPast is not set if closed rows must be computed by comparing snapshots.
	hasExactPast bool
	newest       warehouse.Snapshot // of the series
	// rowsAt contains for each table the snapshot time of the file from which its rows are read. The time is zero if
	// all files of the table are damaged or missing.
	rowsAt map[string]time.Time
}

func (b *rebuild) publish(ctx context.Context) (err error) {
	if b.draft, err = b.wh.BeginFrom(ctx, b.run.ID, b.run.StartedAt, ""); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.draft.Discard()) }()
	if err := b.applySeries(ctx); err != nil {
		return err
	}
	if err := b.restoreMeta(ctx); err != nil {
		return err
	}
	if err := b.draft.WriteStatuses(ctx); err != nil {
		return err
	}
	if err := b.fixComputedHistory(ctx); err != nil {
		return err
	}
	counts, err := countCatalog(ctx, b.draft.Instance, "catalog")
	if err != nil {
		return fmt.Errorf("rebuild the catalog: count the rebuilt rows: %w; nothing was published", err)
	}
	for _, t := range b.wh.Schema.Tables {
		b.run.Rows += counts.ByName["rows of main."+t.Name]
	}
	if err := b.checkLoss(ctx, counts); err != nil {
		return err
	}
	if err := b.completeLedgerLine(ctx); err != nil {
		return err
	}
	// The new files of the series have the run and time of the newest snapshot in their metadata.
	b.draft.Run, b.draft.At = b.newest.SourceRun(), b.newest.SnapshotAt
	files, err := b.writeParquet(ctx)
	if err != nil {
		return err
	}
	if err := load.WriteMeta(ctx, b.draft, b.wh.Schema.MetaDefinitions, b.wh.Schema.Tables); err != nil {
		return err
	}
	if err := b.draft.WriteLedgerCopy(b.run); err != nil {
		return err
	}
	// The version has the id of this run, and the time of the newest snapshot.
	b.draft.Run, b.draft.Kind, b.draft.Source = b.run.ID, ledger.Rebuild, b.newest.SourceRun()
	b.Manifest, err = b.draft.Publish(ctx, files)
	if errors.As(err, new(*warehouse.AfterSwitchError)) {
		b.cfg.Log.Warn("published, but a later step failed; the next run completes it", "run", b.run.ID, "error", err)
		err = nil
	}
	if err != nil {
		return err
	}
	err = setAside(b.wh, b.run.ID, b.Skipped)
	// Readers see the version, so the rebuild is recorded in the ledger even after another error.
	return errors.Join(err, b.wh.RunLog.Record(b.run))
}

// applySeries fills main from the series, and past from the files of changes, from b.catalog or from the series.
func (b *rebuild) applySeries(ctx context.Context) (err error) {
	if b.inv, err = takeInventory(ctx, b.wh, true); err != nil {
		return err
	}
	if b.series, err = b.inv.readSeries(ctx); err != nil {
		return err
	}
	snapshots := b.series.Snapshots
	if len(snapshots)+len(b.series.Damage) == 0 {
		return errors.New("rebuild the catalog: there is no Parquet snapshot to build from; nothing was published: placementsync rebuild --from restores a backup")
	}
	if len(snapshots) == 0 {
		return &SeriesError{b.series.Damage, b.isCatalogWhole()}
	}
	b.newest = snapshots[len(snapshots)-1]
	b.Snapshots, b.First, b.Last = len(snapshots), snapshots[0].SnapshotAt, b.newest.SnapshotAt
	b.chooseFiles()
	for _, run := range []string{b.inv.visible, b.inv.expected} {
		at, _ := b.inv.timeOf(run)
		// A replay has the time of its night. Without its files, the series has the night as it was before the replay.
		isLostReplay := b.inv.isReplay(run) && at.Equal(b.newest.SnapshotAt) && run > b.newest.RunID
		if at.After(b.newest.SnapshotAt) || isLostReplay {
			b.LostRun = run // the expected run, if both are newer
		}
	}
	b.catalog = b.inv.catalogNotBefore(b.newest.SnapshotAt)
	if err := b.restorePast(ctx); err != nil {
		return err
	}
	for _, d := range b.series.Damage {
		if b.isUnneeded(d) {
			b.Unused = append(b.Unused, d)
		} else {
			b.Skipped = append(b.Skipped, d)
		}
	}
	if len(b.Skipped) > 0 && !b.skipDamaged {
		return &SeriesError{b.Skipped, b.isCatalogWhole()}
	}
	return b.applySnapshots(ctx)
}

func (b *rebuild) isCatalogWhole() bool { return b.inv.hasIntactCatalog(b.inv.visible) }

// chooseFiles sets rowsAt: the newest intact file of each table.
func (b *rebuild) chooseFiles() {
	b.rowsAt = map[string]time.Time{}
	for _, t := range b.wh.Schema.Tables {
		for _, snap := range b.series.Snapshots { // the oldest is first
			if snap.Files[t.Name] != "" {
				b.rowsAt[t.Name] = snap.SnapshotAt
			}
		}
		if _, hasFile := b.rowsAt[t.Name]; hasFile {
			continue
		}
		isDamaged := slices.ContainsFunc(b.series.Damage, func(d Damage) bool {
			table, _, _ := warehouse.SplitSeriesFile(d.File)
			return table == t.Name
		})
		if !isDamaged { // an earlier program may have written no file of the table
			b.rowsAt[t.Name] = b.newest.SnapshotAt
		}
	}
}

// noteOf describes why a table does not have the rows of the newest snapshot. It is empty if it has them.
func (b *rebuild) noteOf(table string) string {
	at := b.rowsAt[table]
	switch {
	case at.IsZero():
		return "all its files are damaged or missing; its current rows are lost"
	case at.Before(b.newest.SnapshotAt):
		return "its newer file is damaged or missing; the rows are from the snapshot of " + at.UTC().Format(time.RFC3339)
	}
	return ""
}

// isUnneeded reports whether the rebuilt history contains all rows of a damaged file or day, so that rebuild
// --series can write it again. The closed rows must be exact, and the current rows must be from a later file.
func (b *rebuild) isUnneeded(d Damage) bool {
	if !b.hasExactPast || d.Day == "" {
		return false
	}
	table, _, isFile := warehouse.SplitSeriesFile(d.File)
	for _, t := range b.wh.Schema.Tables {
		if (!isFile || t.Name == table) && d.Day >= warehouse.DayOf(b.rowsAt[t.Name]) {
			return false
		}
	}
	return true
}

// tablesOf returns the tables that are read from the files of snap. If the closed rows are exact, only the current
// rows are needed.
func (b *rebuild) tablesOf(snap warehouse.Snapshot) []stream.Table {
	if !b.hasExactPast {
		return b.wh.Schema.Tables
	}
	return slices.DeleteFunc(slices.Clone(b.wh.Schema.Tables), func(t stream.Table) bool { return !b.rowsAt[t.Name].Equal(snap.SnapshotAt) })
}

func (b *rebuild) applySnapshots(ctx context.Context) error {
	done, total := int64(0), int64(0)
	for _, snap := range b.series.Snapshots {
		total += int64(len(b.tablesOf(snap)))
	}
	for _, snap := range b.series.Snapshots {
		tables := b.tablesOf(snap)
		for _, t := range tables {
			if err := load.ApplySnapshot(ctx, b.draft, []stream.Table{t}, snap); err != nil {
				return err
			}
			done++
			if b.cfg.Progress != nil {
				b.cfg.Progress(done, total)
			}
		}
		if len(tables) > 0 {
			b.cfg.Log.Info("snapshot read", "run", snap.SourceRun(), "tables", len(tables))
		}
	}
	if !b.hasExactPast {
		if err := load.MergePast(ctx, b.draft, b.wh.Schema.Tables, b.series.Changes, b.newest.SnapshotAt); err != nil {
			return err
		}
	}
	// A file of an earlier day also contains rows that later runs closed.
	older := slices.DeleteFunc(slices.Collect(maps.Keys(b.rowsAt)), func(table string) bool { return b.noteOf(table) == "" })
	return load.DropClosed(ctx, b.draft, older)
}

// restorePast fills past from the closed rows in the files of changes. If these files are damaged, or an
// earlier program recorded no closed rows, restorePast copies closed rows from the catalog. If there is no
// catalog either, restorePast does not set hasExactPast: closed rows must then be computed by comparing
// snapshots.
func (b *rebuild) restorePast(ctx context.Context) error {
	if b.series.HasPast && len(b.series.DamagedChanges) == 0 {
		b.RestoredRuns, b.hasExactPast = len(b.series.Changes), true
		return load.RestorePast(ctx, b.draft, b.wh.Schema.Tables, b.series.Changes, b.newest.SnapshotAt)
	}
	if b.catalog != "" {
		err := load.CopyPast(ctx, b.draft, b.wh.Folder.VersionCatalog(b.catalog), b.newest.SnapshotAt)
		if err == nil {
			b.hasExactPast = true
			return nil
		}
		b.cfg.Log.Warn("closed rows not copied from the catalog", "run", b.catalog, "error", err)
	}
	if len(b.series.DamagedChanges) > 0 && !b.skipDamaged {
		return &SeriesError{Damage: b.series.DamagedChanges}
	}
	return nil
}

func (b *rebuild) restoreMeta(ctx context.Context) error {
	if b.catalog != "" {
		err := load.CopyMeta(ctx, b.draft, b.wh.Folder.VersionCatalog(b.catalog))
		if err == nil {
			b.HasMeta = true
			return nil
		}
		b.cfg.Log.Warn("meta not copied from the catalog; restoring it from the files of changes", "run", b.catalog, "error", err)
	}
	if len(b.series.DamagedChanges) > 0 && !b.skipDamaged {
		return &SeriesError{Damage: b.series.DamagedChanges}
	}
	b.Skipped = append(b.Skipped, b.series.DamagedChanges...)
	if len(b.series.Changes) == 0 {
		return nil // all files of changes are lost
	}
	b.HasMeta = true
	return load.RestoreMeta(ctx, b.draft, b.wh.Schema.MetaDefinitions, b.series.Changes)
}

// fixComputedHistory completes a history that was computed by comparing snapshots. With meta, it corrects
// which run closed each row of past, and counts the snapshots that are not in the series.
func (b *rebuild) fixComputedHistory(ctx context.Context) error {
	if b.hasExactPast || !b.HasMeta {
		return nil
	}
	if err := load.CorrectClosingRuns(ctx, b.draft, b.wh.Schema.Tables); err != nil {
		return err
	}
	var recordedSnapshots int
	err := b.draft.DB.QueryRowContext(ctx, "SELECT count(DISTINCT snapshot_at) FROM meta.runs WHERE snapshot_at BETWEEN ? AND ?", b.First, b.Last).Scan(&recordedSnapshots)
	b.SnapshotsWithoutDay = max(0, recordedSnapshots-b.Snapshots)
	return err
}

// checkLoss returns an error if the result has less data than the version that readers see. It compares current rows
// only if both catalogs contain the same snapshot. Of a damaged catalog, it counts the readable parts. If the catalog
// cannot be read at all, nothing is compared.
func (b *rebuild) checkLoss(ctx context.Context, after catalogCounts) error {
	if b.inv.visible == "" || b.cfg.AcceptLoss {
		return nil
	}
	before, err := countVersion(ctx, b.wh, b.inv.visible)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !b.isCatalogWhole() {
			b.cfg.Log.Warn("the catalog that readers see cannot be read: the rebuilt catalog is not compared with it", "run", b.inv.visible, "error", err)
			return nil
		}
		return fmt.Errorf("rebuild the catalog: compare with version %s: %w; nothing was published", b.inv.visible, err)
	}
	losses := before.losses(after)
	if len(losses) == 0 {
		return nil
	}
	return fmt.Errorf("rebuild the catalog: the result has less data than version %s, which readers see; nothing was published\n  %s"+
		"\nrun placementsync verify, which names the commands that restore more; placementsync rebuild --accept-loss publishes the result despite the loss", b.inv.visible, strings.Join(losses, "\n  "))
}

// completeLedgerLine completes the ledger line. If data is lost, it also records the loss in meta.
func (b *rebuild) completeLedgerLine(ctx context.Context) error {
	r := &b.run
	r.EndedAt = r.StartedAt.Add(max(0, b.cfg.Now().Sub(r.StartedAt)))
	r.SnapshotAt, r.Outcome = b.Last, ledger.Complete
	if len(b.Skipped) == 0 && b.LostRun == "" {
		return nil
	}
	r.Outcome, r.ExitCode = ledger.Partial, ledger.Partial.ExitCode()
	var lost []string
	if b.LostRun != "" {
		lost = append(lost, "run "+b.LostRun+" (the series has no complete day of it)")
	}
	for _, d := range b.Skipped {
		lost = append(lost, d.Affected+" ("+d.File+": "+d.Problem+")")
	}
	if err := b.carryTables(ctx); err != nil {
		return err
	}
	cause := "skipped damaged or missing files: "
	if len(b.Skipped) == 0 {
		cause = "lost: "
	}
	r.Error = cause + strings.Join(lost, "; ")
	line := *r
	line.SnapshotAt = time.Time{} // meta.runs already contains this snapshot, in the row of its night
	return load.WriteRun(ctx, b.draft, line)
}

// carryTables records which tables lack the rows of the newest snapshot. Such a table lacks the details that were read
// after its rows. The next night requests these details again.
func (b *rebuild) carryTables(ctx context.Context) error {
	for _, t := range b.wh.Schema.Tables {
		note, at := b.noteOf(t.Name), b.rowsAt[t.Name]
		if note == "" {
			continue
		}
		since := at
		if at.IsZero() {
			since = b.First
		}
		streams := stream.FilledBy(b.cfg.Streams, t.Name)
		if err := load.CarryStreams(ctx, b.draft, b.newest.SourceRun(), streams, since, note); err != nil {
			return err
		}
		if err := load.ForgetDetails(ctx, b.draft, streams, at); err != nil {
			return err
		}
	}
	return nil
}

// Files of the newest day are linked if the same program wrote them.
func (b *rebuild) writeParquet(ctx context.Context) ([]warehouse.ManifestTable, error) {
	isSameProgram := b.newest.Program == b.cfg.Warehouse.Program && b.newest.Schema == schema.SchemaVersion()
	files := map[string]warehouse.ManifestTable{}
	var toWrite []stream.Table
	for _, t := range b.wh.Schema.Tables {
		from, inManifest := b.newest.Files[t.Name], b.newest.Table(t.Name)
		if !isSameProgram || inManifest.File == "" {
			toWrite = append(toWrite, t)
			continue
		}
		if err := b.wh.Folder.Disk().Link(from, filepath.Join(b.draft.Dir, inManifest.File)); err != nil {
			return nil, fmt.Errorf("rebuild the catalog: %w", err)
		}
		files[t.Name] = inManifest
	}
	written, err := load.WriteParquet(ctx, b.draft, toWrite, nil)
	if err != nil {
		return nil, err
	}
	for _, file := range written {
		file.Grade = b.newest.Table(file.Name).Grade
		if note := b.noteOf(file.Name); note != "" {
			file.Grade, file.Note = stream.CarriedForward, note
		}
		files[file.Name] = file
	}
	var sorted []warehouse.ManifestTable
	for _, t := range b.wh.Schema.Tables {
		sorted = append(sorted, files[t.Name])
	}
	return sorted, nil
}
