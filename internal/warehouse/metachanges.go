package warehouse

import (
	"path/filepath"
	"slices"
	"strings"
)

// MetaChain returns manifests, oldest first. Each describes a file of changes. Together, these files contain
// the schemas meta and past of the version run. If all copies of a manifest are missing or damaged,
// MetaChain returns a *DamagedError and the later manifests.
func (s *Series) MetaChain(run string) (chain []Manifest, err error) {
	for run != "" && err == nil {
		var m Manifest
		if m, err = s.versions.ReadManifestFile(s.folder.RunManifestPath(run), run); err != nil {
			at, _ := RunTime(run)
			for _, path := range s.folder.ManifestPaths(run, DayOf(at)) {
				if manifestCopy, copyErr := s.versions.ReadManifestFile(path, run); copyErr == nil && manifestCopy.Meta != nil {
					m, err = manifestCopy, nil
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

// unneededMetaChanges returns the paths of the files of changes that no kept version needs, and of the
// manifests beside these files. If the chain of a kept version is broken, it returns no path.
func (s *Series) unneededMetaChanges() ([]string, error) {
	runs, err := s.versions.List()
	if err != nil {
		return nil, err
	}
	latest, _, err := s.versions.Latest()
	if err != nil {
		return nil, err
	}
	isNeeded := map[string]bool{}
	for _, run := range append(runs, latest) {
		chain, err := s.MetaChain(run)
		if err != nil {
			return nil, nil // a repair may need the other files
		}
		for _, m := range chain {
			isNeeded[m.RunID] = true
		}
	}
	var unneeded []string
	for _, path := range s.folder.Glob(s.folder.Path(SeriesDir, metaDir, "*")) {
		run := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), manifestSuffix), changesSuffix)
		if !isNeeded[run] && !strings.HasPrefix(run, ".") {
			unneeded = append(unneeded, path)
		}
	}
	return unneeded, nil
}
