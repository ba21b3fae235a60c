package repair_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestSkippedFilesAreSetAside moves damaged files out of the series, like rebuild --skip-damaged. A
// later check must not report these files, and must name the lost table.
func TestSkippedFilesAreSetAside(t *testing.T) {
	original := threeNights(t)
	const run = "20261105T020000Z"
	for name, c := range map[string]struct {
		damage          func(d damager)
		damagedFiles    []string
		wantMovedFiles  []string
		wantNote        string
		wantIndexedDays []string
	}{
		"a series file": {func(d damager) { d.flip(series1) }, []string{series1}, []string{series1},
			"tables of 2026-11-01 that were damaged and are lost: " + table, []string{"2026-11-01", "2026-11-02", "2026-11-03"}},
		"a series file of a day without another table": {func(d damager) {
			d.editManifest(manifest1, func(m *warehouse.Manifest) { m.Lost = []string{"orders"} })
			d.flip(series1)
		}, []string{series1}, []string{series1}, "tables of 2026-11-01 that were damaged and are lost: orders, " + table,
			[]string{"2026-11-01", "2026-11-02", "2026-11-03"}},
		"the newest series file": {func(d damager) { d.flip(series3) }, []string{series3}, []string{series3}, "", []string{"2026-11-01", "2026-11-02", "2026-11-03"}},
		"a missing series file":  {func(d damager) { d.remove(series1) }, []string{series1}, nil, "tables of 2026-11-01 that were damaged and are lost: " + table, []string{"2026-11-01", "2026-11-02", "2026-11-03"}},
		"a damaged manifest":     {func(d damager) { d.flip(manifest1) }, []string{manifest1}, []string{manifest1, series1}, "", []string{"2026-11-02", "2026-11-03"}},
		"a file of changes":      {func(d damager) { d.flip(changes2 + ".changes") }, []string{changes2 + ".changes"}, []string{changes2 + ".changes"}, "", []string{"2026-11-01", "2026-11-02", "2026-11-03"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			d := damager{t, w}
			c.damage(d)
			contentBefore := contentOf(t, w)
			var damage []repair.Damage
			for _, file := range c.damagedFiles {
				damage = append(damage, repair.Damage{File: file})
			}
			harness.Must(t, repair.SetAside(w, run, damage))
			content := contentOf(t, w)
			for _, file := range c.wantMovedFiles {
				if _, ok := content[file]; ok || content["damaged/"+run+"/"+file] != contentBefore[file] {
					t.Errorf("%s was not moved, want it in damaged/%s", file, run)
				}
			}
			report, err := repair.Check(t.Context(), w, false)
			harness.Must(t, err)
			if got := strings.Join(report.Notes, "; "); got != c.wantNote {
				t.Errorf("the notes are %q, want %q", got, c.wantNote)
			}
			if c.wantNote != "" {
				m, err := w.Versions.ReadManifestFile(w.Folder.RunManifestPath(firstNight), firstNight)
				if err != nil || len(m.Tables) > 0 || !slices.Equal(m.Lost, []string{table}) {
					t.Errorf("the manifest beside the changes is %+v (%v), want the table lost there too: a repair would look for it", m, err)
				}
			}
			days, err := w.Series.Index()
			if got := slices.Sorted(maps.Keys(days)); err != nil || !slices.Equal(got, c.wantIndexedDays) {
				t.Errorf("the index contains %v (%v), want %v", got, err, c.wantIndexedDays)
			}
		})
	}
}

// checkMoved checks that SetAside moved files to the folder of damaged files of the run.
func checkMoved(t *testing.T, w *warehouse.Warehouse, run string, files ...string) {
	t.Helper()
	content := contentOf(t, w)
	for _, file := range files {
		if content[file] != "" || content["damaged/"+run+"/"+file] == "" {
			t.Errorf("%s was not moved to damaged/%s", file, run)
		}
	}
}

func checkKept(t *testing.T, w *warehouse.Warehouse, files ...string) {
	t.Helper()
	content := contentOf(t, w)
	for _, file := range files {
		if content[file] == "" {
			t.Errorf("%s was moved, want it kept", file)
		}
	}
}

func TestSetAsideMovesDamagedFiles(t *testing.T) {
	original := threeNights(t)
	const run = "20261105T020000Z"
	t.Run("a day with a damaged manifest", func(t *testing.T) {
		w := clone(t, original)
		harness.Must(t, repair.SetAside(w, run, []repair.Damage{{File: manifest2}}))
		checkMoved(t, w, run, series2, manifest2)
		if _, err := os.Stat(filepath.Dir(w.Folder.Path(series2))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the empty folder of the day: got %v, want ErrNotExist", err)
		}
	})
	// The index is moved before the table is removed from the manifest of the day.
	t.Run("the index and a table", func(t *testing.T) {
		w := clone(t, original)
		damager{t, w}.flip(index, series1)
		harness.Must(t, repair.SetAside(w, run, []repair.Damage{{File: index}, {File: series1}}))
		checkMoved(t, w, run, index, series1)
		m, err := w.Series.ReadDayManifest("2026-11-01", firstNight)
		if err != nil || !slices.Equal(m.Lost, []string{table}) {
			t.Errorf("the manifest of the day names the lost tables %v (%v), want %s", m.Lost, err, table)
		}
	})
	t.Run("a table that this release no longer has", func(t *testing.T) {
		w := clone(t, original)
		const dropped = "parquet/dropped/snapshot_date=2026-11-03/dropped.parquet"
		path := w.Folder.Path(dropped)
		harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)))
		harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: dropped}}))
		checkMoved(t, w, thirdNight, dropped)
	})
	// The rebuild built its version from the file of its own day, and not from the same file of the earlier day.
	t.Run("the file of an unchanged table on an earlier day", func(t *testing.T) {
		w := clone(t, original)
		harness.Must(t, w.Folder.Disk().Copy(w.Folder.Path(series3), w.Folder.Path(series2)))
		harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: manifest2}}))
		checkMoved(t, w, thirdNight, series2)
		checkKept(t, w, series3)
	})
	// The other files were written or used by the rebuild since their damage was found.
	t.Run("a new index", func(t *testing.T) {
		w := clone(t, original)
		harness.Must(t, repair.SetAside(w, run, []repair.Damage{{File: index}, {File: series1}}))
		checkKept(t, w, index)
		checkMoved(t, w, run, series1)
	})
	t.Run("a file of the published version", func(t *testing.T) {
		w := clone(t, original)
		harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: series3}}))
		checkKept(t, w, series3)
	})
	t.Run("the day of the rebuild in the index", func(t *testing.T) {
		w := clone(t, original)
		harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: manifest3}}))
		if days, err := w.Series.Index(); err != nil || days["2026-11-03"] != thirdNight {
			t.Errorf("the index contains %v (%v), want 2026-11-03 with the run %s", days, err, thirdNight)
		}
	})
}

// TestAFailedMoveOfADamagedFileIsAnError moves damaged files aside on a failing disk.
func TestAFailedMoveOfADamagedFileIsAnError(t *testing.T) {
	original := twoNights(t)
	for step, file := range map[string]string{"before rename " + tagsFile: series1, "before rename of the day": manifest1, "before write index.json": manifest1, "before write of the day": series1} {
		w := clone(t, original)
		err := repair.SetAside(openFailingAt(t, w, step), thirdNight, []repair.Damage{{File: file}})
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v, want EIO", step, err)
		}
	}
}

// TestRebuildOfACopyWithAnIncompleteDay rebuilds a copy of a warehouse that was made while a run added its first file.
func TestRebuildOfACopyWithAnIncompleteDay(t *testing.T) {
	w, cfg := publishTwoTables(t)
	const file = "parquet/" + table + "/snapshot_date=2026-11-04/" + tagsFile
	path := w.Folder.Path(file)
	harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("half"), 0o600)))
	if _, err := repair.Rebuild(t.Context(), cfg, false); !errors.As(err, new(*repair.SeriesError)) {
		t.Errorf("got %v, want a *SeriesError", err)
	}
	result, err := repair.Rebuild(t.Context(), cfg, true)
	if err != nil || len(result.Skipped) != 1 {
		t.Fatalf("the rebuild is %+v (%v), want one skipped day", result, err)
	}
	if got := contentOf(t, w)["damaged/"+result.Manifest.RunID+"/"+file]; got != "half" {
		t.Errorf("the file of the incomplete day is %q in damaged/, want it moved there", got)
	}
	report, err := repair.Check(t.Context(), w, true)
	if err != nil || len(report.Damage) > 0 {
		t.Errorf("after the rebuild the check found %q (%v), want no damage", describeDamage(report.Damage), err)
	}
}
