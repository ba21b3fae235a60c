package repair_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// damager damages the files of a warehouse. Names are relative to the folder of the warehouse.
type damager struct {
	t *testing.T
	w *warehouse.Warehouse
}

func (d damager) path(name string) string {
	return filepath.Join(d.w.Folder.Dir(), filepath.FromSlash(name))
}

// flip changes one bit of each file. All hard links of a file show the change.
func (d damager) flip(names ...string) {
	d.t.Helper()
	for _, name := range names {
		f, err := os.OpenFile(d.path(name), os.O_RDWR, 0)
		harness.Must(d.t, err)
		info, err := f.Stat()
		harness.Must(d.t, err)
		middle, b := info.Size()/2, make([]byte, 1)
		_, err = f.ReadAt(b, middle)
		harness.Must(d.t, err)
		b[0] ^= 1
		_, err = f.WriteAt(b, middle)
		harness.Must(d.t, errors.Join(err, f.Close()))
	}
}

// flipOneLink replaces a file by a copy with one changed bit. Other hard links of the file stay intact.
func (d damager) flipOneLink(name string) {
	d.t.Helper()
	data, err := os.ReadFile(d.path(name))
	harness.Must(d.t, errors.Join(err, os.Remove(d.path(name)), os.WriteFile(d.path(name), data, 0o600)))
	d.flip(name)
}

func (d damager) remove(names ...string) {
	d.t.Helper()
	for _, name := range names {
		harness.Must(d.t, os.RemoveAll(d.path(name)))
	}
}

func (d damager) symlink(target, name string) {
	d.t.Helper()
	d.remove(name)
	harness.Must(d.t, os.Symlink(filepath.FromSlash(target), d.path(name)))
}

// editManifest changes a manifest and seals it again.
func (d damager) editManifest(name string, change func(m *warehouse.Manifest)) {
	d.t.Helper()
	m, err := d.w.Versions.ReadManifestFile(d.path(name), "")
	harness.Must(d.t, err)
	change(&m)
	data, err := checksum.Seal(m)
	harness.Must(d.t, errors.Join(err, os.WriteFile(d.path(name), data, 0o600)))
}

// Names of the files of three nights: the folders of the versions, the Parquet file in each version, the
// Parquet files of the series, the manifests of the days, the index, and the files of changes without
// their extension.
const (
	version1, version2, version3 = "versions/" + firstNight + "/", "versions/" + secondNight + "/", "versions/" + thirdNight + "/"
	tagsFile                     = table + ".parquet"
	series1                      = "parquet/" + table + "/snapshot_date=2026-11-01/" + tagsFile
	series2                      = "parquet/" + table + "/snapshot_date=2026-11-02/" + tagsFile
	series3                      = "parquet/" + table + "/snapshot_date=2026-11-03/" + tagsFile
	manifest1                    = "parquet/.manifests/snapshot_date=2026-11-01.json"
	manifest2                    = "parquet/.manifests/snapshot_date=2026-11-02.json"
	manifest3                    = "parquet/.manifests/snapshot_date=2026-11-03.json"
	index                        = "parquet/.manifests/index.json"
	changes1, changes2, changes3 = "parquet/.meta/" + firstNight, "parquet/.meta/" + secondNight, "parquet/.meta/" + thirdNight
)

// describeDamage returns a line for each damage: its file and the arguments of its command.
func describeDamage(damage []repair.Damage) (lines []string) {
	for _, d := range damage {
		line := d.File + ": " + strings.TrimPrefix(d.Repair.Command(), "placementsync ")
		if d.Lost {
			line += ", lost"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// TestDamageIsFoundWithItsRepair damages a warehouse of three nights. The check must find the damage and
// choose the right command.
func TestDamageIsFoundWithItsRepair(t *testing.T) {
	original := threeNights(t)
	const rebuildSeries, rollBack = ": rebuild --series", ": rollback "
	for name, c := range map[string]struct {
		damage         func(d damager)
		isFoundQuickly bool // a check without readData finds the damage too
		want           []string
	}{
		"no damage":                                              {func(d damager) {}, true, nil},
		"no link latest":                                         {func(d damager) { d.remove("latest") }, true, []string{"latest" + rollBack + thirdNight}},
		"latest leads to the second night":                       {func(d damager) { d.symlink("versions/"+secondNight, "latest") }, true, []string{"latest" + rollBack + thirdNight}},
		"latest leads to a missing version":                      {func(d damager) { d.symlink("versions/20200101T000000Z", "latest") }, true, []string{"latest" + rollBack + thirdNight}},
		"no link to the catalog":                                 {func(d damager) { d.remove("catalog.duckdb") }, true, []string{"catalog.duckdb" + rollBack + thirdNight}},
		"a wrong link to the catalog":                            {func(d damager) { d.symlink(version2+"catalog.duckdb", "catalog.duckdb") }, true, []string{"catalog.duckdb" + rollBack + thirdNight}},
		"a damaged catalog":                                      {func(d damager) { d.flip(version3 + "catalog.duckdb") }, false, []string{version3 + "catalog.duckdb: rebuild"}},
		"no link latest and no catalog":                          {func(d damager) { d.remove("latest"); d.remove(version3 + "catalog.duckdb") }, true, []string{"latest: rebuild", version3 + "catalog.duckdb: prune --version " + thirdNight}},
		"a damaged earlier catalog":                              {func(d damager) { d.flip(version2 + "catalog.duckdb") }, false, []string{version2 + "catalog.duckdb: prune --version " + secondNight}},
		"a damaged manifest":                                     {func(d damager) { d.flip(version3 + "manifest.json") }, true, []string{version3 + "manifest.json" + rebuildSeries}},
		"a damaged earlier manifest":                             {func(d damager) { d.flip(version2 + "manifest.json") }, true, []string{version2 + "manifest.json" + rebuildSeries}},
		"a damaged file of the series":                           {func(d damager) { d.flipOneLink(series2) }, false, []string{series2 + rebuildSeries}},
		"a damaged file of a version":                            {func(d damager) { d.flipOneLink(version3 + tagsFile) }, false, []string{version3 + tagsFile + rebuildSeries}},
		"a damaged file in series and version":                   {func(d damager) { d.flip(series3) }, false, []string{series3 + rebuildSeries, version3 + tagsFile + rebuildSeries}},
		"a damaged file of an earlier day in series and version": {func(d damager) { d.flip(series1) }, false, []string{series1 + rebuildSeries, version1 + tagsFile + rebuildSeries}},
		"no file in series and version":                          {func(d damager) { d.remove(series1, version1+tagsFile) }, true, []string{series1 + rebuildSeries, version1 + tagsFile + rebuildSeries}},
		"damaged changes in a version":                           {func(d damager) { d.flip(version3 + "meta.changes") }, false, []string{version3 + "meta.changes" + rebuildSeries}},
		"damaged changes in an earlier version":                  {func(d damager) { d.flip(version2 + "meta.changes") }, false, []string{version2 + "meta.changes" + rebuildSeries}},
		"damaged changes in the series":                          {func(d damager) { d.flip(changes3 + ".changes") }, false, []string{changes3 + ".changes" + rebuildSeries}},
		"both copies of changes are damaged":                     {func(d damager) { d.flip(changes3+".changes", version3+"meta.changes") }, false, []string{changes3 + ".changes" + rebuildSeries, version3 + "meta.changes" + rebuildSeries}},
		"both copies of earlier changes are missing":             {func(d damager) { d.remove(changes2+".changes", version2+"meta.changes") }, true, []string{changes2 + ".changes" + rebuildSeries, version2 + "meta.changes: prune --version " + secondNight}},
		"a damaged copy of a ledger line":                        {func(d damager) { d.flip(version3 + "run.json") }, false, []string{version3 + "run.json" + rebuildSeries}},
		"no index":                                               {func(d damager) { d.remove(index) }, true, []string{index + rebuildSeries}},
		"a damaged index":                                        {func(d damager) { d.flip(index) }, true, []string{index + rebuildSeries}},
		"a damaged manifest of a day":                            {func(d damager) { d.flip(manifest2) }, true, []string{manifest2 + rebuildSeries}},
		"a damaged manifest beside changes":                      {func(d damager) { d.flip(changes2 + ".json") }, true, []string{changes2 + ".json" + rebuildSeries}},
		"all copies of a manifest are missing":                   {func(d damager) { d.remove(version2+"manifest.json", changes2+".json", manifest2) }, true, []string{changes2 + ".json" + rebuildSeries, manifest2 + rebuildSeries, version2 + "manifest.json: prune --version " + secondNight}},
		"all files of an earlier day are missing":                {func(d damager) { d.remove(version2, changes2+".json", manifest2, filepath.Dir(series2)) }, true, []string{changes2 + ".json" + rebuildSeries, manifest2 + rebuildSeries}},
		"no ledger": {func(d damager) { d.remove("state/runs.jsonl") }, true, []string{"state/runs.jsonl: run, lost"}},
		"no link latest, no ledger, no manifests of days": {func(d damager) { d.remove("latest", "state/runs.jsonl", "parquet/.manifests") }, true,
			[]string{"latest" + rollBack + thirdNight, index + rebuildSeries, manifest1 + rebuildSeries, manifest2 + rebuildSeries, manifest3 + rebuildSeries, "state/runs.jsonl: run, lost"}},
		"all catalogs are damaged": {func(d damager) {
			d.flip(version1+"catalog.duckdb", version2+"catalog.duckdb", version3+"catalog.duckdb")
		}, false, []string{version1 + "catalog.duckdb: prune --version " + firstNight, version2 + "catalog.duckdb: prune --version " + secondNight, version3 + "catalog.duckdb: rebuild"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			for _, readData := range []bool{false, true} {
				contentBefore := contentOf(t, w)
				report, err := repair.Check(t.Context(), w, readData)
				harness.Must(t, err)
				want := c.want
				if !c.isFoundQuickly && !readData {
					want = nil
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, describeDamage(report.Damage)); diff != "" {
					t.Errorf("readData %t: damage (-want +got):\n%s%+v", readData, diff, report.Damage)
				}
				for _, d := range report.Damage {
					if d.Problem == "" || d.Affected == "" {
						t.Errorf("damage without a problem or the affected data: %+v", d)
					}
					if isEarlier := d.File == version2+"manifest.json"; isEarlier && d.Affected != "a rollback to "+secondNight+" is not possible; readers lose nothing" {
						t.Errorf("the damage of %s affects %q, want only a rollback", d.File, d.Affected)
					}
					if d.File == "latest" && strings.Contains(d.Problem, "placementsync") ||
						d.File == manifest2 && !strings.HasPrefix(d.Affected, "the checksums of 2026-11-02") {
						t.Errorf("the damage of %s is %q and affects %q, want no command, and only checksums: the catalog has the rows", d.File, d.Problem, d.Affected)
					}
					for file, want := range map[string]string{series3: "table " + table + " of 2026-11-03",
						version3 + tagsFile: "readers of latest/" + tagsFile + " (table " + table + ")",
						version1 + tagsFile: "table " + table + " in Parquet, after a rollback to " + firstNight} {
						if d.File == file && d.Affected != want {
							t.Errorf("the damage of %s affects %q, want %q", file, d.Affected, want)
						}
					}
				}
				if !maps.Equal(contentBefore, contentOf(t, w)) {
					t.Error("the check changed a file")
				}
			}
		})
	}
}

// TestDamageOfCatalogsAndOtherFilesLosesData damages catalogs and other files, so that data is lost.
func TestDamageOfCatalogsAndOtherFilesLosesData(t *testing.T) {
	original := threeNights(t)
	const skipLost = ": rebuild --skip-damaged, lost"
	catalogs := []string{version1 + "catalog.duckdb", version2 + "catalog.duckdb", version3 + "catalog.duckdb"}
	pruneLines := []string{catalogs[0] + ": prune --version " + firstNight, catalogs[1] + ": prune --version " + secondNight}
	for name, c := range map[string]struct {
		damage func(d damager)
		want   []string
	}{
		"all catalogs and a file": {func(d damager) { d.remove(catalogs...); d.flip(series1) },
			append([]string{series1 + skipLost, version1 + tagsFile + ": prune --version " + firstNight, catalogs[2] + ": rebuild --skip-damaged"}, pruneLines...)},
		"all catalogs, a file, and a file with a copy": {func(d damager) { d.remove(catalogs...); d.flip(series1); d.flipOneLink(series2) },
			append([]string{series1 + skipLost, series2 + ": rebuild --skip-damaged", version1 + tagsFile + ": prune --version " + firstNight,
				catalogs[2] + ": rebuild --skip-damaged"}, pruneLines...)},
		"all catalogs and a file of a version": {func(d damager) { d.remove(catalogs...); d.flipOneLink(version2 + tagsFile) },
			append([]string{version2 + tagsFile + ": rebuild --series", catalogs[2] + ": rebuild"}, pruneLines...)},
		"all catalogs and the newest file": {func(d damager) { d.remove(catalogs...); d.flip(series3) },
			append([]string{series3 + skipLost, version3 + tagsFile + skipLost, catalogs[2] + skipLost}, pruneLines...)},
		"the newest catalog and the newest file": {func(d damager) { d.remove(catalogs[2]); d.flip(series3) },
			[]string{catalogs[2] + ": rollback " + secondNight + ", lost", series3 + skipLost, version3 + tagsFile + ": rollback " + secondNight + ", lost"}},
		"all catalogs and all files": {func(d damager) {
			d.remove(catalogs...)
			d.remove(series1, series2, series3, version1+tagsFile, version2+tagsFile, version3+tagsFile)
		},
			append([]string{series1 + skipLost, series2 + skipLost, series3 + skipLost, version1 + tagsFile + ": prune --version " + firstNight, version2 + tagsFile + ": prune --version " + secondNight,
				catalogs[2] + ": rebuild --from ADDRESS, lost", version3 + tagsFile + ": rebuild --from ADDRESS, lost"}, pruneLines...)},
		"all catalogs and both copies of changes": {func(d damager) { d.remove(catalogs...); d.remove(changes2+".changes", version2+"meta.changes") },
			append([]string{changes2 + ".changes" + skipLost, version2 + "meta.changes: prune --version " + secondNight, catalogs[2] + ": rebuild --skip-damaged"}, pruneLines...)},
		"the newest catalog and both copies of its changes": {func(d damager) { d.remove(catalogs[2], changes3+".changes", version3+"meta.changes") },
			[]string{catalogs[2] + ": rebuild --skip-damaged", changes3 + ".changes" + skipLost, version3 + "meta.changes: rebuild --skip-damaged"}},
		"all catalogs and all copies of a manifest": {func(d damager) { d.remove(catalogs...); d.remove(version2, changes2+".json", manifest2) },
			[]string{catalogs[0] + ": prune --version " + firstNight, changes2 + ".json" + skipLost, catalogs[2] + ": rebuild --skip-damaged", manifest2 + skipLost}},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			report, err := repair.Check(t.Context(), w, true)
			harness.Must(t, err)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, describeDamage(report.Damage)); diff != "" {
				t.Errorf("damage (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFilesAreRepairedFromIntactCopies damages files that have copies. The repair must restore the bytes
// of all files.
func TestFilesAreRepairedFromIntactCopies(t *testing.T) {
	original := threeNights(t)
	for name, c := range map[string]struct {
		damage func(d damager)
		want   []string
	}{
		"no damage":                                     {func(d damager) {}, nil},
		"a damaged manifest":                            {func(d damager) { d.flip(version3 + "manifest.json") }, []string{version3 + "manifest.json"}},
		"a damaged file of the series":                  {func(d damager) { d.flipOneLink(series2) }, []string{series2}},
		"a missing file of a version":                   {func(d damager) { d.remove(version2 + tagsFile) }, []string{version2 + tagsFile}},
		"damaged changes in a version":                  {func(d damager) { d.flip(version2 + "meta.changes") }, []string{version2 + "meta.changes"}},
		"missing changes in the series":                 {func(d damager) { d.remove(changes2 + ".changes") }, []string{changes2 + ".changes"}},
		"a damaged copy of a ledger line":               {func(d damager) { d.flip(version2 + "run.json") }, []string{version2 + "run.json"}},
		"no index":                                      {func(d damager) { d.remove(index) }, []string{index}},
		"a damaged index":                               {func(d damager) { d.flip(index) }, []string{index}},
		"a damaged manifest of a day":                   {func(d damager) { d.flip(manifest1) }, []string{manifest1}},
		"a missing manifest beside changes":             {func(d damager) { d.remove(changes3 + ".json") }, []string{changes3 + ".json"}},
		"two of three copies of a manifest are damaged": {func(d damager) { d.flip(version3+"manifest.json", manifest3) }, []string{version3 + "manifest.json", manifest3}},
		"all files of a day in the series are missing":  {func(d damager) { d.remove(filepath.Dir(series1), manifest1) }, []string{series1, manifest1}},
		"no Parquet files of the series": {func(d damager) { d.remove("parquet/" + table) },
			[]string{series1, series2, series3}},
		"no manifests of days and no index": {func(d damager) { d.remove(manifest1, manifest2, manifest3, index) }, []string{manifest1, manifest2, manifest3, index}},
		"no files of a day and no index":    {func(d damager) { d.remove(index, manifest1, filepath.Dir(series1)) }, []string{series1, manifest1, index}},
		"no newest day in the series and in the index": {func(d damager) { d.remove(manifest3, filepath.Dir(series3)); writeIndex(d, firstNight, secondNight) },
			[]string{series3, manifest3, index}},
		"only the copy of a manifest in the version remains": {func(d damager) { d.remove(changes2+".json", manifest2) }, []string{changes2 + ".json", manifest2}},
		"only the copy of a manifest in the day remains":     {func(d damager) { d.remove(version3+"manifest.json", changes3+".json") }, []string{version3 + "manifest.json", changes3 + ".json"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			want := contentOf(t, w)
			c.damage(damager{t, w})
			result, err := repair.RepairFromCopies(t.Context(), w)
			harness.Must(t, err)
			slices.Sort(c.want)
			if got := slices.Sorted(slices.Values(result.Files)); !slices.Equal(got, c.want) || len(result.Unrepaired)+len(result.DaysWithoutManifest) > 0 || result.IsChainBroken {
				t.Errorf("repaired: %v; unrepaired: files %v, days %v; chain broken: %t; want %v repaired, no unrepaired file or day, and an intact chain", got,
					result.Unrepaired, result.DaysWithoutManifest, result.IsChainBroken, c.want)
			}
			if result.Source != thirdNight || !result.At.Equal(firstNightAt.AddDate(0, 0, 2)) {
				t.Errorf("the newest catalog is %s of %s, want %s of %s", result.Source, result.At, thirdNight, firstNightAt.AddDate(0, 0, 2))
			}
			if got := contentOf(t, w); !maps.Equal(want, got) {
				for file := range want {
					if want[file] != got[file] {
						t.Errorf("%s differs from the original", file)
					}
				}
			}
			report, err := repair.Check(t.Context(), w, true)
			if err != nil || len(report.Damage) > 0 {
				t.Errorf("after the repair: damage %+v (%v), want none", report.Damage, err)
			}
			for _, pair := range [][2]string{{series1, version1 + tagsFile}, {series2, version2 + tagsFile}, {series3, version3 + tagsFile}} {
				a, errA := os.Stat(filepath.Join(w.Folder.Dir(), pair[0]))
				b, errB := os.Stat(filepath.Join(w.Folder.Dir(), pair[1]))
				if errA != nil || errB != nil || !os.SameFile(a, b) {
					t.Errorf("%s and %s are not hard links of one file (%v, %v)", pair[0], pair[1], errA, errB)
				}
			}
			// The next damage of a file of changes must not reach its copy in the version.
			for _, pair := range [][2]string{{changes2 + ".changes", version2 + warehouse.MetaFile}, {changes3 + ".changes", version3 + warehouse.MetaFile}} {
				a, errA := os.Stat(w.Folder.Path(pair[0]))
				b, errB := os.Stat(w.Folder.Path(pair[1]))
				if errA != nil || errB != nil || os.SameFile(a, b) {
					t.Errorf("%s and %s are hard links of one file (%v, %v), want a file of its own each", pair[0], pair[1], errA, errB)
				}
			}
			second, err := repair.RepairFromCopies(t.Context(), w)
			if err != nil || len(second.Files) > 0 {
				t.Errorf("a second repair wrote %v (%v), want no file", second.Files, err)
			}
		})
	}
}

// TestDaysAndChangesWithoutACopyAreNotRepaired loses manifests and files of changes that can only be written from the
// catalog, or that no catalog has.
func TestDaysAndChangesWithoutACopyAreNotRepaired(t *testing.T) {
	original := threeNights(t)
	for name, c := range map[string]struct {
		damage              func(d damager)
		daysWithoutManifest []string
		isChainBroken       bool
		source              string // the version with the newest intact catalog
	}{
		"no manifest and no copy of it": {func(d damager) { d.remove(version2+"manifest.json", changes2+".json", manifest2) },
			[]string{"2026-11-02"}, true, thirdNight},
		"no copy of changes": {func(d damager) { d.remove(changes2+".changes", version2+"meta.changes") }, nil, true, thirdNight},
		"no copy of changes that are newer than the source": {func(d damager) {
			d.remove(changes3+".changes", version3+"meta.changes", version3+"catalog.duckdb")
		}, nil, false, secondNight},
		"a rollback from the newest catalog": {func(d damager) {
			_, err := d.w.Rollback(secondNight, firstNightAt.AddDate(0, 0, 3))
			harness.Must(d.t, err)
		}, nil, false, secondNight},
		"a day that the index lacks": {func(d damager) {
			d.remove(version2, changes2+".json", manifest2)
			writeIndex(d, firstNight, thirdNight)
		}, []string{"2026-11-02"}, true, thirdNight},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			result, err := repair.RepairFromCopies(t.Context(), w)
			harness.Must(t, err)
			if !slices.Equal(result.DaysWithoutManifest, c.daysWithoutManifest) || result.IsChainBroken != c.isChainBroken || result.Source != c.source {
				t.Errorf("unrepaired days %v; chain broken: %t; source %q; want %v, %t, %q", result.DaysWithoutManifest,
					result.IsChainBroken, result.Source, c.daysWithoutManifest, c.isChainBroken, c.source)
			}
		})
	}
}

// writeIndex writes an index of the series that contains only the days of these runs.
func writeIndex(d damager, runs ...string) {
	d.t.Helper()
	days := map[string]string{}
	for _, run := range runs {
		at, _ := warehouse.RunTime(run)
		days[warehouse.DayOf(at)] = run
	}
	harness.Must(d.t, d.w.Series.WriteIndex(days))
}

// TestNotesAndMissingNightsAreReported expects notes, damage of a held night, and damage of a warehouse
// whose link, index or ledger lacks a night.
func TestNotesAndMissingNightsAreReported(t *testing.T) {
	original := threeNights(t)
	for name, c := range map[string]struct {
		damage  func(d damager)
		want    []string
		problem string
		note    string
	}{
		"the link latest and the ledger lack the newest night": {func(d damager) {
			d.symlink("versions/"+secondNight, "latest")
			keepLines(d, 2)
		}, []string{"latest: rollback " + thirdNight}, "readers see " + secondNight + ", but should see " + thirdNight + " of 2026-11-03", ""},
		"the index lacks a day": {func(d damager) { writeIndex(d, firstNight, thirdNight) },
			[]string{index + ": rebuild --series"}, "it lacks 2026-11-02", ""},
		"the ledger lacks the newest run": {func(d damager) { keepLines(d, 2) },
			[]string{"state/runs.jsonl: run"}, "it has no line of the version that readers see", ""},
		"an unfinished-run file": {func(d damager) { harness.Must(d.t, os.WriteFile(d.path("state/unfinished.json"), []byte("{"), 0o600)) },
			[]string{"state/unfinished.json: run"}, "its own checksum is wrong: the content was changed", ""},
		"a night that can be resumed": {func(d damager) {
			harness.Must(d.t, d.w.RunLog.WriteResumableRun(warehouse.UnfinishedRun{Run: "20261104T020000Z", Attempt: 1}))
		}, nil, "", ""},
		"a manifest with a lost table": {func(d damager) {
			d.editManifest(manifest1, func(m *warehouse.Manifest) { m.Tables, m.Lost = nil, []string{table} })
		},
			nil, "", "tables of 2026-11-01 that were damaged and are lost: " + table},
		"files of a day without a manifest": {func(d damager) {
			harness.Must(d.t, os.MkdirAll(d.path("parquet/"+table+"/snapshot_date=2026-11-04"), 0o700))
			harness.Must(d.t, os.WriteFile(d.path("parquet/"+table+"/snapshot_date=2026-11-04/"+tagsFile), nil, 0o600))
		}, []string{"parquet/.manifests/snapshot_date=2026-11-04.json: rebuild --skip-damaged, lost"}, "it is missing", ""},
		"a held night": {func(d damager) {
			draft := beginDraft(d.t, d.w, "20261104T020000Z", "held")
			harness.Must(d.t, draft.WriteLedgerCopy(ledger.Run{ID: draft.Run}))
			_, err := draft.Hold(d.t.Context(), []warehouse.ManifestTable{{Name: table, FileSum: checksum.FileSum{File: tagsFile}}})
			harness.Must(d.t, err)
			d.remove("held/20261104T020000Z/" + tagsFile)
		}, []string{"held/20261104T020000Z/" + tagsFile + ": discard"}, "it is missing", ""},
		"a run that was killed before it added its day": {func(d damager) {
			d.remove("parquet/"+table+"/snapshot_date=2026-11-03", manifest3)
			writeIndex(d, firstNight, secondNight)
		}, []string{manifest3 + ": rebuild --series"}, "run " + thirdNight + " has not completed its day: 1 of 1 tables are missing; the next run completes the day", ""},
		"a run that was killed while it added its day": {func(d damager) {
			d.flipOneLink(series3)
			harness.Must(d.t, os.Truncate(d.path(series3), 1))
			d.remove(manifest3)
			writeIndex(d, firstNight, secondNight)
		}, []string{index + ": rebuild --series", manifest3 + ": rebuild --series"}, "it lacks 2026-11-03", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := clone(t, original)
			c.damage(damager{t, w})
			report, err := repair.Check(t.Context(), w, false)
			harness.Must(t, err)
			if diff := cmp.Diff(c.want, describeDamage(report.Damage)); diff != "" {
				t.Errorf("damage (-want +got):\n%s", diff)
			}
			if len(report.Damage) > 0 && report.Damage[0].Problem != c.problem {
				t.Errorf("the problem is %q, want %q", report.Damage[0].Problem, c.problem)
			}
			if got := strings.Join(report.Notes, "; "); got != c.note {
				t.Errorf("the notes are %q, want %q", got, c.note)
			}
		})
	}
	report, err := repair.Check(t.Context(), original, true)
	if err != nil || report.Files != 31 || report.Bytes == 0 {
		t.Errorf("the check read %d files and %d bytes (%v), want 31 files and some bytes", report.Files, report.Bytes, err)
	}
	empty := open(t)
	if report, err := repair.Check(t.Context(), empty, true); err != nil || len(report.Damage) > 0 {
		t.Errorf("before the first night: got damage %+v (%v), want none", report.Damage, err)
	}
	if result, err := repair.RepairFromCopies(t.Context(), empty); err != nil || len(result.Files) > 0 {
		t.Errorf("before the first night: the repair wrote %q (%v), want no file", result.Files, err)
	}
	if _, err := repair.Check(t.Context(), openWith(t, warehouse.Config{Dir: t.TempDir()}), false); !errors.As(err, new(*warehouse.NoWarehouseError)) {
		t.Errorf("without a warehouse: got %v, want a *NoWarehouseError", err)
	}
}

// keepLines keeps the first n lines of the ledger.
func keepLines(d damager, n int) {
	d.t.Helper()
	data, err := os.ReadFile(d.path("state/runs.jsonl"))
	harness.Must(d.t, err)
	lines := strings.SplitAfterN(string(data), "\n", n+1)
	harness.Must(d.t, os.WriteFile(d.path("state/runs.jsonl"), []byte(strings.Join(lines[:n], "")), 0o600))
}

// TestALostDayAndALostLineAreReported damages whole days and lines of the ledger. The check must report
// the damaged file as lost.
func TestALostDayAndALostLineAreReported(t *testing.T) {
	original := threeNights(t)
	for name, c := range map[string]struct {
		damage        func(d damager)
		file, problem string
	}{
		"no files of a day and no catalogs": {func(d damager) {
			d.remove(version1+"catalog.duckdb", version2, version3+"catalog.duckdb", changes2+".json", manifest2, filepath.Dir(series2))
		}, manifest2, "all files of the day are missing"},
		"no manifest of a day and no catalogs": {func(d damager) {
			d.remove(version1+"catalog.duckdb", version2, version3+"catalog.duckdb", changes2+".json", manifest2)
		}, manifest2, "it is missing"},
		"a damaged line of the ledger": {func(d damager) { d.flip("state/runs.jsonl") }, "state/runs.jsonl", "damaged lines: 1"},
	} {
		w := clone(t, original)
		c.damage(damager{t, w})
		report, err := repair.Check(t.Context(), w, true)
		harness.Must(t, err)
		if !slices.ContainsFunc(report.Damage, func(d repair.Damage) bool { return d.File == c.file && d.Problem == c.problem && d.Lost }) {
			t.Errorf("%s: got damage %+v, want lost %s with the problem %q", name, report.Damage, c.file, c.problem)
		}
	}
	// The version that readers see is newer than the last intact line of a damaged ledger.
	w := clone(t, original)
	d := damager{t, w}
	keepLines(d, 2)
	data, err := os.ReadFile(d.path("state/runs.jsonl"))
	harness.Must(t, errors.Join(err, os.WriteFile(d.path("state/runs.jsonl"), append(data, "damaged\n"...), 0o600)))
	d.remove(manifest3, filepath.Dir(series3), changes3+".json", changes3+".changes")
	writeIndex(d, firstNight, secondNight)
	report, err := repair.Check(t.Context(), w, false)
	harness.Must(t, err)
	for _, damage := range report.Damage {
		if damage.File == warehouse.LatestLink {
			t.Errorf("got %+v, want no damage of the link to the newest version", damage)
		}
	}
}
