package warehouse

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/checksum"
)

// MetaLog holds what every version changed in the schemas meta and past, beside the series.
// A rebuild puts both together from it.
type MetaLog struct {
	folder   *Folder
	versions *Versions
}

// manifestChain returns the manifests of the versions whose changes make up the meta of
// a version, oldest first. When one is missing or damaged in all its places it returns a
// *DamagedError and the later ones.
func (g *MetaLog) manifestChain(run string) (chain []Manifest, err error) {
	for run != "" && err == nil {
		var m Manifest
		if m, err = g.versions.readManifest(g.folder.metaPath(run, manifestSuffix), run); err != nil {
			places := []string{filepath.Join(g.folder.VersionPath(run), ManifestFile)}
			if at, ok := RunTime(run); ok {
				places = append(places, g.folder.dayManifestPath(dayOf(at)))
			}
			for _, path := range places {
				if twin, twinErr := g.versions.readManifest(path, run); twinErr == nil && twin.Meta != nil {
					m, err = twin, nil
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

// Files returns the files that make up the meta of a version, each compared with its
// checksum, and what is missing or damaged. past is set when they make up its past, too.
func (g *MetaLog) Files(run string) (files []string, past bool, found []Damage) {
	const cost = "what meta alone has of run %s: its grades, rejects, deletions, events and what is known of details; and the rows that it closed"
	chain, err := g.manifestChain(run)
	past = len(chain) > 0 && !slices.ContainsFunc(chain, func(m Manifest) bool { return !m.Meta.Past })
	var broken *DamagedError
	if errors.As(err, &broken) {
		lost := strings.TrimSuffix(filepath.Base(broken.File), manifestSuffix)
		found = append(found, Damage{File: broken.File, Problem: broken.Problem, Cost: fmt.Sprintf(cost+", and of those before it", lost)})
	} else if err != nil {
		found = append(found, Damage{File: g.folder.relativePath(g.folder.path(seriesDir, metaDir)), Problem: err.Error(), Cost: "meta"})
	}
	known := checksum.NewCache(context.Background())
	for _, m := range chain {
		file, twin := g.folder.metaPath(m.RunID, metaSuffix), filepath.Join(g.folder.VersionPath(m.RunID), m.Meta.File)
		problem := known.Compare(file, m.Meta.FileSum, true)
		switch {
		case problem == "":
			files = append(files, file)
		case known.Compare(twin, m.Meta.FileSum, true) == "":
			files = append(files, twin)
		default:
			found = append(found, Damage{File: g.folder.relativePath(file), Problem: problem, Cost: fmt.Sprintf(cost, m.RunID)})
		}
	}
	return files, past, found
}

// HasChanges reports whether any version has recorded its changes of meta. Versions of
// earlier programs have not.
func (g *MetaLog) HasChanges() bool {
	found, err := filepath.Glob(g.folder.metaPath("*", metaSuffix))
	return err == nil && len(found) > 0
}

// oldPaths finds the changes of versions that no version in the warehouse builds on. If
// a chain is broken it finds none.
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
		chain, err := g.manifestChain(run)
		if err != nil {
			return nil, nil // a repair may need what is left
		}
		for _, m := range chain {
			needed[m.RunID] = true
		}
	}
	found, err := filepath.Glob(g.folder.metaPath("*", ""))
	var old []string
	for _, path := range found {
		run := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), manifestSuffix), metaSuffix)
		if !needed[run] && !strings.HasPrefix(run, ".") {
			old = append(old, path)
		}
	}
	return old, err
}
