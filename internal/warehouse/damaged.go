package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/checksum"
)

// DamagedError means that a file is missing or damaged.
type DamagedError struct {
	// File is relative to the warehouse.
	File, Problem string
	// Remedy names the intact copies and the commands that use them.
	Remedy string
	Err    error
}

func (e *DamagedError) Error() string {
	text := fmt.Sprintf("read %s: %s", e.File, e.Problem)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *DamagedError) Unwrap() error { return e.Err }

func (f *Folder) DamagedErr(path, problem string, err error) *DamagedError {
	return &DamagedError{File: f.Relative(path), Problem: problem, Err: err}
}

// ProblemOf describes an error of reading a file, as the text of DamagedError.Problem.
func ProblemOf(err error) string {
	var damaged *DamagedError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "it is missing"
	case errors.As(err, &damaged):
		return damaged.Problem
	}
	return err.Error()
}

// WithRemedy adds a remedy to a *DamagedError of a version. The remedy names the Parquet series, the
// other intact versions, and the commands that use them. Other errors are returned unchanged.
func (w *Warehouse) WithRemedy(err error, version string) error {
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Remedy != "" {
		return err
	}
	remedies := w.rebuildRemedies()
	if versions := w.Versions.listIntact(version); len(versions) > 0 {
		remedies = append(remedies, fmt.Sprintf("\"placementsync rollback %s\" (switches to the newest of the intact versions %s)",
			versions[len(versions)-1], strings.Join(versions, ", ")))
	}
	if len(remedies) == 0 {
		damaged.Remedy = "no other version is intact and there is no Parquet series; no version was changed: restore a backup"
	} else {
		damaged.Remedy = "no version was changed: run " + strings.Join(remedies, ", or ")
	}
	return err
}

// ExplainErr is called after a query failed with err. If the catalog that readers see or its
// manifest is damaged, ExplainErr returns a *DamagedError with a remedy. Otherwise it returns err.
func (w *Warehouse) ExplainErr(err error) error {
	var damaged *DamagedError
	if err == nil || errors.As(err, &damaged) {
		return err
	}
	latest, ok, linkErr := w.Versions.Latest()
	if linkErr != nil || !ok {
		return err
	}
	if !errors.As(w.Versions.VerifyCatalog(latest), &damaged) {
		return err
	}
	damaged.Err = err
	return w.WithRemedy(damaged, latest)
}

func (v *Versions) listIntact(ignoredRun string) (intact []string) {
	runs, err := v.List()
	if err != nil {
		return nil
	}
	cache := checksum.NewCache(context.Background())
	for _, run := range runs {
		m, err := v.ReadManifest(run)
		if err != nil || run == ignoredRun {
			continue
		}
		isDamaged := func(want checksum.FileSum) bool {
			return !cache.IsIntact(filepath.Join(v.folder.VersionPath(run), want.File), want)
		}
		if !slices.ContainsFunc(m.fileSums(), isDamaged) {
			intact = append(intact, run)
		}
	}
	return intact
}

func (m Manifest) fileSums() []checksum.FileSum {
	sums := []checksum.FileSum{m.Catalog}
	if m.LedgerLine != nil {
		sums = append(sums, *m.LedgerLine)
	}
	if m.Meta != nil {
		sums = append(sums, m.Meta.FileSum)
	}
	for _, t := range m.Tables {
		sums = append(sums, t.FileSum)
	}
	return sums
}
