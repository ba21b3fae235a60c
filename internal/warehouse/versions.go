package warehouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Versions are the published versions with their manifests, and the link "latest" to the version that
// readers see.
type Versions struct {
	folder *Folder
	keep   int // as in Config.KeepVersions
}

// Latest returns the version that readers see. ok is false if there is no link.
func (v *Versions) Latest() (run string, ok bool, err error) {
	target, err := os.Readlink(v.folder.Path(LatestLink))
	// EINVAL means that "latest" is a file or folder, as in a copy of the warehouse without links.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return "", false, nil
	}
	if err != nil {
		return "", false, v.folder.folderErr(err)
	}
	return filepath.Base(target), true, nil
}

// List returns the published versions, oldest first.
func (v *Versions) List() ([]string, error) {
	runs, err := listFolders(v.folder.Path(VersionsDir))
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	return runs, nil
}

// Lineage returns the manifests of a version and of the kept versions on which it builds, oldest first.
// If a manifest is missing or damaged, Lineage reads its copy in the series. Without an intact copy the
// lineage ends there: Lineage returns the later manifests. If the manifest is damaged or there are no later
// manifests, Lineage also returns an error.
func (v *Versions) Lineage(run string) (lineage []Manifest, err error) {
	kept, err := v.List()
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	for run >= kept[0] {
		var m Manifest
		m, err = v.readManifestOrCopy(run)
		if len(lineage) > 0 && errors.Is(err, fs.ErrNotExist) {
			err = nil // the version is no longer kept
			break
		}
		if err != nil {
			break
		}
		if slices.Contains(kept, run) {
			lineage = append(lineage, m)
		}
		if m.baseRun() >= run {
			break // a rebuild in the same second as its night, or a wrong manifest
		}
		run = m.baseRun()
	}
	slices.Reverse(lineage)
	return lineage, err
}

// readManifestOrCopy returns the error of ReadManifest if the copy of the manifest in the series is not intact either.
func (v *Versions) readManifestOrCopy(run string) (Manifest, error) {
	m, err := v.ReadManifest(run)
	if err == nil {
		return m, nil
	}
	if m, copyErr := v.ReadManifestFile(v.folder.RunManifestPath(run), run); copyErr == nil {
		return m, nil
	}
	return m, err
}

// baseOf returns the version on which run was built, or an error if this version is not kept. A rebuilt version and a
// version with a damaged manifest name no such version. For them baseOf returns the kept version before run.
func (v *Versions) baseOf(run string, versions []string) (string, error) {
	m, err := v.ReadManifest(run)
	if err == nil && slices.Contains(versions, m.baseRun()) {
		return m.baseRun(), nil
	}
	if m.Previous != "" {
		return "", fmt.Errorf("roll back: the version on which %s is based is not kept; nothing was changed: name one of the kept versions: %s", run, strings.Join(versions, ", "))
	}
	i, _ := slices.BinarySearch(versions, run)
	if i == 0 {
		return "", fmt.Errorf("roll back: no version before %s is kept; nothing was changed: the kept versions are %s", run, strings.Join(versions, ", "))
	}
	return versions[i-1], nil
}

// VerifyCatalog compares the catalog of a version with its checksum. It does not compare the Parquet
// files, because the next night or a rebuild writes damaged Parquet files again.
func (v *Versions) VerifyCatalog(run string) error {
	m, err := v.ReadManifest(run)
	if err != nil {
		return err
	}
	if problem := checksum.NewCache(context.Background()).Compare(v.folder.VersionCatalog(run), m.Catalog, true); problem != "" {
		return v.folder.DamagedErr(v.folder.VersionCatalog(run), problem, nil)
	}
	return nil
}

// moveDraft moves the folder of a finished draft to versions/. If an earlier attempt of the run was killed before
// it switched the link "latest", moveDraft first removes the version of that attempt.
func (v *Versions) moveDraft(draftDir, run string) error {
	if err := v.folder.disk.RemoveAll(v.folder.VersionPath(run)); err != nil {
		return err
	}
	return v.folder.disk.Rename(draftDir, v.folder.VersionPath(run))
}

func (v *Versions) linkCatalog() error {
	if err := v.folder.disk.SwapLink(filepath.Join(LatestLink, CatalogFile), v.folder.CatalogPath()); err != nil {
		return fmt.Errorf("link %s: %w", CatalogFile, err)
	}
	return nil
}

func (v *Versions) switchTo(run string) error {
	return v.folder.disk.SwapLink(filepath.Join(VersionsDir, run), v.folder.Path(LatestLink))
}

// clearLatest renames a file or folder named "latest", as in a copy of a warehouse without links.
func (v *Versions) clearLatest() error {
	info, err := os.Lstat(v.folder.Path(LatestLink))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Mode().Type() == fs.ModeSymlink {
		return err
	}
	return v.folder.disk.Rename(v.folder.Path(LatestLink), v.folder.Path(LatestLink+".aside"))
}

// Drop removes a version that readers do not see. With dryRun it changes nothing. The caller must have the Lock.
func (v *Versions) Drop(run string, dryRun bool) error {
	versions, err := v.List()
	if err != nil {
		return err
	}
	latest, _, err := v.Latest()
	switch {
	case err != nil:
		return err
	case run == latest:
		return fmt.Errorf("remove version %s: readers see it; nothing was changed: roll back or rebuild first", run)
	case !slices.Contains(versions, run):
		return &ledger.UnknownRunError{Message: fmt.Sprintf("remove version %q: it is not kept; nothing was changed: the kept versions are %s", run, cmp.Or(strings.Join(versions, ", "), "none"))}
	case dryRun:
		return nil
	}
	return v.folder.disk.Discard(v.folder.VersionPath(run))
}

// oldPaths returns the folders of the versions beyond keep_versions. First the visible version is kept, then
// the versions on which it builds, because a rollback switches to them, and then the newest others.
func (v *Versions) oldPaths() ([]string, error) {
	runs, err := v.List()
	if err != nil {
		return nil, err
	}
	latest, _, err := v.Latest()
	if err != nil {
		return nil, err
	}
	var ranked []string
	add := func(run string) {
		if slices.Contains(runs, run) && !slices.Contains(ranked, run) {
			ranked = append(ranked, run)
		}
	}
	add(latest)
	lineage, _ := v.Lineage(latest) // the lineage ends at a damaged manifest
	for _, m := range slices.Backward(lineage) {
		add(m.RunID)
	}
	for _, run := range slices.Backward(runs) {
		add(run)
	}
	var old []string
	for i, run := range ranked {
		if i >= max(1, v.keep) {
			old = append(old, v.folder.VersionPath(run))
		}
	}
	return old, nil
}

// ReadLatest returns the manifest of the version that readers see. ok is false before the first
// publish. If there are versions without the link "latest", it returns a *DamagedError.
func (v *Versions) ReadLatest() (m Manifest, ok bool, err error) {
	latest, ok, err := v.Latest()
	if err != nil {
		return m, false, err
	}
	if !ok {
		versions, err := v.List()
		if err == nil && len(versions) > 0 {
			err = v.folder.DamagedErr(v.folder.Path(LatestLink), "it is missing", nil)
		}
		return m, false, err
	}
	m, err = v.ReadManifest(latest)
	return m, err == nil, err
}

// Format is the number of the format of a warehouse. Raise it if an older program would misread or
// damage the files of this program. Also raise it with the first new column or table after a release:
// without a new format, an older program would read all lists of the service before it finds the
// unknown table.
//
// Releases up to 1.0.1 wrote format 1. Format 2 has the tables meta.checks and meta.statuses.
const Format = 2

// NewerError means that a newer program wrote the warehouse.
type NewerError struct {
	Run, Program string
	Format       int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("open the warehouse: version %s was written by placementsync %s in format %d and this program knows %d; "+
		"nothing was changed: use that program or a newer one", e.Run, e.Program, e.Format, Format)
}

// CheckFormat returns a *NewerError if a newer program wrote the version that readers see. It ignores
// an unreadable manifest.
func (v *Versions) CheckFormat() error {
	latest, ok, err := v.Latest()
	if err != nil || !ok {
		return err
	}
	m, err := v.ReadManifest(latest)
	if err != nil {
		return nil
	}
	return m.CheckFormat()
}

// CheckFormat returns a *NewerError if a newer program wrote the manifest.
func (m Manifest) CheckFormat() error {
	if m.Format > Format {
		return &NewerError{m.RunID, m.Program, m.Format}
	}
	return nil
}

// Manifest describes a version. The folder of the version and the series contain it.
type Manifest struct {
	RunID string `json:"run_id"`
	// Kind is ledger.Run.Kind. Empty means a night.
	Kind       string    `json:"kind,omitempty"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Program    string    `json:"program_version"`
	Schema     string    `json:"schema_version"`
	Format     int       `json:"format"`
	// Previous is the version on which this version was built. It is empty on the first night.
	Previous string `json:"previous,omitempty"`
	// Night is set in two cases. If Previous is a refresh, Night is the newest night on which this
	// version builds; a rollback switches to it, because retention removes refreshes before nights. If
	// this version was rebuilt, Night is the run whose snapshot it contains.
	Night   string           `json:"night,omitempty"`
	Catalog checksum.FileSum `json:"catalog"`
	// LedgerLine is the file with a copy of the run's line in the ledger. Meta is the file with the
	// run's changes of the schemas meta and past. Nil means that the version has no such file.
	LedgerLine *checksum.FileSum `json:"entry,omitempty"`
	Meta       *ManifestMeta     `json:"meta,omitempty"`
	Tables     []ManifestTable   `json:"tables"`
	// Lost are the tables that a repair removed from the manifest of a day because their files
	// were damaged.
	Lost []string `json:"lost,omitempty"`
}

// ManifestTable describes one table of the snapshot. Grade is the worst grade of the streams that fill
// the table. KeyMin and KeyMax are the smallest and the largest value of the first key column.
type ManifestTable struct {
	Name  string       `json:"table"`
	Rows  int64        `json:"rows"`
	Grade stream.Grade `json:"grade"`
	// Note describes missing rows that the grade does not show.
	Note   string `json:"note,omitempty"`
	KeyMin string `json:"key_min"`
	KeyMax string `json:"key_max"`
	checksum.FileSum
}

// ManifestMeta describes the file with the changes of the schema meta relative to the version Base. If
// Base is empty, the file contains all rows. HasPast means that the file also contains the new rows of
// the schema past. Releases up to 1.0.0 did not write these rows.
type ManifestMeta struct {
	Base    string `json:"base,omitempty"`
	HasPast bool   `json:"past,omitempty"`
	checksum.FileSum
}

// Table returns the description of a table, or an empty one if the manifest does not contain the table.
func (m Manifest) Table(name string) ManifestTable {
	return firstOf(m.Tables, func(t ManifestTable) bool { return t.Name == name })
}

// baseRun returns the night on which the version builds. For a rebuilt version it returns the run whose
// snapshot the version contains. A rollback switches readers to the version of this run.
func (m Manifest) baseRun() string { return cmp.Or(m.Night, m.Previous) }

// SourceRun returns the run whose snapshot a version contains. This is the run of the version or, for a
// rebuilt version, the night whose files were used.
func (m Manifest) SourceRun() string {
	if m.Kind == ledger.Rebuild && m.Night != "" {
		return m.Night
	}
	return m.RunID
}

// ReadManifest reads the manifest of a version. It returns a *DamagedError if the manifest is
// missing or damaged.
func (v *Versions) ReadManifest(run string) (Manifest, error) {
	return v.ReadManifestFile(filepath.Join(v.folder.VersionPath(run), ManifestFile), run)
}

// ReadManifestFile is like ReadManifest, for any copy of a manifest. If run is empty, a manifest of any
// run is accepted.
func (v *Versions) ReadManifestFile(path, run string) (Manifest, error) {
	m, _, err := v.ReadManifestSum(path, run)
	return m, err
}

func (v *Versions) ReadManifestSum(path, run string) (m Manifest, sum checksum.FileSum, err error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, sum, v.folder.DamagedErr(path, "it is missing", err)
	case err != nil:
		return m, sum, fmt.Errorf("read the manifest of %s: %w", run, err)
	}
	if err := checksum.Unseal(data, &m); err != nil {
		return Manifest{}, sum, v.folder.DamagedErr(path, err.Error(), err)
	}
	if run != "" && m.RunID != run {
		return Manifest{}, sum, v.folder.DamagedErr(path, fmt.Sprintf("it is the manifest of %q", m.RunID), nil)
	}
	return m, checksum.SumText(v.folder.Relative(path), data), nil
}
