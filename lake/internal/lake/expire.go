package lake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Expired lists the removals of Expire. After a dry run it lists the removals that Expire would make.
type Expired struct {
	DryRun    bool     `json:"dry_run"`
	Nights    []string `json:"nights"`
	Snapshots int      `json:"snapshots"`
	// Files counts all removed files. Orphans counts the files among them that
	// were unreferenced before, such as files of a killed publish or old metadata files.
	Files   int   `json:"files"`
	Orphans int   `json:"orphans"`
	Bytes   int64 `json:"bytes"`
	// Shared are the tables whose folder contains another table. Their files are kept.
	Shared []string `json:"shared"`
}

// orphanAge is the age at which an orphan is removed. A publisher may still commit younger files.
const orphanAge = 72 * time.Hour

// Expire removes the tags and snapshots of all but the newest Config.KeepNights nights in one commit, and
// then unreferenced files. Tables of other programs and the files that they refer to are not changed.
func (l *Lake) Expire(ctx context.Context, dryRun bool) (e Expired, err error) {
	e = Expired{DryRun: dryRun, Nights: []string{}, Shared: []string{}}
	lakeTables, err := l.catalog.load(ctx)
	if err != nil {
		return e, err
	}
	ownerFileMissing, err := l.checkOwner(lakeTables)
	if err != nil {
		return e, err
	}
	own := l.ownTables(lakeTables)
	switch {
	case len(own) == 0:
		return e, nil
	case ownerFileMissing:
		return e, fmt.Errorf("expire the lake: the owner file %s is missing; nothing was changed: "+
			"run \"placementsync lake publish --all\" to write the file", l.ownerFile())
	}
	states, err := readPublishedStates(own)
	if err != nil {
		return e, err
	}
	e.Nights = oldNights(own, states, l.cfg.KeepNights)
	after := maps.Clone(lakeTables)
	var changes []change
	var changedTables []*table.Table // before the change
	for _, n := range sortedNames(own) {
		t := own[n]
		c, removed := expireTable(n, t, e.Nights)
		if len(c.updates) == 0 {
			continue
		}
		m, err := c.metadataAfter()
		if err == nil {
			c.metadataFiles, err = l.listMetadataOf(ctx, t.Location())
		}
		if err != nil {
			return e, fmt.Errorf("expire %s: %w", n, err)
		}
		after[n] = table.New(t.Identifier(), m, t.MetadataLocation(), t.FS, nil)
		changes = append(changes, c)
		changedTables = append(changedTables, t)
		e.Snapshots += removed
	}
	if len(changes) > 0 && !dryRun {
		if _, err := l.catalog.commit(ctx, changes); err != nil {
			return e, err
		}
		// The tables are loaded again, so that the files of this commit are kept.
		if after, err = l.catalog.load(ctx); err != nil {
			return e, err
		}
	}
	err = l.removeUnneededFiles(ctx, own, changedTables, after, &e)
	if err != nil && len(changes) > 0 && !dryRun {
		err = fmt.Errorf("%w; the nights were removed, but some of their files were not: run \"placementsync lake expire\" again", err)
	}
	return e, err
}

// removeUnneededFiles removes unneeded files: they are in the folder of an own table, and no table refers to
// them. A file to which no changed table referred before the expiry is removed only if it is old. own and
// changedTables are tables before the expiry, and lakeTables are all tables of the lake after it.
// The references of all tables are collected before the first file is removed.
func (l *Lake) removeUnneededFiles(ctx context.Context, own tables, changedTables []*table.Table, lakeTables tables, e *Expired) error {
	foreignTables, err := l.loadForeignTables(ctx)
	if err != nil {
		return err
	}
	allTables := slices.AppendSeq(foreignTables, maps.Values(lakeTables))
	neededFiles, err := l.referredFiles(ctx, allTables)
	if err != nil {
		return err
	}
	formerFiles, err := l.referredFiles(ctx, changedTables)
	if err != nil {
		return err
	}
	for _, n := range sortedNames(l.ownTables(lakeTables)) {
		t := lakeTables[n]
		if own[n] == nil {
			continue // another publisher has created the table meanwhile
		}
		if isShared(t, allTables) {
			e.Shared = append(e.Shared, strings.Join(t.Identifier(), "."))
			continue
		}
		if err := l.removeFiles(ctx, t, neededFiles, formerFiles, e); err != nil {
			return fmt.Errorf("remove files of %s: %w", n, err)
		}
	}
	return nil
}

// loadForeignTables returns the tables that belong to other namespaces or catalogs, although their
// metadata files are in a folder of this lake. It finds them in the database of an SQL catalog. For a
// REST catalog it returns no tables, because the program does not read other namespaces of a server.
func (l *Lake) loadForeignTables(ctx context.Context) (foreignTables []*table.Table, err error) {
	c, ok := l.catalog.(*sqlCatalog)
	if !ok {
		return nil, nil
	}
	rows, err := c.list(ctx, "list_foreign_tables")
	if err != nil {
		return nil, fmt.Errorf("read the catalog of the lake: %w", err)
	}
	for _, r := range rows {
		isInLake := slices.ContainsFunc(parts(), func(part string) bool {
			return strings.HasPrefix(canonicalAddress(r.metadataLocation), canonicalAddress(l.files.root)+"/"+l.cfg.namespace(part)+"/")
		})
		if !isInLake {
			continue
		}
		t, err := c.openTable(r)
		if err != nil {
			return nil, err
		}
		foreignTables = append(foreignTables, t)
	}
	return foreignTables, nil
}

// isShared reports whether the folder of a table contains another table. A publisher of the other
// table may be writing files that are not referenced yet.
func isShared(t *table.Table, all []*table.Table) bool {
	folder := canonicalAddress(t.Location()) + "/"
	return slices.ContainsFunc(all, func(o *table.Table) bool {
		return o != t && strings.HasPrefix(canonicalAddress(o.Location())+"/", folder)
	})
}

func sortedNames(lakeTables tables) []tableName {
	return slices.SortedFunc(maps.Keys(lakeTables), func(a, b tableName) int { return strings.Compare(a.String(), b.String()) })
}

func taggedNights(t *table.Table) (runs []string) {
	for name := range t.Metadata().Refs() {
		if run, ok := strings.CutPrefix(name, tagOf("")); ok {
			runs = append(runs, run)
		}
	}
	return runs
}

// oldNights returns the nights to remove, oldest first. Sorted run ids are in chronological order. The
// newest published night of each table is kept.
func oldNights(own tables, states map[tableName]publishedState, keepNights int) []string {
	nights := map[string]bool{}
	for _, t := range own {
		for _, run := range taggedNights(t) {
			nights[run] = true
		}
	}
	isNewest := map[string]bool{} // of at least one table
	for _, s := range states {
		isNewest[s.run] = true
		nights[s.run] = true
	}
	sorted := slices.Sorted(maps.Keys(nights))
	if keepNights == 0 || len(sorted) <= keepNights {
		return []string{}
	}
	return slices.DeleteFunc(sorted[:len(sorted)-keepNights], func(run string) bool { return isNewest[run] })
}

// expireTable returns the change that removes the tags of nights and the snapshots that then have
// no branch or tag. A table without a tag of these nights is not changed. removed counts the removed
// snapshots.
func expireTable(n tableName, t *table.Table, nights []string) (c change, removed int) {
	c = change{name: n, base: t}
	referenced := map[int64]bool{} // snapshots with a branch or tag
	for name, ref := range t.Metadata().Refs() {
		if run, ok := strings.CutPrefix(name, tagOf("")); ok && slices.Contains(nights, run) {
			c.updates = append(c.updates, table.NewRemoveSnapshotRefUpdate(name))
			continue
		}
		referenced[ref.SnapshotID] = true
	}
	if len(c.updates) == 0 {
		return c, 0
	}
	var unreferencedIDs []int64
	for _, s := range t.Metadata().Snapshots() {
		if !referenced[s.SnapshotID] {
			unreferencedIDs = append(unreferencedIDs, s.SnapshotID)
		}
	}
	if len(unreferencedIDs) > 0 {
		c.updates = append(c.updates, table.NewRemoveSnapshotsUpdate(unreferencedIDs, false))
	}
	c.requirements = []table.Requirement{table.AssertTableUUID(t.Metadata().TableUUID())}
	if s := t.CurrentSnapshot(); s != nil {
		c.requirements = append(c.requirements, table.AssertRefSnapshotID(table.MainBranch, &s.SnapshotID))
	}
	return c, len(unreferencedIDs)
}

// removeFiles removes the unneeded files in the folder of a table, and adds their counts to e. In a dry run
// it only counts them.
func (l *Lake) removeFiles(ctx context.Context, t *table.Table, needed, former map[string]bool, e *Expired) error {
	fileIO, err := t.FS(ctx)
	if err != nil {
		return err
	}
	store := fileIO.(*files)
	listedFiles, err := store.list(ctx, canonicalAddress(t.Location()))
	if err != nil {
		return err
	}
	var names []string
	for _, f := range listedFiles {
		isOrphan := !former[f.Name]
		mayBeNew := f.StoredAt.IsZero() || l.cfg.Now().Sub(f.StoredAt) < orphanAge
		if needed[f.Name] || isOrphan && mayBeNew {
			continue
		}
		names = append(names, f.Name)
		e.Files++
		e.Bytes += f.Bytes
		if isOrphan {
			e.Orphans++
		}
	}
	if e.DryRun {
		return nil
	}
	return eachIndex(store.workers(), len(names), func(i int) error { return store.remove(names[i]) })
}

// referredFiles returns all files to which tables and their snapshots refer, as addresses in the form of
// canonicalAddress.
func (l *Lake) referredFiles(ctx context.Context, all []*table.Table) (map[string]bool, error) {
	filesOf := make([]map[string]bool, len(all))
	err := eachIndex(l.files.workers(), len(all), func(i int) (err error) {
		if filesOf[i], err = filesOfTable(ctx, all[i]); err != nil {
			err = fmt.Errorf("find the files of %s: %w; no file was removed", strings.Join(all[i].Identifier(), "."), err)
		}
		return err
	})
	referred := map[string]bool{}
	for _, files := range filesOf {
		maps.Copy(referred, files)
	}
	return referred, err
}

// addFilesOfSnapshots adds all files to which snapshots refer.
func addFilesOfSnapshots(store icebergio.IO, snapshots []table.Snapshot, referred map[string]bool) error {
	for _, s := range snapshots {
		referred[canonicalAddress(s.ManifestList)] = true
		manifests, err := s.Manifests(store)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.ManifestList, err)
		}
		for _, m := range manifests {
			if referred[canonicalAddress(m.FilePath())] {
				continue
			}
			referred[canonicalAddress(m.FilePath())] = true
			for entry, err := range m.Entries(store, false) {
				if err != nil {
					return fmt.Errorf("read %s: %w", m.FilePath(), err)
				}
				if entry.Status() != iceberg.EntryStatusDELETED {
					referred[canonicalAddress(entry.DataFile().FilePath())] = true
				}
			}
		}
	}
	return nil
}

func filesOfTable(ctx context.Context, t *table.Table) (map[string]bool, error) {
	store, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	referred := map[string]bool{canonicalAddress(t.MetadataLocation()): true}
	for previous := range t.Metadata().PreviousFiles() {
		referred[canonicalAddress(previous.MetadataFile)] = true
	}
	if err := addFilesOfSnapshots(store, t.Metadata().Snapshots(), referred); err != nil {
		return nil, err
	}
	for s := range t.Metadata().Statistics() {
		referred[canonicalAddress(s.StatisticsPath)] = true
	}
	for s := range t.Metadata().PartitionStatistics() {
		referred[canonicalAddress(s.StatisticsPath)] = true
	}
	return referred, nil
}
