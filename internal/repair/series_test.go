package repair_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// readSeries reads the series of a warehouse. It returns a line for each snapshot, with its files, and
// a line for each damaged file. It checks that Table returns the table with the requested name.
func readSeries(t *testing.T, w *warehouse.Warehouse) (snapshots, damage []string) {
	t.Helper()
	series, err := repair.ReadSeries(t.Context(), w)
	harness.Must(t, err)
	for _, s := range series.Snapshots {
		line := s.RunID + " " + s.SnapshotAt.UTC().Format("01-02 15:04")
		if s.SourceRun() != s.RunID {
			line += " of " + s.SourceRun()
		}
		for _, name := range slices.Sorted(maps.Keys(s.Files)) {
			line += " " + w.Folder.Relative(s.Files[name])
			if table := s.Table(name); table.File != "" && table.Name != name {
				t.Errorf("version %s: Table(%q) is %+v, want the table of that name", s.RunID, name, table)
			}
		}
		snapshots = append(snapshots, line)
	}
	for _, d := range series.Damage {
		damage = append(damage, fmt.Sprintf("%s (%s): %s", d.File, d.Day, d.Problem))
	}
	return snapshots, damage
}

// TestTheSeriesIsReadFromIntactFiles damages a series of three nights. ReadSeries must return the
// intact files, and report the missing and damaged ones.
func TestTheSeriesIsReadFromIntactFiles(t *testing.T) {
	original := threeNights(t)
	const wrongSum = "its checksum differs from its manifest"
	first, second, third := firstNight+" 11-01 02:00 "+series1, secondNight+" 11-02 02:00 "+series2, thirdNight+" 11-03 02:00 "+series3
	for name, c := range map[string]struct {
		damage        func(d damager)
		want, damaged []string
	}{
		"no damage":                            {func(d damager) {}, []string{first, second, third}, nil},
		"without versions":                     {func(d damager) { d.remove("versions", "latest", "catalog.duckdb") }, []string{first, second, third}, nil},
		"a damaged file of the series":         {func(d damager) { d.flipOneLink(series2) }, []string{first, secondNight + " 11-02 02:00 " + version2 + tagsFile, third}, nil},
		"a damaged file in series and version": {func(d damager) { d.flip(series2) }, []string{first, third}, []string{series2 + " (2026-11-02): " + wrongSum}},
		"a damaged file of the newest night":   {func(d damager) { d.flip(series3) }, []string{first, second}, []string{series3 + " (2026-11-03): " + wrongSum}},
		"a damaged manifest with copies":       {func(d damager) { d.flip(manifest2) }, []string{first, second, third}, nil},
		"a manifest only in the version":       {func(d damager) { d.remove(manifest2, changes2+".json") }, []string{first, second, third}, nil},
		"no manifest and no copy of it":        {func(d damager) { d.remove(manifest2, changes2+".json", version2+"manifest.json") }, []string{first, third}, []string{manifest2 + " (2026-11-02): it is missing"}},
		"the remaining copies of a manifest are of another day": {func(d damager) {
			d.remove(manifest2)
			d.editManifest(changes2+".json", moveToNextDay)
			d.editManifest(version2+"manifest.json", moveToNextDay)
		}, []string{first, third}, []string{manifest2 + " (2026-11-02): it is missing"}},
		"no files of a day":                    {func(d damager) { d.remove(manifest2, changes2+".json", version2, filepath.Dir(series2)) }, []string{first, third}, []string{manifest2 + " (2026-11-02): all files of the day are missing"}},
		"a day with files only in its version": {func(d damager) { d.remove(manifest2, filepath.Dir(series2)) }, []string{first, secondNight + " 11-02 02:00 " + version2 + tagsFile, third}, nil},
		"no index":                             {func(d damager) { d.remove(index) }, []string{first, second, third}, []string{index + " (): it is missing"}},
		"a day that the index lacks":           {func(d damager) { writeIndex(d, firstNight, thirdNight) }, []string{first, second, third}, nil},
		"a day without a manifest that the index lacks": {func(d damager) {
			writeIndex(d, firstNight, thirdNight)
			d.remove(manifest2, changes2+".json", version2+"manifest.json")
		}, []string{first, third}, []string{manifest2 + " (2026-11-02): it is missing"}},
		"a damaged manifest that the index lacks": {func(d damager) {
			writeIndex(d, firstNight, thirdNight)
			d.flip(manifest2)
			d.remove(changes2+".json", version2+"manifest.json")
		}, []string{first, third}, []string{manifest2 + " (2026-11-02): its own checksum is wrong: the content was changed"}},
		"a published day that its run did not add to the series": {func(d damager) { d.remove(manifest3, filepath.Dir(series3)); writeIndex(d, firstNight, secondNight) },
			[]string{first, second, thirdNight + " 11-03 02:00 " + version3 + tagsFile}, nil},
		"a published day that its run did not add to the series, and no link latest": {func(d damager) {
			d.remove("latest", manifest3, filepath.Dir(series3))
			writeIndex(d, firstNight, secondNight)
		}, []string{first, second, thirdNight + " 11-03 02:00 " + version3 + tagsFile}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			snapshots, damage := readSeries(t, w)
			if diff := cmp.Diff(c.want, snapshots); diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.damaged, damage); diff != "" {
				t.Errorf("damage (-want +got):\n%s", diff)
			}
		})
	}
	if snapshots, damage := readSeries(t, open(t)); len(snapshots)+len(damage) > 0 {
		t.Errorf("before the first night: got snapshots %v and damage %v, want none", snapshots, damage)
	}
	w := clone(t, original)
	damager{t, w}.editManifest(manifest2, func(m *warehouse.Manifest) { m.Format++ })
	if _, err := repair.ReadSeries(t.Context(), w); !errors.As(err, new(*warehouse.NewerError)) {
		t.Errorf("a day of a newer program: got %v, want a *NewerError", err)
	}
}

func moveToNextDay(m *warehouse.Manifest) { m.SnapshotAt = m.SnapshotAt.AddDate(0, 0, 1) }

// TestADayIsReadFromOneRun reads damaged copies of a day that two runs wrote. ReadSeries must not mix
// files of both runs.
func TestADayIsReadFromOneRun(t *testing.T) {
	const secondRun = "20261101T030000Z"
	original := open(t)
	publishFull(t, original, firstNight)
	firstOnly := clone(t, original)
	contentOfFirst := contentOf(t, original)
	publishFull(t, original, secondRun)
	// restoreFirst restores the manifest and the index of the first run, as in a copy of the warehouse
	// that was made during the second run.
	restoreFirst := func(d damager) {
		d.remove("versions", "latest", "catalog.duckdb")
		for _, name := range []string{manifest1, index} {
			harness.Must(d.t, os.WriteFile(d.path(name), []byte(contentOfFirst[name]), 0o600))
		}
	}
	secondChanges := "parquet/.meta/" + secondRun
	otherSize := fmt.Sprintf("%s (2026-11-01): it has %d bytes, but %d in its manifest", series1, len(contentOf(t, original)[series1]), len(contentOfFirst[series1]))
	for name, c := range map[string]struct {
		damage        func(d damager)
		want, damaged []string
	}{
		"no damage of the series":       {func(d damager) { d.remove("versions") }, []string{secondRun + " 11-01 03:00 " + series1}, nil},
		"the manifest of the first run": {restoreFirst, []string{secondRun + " 11-01 03:00 " + series1}, nil},
		"no manifest of the second run": {func(d damager) { restoreFirst(d); d.remove(secondChanges + ".json") }, nil, []string{otherSize}},
		"a file of neither run":         {func(d damager) { restoreFirst(d); d.flip(series1) }, nil, []string{otherSize}},
		// The manifest of the day is lost, and the files match the manifests of both runs. The later run is chosen.
		"two complete runs": {func(d damager) {
			second, err := d.w.Series.ReadDayManifest("2026-11-01", secondRun)
			harness.Must(d.t, err)
			d.editManifest("parquet/.meta/"+firstNight+".json", func(m *warehouse.Manifest) { m.Tables = second.Tables })
			d.remove("versions", manifest1)
			harness.Must(d.t, d.w.Series.WriteIndex(map[string]string{}))
		}, []string{secondRun + " 11-01 03:00 " + series1}, nil},
		"two complete runs, and a later run whose manifests are lost": {func(d damager) {
			d.remove(manifest1)
			harness.Must(d.t, d.w.Series.WriteIndex(map[string]string{"2026-11-01": "20261101T040000Z"}))
		}, []string{secondRun + " 11-01 03:00 " + series1}, nil},
		"a copy of the file that the second run replaced": {func(d damager) {
			restoreFirst(d)
			d.remove(secondChanges + ".json")
			harness.Must(d.t, os.MkdirAll(d.path("parquet/.replaced/"+firstNight), 0o700))
			harness.Must(d.t, os.WriteFile(d.path("parquet/.replaced/"+firstNight+"/"+tagsFile), []byte(contentOfFirst[series1]), 0o600))
		}, []string{firstNight + " 11-01 02:00 parquet/.replaced/" + firstNight + "/" + tagsFile}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			snapshots, damage := readSeries(t, w)
			if diff := cmp.Diff(c.want, snapshots); diff != "" {
				t.Errorf("snapshots (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.damaged, damage); diff != "" {
				t.Errorf("damage (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the second run has replaced one of two tables", func(t *testing.T) {
		w, _ := publishTables(t, firstNight, secondRun)
		d := damager{t, w}
		d.remove("versions", "latest")
		harness.Must(t, os.WriteFile(d.path(manifest1), []byte(contentOf(t, w)["parquet/.meta/"+firstNight+".json"]), 0o600))
		writeIndex(d, firstNight)
		d.editManifest(secondChanges+".json", func(m *warehouse.Manifest) { m.Tables[1].SHA256 = "not written yet" })
		snapshots, damage := readSeries(t, w)
		want := []string{firstNight + " 11-01 02:00 parquet/tags/snapshot_date=2026-11-01/tags.parquet"}
		if !slices.Equal(snapshots, want) || len(damage) != 1 || !strings.HasPrefix(damage[0], series1) {
			t.Errorf("got snapshots %v and damage %q, want %v and the damage of %s", snapshots, damage, want, series1)
		}
	})
	if snapshots, damage := readSeries(t, firstOnly); len(snapshots) != 1 || len(damage) > 0 {
		t.Errorf("a series of one run: got snapshots %v and damage %v, want one snapshot without damage", snapshots, damage)
	}
}

// TestFilesOfChangesAreCopiesOrOriginals damages files of changes. ReadSeries must return the
// copies in the versions instead of the damaged files.
func TestFilesOfChangesAreCopiesOrOriginals(t *testing.T) {
	original := threeNights(t)
	changes1 := "parquet/.meta/" + firstNight
	for name, c := range map[string]struct {
		damage  func(d damager)
		want    []string
		hasPast bool
		damaged string
	}{
		"no damage":                 {func(d damager) {}, []string{changes1 + ".changes", changes2 + ".changes", changes3 + ".changes"}, true, ""},
		"a damaged file":            {func(d damager) { d.flip(changes2 + ".changes") }, []string{changes1 + ".changes", version2 + "meta.changes", changes3 + ".changes"}, true, ""},
		"no file and no copy of it": {func(d damager) { d.remove(changes2+".changes", version2+"meta.changes") }, []string{changes1 + ".changes", changes3 + ".changes"}, true, changes2 + ".changes: it is missing: meta and closed rows of run " + secondNight},
		// The manifest of a night names the files of earlier nights, so the changes of the first night are lost too.
		"no manifest and no copy of it": {func(d damager) { d.remove(changes2+".json", manifest2, version2+"manifest.json") }, []string{changes3 + ".changes"}, true, changes2 + ".json: it is missing: meta and closed rows of run " + secondNight + " and of earlier runs"},
		"no schema past": {func(d damager) {
			d.editManifest(changes2+".json", func(m *warehouse.Manifest) { m.Meta.HasPast = false })
		}, []string{changes1 + ".changes", changes2 + ".changes", changes3 + ".changes"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			series, err := repair.ReadSeries(t.Context(), w)
			harness.Must(t, err)
			files, hasPast := series.Changes, series.HasPast
			for i := range files {
				files[i] = w.Folder.Relative(files[i])
			}
			var got string
			for _, d := range series.DamagedChanges {
				got += d.File + ": " + d.Problem + ": " + d.Affected
			}
			if !slices.Equal(files, c.want) || hasPast != c.hasPast || got != c.damaged {
				t.Errorf("got the files %v, with the schema past: %t, damage %q; want %v, %t, %q", files, hasPast, got, c.want, c.hasPast, c.damaged)
			}
		})
	}
}
