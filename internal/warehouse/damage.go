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

// Damage is one file that is not as it was written.
type Damage struct {
	// File is what is damaged, relative to the warehouse.
	File string `json:"file"`
	// Problem says what is wrong, and Cost what is lost by it: which days of which
	// tables.
	Problem string `json:"problem"`
	Cost    string `json:"cost"`
	// Repair is the command that repairs it. Where Lost is set, no copy of the content is
	// left, and Repair ends the report.
	Repair Repair `json:"repair"`
	Lost   bool   `json:"lost"`
	// Day is the day of the series that the file belongs to, if any.
	Day string `json:"-"`
	// Unfinished is set for a day that was being written when it was copied: no run is lost
	// that was published before.
	Unfinished bool `json:"-"`
}

// DamagedError says that a file that must be read is not what was written.
type DamagedError struct {
	// File is relative to the warehouse.
	File, Problem string
	// Remedy says what is intact, and the commands that use it.
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

// Unwrap returns the error of reading; nil when a checksum is wrong.
func (e *DamagedError) Unwrap() error { return e.Err }

// WithRemedy adds to a *DamagedError in err what is intact besides the version broken,
// and the commands that use it. It returns any other error as it is.
func (c *Checker) WithRemedy(err error, broken string) error {
	var met *DamagedError
	if !errors.As(err, &met) || met.Remedy != "" {
		return err
	}
	var ways []string
	if days := c.series.listDays(); len(days) > 0 {
		ways = append(ways, fmt.Sprintf("the Parquet series is there (%s to %s, days: %d): placementsync rebuild builds the catalog from it",
			days[0], days[len(days)-1], len(days)))
	}
	if versions := c.versions.wholeVersions(broken); len(versions) > 0 {
		ways = append(ways, fmt.Sprintf("intact versions are %s: placementsync rollback %s switches to the newest of them",
			strings.Join(versions, ", "), versions[len(versions)-1]))
	}
	if len(ways) == 0 {
		ways = []string{"no other version is intact and there is no Parquet series: restore a backup"}
	}
	met.Remedy = strings.Join(append(ways, "nothing was changed"), "; ")
	return err
}

// fileSums lists all files that a manifest has a checksum of.
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

// describeProblem is the error of reading a file without the name of the file; "" for nil.
func describeProblem(err error) string {
	var met *DamagedError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "it is gone"
	case errors.As(err, &met):
		return met.Problem
	}
	return err.Error()
}

// sumCache holds the checksums of files that were read: most files of the series are
// hard links of files of a version.
type sumCache struct {
	// ctx cancels the reading of a long file.
	ctx    context.Context
	bySize map[int64][]summed
	// bytes counts what was read.
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

// compareFile says what is wrong with a file; "" means nothing. With deep it compares
// the checksum, else the size.
func (s *sumCache) compareFile(path string, want ManifestFileSum, deep bool) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it is gone"
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular():
		return "it is not a regular file"
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
		if os.SameFile(known.info, info) && known.info.ModTime().Equal(info.ModTime()) {
			return known.sum, nil
		}
	}
	sum, err := sumFile(s.ctx, filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return "", err
	}
	s.bytes += sum.Bytes
	s.bySize[info.Size()] = append(s.bySize[info.Size()], summed{info, sum.SHA256})
	return sum.SHA256, nil
}

// ExplainErr checks, after an error of reading the catalog that readers see, whether its
// file is damaged. If so the error says it with the remedies; else it is returned as it
// is.
func (c *Checker) ExplainErr(err error) error {
	var met *DamagedError
	if err == nil || errors.As(err, &met) {
		return err
	}
	latest, ok, linkErr := c.versions.Latest()
	if linkErr != nil || !ok {
		return err
	}
	m, manifestErr := c.versions.ReadManifest(latest)
	problem := cmp.Or(describeProblem(manifestErr), newSumCache().compareFile(c.folder.VersionCatalog(latest), m.Catalog, true))
	if problem == "" {
		return err
	}
	path := c.folder.VersionCatalog(latest)
	if manifestErr != nil {
		path = filepath.Join(c.folder.VersionPath(latest), ManifestFile)
	}
	return c.WithRemedy(c.folder.damagedErr(path, problem, err), latest)
}
