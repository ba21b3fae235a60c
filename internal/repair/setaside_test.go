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

// TestSetAsideKeepsNeededFiles moves an unfinished day, a damaged index and files of the day of a run. Files that the
// rebuild has written or used since the damage was found must stay.
func TestSetAsideKeepsNeededFiles(t *testing.T) {
	original := threeNights(t)
	const run = "20261105T020000Z"
	w := clone(t, original)
	harness.Must(t, repair.SetAside(w, run, []repair.Damage{{Day: "2026-11-02", Unfinished: true}}))
	if got := contentOf(t, w); got[series2] != "" || got[manifest2] != "" || got["damaged/"+run+"/"+series2] == "" || got["damaged/"+run+"/"+manifest2] == "" {
		t.Error("the files of the day were not moved")
	}
	if _, err := os.Stat(filepath.Join(w.Folder.Dir(), filepath.FromSlash(filepath.Dir(series2)))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the empty folder of the day: got %v, want ErrNotExist", err)
	}
	// If the index is damaged too, it is moved before the tables are removed from the manifest of the day.
	w = clone(t, original)
	d := damager{t, w}
	d.flip(index)
	d.flip(series1)
	harness.Must(t, repair.SetAside(w, run, []repair.Damage{{File: index}, {File: series1}}))
	if got := contentOf(t, w); got[index] != "" || got[series1] != "" {
		t.Error("the index and the file were not moved")
	}
	if m, err := w.Series.ReadDayManifest("2026-11-01", firstNight); err != nil || !slices.Equal(m.Lost, []string{table}) {
		t.Errorf("the manifest of the day names the lost tables %v (%v), want %s", m.Lost, err, table)
	}
	// The damage was found before the rebuild, which has written a new index since then.
	w = clone(t, original)
	harness.Must(t, repair.SetAside(w, run, []repair.Damage{{File: index}, {File: series1}}))
	if got := contentOf(t, w); got[index] == "" || got[series1] != "" {
		t.Error("the new index was moved, or the damaged file was not")
	}
	// Files from which the run built its version are kept.
	w = clone(t, original)
	harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: series3}}))
	if got := contentOf(t, w); got[series3] == "" {
		t.Error("a file of the published version was moved")
	}
	// The day of the run can have a file of a table that this release no longer has.
	dropped := "parquet/dropped/snapshot_date=2026-11-03/dropped.parquet"
	harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(w.Folder.Path(dropped)), 0o700), os.WriteFile(w.Folder.Path(dropped), []byte("x"), 0o600)))
	harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: dropped}}))
	if got := contentOf(t, w); got[dropped] != "" {
		t.Error("the damaged file of a table that the version lacks was not moved")
	}
	// A rebuild writes its own day again, so the day stays in the index although its manifest was damaged before.
	w = clone(t, original)
	harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{File: w.Folder.Relative(w.Folder.DayManifestPath("2026-11-03"))}}))
	if days, err := w.Series.Index(); err != nil || days["2026-11-03"] != thirdNight {
		t.Errorf("the index contains %v (%v), want 2026-11-03 with the run %s", days, err, thirdNight)
	}
	// An unchanged table of an earlier day has the same file. It is not a file from which the run built its version.
	w = clone(t, original)
	harness.Must(t, w.Folder.Disk().Copy(w.Folder.Path(series3), w.Folder.Path(series2)))
	harness.Must(t, repair.SetAside(w, thirdNight, []repair.Damage{{Day: "2026-11-02", Unfinished: true}}))
	if got := contentOf(t, w); got[series2] != "" || got[series3] == "" {
		t.Errorf("files of the series after the move: 2026-11-02 %t, 2026-11-03 %t; want only 2026-11-03", got[series2] != "", got[series3] != "")
	}
}

// TestAFailedMoveOfADamagedFileIsAnError moves damaged files aside on a failing disk.
func TestAFailedMoveOfADamagedFileIsAnError(t *testing.T) {
	original := open(t)
	publishFull(t, original, firstNight, secondNight)
	for step, file := range map[string]string{"before rename " + tagsFile: series1, "before rename of the day": manifest1, "before write index.json": manifest1, "before write of the day": series1} {
		w := clone(t, original)
		err := repair.SetAside(openFailingAt(t, w, step), thirdNight, []repair.Damage{{File: file}})
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: got %v, want EIO", step, err)
		}
	}
}

// TestRebuildSetsAnUnfinishedDayAside rebuilds a copy of a warehouse that was made while a run added its first file.
func TestRebuildSetsAnUnfinishedDayAside(t *testing.T) {
	w, cfg := publishTwoTables(t)
	const file = "parquet/" + table + "/snapshot_date=2026-11-04/" + tagsFile
	path := w.Folder.Path(file)
	harness.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("half"), 0o600)))
	result, err := repair.Rebuild(t.Context(), cfg, false)
	if err != nil || len(result.Unfinished) != 1 {
		t.Fatalf("the rebuild is %+v (%v), want one unfinished day", result, err)
	}
	if got := contentOf(t, w)["damaged/"+result.Manifest.RunID+"/"+file]; got != "half" {
		t.Errorf("the file of the unfinished day is %q in damaged/, want it moved there", got)
	}
	report, err := repair.Check(t.Context(), w, true)
	if err != nil || len(report.Damage) > 0 {
		t.Errorf("after the rebuild the check found %q (%v), want no damage", describeDamage(report.Damage), err)
	}
}
