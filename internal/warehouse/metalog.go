package warehouse

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MetaLog is what every version changed in the schema meta, kept beside the series:
// together the files make up meta, for a rebuild.
type MetaLog struct {
	folder   *Folder
	versions *Versions
}

// manifestChain are the versions whose changes make up the meta of a version, oldest
// first. It is a *DamagedError where one of them is gone or damaged; those behind it
// are returned all the same.
func (g *MetaLog) manifestChain(run string) (chain []Manifest, err error) {
	for run != "" {
		m, readErr := g.versions.readManifest(g.folder.metaPath(run, manifestSuffix), run)
		if readErr != nil {
			m, readErr = g.twinManifest(run, readErr)
		}
		if readErr != nil {
			err = readErr
			break
		}
		chain = append(chain, m)
		run = m.Meta.Base
	}
	slices.Reverse(chain)
	return chain, err
}

// twinManifest looks for the manifest of a run elsewhere.
func (g *MetaLog) twinManifest(run string, err error) (Manifest, error) {
	places := []string{filepath.Join(g.folder.VersionPath(run), ManifestFile)}
	if at, ok := RunTime(run); ok {
		places = append(places, g.folder.dayManifestPath(dayOf(at)))
	}
	for _, path := range places {
		if m, twinErr := g.versions.readManifest(path, run); twinErr == nil && m.Meta != nil {
			return m, nil
		}
	}
	return Manifest{}, err
}

// Files are the files that together tell the meta of a version, each compared
// with its checksum. What is missing or damaged is left out, and told beside.
func (g *MetaLog) Files(run string) (files []string, found []Damage) {
	const cost = "what meta alone has of run %s: its grades, rejects, deletions, events and what is known of details"
	chain, err := g.manifestChain(run)
	var broken *DamagedError
	if errors.As(err, &broken) {
		lost := strings.TrimSuffix(filepath.Base(broken.File), manifestSuffix)
		found = append(found, Damage{File: broken.File, Problem: broken.Problem, Cost: fmt.Sprintf(cost+", and of those before it", lost)})
	} else if err != nil {
		found = append(found, Damage{File: g.folder.relativePath(g.folder.path(seriesDir, metaDir)), Problem: err.Error(), Cost: "meta"})
	}
	known := newSumCache()
	for _, m := range chain {
		file, twin := g.folder.metaPath(m.RunID, metaSuffix), filepath.Join(g.folder.VersionPath(m.RunID), m.Meta.File)
		problem := known.compareFile(file, m.Meta.ManifestFileSum, true)
		switch {
		case problem == "":
			files = append(files, file)
		case known.compareFile(twin, m.Meta.ManifestFileSum, true) == "":
			files = append(files, twin)
		default:
			found = append(found, Damage{File: g.folder.relativePath(file), Problem: problem, Cost: fmt.Sprintf(cost, m.RunID)})
		}
	}
	return files, found
}

// HasChanges tells whether any version has told what it changed in meta: those of
// earlier programs have not.
func (g *MetaLog) HasChanges() bool {
	found, err := filepath.Glob(g.folder.metaPath("*", metaSuffix))
	return err == nil && len(found) > 0
}

// oldPaths finds what is kept of versions that neither readers nor a rollback can come
// back to. Where a chain is broken all stays.
func (g *MetaLog) oldPaths(Retention, time.Time) ([]string, error) {
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
			return nil, nil // what is damaged may be of use to whoever repairs it
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
