package warehouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"placementsync/internal/checksum"
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
func (m Manifest) fileSums() []checksum.FileSum {
	all := []checksum.FileSum{m.Catalog}
	if m.Entry != nil {
		all = append(all, *m.Entry)
	}
	if m.Meta != nil {
		all = append(all, m.Meta.FileSum)
	}
	for _, t := range m.Tables {
		all = append(all, t.FileSum)
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
	problem := cmp.Or(describeProblem(manifestErr), checksum.NewCache(context.Background()).Compare(c.folder.VersionCatalog(latest), m.Catalog, true))
	if problem == "" {
		return err
	}
	path := c.folder.VersionCatalog(latest)
	if manifestErr != nil {
		path = filepath.Join(c.folder.VersionPath(latest), ManifestFile)
	}
	return c.WithRemedy(c.folder.damagedErr(path, problem, err), latest)
}
