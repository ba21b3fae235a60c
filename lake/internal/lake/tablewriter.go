package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// writeTable writes the files of one table and returns its change. writtenBytes counts the bytes of data
// files.
func (l *Lake) writeTable(ctx context.Context, v *Version, base *table.Table, a action) (c change, writtenBytes int64, err error) {
	c = change{name: a.source.name, base: base, metadataFiles: a.metadataFiles}
	evolution, err := evolveSchema(base.Metadata(), a.source.def.Columns)
	if err != nil {
		return c, 0, err
	}
	evolved, err := table.UpdateTableMetadata(base.Metadata(), evolution, base.MetadataLocation())
	if err != nil {
		return c, 0, err
	}
	t := table.New(base.Identifier(), evolved, base.MetadataLocation(), base.FS, nil)
	snapshot := base.CurrentSnapshot()
	if a.replace || a.file != "" || snapshot == nil {
		tx := t.NewTransaction()
		if writtenBytes, err = l.writeSnapshot(ctx, v, t, tx, a); err != nil {
			return c, writtenBytes, err
		}
		commit, commitErr := tx.TableCommit()
		staged, stagedErr := tx.StagedTable()
		if err := errors.Join(commitErr, stagedErr); err != nil {
			return c, writtenBytes, err
		}
		c.requirements, c.updates = commit.Requirements, commit.Updates
		snapshot = staged.CurrentSnapshot()
	} else {
		c.requirements = []table.Requirement{table.AssertTableUUID(evolved.TableUUID()), table.AssertRefSnapshotID(table.MainBranch, &snapshot.SnapshotID)}
	}
	const unlimited = 0
	newProperties := properties(a.source.def)
	maps.Copy(newProperties, iceberg.Properties{lakeProperty: l.id, tableProperty: c.name.String(), checksumProperty: a.checksum,
		runProperty: v.Run, timeProperty: v.At.Format(time.RFC3339Nano), snapshotProperty: strconv.FormatInt(snapshot.SnapshotID, 10)})
	c.updates = append(append(evolution, c.updates...),
		table.NewSetSnapshotRefUpdate(tagOf(v.Run), snapshot.SnapshotID, table.TagRef, unlimited, unlimited, unlimited),
		table.NewSetPropertiesUpdate(newProperties))
	after, err := c.metadataAfter()
	if err == nil {
		expiry, _ := expireTable(c.name, table.New(base.Identifier(), after, base.MetadataLocation(), base.FS, nil), a.oldNights)
		c.updates = append(c.updates, expiry.updates...)
	}
	return c, writtenBytes, err
}

// writeSnapshot copies the file of an action into the lake and adds a snapshot to a
// transaction. A table without rows gets an empty snapshot, because a tag needs a snapshot.
func (l *Lake) writeSnapshot(ctx context.Context, v *Version, t *table.Table, tx *table.Transaction, a action) (writtenBytes int64, err error) {
	summary := iceberg.Properties{runProperty: v.Run, timeProperty: v.At.Format(time.RFC3339Nano),
		checksumProperty: a.checksum, programProperty: l.cfg.Program}
	var replaced, added []iceberg.DataFile
	if a.file != "" {
		file, err := l.addFile(ctx, v, t, a)
		if err != nil {
			return 0, err
		}
		added, writtenBytes = []iceberg.DataFile{file}, file.FileSizeBytes()
	}
	if snapshot := t.CurrentSnapshot(); a.replace && snapshot != nil {
		tasks, err := planFiles(ctx, t, snapshot.SnapshotID)
		if err != nil {
			return writtenBytes, err
		}
		for _, task := range tasks {
			replaced = append(replaced, task.File)
		}
	}
	// Field ids identify the columns. Some catalogs reject a mapping by name.
	options := []table.WriteOption{table.WithoutAutoNameMapping(), table.WithoutDuplicateCheck()}
	switch {
	case len(replaced) > 0:
		return writtenBytes, tx.ReplaceDataFilesWithDataFiles(ctx, replaced, added, summary, options...)
	case len(added) > 0:
		return writtenBytes, tx.AddDataFiles(ctx, added, summary, options...)
	}
	return writtenBytes, tx.AddFiles(ctx, nil, maps.Clone(summary), false)
}

// addFile copies a file into the lake and returns its description for a manifest.
func (l *Lake) addFile(ctx context.Context, v *Version, t *table.Table, a action) (iceberg.DataFile, error) {
	store, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	to := fmt.Sprintf("%s/data/%s-%s.parquet", t.Location(), v.Run, uuid.New())
	if err := store.(*files).copyIn(a.file, to); err != nil {
		return nil, err
	}
	file, err := table.FileToDataFile(ctx, localView{IO: icebergio.LocalFS{}, local: a.file}, to, t.Schema(), t.Spec(), 0, t.Properties())
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", a.file, err)
	}
	if file.Count() != a.rows {
		return nil, damagedErr(a.file, fmt.Sprintf("it has %d rows and the version has %d", file.Count(), a.rows))
	}
	return file, nil
}

// planFiles returns one task for each data file of a snapshot. PlanFiles of iceberg-go returns several tasks
// for a large file.
func planFiles(ctx context.Context, t *table.Table, snapshotID int64) ([]table.FileScanTask, error) {
	tasks, err := t.Scan(table.WithSnapshotID(snapshotID)).PlanFiles(ctx)
	if err != nil {
		return nil, fmt.Errorf("list its files: %w", err)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(tasks, func(task table.FileScanTask) bool {
		isRepeated := seen[task.File.FilePath()]
		seen[task.File.FilePath()] = true
		return isRepeated
	}), nil
}
