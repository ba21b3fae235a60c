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

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
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
		m, readErr := v.ReadManifest(run)
		if readErr != nil {
			if m, err = v.ReadManifestFile(v.folder.RunManifestPath(run), run); err != nil {
				err = readErr
				if len(lineage) > 0 && errors.Is(readErr, fs.ErrNotExist) {
					err = nil // the version is no longer kept
				}
				break
			}
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
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() == fs.ModeSymlink {
		return nil
	}
	if err != nil {
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
	for _, run := range ranked[min(len(ranked), max(1, v.keep)):] {
		old = append(old, v.folder.VersionPath(run))
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
