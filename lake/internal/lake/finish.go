package lake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Finish writes the owner file if it is missing, and removes the files that the commit of a night made
// unneeded: files to which only removed snapshots refer, and metadata files that are not in the log of their
// table. Expire removes the files that remain after an error.
func (l *Lake) Finish(ctx context.Context, p Published) error {
	if err := l.writeOwnerFile(); err != nil {
		return err
	}
	if len(p.changes) == 0 {
		return nil
	}
	if err := l.removeOldFiles(ctx, p); err != nil {
		return fmt.Errorf("remove old files of the lake: %w; the night was committed to the lake: run \"placementsync lake expire\"", err)
	}
	return nil
}

func (l *Lake) removeOldFiles(ctx context.Context, p Published) error {
	own := l.ownTables(p.lakeTables)
	foreignTables, err := l.loadForeignTables(ctx)
	if err != nil {
		return err
	}
	allTables := slices.AppendSeq(slices.Clone(foreignTables), maps.Values(p.lakeTables))
	// Foreign tables, and copies of own tables, can refer to files of own tables.
	otherTables := slices.Clone(foreignTables)
	for n, t := range p.lakeTables {
		if own[n] == nil {
			otherTables = append(otherTables, t)
		}
	}
	neededFiles, err := l.referredFiles(ctx, otherTables)
	if err != nil {
		return err
	}
	return eachIndex(l.files.workers(), len(p.changes), func(i int) error {
		ch := p.changes[i]
		if own[ch.name] == nil || isShared(ch.base, allTables) {
			return nil
		}
		return ch.removeOldFiles(ctx, neededFiles)
	})
}

func (c change) removeOldFiles(ctx context.Context, neededElsewhere map[string]bool) error {
	fileIO, err := c.base.FS(ctx)
	if err != nil {
		return err
	}
	after, err := c.metadataAfter()
	if err != nil {
		return err
	}
	oldFiles, err := c.filesOfRemovedSnapshots(fileIO, after)
	if err != nil {
		return err
	}
	logged := map[string]bool{}
	for previous := range after.PreviousFiles() {
		logged[canonicalAddress(previous.MetadataFile)] = true
	}
	for _, file := range c.metadataFiles {
		if !logged[file] {
			oldFiles = append(oldFiles, file)
		}
	}
	store := fileIO.(*files)
	for _, file := range oldFiles {
		if neededElsewhere[file] || !strings.HasPrefix(file, canonicalAddress(c.base.Location())+"/") {
			continue
		}
		if err := store.remove(file); err != nil {
			return err
		}
	}
	return nil
}

// filesOfRemovedSnapshots returns the files to which only the removed snapshots refer.
func (c change) filesOfRemovedSnapshots(store icebergio.IO, after table.Metadata) ([]string, error) {
	removed := slices.DeleteFunc(slices.Clone(c.base.Metadata().Snapshots()), func(s table.Snapshot) bool {
		return after.SnapshotByID(s.SnapshotID) != nil
	})
	if len(removed) == 0 {
		return nil, nil
	}
	formerFiles, neededFiles := map[string]bool{}, map[string]bool{}
	if err := addFilesOfSnapshots(store, removed, formerFiles); err != nil {
		return nil, err
	}
	if err := addFilesOfSnapshots(store, after.Snapshots(), neededFiles); err != nil {
		return nil, err
	}
	maps.DeleteFunc(formerFiles, func(file string, _ bool) bool { return neededFiles[file] })
	return slices.Collect(maps.Keys(formerFiles)), nil
}
