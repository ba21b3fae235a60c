package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// Versions are the published versions with their manifests, and the link "latest" to the one that
// readers see.
type Versions struct {
	folder *Folder
	keep   int // as in Config.KeepVersions
}

// Latest returns the version that readers see. ok is false if there is no link.
func (v *Versions) Latest() (run string, ok bool, err error) {
	target, err := os.Readlink(v.folder.Path(LatestLink))
	// EINVAL: a restore may have copied the target instead of the link.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return "", false, nil
	}
	if err != nil {
		return "", false, v.folder.placeErr(err)
	}
	return filepath.Base(target), true, nil
}

// List lists the published versions, oldest first.
func (v *Versions) List() ([]string, error) {
	runs, err := listFolders(v.folder.Path(VersionsDir))
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	return runs, nil
}

// Lineage returns the manifests of a version and of the kept versions that it was built on, oldest
// first. In place of a missing or damaged manifest it reads the copy beside the changes of meta. If
// both are damaged, it returns an error and the later manifests.
func (v *Versions) Lineage(run string) (line []Manifest, err error) {
	kept, err := v.List()
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	for run >= kept[0] {
		m, readErr := v.ReadManifest(run)
		if readErr != nil {
			var copyErr error
			if m, copyErr = v.ReadManifestFile(v.folder.RunManifestPath(run), run); copyErr != nil {
				if len(line) == 0 || !errors.Is(readErr, fs.ErrNotExist) {
					err = readErr
				}
				break
			}
			m.FileErr = readErr
		}
		if slices.Contains(kept, run) {
			line = append(line, m)
		}
		if m.baseRun() >= run {
			break // a rebuild of the same second, or a wrong manifest
		}
		run = m.baseRun()
	}
	slices.Reverse(line)
	return line, err
}

// baseOf is the version that another was built on. For a rebuilt or damaged version it is the
// previous one by time.
func (v *Versions) baseOf(run string, versions []string) (string, error) {
	m, err := v.ReadManifest(run)
	if err == nil && slices.Contains(versions, m.baseRun()) {
		return m.baseRun(), nil
	}
	at, _ := slices.BinarySearch(versions, run)
	if at == 0 || m.Previous != "" {
		return "", fmt.Errorf("roll back: the version that %s was built on is not kept: there are %v", run, versions)
	}
	return versions[at-1], nil
}

// CheckCatalog compares the catalog of a version with its checksum. It does not compare Parquet
// files: the next night or a rebuild writes damaged ones again.
func (v *Versions) CheckCatalog(run string) error {
	m, err := v.ReadManifest(run)
	if err != nil {
		return err
	}
	if problem := checksum.NewCache(context.Background()).Compare(v.folder.VersionCatalog(run), m.Catalog, true); problem != "" {
		return v.folder.DamagedErr(v.folder.VersionCatalog(run), problem, nil)
	}
	return nil
}

// place moves a sealed folder to versions/. A run that was killed between this and the switch, and
// resumed, has left a folder there, which no reader has seen.
func (v *Versions) place(sealed, run string) error {
	if err := v.folder.disk.RemoveAll(v.folder.VersionPath(run)); err != nil {
		return err
	}
	return v.folder.disk.Rename(sealed, v.folder.VersionPath(run))
}

func (v *Versions) linkCatalog() error {
	if err := v.folder.disk.SwapLink(filepath.Join(LatestLink, CatalogFile), v.folder.CatalogPath()); err != nil {
		return fmt.Errorf("link %s: %w", CatalogFile, err)
	}
	return nil
}

// switchTo switches readers to a version in one step.
func (v *Versions) switchTo(run string) error {
	return v.folder.disk.SwapLink(filepath.Join(VersionsDir, run), v.folder.Path(LatestLink))
}

// clearLatest renames a file or folder with the name of the link, such as the copy that a restore
// made.
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

// Drop removes a version. It returns an error for the version that readers see. It needs the Lock.
func (v *Versions) Drop(run string) error {
	versions, err := v.List()
	if err != nil {
		return err
	}
	latest, _, err := v.Latest()
	switch {
	case err != nil:
		return err
	case run == latest:
		return fmt.Errorf("remove version %s: readers see it: roll back or rebuild first; nothing was changed", run)
	case !slices.Contains(versions, run):
		return &ledger.UnknownRunError{Problem: fmt.Sprintf("remove version %q: there are %v; nothing was changed", run, versions)}
	}
	return v.folder.disk.Discard(v.folder.VersionPath(run))
}

// oldPaths returns the versions beyond keep_versions. It keeps first the versions that the newest
// was built on, because a rollback switches to them, then the newest others.
func (v *Versions) oldPaths() ([]string, error) {
	runs, err := v.List()
	if err != nil {
		return nil, err
	}
	latest, _, err := v.Latest()
	if err != nil {
		return nil, err
	}
	keep := []string{latest}
	line, _ := v.Lineage(latest) // damaged versions are kept by age
	for _, m := range slices.Backward(line) {
		keep = append(keep, m.RunID)
	}
	slices.Reverse(runs)
	var kept, old []string
	for _, run := range append(keep, runs...) {
		switch {
		case !slices.Contains(runs, run), slices.Contains(kept, run), slices.Contains(old, v.folder.VersionPath(run)):
		case len(kept) < max(1, v.keep):
			kept = append(kept, run)
		default:
			old = append(old, v.folder.VersionPath(run))
		}
	}
	return old, nil
}
