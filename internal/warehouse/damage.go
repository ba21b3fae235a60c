package warehouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Damage is one thing that is not as it was written.
type Damage struct {
	// File is what is damaged, relative to the warehouse.
	File string `json:"file"`
	// Problem says what is wrong with it, and Cost what that costs: which nights
	// of which tables.
	Problem string `json:"problem"`
	Cost    string `json:"cost"`
	// Repair is the command that brings it back, or that ends the complaint where
	// Lost says that nothing brings it back.
	Repair string `json:"repair"`
	Lost   bool   `json:"lost"`
	// copied is set where a whole copy stands elsewhere.
	copied bool
}

// DamagedError says that a file which has to be read is not what was written.
type DamagedError struct {
	// File is relative to the warehouse.
	File, Problem string
	// Remedy says what is whole, and the commands that build on it.
	Remedy string
	Err    error
}

func (e *DamagedError) Error() string {
	text := fmt.Sprintf("read %s: it is damaged: %s", e.File, e.Problem)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns what the reading met; nil where a checksum did not fit.
func (e *DamagedError) Unwrap() error { return e.Err }

// WithRemedy completes an error of damage, met while readers see a version, with
// what is whole and the commands that build on it. Any other error stays as it is.
func (x *Examiner) WithRemedy(err error, broken string) error {
	var met *DamagedError
	if errors.As(err, &met) && met.Remedy == "" {
		met.Remedy = x.describeRemedy(broken, true)
	}
	return err
}

// describeRemedy tells what is whole beside a version that is not, and what can be done with
// it. Checksums are compared where that is asked.
func (x *Examiner) describeRemedy(broken string, deep bool) string {
	const left = "nothing was changed"
	versions, days := x.versions.wholeVersions(broken, deep), x.series.listDays()
	var ways []string
	if len(days) > 0 {
		ways = append(ways, fmt.Sprintf("the Parquet series is there (%s to %s, days: %d): placementsync rebuild builds the catalog from it",
			days[0], days[len(days)-1], len(days)))
	}
	if n := len(versions); n > 0 {
		ways = append(ways, fmt.Sprintf("of the versions kept, whole are %s: placementsync rollback %s shows the last good one",
			strings.Join(versions, ", "), versions[n-1]))
	}
	if len(ways) == 0 {
		ways = []string{"no other version is whole and there is no Parquet series: restore a backup"}
	}
	return strings.Join(append(ways, left), "; ")
}

// fileSums are all that a manifest has a checksum of.
func (m Manifest) fileSums() []ManifestFileSum {
	all := []ManifestFileSum{m.Catalog}
	if m.Entry != nil {
		all = append(all, *m.Entry)
	}
	if m.Meta != nil {
		all = append(all, m.Meta.ManifestFileSum)
	}
	for _, t := range m.Tables {
		all = append(all, t.ManifestFileSum)
	}
	return all
}

// describeProblem is what an error of reading a file of ours says, without the file.
func describeProblem(err error) string {
	var met *DamagedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is gone"
	case errors.As(err, &met):
		return met.Problem
	}
	return err.Error()
}

// sumCache are the checksums of files that were read already: a file of the series is
// mostly one of a version, too.
type sumCache struct {
	// ctx ends the reading of a long file.
	ctx    context.Context
	bySize map[int64][]summed
	// Bytes counts what was read.
	bytes int64
}

type summed struct {
	info fs.FileInfo
	sum  string
}

func newSumCache() *sumCache { return newSumCacheUntil(context.Background()) }

func newSumCacheUntil(ctx context.Context) *sumCache {
	return &sumCache{ctx: ctx, bySize: map[int64][]summed{}}
}

// compareFile says what is wrong with a file; "": nothing.
func (s *sumCache) compareFile(path string, want ManifestFileSum, deep bool) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is gone"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is no file"
	case info.Size() != want.Bytes:
		return fmt.Sprintf("it has %d bytes and its manifest says %d", info.Size(), want.Bytes)
	case !deep:
		return ""
	}
	got, err := s.sumOf(path, info)
	if err != nil {
		return err.Error()
	}
	if got != want.SHA256 {
		return "its checksum is not the one of its manifest"
	}
	return ""
}

func (s *sumCache) sumOf(path string, info fs.FileInfo) (string, error) {
	for _, known := range s.bySize[info.Size()] {
		if os.SameFile(known.info, info) {
			return known.sum, nil
		}
	}
	sum, err := sumFileUntil(s.ctx, filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return "", err
	}
	s.bytes += sum.Bytes
	s.bySize[info.Size()] = append(s.bySize[info.Size()], summed{info, sum.SHA256})
	return sum.SHA256, nil
}

// ExplainErr looks, after an error of reading the catalog that readers see, whether its
// file is damaged: then the error says so with the remedies, else it stays as it is.
func (x *Examiner) ExplainErr(err error) error {
	var met *DamagedError
	if err == nil || errors.As(err, &met) {
		return err
	}
	latest, ok, linkErr := x.versions.Latest()
	if linkErr != nil || !ok {
		return err
	}
	m, manifestErr := x.versions.ReadManifest(latest)
	problem := cmp.Or(describeManifestProblem(manifestErr), newSumCache().compareFile(x.folder.VersionCatalog(latest), m.Catalog, true))
	if problem == "" {
		return err
	}
	path := x.folder.VersionCatalog(latest)
	if manifestErr != nil {
		path = filepath.Join(x.folder.VersionPath(latest), ManifestFile)
	}
	return x.WithRemedy(x.folder.damagedErr(path, problem, err), latest)
}

func describeManifestProblem(err error) string {
	if err == nil {
		return ""
	}
	return describeProblem(err)
}
