package warehouse

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"placementsync/internal/checksum"
)

// Mending is a file of the series that must be written again.
type Mending struct {
	// Day is the manifest of the file's day, Table what it says of the file. A checksum is
	// empty when no manifest of the day is left, Rows are negative when unknown.
	Day   Manifest
	Table ManifestTable
}

// Mender repairs what is damaged in the series and in versions, or moves it out of the
// series. Each file is written beside its place and renamed.
type Mender struct {
	folder   *Folder
	versions *Versions
	series   *Series
	ledger   *Ledger
	metaLog  *MetaLog
}

// Mended is what MendCopies repaired, and what is left to be written from a catalog.
type Mended struct {
	// Files are the files that were repaired from copies.
	Files []string
	// Left are the files of the series that have no intact copy, oldest first.
	Left []Mending
	// Days are the days of which no manifest is left. AllDays is set when it is unknown
	// which days the series had, because its index is lost.
	Days    []string
	AllDays bool
	// Source is the newest intact catalog, empty without one, and At its time. Meta is set
	// when it must write all of meta and past again, since the chain of changes is broken.
	Source string
	At     time.Time
	Meta   bool
}

// MendCopies repairs what has an intact copy elsewhere: manifests, the index, Parquet files,
// changes of meta, and copies of lines of the ledger. It needs the Lock.
func (r *Mender) MendCopies(ctx context.Context) (Mended, error) {
	var done Mended
	inv, err := r.series.takeInventory(ctx, r.ledger, true)
	if err != nil {
		return done, err
	}
	done.Source, done.At = inv.newestCatalog()
	for _, run := range inv.kept {
		if err := r.mendVersion(inv, run, &done); err != nil {
			return done, err
		}
	}
	days := inv.expectedDays()
	if inv.indexErr != nil {
		done.AllDays = true
	}
	// A version that readers see, and that the series lacks, enters it.
	if m, ok := inv.manifest(inv.target); ok && m.Meta != nil && inv.hasVersion(inv.target) && days[dayOf(m.SnapshotAt)] != inv.target {
		if at, known := inv.timeOf(days[dayOf(m.SnapshotAt)]); !known || at.Before(m.SnapshotAt) || days[dayOf(m.SnapshotAt)] == "" {
			days[dayOf(m.SnapshotAt)] = inv.target
		}
	}
	if done.AllDays { // versions that the target builds on and that are kept had days, too
		line, _ := r.versions.Lineage(inv.target) // a damaged one ends it
		for _, m := range lastOfDay(line) {
			if m.Meta != nil && days[dayOf(m.SnapshotAt)] == "" {
				days[dayOf(m.SnapshotAt)] = m.RunID
			}
		}
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		m, ok := inv.manifest(days[day])
		if !ok {
			if inv.indexErr != nil || inv.days[day] != "" { // else a rebuild moves its files aside
				done.Days = append(done.Days, day)
			}
			continue
		}
		if err := r.mendDay(inv, day, m, &done); err != nil {
			return done, err
		}
	}
	if err := r.mendMetaLog(inv, &done); err != nil {
		return done, err
	}
	return done, r.mendIndex(inv, days, &done)
}

func (r *Mender) mendIndex(inv *inventory, days map[string]string, done *Mended) error {
	known := maps.Clone(days)
	maps.DeleteFunc(known, func(_, run string) bool { return run == "" })
	if inv.indexErr == nil && maps.Equal(known, inv.days) || len(known) == 0 {
		return nil
	}
	if err := r.folder.makePublic(filepath.Dir(r.series.indexPath())); err != nil {
		return err
	}
	done.Files = append(done.Files, r.folder.relativePath(r.series.indexPath()))
	return r.folder.writeSealed(r.series.indexPath(), index{known})
}

// mendVersion repairs the files of a version that have a copy.
func (r *Mender) mendVersion(inv *inventory, run string, done *Mended) error {
	m, ok := inv.manifest(run)
	if !ok {
		return nil
	}
	path := filepath.Join(r.folder.VersionPath(run), ManifestFile)
	own, err := r.versions.ReadManifest(run)
	if err != nil {
		if err := r.folder.writeSealed(path, m); err != nil {
			return err
		}
		done.Files = append(done.Files, r.folder.relativePath(path))
		own = m
	}
	for _, t := range own.Tables {
		if err := r.mendFile(inv, filepath.Join(r.folder.VersionPath(run), t.File), r.series.filePath(t, own.SnapshotAt), t.FileSum, done); err != nil {
			return err
		}
	}
	if own.Meta != nil {
		if err := r.mendFile(inv, filepath.Join(r.folder.VersionPath(run), own.Meta.File), "", own.Meta.FileSum, done); err != nil {
			return err
		}
	}
	return r.mendEntry(inv, own, done)
}

// mendEntry writes the copy of a run's line of the ledger again. The line in the ledger is
// written later and can differ, so the manifests get a new checksum.
func (r *Mender) mendEntry(inv *inventory, m Manifest, done *Mended) error {
	if m.Entry == nil {
		return nil
	}
	path := filepath.Join(r.folder.VersionPath(m.RunID), m.Entry.File)
	if inv.known.Compare(path, *m.Entry, true) == "" {
		return nil
	}
	runs, err := r.ledger.Runs()
	if err != nil {
		return err
	}
	var sum *checksum.FileSum
	if entry := entryOf(runs, m.RunID); entry.ID != "" {
		line, err := checksum.SealLine(entry)
		if err != nil {
			return err
		}
		line = append(line, '\n')
		if err := r.folder.disk.WriteFile(path, line, privateFile); err != nil {
			return err
		}
		written := checksum.SumText(m.Entry.File, line)
		sum = &written
	} else if err := r.folder.disk.Remove(path); err != nil {
		return err
	}
	done.Files = append(done.Files, r.folder.relativePath(path))
	return r.changeManifests(m, func(m *Manifest) { m.Entry = sum })
}

// changeManifests changes all intact copies of a run's manifest. That of the day comes last:
// as long as it has an old checksum, the repair is repeated.
func (r *Mender) changeManifests(of Manifest, change func(m *Manifest)) error {
	for _, path := range []string{filepath.Join(r.folder.VersionPath(of.RunID), ManifestFile), r.folder.metaPath(of.RunID, manifestSuffix),
		r.folder.dayManifestPath(dayOf(of.SnapshotAt))} {
		m, err := r.versions.readManifest(path, of.RunID)
		if err != nil {
			continue // it does not exist, or is of another run of the day
		}
		change(&m)
		if err := r.folder.writeSealed(path, m); err != nil {
			return err
		}
	}
	return nil
}

// mendFile replaces a damaged file by an intact one with the same checksum: by a link to its
// other name, or by a copy of another file, since repairs rely on independent copies.
func (r *Mender) mendFile(inv *inventory, path, otherName string, want checksum.FileSum, done *Mended) error {
	if inv.known.Compare(path, want, true) == "" {
		return nil
	}
	from, ok := inv.find(want, path)
	if !ok {
		return nil
	}
	if err := r.folder.makePublicAbove(path); err != nil {
		return err
	}
	place := r.folder.disk.Copy
	if from == otherName {
		place = r.folder.disk.Link
	}
	if err := place(from, path); err != nil {
		return err
	}
	done.Files = append(done.Files, r.folder.relativePath(path))
	return nil
}

// mendDay repairs the manifests and files of a day.
func (r *Mender) mendDay(inv *inventory, day string, m Manifest, done *Mended) error {
	path := r.folder.dayManifestPath(day)
	if own, err := r.versions.readManifest(path, m.RunID); err == nil && dayOf(own.SnapshotAt) == day {
		m = own // a repair may have left out a lost table
	}
	for _, t := range m.Tables {
		file := r.series.filePath(t, m.SnapshotAt)
		if err := r.mendFile(inv, file, filepath.Join(r.folder.VersionPath(m.RunID), t.File), t.FileSum, done); err != nil {
			return err
		}
		if inv.known.Compare(file, t.FileSum, true) != "" {
			done.Left = append(done.Left, Mending{m, t})
		}
	}
	return r.mendManifest(path, m, done)
}

func (r *Mender) mendManifest(path string, m Manifest, done *Mended) error {
	if _, err := r.versions.readManifest(path, m.RunID); err == nil {
		return nil
	}
	if err := r.folder.makePublic(filepath.Dir(path)); err != nil {
		return err
	}
	done.Files = append(done.Files, r.folder.relativePath(path))
	return r.folder.writeSealed(path, m)
}

// mendMetaLog repairs the chain of changes of meta and past that leads to the target.
func (r *Mender) mendMetaLog(inv *inventory, done *Mended) error {
	if m, ok := inv.manifest(inv.target); !ok || m.Meta == nil {
		done.Meta = false
		return nil
	}
	chain, err := r.metaLog.manifestChain(inv.target)
	done.Meta = err != nil
	for _, m := range chain {
		if err := r.mendManifest(r.folder.metaPath(m.RunID, manifestSuffix), m, done); err != nil {
			return err
		}
		file := r.folder.metaPath(m.RunID, metaSuffix)
		if err := r.mendFile(inv, file, "", m.Meta.FileSum, done); err != nil {
			return err
		}
		if inv.known.Compare(file, m.Meta.FileSum, true) != "" && !m.SnapshotAt.After(done.At) {
			done.Meta = true
		}
	}
	return nil
}

// ReplaceMeta moves a file with all of the meta and past of a version to the places of its
// changes. The chain of changes then begins with it.
func (r *Mender) ReplaceMeta(d *Draft, run string) (file string, err error) {
	sum, err := checksum.SumFile(context.Background(), d.Dir, MetaFile)
	if err != nil {
		return "", err
	}
	m, err := r.versions.ReadManifest(run)
	if err != nil {
		return "", err
	}
	from, placed := filepath.Join(d.Dir, MetaFile), r.folder.metaPath(run, metaSuffix)
	mode, err := r.folder.publicMode(d.Dir)
	if err == nil {
		err = r.folder.setModeAndSync(from, mode)
	}
	if err == nil {
		err = r.folder.makePublic(filepath.Dir(placed))
	}
	if err == nil {
		err = r.folder.disk.Copy(from, placed)
	}
	if err == nil {
		err = r.folder.disk.Copy(from, filepath.Join(r.folder.VersionPath(run), MetaFile))
	}
	if err == nil {
		err = r.mendManifest(r.folder.metaPath(run, manifestSuffix), m, &Mended{})
	}
	if err != nil {
		return "", fmt.Errorf("replace %s: %w", r.folder.relativePath(placed), err)
	}
	meta := *d.meta
	meta.FileSum = sum
	return r.folder.relativePath(placed), r.changeManifests(m, func(m *Manifest) { m.Meta = &meta })
}

// Replace moves a file that was written again to its place in the series and, while it is
// kept, in its version. Where its bytes differ from the lost ones (its rows do not, but
// their order may), the manifests get the new checksum.
func (r *Mender) Replace(one Mending, file string) (checksum.FileSum, error) {
	sum, err := checksum.SumFile(context.Background(), filepath.Dir(file), filepath.Base(file))
	if err != nil {
		return sum, err
	}
	placed, version := r.series.filePath(one.Table, one.Day.SnapshotAt), filepath.Join(r.folder.VersionPath(one.Day.RunID), one.Table.File)
	mode, err := r.folder.publicMode(filepath.Dir(file))
	if err == nil {
		err = r.folder.setModeAndSync(file, mode)
	}
	if err == nil {
		err = r.folder.makePublicAbove(placed)
	}
	if err == nil {
		err = r.folder.disk.Rename(file, placed)
	}
	if _, readErr := r.versions.ReadManifest(one.Day.RunID); err == nil && readErr == nil && one.Table.SHA256 != "" {
		err = r.folder.disk.Link(placed, version)
	}
	if err != nil {
		return sum, fmt.Errorf("mend %s: %w", r.folder.relativePath(placed), err)
	}
	if one.Table.SHA256 == "" || sum.SHA256 == one.Table.SHA256 {
		return sum, nil
	}
	return sum, r.changeManifests(one.Day, func(m *Manifest) {
		for i := range m.Tables {
			if m.Tables[i].Name == one.Table.Name {
				m.Tables[i].FileSum = sum
			}
		}
	})
}

// MendDay repairs a day that the series does not know, of a run whose manifest is intact
// anywhere. It returns false without one.
func (r *Mender) MendDay(ctx context.Context, run string) (done Mended, ok bool, err error) {
	inv, err := r.series.takeInventory(ctx, r.ledger, true)
	if err != nil {
		return done, false, err
	}
	m, ok := inv.manifest(run)
	if !ok {
		return done, false, nil
	}
	day := dayOf(m.SnapshotAt)
	if err := r.mendDay(inv, day, m, &done); err != nil {
		return done, true, err
	}
	return done, true, r.series.changeIndex(func(days map[string]string) { days[day] = run })
}

// AddDay writes the manifest of a day again from what is known of its files.
func (r *Mender) AddDay(m Manifest) (file string, err error) {
	path := r.folder.dayManifestPath(dayOf(m.SnapshotAt))
	if err := r.folder.makePublic(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := r.folder.writeSealed(path, m); err != nil {
		return "", err
	}
	return r.folder.relativePath(path), r.series.changeIndex(func(days map[string]string) { days[dayOf(m.SnapshotAt)] = m.RunID })
}
