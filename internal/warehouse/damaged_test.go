package warehouse_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"placementsync/internal/checksum"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestQueryErrorsOfADamagedCatalogAreExplained passes the error of a query to ExplainErr. If the catalog
// that readers see or its manifest is damaged, ExplainErr must name the damaged file and the remedy.
// Otherwise it must return the error of the query.
func TestQueryErrorsOfADamagedCatalogAreExplained(t *testing.T) {
	catalog, manifest := filepath.Join("versions", secondNight, "catalog.duckdb"), filepath.Join("versions", secondNight, "manifest.json")
	for name, c := range map[string]struct {
		damage func(t *testing.T, w *warehouse.Warehouse)
		// file is the damaged file, or "" if ExplainErr must return the error of the query.
		file        string
		wantProblem string
	}{
		"an intact catalog":         {func(*testing.T, *warehouse.Warehouse) {}, "", ""},
		"a damaged earlier catalog": {func(t *testing.T, w *warehouse.Warehouse) { flipBit(t, w.Folder.VersionCatalog(firstNight), 70_000) }, "", ""},
		"a damaged Parquet file":    {func(t *testing.T, w *warehouse.Warehouse) { flipBit(t, path(w, "latest", tagsFile), 40) }, "", ""},
		"no link latest":            {func(t *testing.T, w *warehouse.Warehouse) { harness.Must(t, os.Remove(link(w))) }, "", ""},
		"a damaged catalog":         {func(t *testing.T, w *warehouse.Warehouse) { flipBit(t, path(w, catalog), 70_000) }, catalog, checksum.WrongSum},
		"a missing catalog":         {func(t *testing.T, w *warehouse.Warehouse) { harness.Must(t, os.Remove(path(w, catalog))) }, catalog, "it is missing"},
		"a damaged manifest":        {func(t *testing.T, w *warehouse.Warehouse) { flipBit(t, path(w, manifest), 40) }, manifest, "its own checksum is wrong"},
		"a missing manifest":        {func(t *testing.T, w *warehouse.Warehouse) { harness.Must(t, os.Remove(path(w, manifest))) }, manifest, "it is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := openNights(t, 2, "one", "two")
			c.damage(t, w)
			cause := errors.New("the query failed")
			err := w.ExplainErr(cause)
			var damaged *warehouse.DamagedError
			switch {
			case c.file == "" && err != cause:
				t.Errorf("got %v, want the error of the query", err)
			case c.file != "" && (!errors.As(err, &damaged) || damaged.File != filepath.ToSlash(c.file) || !strings.Contains(damaged.Problem, c.wantProblem) || !errors.Is(err, cause)):
				t.Errorf("got %v, want a DamagedError of %s with %q", err, c.file, c.wantProblem)
			case c.file != "" && !strings.Contains(err.Error(), "placementsync rollback "+firstNight):
				t.Errorf("the error is %v, want it to name the rollback to %s", err, firstNight)
			}
			if got := w.ExplainErr(err); got != err {
				t.Errorf("ExplainErr of an explained error returned %v, want the error unchanged", got)
			}
		})
	}
	if err := open(t).ExplainErr(nil); err != nil {
		t.Errorf("without an error ExplainErr returned %v, want none", err)
	}
}

// TestTheRemedyNamesIntactVersions damages no file or one file of the second of three versions. After damage,
// the remedy for the third version must name only the first version, because a rollback to a damaged version
// would fail.
func TestTheRemedyNamesIntactVersions(t *testing.T) {
	damagedErr := func(w *warehouse.Warehouse) error {
		return w.WithRemedy(w.Folder.DamagedErr(w.Folder.VersionCatalog(thirdNight), "test", nil), thirdNight)
	}
	for _, file := range []string{"", "catalog.duckdb", tagsFile, "meta.changes", "run.json", "manifest.json"} {
		t.Run(file, func(t *testing.T) {
			w := openFullNights(t, 3, "1", "2", "3")
			want := "\"placementsync rollback " + secondNight + "\" (switches to the newest of the intact versions " + firstNight + ", " + secondNight + ")"
			if file != "" {
				flipBit(t, filepath.Join(w.Folder.VersionPath(secondNight), file), 40)
				want = "\"placementsync rollback " + firstNight + "\" (switches to the newest of the intact versions " + firstNight + ")"
			}
			explained := &warehouse.DamagedError{File: "a", Remedy: "another remedy"}
			if w.WithRemedy(explained, thirdNight); explained.Remedy != "another remedy" {
				t.Errorf("the remedy of an explained error became %q", explained.Remedy)
			}
			ofFirst := w.WithRemedy(w.Folder.DamagedErr("a", "test", nil), firstNight)
			if !strings.Contains(ofFirst.Error(), "rollback "+thirdNight) {
				t.Errorf("for the first version got %v, want a rollback to the third", ofFirst)
			}
			err := damagedErr(w)
			if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "2026-11-01 to 2026-11-03, days: 3)") {
				t.Errorf("got %v, want %q", err, want)
			}
			harness.Must(t, errors.Join(os.RemoveAll(w.Folder.VersionPath(firstNight)), os.RemoveAll(w.Folder.VersionPath(secondNight)), os.RemoveAll(path(w, "parquet"))))
			err = damagedErr(w)
			if want := "no other version is intact and there is no Parquet series; no version was changed: restore a backup"; !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	w, cause := open(t), errors.New("another error")
	if err := w.WithRemedy(cause, firstNight); err != cause {
		t.Errorf("WithRemedy returned %v for an error that is no DamagedError, want the error unchanged", err)
	}
}

func TestProblemOfLeavesOutTheFile(t *testing.T) {
	f := open(t).Folder
	for want, err := range map[string]error{
		"":              nil,
		"it is missing": &fs.PathError{Op: "open", Path: "a", Err: fs.ErrNotExist},
		"half of it":    f.DamagedErr("a", "half of it", nil),
		"no such disk":  errors.New("no such disk"),
	} {
		if got := warehouse.ProblemOf(err); got != want {
			t.Errorf("%v: the problem is %q, want %q", err, got, want)
		}
	}
}
