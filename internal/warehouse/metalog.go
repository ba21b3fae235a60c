package warehouse

import (
	"path/filepath"
	"slices"
	"strings"
)

// MetaLog are the changes of the schemas meta and past of every version, beside the series. A rebuild
// restores both schemas from them.
type MetaLog struct {
	folder   *Folder
	versions *Versions
}

// Chain returns the manifests of the versions whose changes make up the meta of a version, oldest
// first. If all copies of one are missing or damaged, it returns a *DamagedError and the later
// ones.
func (g *MetaLog) Chain(run string) (chain []Manifest, err error) {
	for run != "" && err == nil {
		var m Manifest
		if m, err = g.versions.ReadManifestFile(g.folder.RunManifestPath(run), run); err != nil {
			places := []string{filepath.Join(g.folder.VersionPath(run), ManifestFile)}
			if at, ok := RunTime(run); ok {
				places = append(places, g.folder.DayManifestPath(DayOf(at)))
			}
			for _, path := range places {
				if copied, copyErr := g.versions.ReadManifestFile(path, run); copyErr == nil && copied.Meta != nil {
					m, err = copied, nil
					break
				}
			}
		}
		if err == nil {
			chain = append(chain, m)
			run = m.Meta.Base
		}
	}
	slices.Reverse(chain)
	return chain, err
}

// HasChanges reports whether any version has recorded its changes of meta. Versions of the first
// programs have not.
func (g *MetaLog) HasChanges() bool {
	found, err := filepath.Glob(g.folder.ChangesPath("*"))
	return err == nil && len(found) > 0
}

// oldPaths returns the changes that no kept version builds on. It returns no path if a chain is
// broken.
func (g *MetaLog) oldPaths() ([]string, error) {
	runs, err := g.versions.List()
	if err != nil {
		return nil, err
	}
	latest, _, err := g.versions.Latest()
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, run := range append(runs, latest) {
		chain, err := g.Chain(run)
		if err != nil {
			return nil, nil // a repair may need the other files
		}
		for _, m := range chain {
			needed[m.RunID] = true
		}
	}
	found, err := filepath.Glob(g.folder.Path(SeriesDir, metaDir, "*"))
	var old []string
	for _, path := range found {
		run := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), manifestSuffix), changesSuffix)
		if !needed[run] && !strings.HasPrefix(run, ".") {
			old = append(old, path)
		}
	}
	return old, err
}
